"""The query texts and the schema as plain data."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest

from ivm.tpch import queries
from ivm.tpch.schema import ddl, relations, update_schema


def test_the_schema_is_what_duckdb_reads_from_the_same_text() -> None:
    db = duckdb.connect()
    db.execute(ddl())
    for name, relation in relations().items():
        assert db.table(name).to_arrow_table().schema.types == relation.schema.types
        assert tuple(db.table(name).columns) == relation.columns
        declared = db.execute(
            "SELECT constraint_column_names FROM duckdb_constraints()"
            " WHERE table_name = ? AND constraint_type = 'PRIMARY KEY'",
            [name],
        ).fetchall()
        assert [tuple(columns) for (columns,) in declared] == [relation.primary_key]


def test_updates_have_time_and_diff_last() -> None:
    schema = update_schema(relations()["nation"])
    assert schema.names[-2:] == ["_time", "_diff"]
    assert schema.types[-2:] == [pa.int64(), pa.int64()]


@pytest.mark.parametrize("name", queries.NAMES)
def test_every_query_binds_in_duckdb_and_reads_what_we_say(name: str) -> None:
    db = duckdb.connect()
    db.execute(ddl())
    db.execute(f"CREATE VIEW {name} AS {queries.text(name)}")
    assert db.get_table_names(queries.text(name)) - {"revenue"} == set(queries.reads(name))
    assert queries.title(name).startswith(name.upper())
    assert queries.view_sql(name).startswith(f"CREATE MATERIALIZED VIEW {name} AS ")


def test_selecting_queries() -> None:
    assert queries.select("all") == queries.NAMES
    assert queries.select("q3, 1,Q14,3") == ("q3", "q1", "q14")
    with pytest.raises(ValueError, match="q23, x is not"):
        queries.select("q1,q23,x")
    with pytest.raises(ValueError, match="nothing is not"):
        queries.select(" ")
    with pytest.raises(KeyError, match=r"q1 \.\. q22"):
        queries.text("q0")

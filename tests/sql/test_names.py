"""Columns without an alias have the names that DuckDB gives them, however sqlglot keeps what was written."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import ivm
from ivm.catalog.catalog import Catalog
from ivm.sql.bind import bind
from ivm.sql.parse import parse
from ivm.sql.statements import CreateTable

TABLE = "CREATE TABLE t (a INTEGER, b VARCHAR, d DATE)"
ITEMS = {
    "aggregates": (
        "argmin(a, b), max_by(a, b), quantile_cont(a, 0.5), string_agg(b), string_agg(b, ',' ORDER BY a), "
        "string_agg(DISTINCT b ORDER BY b DESC), group_concat(b, '-'), listagg(b, ';' ORDER BY a), any_value(b), mean(a)"
    ),
    "types": (
        "a::HUGEINT, CAST(b AS real), a::float, a::decimal, a::numeric(4,1), a::text, b::varchar(3), b::char(2), a::bool, "
        "d::timestamp with time zone, a::double precision, b::bytea, a::int8, a::tinyint, TRY_CAST(b AS uuid), date '2020-01-01'"
    ),
    "nested types": "[a]::int[], [[b]]::text [] [], {'x': a}::struct(x int, \"y z\" text[]), map {b: a}::map(text, int)",
    "signs and words": (
        "xor(a, 2), position('a' IN b), position('x' IN b) + 1, trim(BOTH 'h' FROM b), trim(b, 'x'), b GLOB 'a*', b ^@ 'a', "
        "starts_with(b, 'a'), strpos(b, 'a'), @a, - @a, a!, +a, -+a, ~a + 1, a + ~a & 1, a ** 2, a ^ 2, b || a << 1, "
        "b ^@ 'x' || b, [1.5] <-> [a], [1.5] <=> [a]"
    ),
}


@pytest.mark.parametrize("items", ITEMS.values(), ids=ITEMS)
def test_names_are_duckdbs(items: str) -> None:
    with duckdb.connect() as duck, ivm.connect(compile="off") as db:
        duck.execute(TABLE)
        db.sql(TABLE)
        db.sql(f"CREATE MATERIALIZED VIEW v AS SELECT {items} FROM t")
        wanted = [name for name, *_ in duck.execute(f"SELECT {items} FROM t").description or ()]
        assert db.sql("FROM v").arrow().column_names == wanted


ALL = """
CREATE TABLE t (x INTEGER, y INTEGER, s VARCHAR, b BOOLEAN, l INTEGER[], d DATE, ts TIMESTAMP, tm TIME, tz TIMESTAMPTZ,
    i INTERVAL, f DOUBLE, r FLOAT, dc DECIMAL(9, 2), h HUGEINT, ti TINYINT, si SMALLINT, bi BIGINT, u8 UTINYINT, u16 USMALLINT,
    u32 UINTEGER, u64 UBIGINT, bl BLOB, u UUID, j JSON, st STRUCT(a INTEGER, b VARCHAR), m MAP(VARCHAR, INTEGER), ar INTEGER[3],
    sl VARCHAR[], fl DOUBLE[], tns TIMESTAMP_NS, e ENUM('p', 'q'))
"""


def test_names_and_types_of_many_items_are_duckdbs() -> None:
    lines = (Path(__file__).parent / "names.txt").read_text(encoding="utf-8").splitlines()
    (created,) = parse(ALL)
    assert isinstance(created, CreateTable)
    catalog = Catalog()
    catalog.add_table(created.table)
    with duckdb.connect() as duck:
        duck.execute(ALL)
        for item in (line for line in lines if not line.startswith("#")):
            query = f"SELECT {item} FROM t"
            described = [tuple(row[:2]) for row in duck.execute(f"DESCRIBE {query}").fetchall()]
            assert (item, [(field.name, str(field.type)) for field in bind(query, catalog).schema]) == (item, described)

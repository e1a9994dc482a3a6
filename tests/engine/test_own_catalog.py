"""DuckDB's relations of what there is tell of this database's tables and views."""

from __future__ import annotations

import duckdb
import pytest

import ivm

THERE = """
CREATE TYPE mood AS ENUM ('a', 'it''s');
CREATE TABLE shop (id INTEGER PRIMARY KEY);
CREATE TABLE sale (id INTEGER PRIMARY KEY, p DECIMAL(9,2) NOT NULL DEFAULT 4 CHECK (p > 0), m mood,
    s INTEGER REFERENCES shop(id), u INTEGER UNIQUE);
CREATE UNIQUE INDEX iu ON sale (s, u);
"""
VIEWS = ("v AS SELECT m, count(*) AS n FROM sale GROUP BY m", "z AS SELECT n FROM v", "w AS SELECT 1 AS one")
QUERIES = (
    "SELECT * FROM information_schema.tables ORDER BY ALL",
    "SELECT * EXCLUDE (table_catalog) FROM system.information_schema.columns ORDER BY ALL",
    "SELECT constraint_name, table_name FROM information_schema.table_constraints ORDER BY ALL",
    "SELECT schemaname, tablename, hasindexes FROM pg_tables ORDER BY ALL",
    "SELECT viewname FROM pg_catalog.pg_views WHERE schemaname = 'main' ORDER BY ALL",
    "SELECT relname, relkind FROM pg_class ORDER BY ALL",
    "SELECT table_name, column_count, has_primary_key, index_count, estimated_size FROM duckdb_tables() ORDER BY ALL",
    "SELECT table_name FROM duckdb_tables WHERE table_name LIKE 's%' ORDER BY ALL",
    "SELECT view_name, column_count FROM duckdb_views() WHERE NOT internal ORDER BY ALL",
    "SELECT table_name, column_name, data_type, is_nullable FROM duckdb_columns() WHERE NOT internal ORDER BY ALL",
    "SELECT table_name, constraint_text FROM duckdb_constraints() ORDER BY ALL",
    "SELECT index_name, table_name, is_unique, expressions FROM duckdb_indexes() ORDER BY ALL",
    "SELECT type_name FROM duckdb_types() WHERE NOT internal",
    "SELECT name, type FROM sqlite_master ORDER BY ALL",
    "FROM pragma_table_info('sale')",
    "FROM (SHOW TABLES)",
    "FROM (DESCRIBE sale)",
    "SELECT (SELECT count(*) FROM INFORMATION_SCHEMA.TABLES) AS n",
    "WITH duckdb_tables AS (SELECT 1 AS a) FROM duckdb_tables",
)


@pytest.mark.parametrize("shards", [None, 2])
def test_they_tell_what_duckdb_would(shards):
    with ivm.connect(compile="off", shards=shards) as db, duckdb.connect() as other:
        for each in (db.sql, other.sql):
            each(THERE)
        for number, view in enumerate(VIEWS):
            db.sql(f"CREATE {'' if number == 2 else 'MATERIALIZED '}VIEW {view}")
            other.sql(f"CREATE VIEW {view}")
        for each in (db.sql, other.sql):
            each("INSERT INTO shop SELECT i FROM range(5) r(i)")
        for query in QUERIES:
            assert db.sql(query).fetchall() == other.sql(query).fetchall(), query
        db.sql("CREATE TABLE made AS SELECT table_name FROM information_schema.tables")
        assert db.sql("SELECT count(*) FROM made").fetchall() == [(5,)]
        db.sql("DROP TABLE made; DROP VIEW v CASCADE")
        assert db.sql("SELECT table_name FROM information_schema.tables ORDER BY ALL").fetchall() == [
            ("sale",), ("shop",), ("w",),
        ]  # fmt: skip


def test_what_they_cannot_tell_is_refused(tmp_path):
    with ivm.connect(compile="off", external_access=True) as db:
        db.sql("CREATE TABLE sale (id INTEGER)")
        for query in ("SELECT * FROM sale, duckdb_tables()", "UPDATE sale SET id = (SELECT count(*) FROM pg_tables)"):
            with pytest.raises(ivm.UnsupportedError, match="ask one after the other"):
                db.sql(query)
        with pytest.raises(ivm.UnsupportedError, match="cannot copy what there is"):
            db.sql(f"COPY (FROM pg_tables) TO '{tmp_path}/x.csv'")
        with pytest.raises(ivm.BindError, match="nope"):
            db.sql("FROM information_schema.nope")
        db.sql("CREATE TABLE pg_tables (mine INTEGER)")
        assert db.sql("FROM pg_tables").columns == ["mine"]
        assert len(db.sql("FROM pg_catalog.pg_tables")) == 2


def test_what_is_the_engines_own_is_not_told() -> None:
    with ivm.connect(compile="off") as db:
        db.sql("CREATE SEQUENCE numbers; CREATE TABLE t (x BIGINT DEFAULT nextval('numbers'), at TIMESTAMP)")
        assert db.sql("SELECT table_name FROM information_schema.tables").fetchall() == [("t",)]

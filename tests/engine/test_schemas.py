"""Schemas beyond what a script shows: the Python interface, what is on disk, what is refused."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import ivm
from ivm.catalog.catalog import Catalog
from ivm.durable.payload import catalog_of, definition_of

MADE = """
    CREATE SCHEMA s;
    CREATE TABLE s.t (x INTEGER PRIMARY KEY, y INTEGER);
    CREATE TABLE t (x INTEGER PRIMARY KEY);
    USE s;
    CREATE MATERIALIZED VIEW v AS SELECT sum(y) AS y FROM t;
    CREATE VIEW w AS SELECT x FROM t;
    USE main;
    CREATE MATERIALIZED VIEW over_w AS SELECT count(*) AS n FROM s.w JOIN t USING (x)
"""


def made(path: Path | None = None) -> ivm.Database:
    db = ivm.connect(path, compile="off")
    db.sql(MADE)
    return db


def test_programs_call_things_by_both_names_and_by_the_path() -> None:
    with made() as db, db.subscribe("s.v") as changes:
        db.apply({"s.t": [{"x": 1, "y": 5}], "main.t": [{"x": 1}]})
        with db.transaction() as tx:
            tx.insert("memory.s.t", [{"x": 2, "y": 6}])
            tx.insert("t", [{"x": 2}])
        assert db.view("S.V").fetchall() == [(11,)]
        assert db.view("over_w").fetchall() == [(2,)]
        told = changes.fetch()
        assert told is not None
        assert told["y"].to_pylist()[-1] == 11
        db.sql("USE s")
        assert db.view("v").fetchall() == [(11,)]
        db.apply({"t": pa.table({"x": [3], "y": [1]})})
        with db.transaction() as tx:
            tx.delete("t", [{"x": 1}])
            tx.delete("main.t", [{"x": 1}])
        db.sql("INSERT INTO t VALUES (?, ?)", [4, 2])
        db.sink("t", mode="append", source="a")(pa.table({"x": [5], "y": [0]}), 1)
        assert db.sql("SELECT x FROM t ORDER BY x").fetchall() == [(2,), (3,), (4,), (5,)]
        assert [each.view for each in db.verify(["v", "over_w"])] == ["s.v", "over_w"]
        assert [each.name for each in db.tables()] == ["s.t", "t"]
        assert "s.t" in db.explain("SELECT sum(y) FROM t")
        assert db.execute("SELECT sum(y) FROM t").fetchone() == (9,)


@pytest.mark.parametrize("checkpoint", [False, True])
def test_they_are_found_again(tmp_path: Path, checkpoint: bool) -> None:
    with made(tmp_path / "shop.ivm") as db:
        db.sql("INSERT INTO s.t VALUES (1, 5); INSERT INTO t VALUES (1)")
        if checkpoint:
            db.sql("CHECKPOINT")
        db.sql("COMMENT ON TABLE s.t IS 'one'; COMMENT ON COLUMN s.t.y IS 'how many'; COMMENT ON VIEW s.v IS 'all'")
        db.sql(
            "COMMENT ON VIEW s.v IS NULL; COMMENT ON TABLE t IS 'another'; CREATE OR REPLACE TABLE other (x INTEGER)"
        )
        db.sql("CREATE SCHEMA gone; CREATE TABLE gone.t (x INTEGER); INSERT INTO gone.t VALUES (1)")
        db.sql("DROP SCHEMA gone CASCADE; CREATE SCHEMA empty; USE s")
        assert db.sql("SELECT current_schema(), current_database()").fetchall() == [("s", "shop")]
    with ivm.connect(tmp_path / "shop.ivm", compile="off") as db:
        assert db.sql("SELECT current_schema()").fetchall() == [("main",)]
        db.sql("INSERT INTO shop.s.t VALUES (2, 6)")
        assert db.view("s.v").fetchall() == [(11,)]
        assert db.view("over_w").fetchall() == [(1,)]
        found = db.sql("SELECT catalog_name, schema_name FROM information_schema.schemata").fetchall()
        assert {name for database, name in found if database == "shop"} >= {"main", "s", "empty"}
        assert ("shop", "gone") not in found
        assert db.sql("SELECT schema_name, comment FROM duckdb_tables() ORDER BY ALL").fetchall() == [
            ("main", "another"), ("main", None), ("s", "one"),
        ]  # fmt: skip
        assert db.sql("SELECT comment FROM duckdb_columns() WHERE comment IS NOT NULL").fetchall() == [("how many",)]
        db.verify()
        with pytest.raises(ivm.Error, match="gone"):
            db.sql("SELECT * FROM gone.t")


def test_databases_of_before_have_main_alone() -> None:
    head = definition_of(Catalog())
    del head["schemas"], head["comments"]
    assert catalog_of(head).schemas == ()


def test_a_name_with_a_dot_in_it_is_one_of_main() -> None:
    with ivm.connect(compile="off") as db:
        db.sql('CREATE TABLE "a.b" (x INTEGER); INSERT INTO "a.b" VALUES (1)')
        db.sql('CREATE MATERIALIZED VIEW "a.v" AS SELECT x FROM "a.b"')
        assert db.view("a.v").fetchall() == [(1,)]
        with pytest.raises(ivm.BindError, match=r"'a\.b' is in main"):
            db.sql("CREATE SCHEMA a")
        with pytest.raises(ivm.BindError, match="without"):
            db.sql('CREATE SCHEMA "x.y"')
        assert db.sql("SELECT table_name FROM duckdb_tables()").fetchall() == [("a.b",)]


def test_what_a_text_says_about_names_holds_for_what_follows_in_it() -> None:
    with ivm.connect(compile="off") as db:
        db.sql("""
            CREATE SCHEMA a; USE a; CREATE TABLE t (x INTEGER); INSERT INTO t VALUES (1);
            CREATE SCHEMA b; USE b; CREATE TABLE t (x INTEGER); INSERT INTO t SELECT x + 1 FROM a.t""")
        assert db.sql("SELECT a.t.x, b.t.x FROM a.t, b.t").fetchall() == [(1, 2)]
        with pytest.raises(ivm.ParseError, match="line 3"):
            db.sql("USE a;\nSELECT 1;\n  SELECT nothing FROM FROM t")
        assert db.sql("SELECT current_schema()").fetchall() == [("a",)]
        with pytest.raises(ivm.BindError, match="there is none called"):
            db.sql("SET search_path = 'a, nowhere'")
        assert db.sql("SELECT current_schema()").fetchall() == [("a",)]
        db.sql("DROP SCHEMA a CASCADE")
        assert db.sql("SELECT current_schema()").fetchall() == [("main",)]


def test_dropping_takes_what_reads_it_elsewhere_and_nothing_if_it_fails() -> None:
    with made() as db:
        db.sql("CREATE TABLE s.p (x INTEGER PRIMARY KEY); CREATE TABLE s.c (x INTEGER REFERENCES s.p)")
        with pytest.raises(ivm.BindError, match=r"cannot drop schema 's', which has"):
            db.sql("DROP SCHEMA s")
        assert len(db.views()) == 3
        db.sql("DROP SCHEMA s CASCADE")
        assert [each.name for each in db.tables()] == ["t"]
        assert db.views() == []
        with pytest.raises(ivm.BindError, match=r"there is no view 's.v'"):
            db.view("s.v")


def test_other_dialects_and_macros_know_schemas() -> None:
    with made() as db:
        db.sql("INSERT INTO s.t VALUES (1, 5)")
        assert db.sql("SELECT `t`.`y` FROM `s`.`t`", dialect="spark").fetchall() == [(5,)]
        db.sql("CREATE MACRO least(n) AS TABLE SELECT x FROM s.t WHERE y >= n")
        assert db.sql("SELECT * FROM least(5)").fetchall() == [(1,)]
        with pytest.raises(ivm.UnsupportedError, match="a TEMP macro is in no schema"):
            db.sql("CREATE TEMP MACRO s.one() AS 1")


def test_macros_and_types_of_schemas_are_there_when_a_database_is_opened_again(tmp_path: Path) -> None:
    defined = (
        "CREATE SCHEMA s; CREATE MACRO s.up(x) AS x + 1; CREATE MACRO up(x) AS x + 10;"
        "CREATE TYPE s.mood AS ENUM ('sad', 'ok'); CREATE TYPE mood AS ENUM ('fine');"
        "CREATE TABLE t (x INTEGER PRIMARY KEY, m s.mood); INSERT INTO t VALUES (1, 'ok');"
        "CREATE MATERIALIZED VIEW v AS SELECT s.up(x) AS a, up(x) AS b FROM t WHERE m = 'ok'::s.mood"
    )
    asked = "SELECT a, b, s.up(0), up(0), 'sad'::s.mood, 'fine'::mood FROM v"
    with ivm.connect(shards=2, compile="off") as db:
        db.sql(defined)
        assert db.sql(asked).fetchall() == [(2, 11, 1, 10, "sad", "fine")]
    for changes in (defined, "CREATE OR REPLACE MACRO s.up(x) AS x + 1", "DROP MACRO s.up; CREATE MACRO s.up(x) AS 1"):
        with ivm.connect(tmp_path / "shop.ivm", compile="off") as db:
            db.sql(changes)
            assert db.sql(asked).fetchall() == [(2, 11, 1, 10, "sad", "fine")]
            db.sql("CHECKPOINT")
    with ivm.connect(tmp_path / "shop.ivm", compile="off") as db:
        assert db.sql(asked).fetchall() == [(2, 11, 1, 10, "sad", "fine")]
        with pytest.raises(ivm.BindError, match="SQL has one of that name"):
            db.sql("CREATE TYPE s.integer AS BIGINT")
        db.sql("DROP VIEW v; DROP TABLE t; DROP SCHEMA s CASCADE")
        with pytest.raises(ivm.BindError, match=r"no type 's\.mood'"):
            db.sql("DROP TYPE s.mood")
        with pytest.raises(ivm.BindError, match="there is none of that name"):
            db.sql("DROP MACRO s.up")
        assert db.sql("SELECT up(1)").fetchall() == [(11,)]


def test_what_is_temporary_is_in_no_file(tmp_path: Path) -> None:
    path = tmp_path / "shop.ivm"
    with ivm.connect(path, compile="off") as db:
        db.sql("CREATE TABLE t (x INTEGER PRIMARY KEY, y VARCHAR); INSERT INTO t VALUES (1, 'lasting')")
        db.sql("CREATE TEMP TABLE t (x INTEGER PRIMARY KEY, y VARCHAR)")
        db.sql("CREATE TEMP MATERIALIZED VIEW v AS SELECT y, count(*) AS n FROM t GROUP BY y")
        db.sql("CREATE TEMP VIEW w AS SELECT * FROM shop.t; CREATE TEMP MACRO m(x) AS x || 'fleeting'")
        db.sql("COMMENT ON TABLE t IS 'fleeting'; CREATE TEMP TABLE made AS SELECT 'fleeting' AS x")
        db.apply({"t": [{"x": 1, "y": "fleeting"}], "main.t": [{"x": 2, "y": "lasting too"}]})
        db.sql("CREATE MATERIALIZED VIEW lasting AS SELECT max(x) AS x FROM main.t")
        assert db.view("v").fetchall() == [("fleeting", 1)]
        db.verify()
        db.sql("CHECKPOINT; UPDATE t SET y = 'fleeting, too'; INSERT INTO main.t VALUES (3, 'late')")
        db.backup(tmp_path / "copy.ivm")
        time = db.time
    for each in (path, tmp_path / "copy.ivm"):
        written = b"".join(file.read_bytes() for file in each.iterdir())
        assert b"late" in written
        assert b"fleeting" not in written
        with ivm.connect(each, compile="off") as db:
            assert db.time == time
            assert [info.name for info in db.tables()] == ["t"]
            assert [info.name for info in db.views()] == ["lasting"]
            assert db.sql("SELECT count(*) FROM t").fetchall() == [(3,)]
            assert db.view("lasting").fetchall() == [(3,)]
            with pytest.raises(ivm.Error, match="m"):
                db.sql("SELECT m('x')")


def test_temporary_things_in_a_transaction_and_over_shards() -> None:
    with ivm.connect(compile="off", shards=3) as db:
        db.sql("CREATE TABLE t (x INTEGER PRIMARY KEY); CREATE TEMP TABLE t (x INTEGER PRIMARY KEY)")
        db.sql("CREATE TEMP MATERIALIZED VIEW v AS SELECT sum(x) AS x FROM t")
        db.sql("INSERT INTO t VALUES (1), (2)")
        assert db.view("v").fetchall() == [(3,)]
    with ivm.connect(compile="off") as db:
        db.sql("CREATE TEMP TABLE t (x INTEGER PRIMARY KEY)")
        db.sql("BEGIN; INSERT INTO t VALUES (1)")
        assert db.sql("SELECT * FROM t").fetchall() == [(1,)]
        db.sql("ROLLBACK; BEGIN; INSERT INTO t VALUES (2); COMMIT")
        assert db.sql("SELECT * FROM t").fetchall() == [(2,)]
        db.sql("DROP TABLE t")
        db.sql('CREATE TABLE "temp.t" (x INTEGER)')


def test_comments_and_schemas_go_along_with_what_is_altered(tmp_path: Path) -> None:
    told = "SELECT schema_name, table_name, column_name, comment FROM duckdb_columns() WHERE comment IS NOT NULL"
    with ivm.connect(tmp_path / "shop.ivm", compile="off") as db:
        db.sql("CREATE SCHEMA s; CREATE TABLE s.t (x INTEGER, y INTEGER); CREATE TEMP TABLE fleeting (x INTEGER)")
        db.sql(
            "CREATE MATERIALIZED VIEW s.v AS SELECT x, y FROM s.t; CREATE MATERIALIZED VIEW s.w AS SELECT x FROM s.v"
        )
        db.sql("COMMENT ON COLUMN s.t.x IS 'one'; COMMENT ON COLUMN s.w.x IS 'seen'")
        db.sql("INSERT INTO s.t VALUES (1, 2); INSERT INTO fleeting VALUES (3)")
        db.sql("ALTER TABLE s.t RENAME COLUMN x TO z; ALTER TABLE s.t RENAME TO u; USE s")
        db.sql("CREATE OR REPLACE VIEW v AS SELECT z AS x, y FROM u")
        db.sql("ALTER TABLE fleeting ADD COLUMN more INTEGER DEFAULT 7; ALTER TABLE fleeting RENAME TO brief")
        assert db.sql("SELECT * FROM brief").fetchall() == [(3, 7)]
        assert sorted(db.sql(told).fetchall()) == [("s", "u", "z", "one"), ("s", "w", "x", "seen")]
        db.verify()
    with ivm.connect(tmp_path / "shop.ivm", compile="off") as db:
        assert sorted(db.sql(told).fetchall()) == [("s", "u", "z", "one"), ("s", "w", "x", "seen")]
        assert db.view("s.w").fetchall() == [(1,)]
        assert [each.name for each in db.tables()] == ["s.u"]

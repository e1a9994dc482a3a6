"""Schemas beyond what a script shows: the Python interface, what is on disk, what is refused."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import ivm
from catalog.catalog import Catalog
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
        db.verify()
        with pytest.raises(ivm.Error, match="gone"):
            db.sql("SELECT * FROM gone.t")


def test_databases_of_before_have_main_alone() -> None:
    head = definition_of(Catalog())
    del head["schemas"]
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
        with pytest.raises(ivm.UnsupportedError, match="macros are in no schema"):
            db.sql("CREATE MACRO s.one() AS 1")

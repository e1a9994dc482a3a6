"""The numbers of sequences are given once: over threads, in transactions, after a crash."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest

import ivm


def test_no_number_is_given_twice_after_a_crash(tmp_path: Path) -> None:
    path, copy = tmp_path / "db", tmp_path / "copy"
    with ivm.connect(path, compile="off") as db:
        db.sql("CREATE SEQUENCE s; CREATE TABLE t (id BIGINT PRIMARY KEY DEFAULT nextval('s'), x INTEGER)")
        db.apply({"t": [{"x": 1}, {"x": 2}]})
        db.sql("INSERT INTO t (x) SELECT * FROM range(150)")
        last = db.sql("SELECT nextval('s')").fetchall()[0][0]
        assert last == 153
        shutil.copytree(path, copy)
    with ivm.connect(copy, compile="off") as db:
        with pytest.raises(ivm.BindError, match="not yet defined in this session"):
            db.sql("SELECT currval('s')")
        assert db.sql("SELECT nextval('s')").fetchall()[0][0] > last
        db.sql("INSERT INTO t (x) VALUES (1)")
    with ivm.connect(path, compile="off") as db:  # which was closed: so none is lost
        assert db.sql("INSERT INTO t (x) VALUES (1) RETURNING id").fetchall() == [(last + 1,)]
        db.sql("CHECKPOINT; CREATE SEQUENCE other CYCLE MAXVALUE 3; SELECT nextval('other') FROM range(3)")
    with ivm.connect(path, compile="off") as db:
        assert db.sql("SELECT nextval('other'), nextval('s')").fetchall() == [(1, last + 2)]
        db.sql("CREATE OR REPLACE SEQUENCE other START 7")
    with ivm.connect(path, compile="off") as db:
        assert db.sql("SELECT nextval('other')").fetchall() == [(7,)]


@pytest.mark.parametrize("again", ["DROP SEQUENCE s; CREATE SEQUENCE s", "CREATE OR REPLACE SEQUENCE s"])
def test_a_sequence_that_comes_again_is_written_down_again(again: str, tmp_path: Path) -> None:
    path, copy = tmp_path / "db", tmp_path / "copy"
    with ivm.connect(path, compile="off") as db:
        db.sql("CREATE SEQUENCE s; SELECT nextval('s') FROM range(3)")
        for _ in range(2):
            db.sql(again)
            assert db.sql("SELECT nextval('s') FROM range(2)").fetchall() == [(1,), (2,)]
        shutil.copytree(path, copy)
    with ivm.connect(copy, compile="off") as db:
        assert db.sql("SELECT nextval('s')").fetchall()[0][0] > 2


def test_those_in_schemas_are_kept_and_what_is_temporary_is_not(tmp_path: Path) -> None:
    with ivm.connect(tmp_path / "db", compile="off") as db:
        db.sql("CREATE SCHEMA shop; CREATE SEQUENCE shop.s START 5; CREATE TEMP SEQUENCE s START 90; USE shop")
        db.sql("CREATE TABLE t (id BIGINT DEFAULT nextval('shop.s'), x INTEGER)")
        assert db.sql("INSERT INTO t (x) VALUES (1), (2) RETURNING id").fetchall() == [(5,), (6,)]
        found = db.sql("SELECT nextval('s'), nextval('temp.s'), nextval('shop.s') AS own")
        assert found.fetchall() == [(90, 91, 7)]
        db.sql("BEGIN; INSERT INTO t (x) VALUES (3); ROLLBACK; CHECKPOINT")
    with ivm.connect(tmp_path / "db", compile="off") as db:
        assert db.sql("INSERT INTO shop.t (x) VALUES (4) RETURNING id").fetchall() == [(9,)]
        with pytest.raises(ivm.Error, match="s does not exist"):
            db.sql("SELECT nextval('s')")
        assert db.sql("USE shop; SELECT nextval('s')").fetchall() == [(10,)]
        with pytest.raises(ivm.BindError, match="a DEFAULT"):
            db.sql("DROP SEQUENCE s")
        db.sql("USE main; DROP SCHEMA shop CASCADE; CREATE SCHEMA shop; CREATE SEQUENCE shop.s")
        assert db.sql("SELECT nextval('shop.s')").fetchall() == [(1,)]


def test_threads_share_a_sequence() -> None:
    with ivm.connect(compile="off") as db:
        db.sql("CREATE SEQUENCE s; CREATE TABLE t (id BIGINT PRIMARY KEY DEFAULT nextval('s'), x INTEGER)")
        found = list[int]()

        def work(number: int) -> None:
            for _ in range(8):
                if number % 2:
                    found.extend(row[0] for row in db.sql("SELECT nextval('s') FROM range(3)").fetchall())
                else:
                    db.sql("INSERT INTO t (x) VALUES (?), (?)", [number, number])

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        rows = [row for (row,) in db.sql("SELECT id FROM t").fetchall()]
        assert len(found) == 48
        assert sorted(found + rows) == list(range(1, 81))


def test_what_is_undone_leaves_a_gap() -> None:
    with ivm.connect(compile="off") as db:
        db.sql(
            "CREATE SEQUENCE s; CREATE TABLE t (id BIGINT PRIMARY KEY DEFAULT nextval('s'), x INTEGER CHECK (x > 0))"
        )
        with pytest.raises(ivm.ConstraintError):
            db.sql("INSERT INTO t (x) VALUES (1), (-1)")
        db.sql("BEGIN")
        db.sql("INSERT INTO t (x) VALUES (1)")
        assert db.sql("SELECT currval('s')").fetchall() == [(3,)]
        db.sql("ROLLBACK")
        assert db.sql("INSERT INTO t (x) VALUES (1) RETURNING id").fetchall() == [(4,)]


def test_numbers_over_shards() -> None:
    with ivm.connect(shards=2, compile="off") as db:
        db.sql("CREATE SEQUENCE s; CREATE TABLE t (id BIGINT PRIMARY KEY DEFAULT nextval('s'), x INTEGER)")
        db.sql("INSERT INTO t (x) VALUES (5), (6)")
        assert sorted(db.sql("SELECT id, x, nextval('s') > 2 FROM t").fetchall()) == [(1, 5, True), (2, 6, True)]
        assert "ivm_sequences" not in [name for (name,) in db.sql("SHOW TABLES").fetchall()]


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        ("CREATE SEQUENCE", ivm.ParseError, "name of a sequence"),
        ("CREATE SEQUENCE x START", ivm.ParseError, "whole number after START"),
        ("CREATE SEQUENCE x START 1.5", ivm.ParseError, "whole number after START"),
        ("CREATE SEQUENCE x NO START", ivm.ParseError, "expected CYCLE"),
        ("CREATE OR REPLACE SEQUENCE IF NOT EXISTS x", ivm.ParseError, "exclude each other"),
        ("CREATE SEQUENCE ivm_x", ivm.BindError, "the engine's own"),
        ("DROP SEQUENCE s CASCADE", ivm.UnsupportedError, "it drops tables|would drop tables"),
        ("INSERT INTO ivm_sequences VALUES ('s', 1)", ivm.BindError, "the engine's own"),
    ],
)
def test_what_is_refused(text: str, kind: type[Exception], said: str) -> None:
    with ivm.connect(compile="off") as db:
        db.sql("CREATE SEQUENCE s")
        with pytest.raises(kind, match=said):
            db.sql(text)
        assert db.sql("SELECT nextval('s')").fetchall() == [(1,)]

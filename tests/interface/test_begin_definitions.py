"""CREATE and DROP between BEGIN and COMMIT: all of it exists with the commit, or none of it ever."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import ivm
from ivm.engine.engine import Engine
from ivm.session.core import Core, engine_of
from ivm.session.database import core_of
from ivm.storage.log import Log

Rows = list[tuple[Any, ...]]
BEFORE = """
    CREATE TABLE t (a INTEGER PRIMARY KEY, b INTEGER);
    INSERT INTO t VALUES (1, 1), (2, 2);
    CREATE MATERIALIZED VIEW v AS SELECT sum(b) AS s FROM t;
    CREATE MATERIALIZED VIEW old AS SELECT count(*) AS n FROM t;
    CREATE TABLE gone (x INTEGER);
    INSERT INTO gone VALUES (1)
"""
STEPS = (
    "CREATE TABLE u (x INTEGER PRIMARY KEY, y INTEGER REFERENCES t (a)) WITH (check_foreign_keys = true)",
    "INSERT INTO t VALUES (3, 30)",
    "INSERT INTO u VALUES (1, 3), (2, 1)",
    "CREATE TABLE c AS SELECT * FROM t WHERE b > 1",
    "CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT 10 * sum(b) AS s FROM t",
    "CREATE MATERIALIZED VIEW j AS SELECT t.a, u.x FROM t JOIN u ON u.y = t.a",
    "CREATE MATERIALIZED VIEW k AS SELECT count(*) AS n FROM j",
    "CREATE MATERIALIZED VIEW of_v AS SELECT s + 1 AS s FROM v",
    "CREATE VIEW p AS SELECT n + 1 AS m FROM k",
    "DROP VIEW old",
    "DELETE FROM gone",
    "DROP TABLE gone",
    "CREATE MACRO f(x) AS x + 1",
    "CREATE TYPE mood AS ENUM ('a', 'b')",
    "CREATE SCHEMA s",
    "CREATE TABLE s.z (m mood)",
    "INSERT INTO s.z VALUES ('a')",
    "UPDATE t SET b = b + 1 WHERE a = 2",
)
READ = ("t", "u", "v", "of_v", "c", "j", "k", "p", "s.z", "(SELECT f(41) AS f)")
WANTED = [
    [(1, 1), (2, 3), (3, 30)],
    [(1, 3), (2, 1)],
    [(340,)],
    [(341,)],
    [(2, 2), (3, 30)],
    [(1, 2), (3, 1)],
    [(2,)],
    [(3,)],
    [("a",)],
    [(42,)],
]


def made(path: Path | None = None) -> ivm.Database:
    db = ivm.connect(path, compile="off")
    db.sql(BEFORE)
    return db


def rows(db: ivm.Database, name: str) -> Rows:
    return sorted(db.sql(f"SELECT * FROM {name}").fetchall())


def all_there_is(db: ivm.Database) -> object:
    """What exists and what is in it, with the time; and what the engine has."""
    core = core_of(db)
    names = [entry.name for entry in core.catalog.content.values()]
    kept = sorted(engine_of(core).tables), sorted(engine_of(core).views), len(engine_of(core).renderer.graph.nodes)
    assert sorted(engine_of(core).renderer.views) == sorted(engine_of(core).views)
    return names, [rows(db, name) for name in names], list(core.catalog.types), list(core.catalog.macros), db.time, kept


@pytest.mark.parametrize("place", ["memory", "disk"])
def test_all_of_it_is_there_with_the_commit(place: str, tmp_path: Path) -> None:
    path = tmp_path / "db.ivm" if place == "disk" else None
    db = made(path)
    before, time = all_there_is(db), db.time
    with ThreadPoolExecutor(1) as other, db.subscribe("v") as told, db.subscribe("old") as ended:
        db.begin()
        for step in STEPS:
            db.sql(step)
        assert [rows(db, name) for name in READ] == WANTED
        assert other.submit(all_there_is, db).result() == before
        db.commit()
        assert [rows(db, name) for name in READ] == WANTED
        assert db.time == time + 1
        changes = [tuple(row.values()) for row in told.fetch().to_pylist()]
        assert sum(value * diff for value, _, diff in changes) == 340 - 3
        assert {at for _, at, _ in changes} == {db.time}
        ended.fetch()
        with pytest.raises(ivm.ViewDroppedError):
            ended.fetch()
        db.verify()
        db.sql("INSERT INTO t VALUES (4, 4); INSERT INTO u VALUES (5, 4)")
        assert rows(db, "k") == [(3,)]
        assert [next(iter(row.values())) for row in told.fetch().to_pylist()] == [340, 380]
        db.verify()
    if path is not None:
        there = all_there_is(db)
        copy = tmp_path / "copy.ivm"
        shutil.copytree(path, copy, ignore=shutil.ignore_patterns("LOCK"))
        with ivm.connect(copy, compile="off") as again:  # as after a crash: the log alone
            assert all_there_is(again)[:5] == there[:5]  # type: ignore[index]
            again.verify()
        db.close()
        with ivm.connect(path, compile="off") as again:
            assert all_there_is(again)[:5] == there[:5]  # type: ignore[index]
            again.verify()


def test_what_is_temporary_is_in_no_log(tmp_path: Path) -> None:
    db = made(tmp_path / "db.ivm")
    db.sql(
        "BEGIN; CREATE TEMP TABLE passing (x INTEGER); INSERT INTO passing VALUES (1), (2); INSERT INTO t VALUES (8, 8)"
    )
    db.sql("CREATE TEMP VIEW p AS SELECT count(*) AS n FROM passing; CREATE TABLE lasting (x INTEGER)")
    db.sql("INSERT INTO lasting SELECT * FROM passing; COMMENT ON TABLE lasting IS 'that lasts'; COMMIT")
    assert rows(db, "p") == [(2,)]
    db.close()
    with ivm.connect(tmp_path / "db.ivm", compile="off") as again:
        assert rows(again, "lasting") == [(1,), (2,)]
        assert (8, 8) in rows(again, "t")
        with pytest.raises(ivm.BindError):
            rows(again, "passing")


def test_rolled_back_nothing_is_left() -> None:
    db = made()
    before = all_there_is(db)
    for after in range(1, len(STEPS) + 1, 4):
        db.sql("BEGIN")
        for step in STEPS[:after]:
            db.sql(step)
        db.rollback()
        assert all_there_is(db) == before
    with pytest.raises(ivm.BindError, match="u"):
        rows(db, "u")


@pytest.mark.parametrize(
    ("last", "error", "message"),
    [
        ("INSERT INTO u VALUES (9, 99)", ivm.ConstraintError, "FOREIGN KEY"),
        ("CREATE MATERIALIZED VIEW bad AS SELECT 1 // (b - 1) AS x FROM t", ivm.NumericError, "bad"),
    ],
)
def test_a_commit_that_fails_leaves_nothing(last: str, error: type[ivm.Error], message: str, tmp_path: Path) -> None:
    db = made(tmp_path / "db.ivm")
    before = all_there_is(db)
    with pytest.raises(error, match=message):
        db.sql(f"BEGIN; {'; '.join(STEPS)}; {last.replace('1 //', 'CAST(1 AS INTEGER) %')}; COMMIT")
    if db.in_transaction:
        db.rollback()
    assert all_there_is(db) == before
    db.sql(f"BEGIN; {'; '.join(STEPS)}; COMMIT")
    assert [rows(db, name) for name in READ] == WANTED
    db.close()


def test_others_that_define_something_are_first() -> None:
    db = made()
    db.sql("BEGIN; CREATE TABLE u (x INTEGER); INSERT INTO t VALUES (5, 5)")
    with ThreadPoolExecutor(1) as other:
        other.submit(db.sql, "CREATE TABLE w (x INTEGER)").result()
        before = other.submit(all_there_is, db).result()
    with pytest.raises(ivm.TransactionError, match="others have done so"):
        db.commit()
    assert all_there_is(db) == before


@pytest.mark.parametrize("place", ["disk", "shards"])
def test_clocks_retention_and_sequences_come_with_it(place: str, tmp_path: Path) -> None:
    path = tmp_path / "db.ivm" if place == "disk" else None
    db = ivm.connect(path, compile="off", shards=3 if place == "shards" else None)
    db.sql("CREATE TABLE e (id INTEGER PRIMARY KEY, at TIMESTAMP); INSERT INTO e VALUES (1, '2100-01-01 09:30:00')")
    recent = "CREATE MATERIALIZED VIEW recent AS SELECT id FROM e WHERE at > localtimestamp - INTERVAL 1 HOUR"
    for text in (recent, "CREATE SEQUENCE s"):
        db.sql(f"BEGIN; {text}; ROLLBACK")
    assert not [name for name, _ in core_of(db).engine.tables.items() if name.startswith("ivm_")]
    db.tick("2100-01-01 10:00:00")
    db.sql(f"BEGIN; {recent}; INSERT INTO e VALUES (3, '2100-01-01 09:59:00'); CREATE SEQUENCE s START 7")
    db.sql("CREATE TABLE old (id BIGINT DEFAULT nextval('s'), at TIMESTAMP) WITH (retention = '7 days', "
           "retention_column = 'at'); INSERT INTO old (at) VALUES ('2100-01-01'), ('2099-12-01')")  # fmt: skip
    assert (rows(db, "recent"), len(rows(db, "old"))) == ([(1,), (3,)], 2)
    time = db.time
    db.sql("COMMIT")
    assert (rows(db, "recent"), db.time) == ([(1,), (3,)], time + 1)
    if path is not None:
        shutil.copytree(path, tmp_path / "copy.ivm", ignore=shutil.ignore_patterns("LOCK"))
        db.close()
        db = ivm.connect(tmp_path / "copy.ivm", compile="off")  # as after a crash: the log alone
    db.tick("2100-01-01 10:45:00")
    db.sql("INSERT INTO old (at) VALUES ('2100-01-01')")
    assert (rows(db, "recent"), [row[0] for row in rows(db, "old")]) == ([(3,)], [7, 9])
    db.sql("BEGIN; DROP VIEW recent; DROP TABLE old; DROP SEQUENCE s; COMMIT")
    assert db.tick("2100-01-02") == db.time
    db.sql(f"BEGIN; {recent}; CREATE SEQUENCE s; COMMIT")
    assert (rows(db, "recent"), db.sql("SELECT nextval('s')").fetchall()) == ([], [(1,)])
    db.verify()


@pytest.mark.parametrize("fails", [False, True])
def test_others_commit_while_views_are_filled(fails: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    with made() as db, ThreadPoolExecutor(1) as other, db.subscribe("v") as told:
        db.sql("INSERT INTO t SELECT i, i % 50 FROM range(10, 3000) r(i)")
        pauses, before = list[int](), len(engine_of(core_of(db)).renderer.graph.nodes)

        def meanwhile(core: Core, progress: object) -> None:
            def act() -> None:
                number = len(pauses)
                pauses.append(number)
                rows = f"INSERT INTO t VALUES ({5000 + number}, {number}); DELETE FROM t WHERE a = {20 + number}"
                other.submit(db.sql, rows).result()
                assert other.submit(db.view, "v").result().fetchall() == other.submit(rows_of_v).result()
                if fails and number > 1:
                    other.submit(db.sql, "UPDATE t SET b = 7 WHERE a = 1").result()

            core.lock.aside(act)

        def rows_of_v() -> Rows:
            return db.sql("SELECT sum(b) FROM t").fetchall()

        monkeypatch.setattr(Core, "pause", meanwhile)
        db.sql("BEGIN; UPDATE t SET b = b + 1 WHERE a < 3")
        db.sql("CREATE TABLE w AS SELECT a, b FROM t WHERE a < 2000")
        db.sql("CREATE MATERIALIZED VIEW j AS SELECT t.b % 9 AS m, count(*) AS n FROM t JOIN w USING (a) GROUP BY m")
        db.sql("CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT sum(b) AS s FROM t WHERE b < 20; DROP VIEW old")
        db.sql(
            "CREATE MATERIALIZED VIEW top AS SELECT m, n FROM j ORDER BY n DESC, m LIMIT 3; CREATE VIEW p AS FROM top"
        )
        if fails:
            with pytest.raises(ivm.TransactionError, match="changed by others"):
                db.commit()
            monkeypatch.undo()
            assert len(engine_of(core_of(db)).renderer.graph.nodes) == before
            assert "w" not in engine_of(core_of(db)).tables
            db.sql("CREATE TABLE w (x INTEGER)")
        else:
            db.commit()
        monkeypatch.undo()
        assert len(pauses) > 2
        assert sum(row["s"] * row["_diff"] for row in told.fetch().to_pylist()) != 0
        db.sql("DELETE FROM t WHERE a % 3 = 0")
        db.verify()


def test_a_sequence_that_others_have_replaced_is_used_no_more() -> None:
    with made() as db, ThreadPoolExecutor(1) as other:
        db.sql("CREATE SEQUENCE s START 40; BEGIN; DELETE FROM t")
        other.submit(db.sql, "CREATE OR REPLACE SEQUENCE s START 3").result()
        with pytest.raises(ivm.TransactionError, match="others have dropped or replaced"):
            db.sql("SELECT nextval('s')")
        db.rollback()
        assert db.sql("SELECT nextval('s')").fetchall() == [(3,)]


@pytest.mark.parametrize("where", [(Engine, "planned"), (Engine, "_begun"), (Engine, "_settle"), (Log, "keep")])
def test_interrupted_it_has_happened_or_not(
    where: tuple[type, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Before it is decided nothing is left; after that all is there, whoever comes next."""
    db = made(tmp_path / "db.ivm")
    before, owner, name = all_there_is(db), *where
    db.sql(f"BEGIN; {'; '.join(STEPS)}")
    once: list[Callable[..., Any]] = [getattr(owner, name)]

    def interrupted(*given: Any, **named: Any) -> Any:
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(owner, name, interrupted)
    with pytest.raises(KeyboardInterrupt):
        db.commit()
    assert getattr(owner, name) is once[0]
    if "u" in engine_of(core_of(db)).tables:
        assert [rows(db, each) for each in READ] == WANTED
    else:
        assert all_there_is(db) == before
        db.sql(f"BEGIN; {'; '.join(STEPS)}; COMMIT")
    db.verify()
    there = all_there_is(db)
    db.close()
    with ivm.connect(tmp_path / "db.ivm", compile="off") as again:
        assert all_there_is(again)[:5] == there[:5]  # type: ignore[index]

"""What goes on while somebody plans a statement or waits for DuckDB's answer, and what it then amounts to."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import ivm
from ivm.catalog.errors import BindError
from ivm.engine import explained, part
from ivm.session import adhoc, defining, oracle
from ivm.session.core import engine_of
from ivm.session.database import core_of
from ivm.session.sequences import Numbers
from ivm.trace import view_log
from ivm.trace.rows import compaction

LONG = 60.0


@dataclass
class Halt:
    """A function of a module, replaced: the first to call it stops in there until `go`."""

    inside: threading.Event = field(default_factory=threading.Event)
    go: threading.Event = field(default_factory=threading.Event)
    calls: list[int] = field(default_factory=list)

    def around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def halting(*args: Any, **named: Any) -> Any:
            self.calls.append(threading.get_ident())
            if len(self.calls) == 1:
                self.inside.set()
                assert self.go.wait(LONG)
            return function(*args, **named)

        return halting


@contextmanager
def halted(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, work: Callable[[], Any]) -> Iterator[list[Any]]:
    """While the block runs, another thread that does `work` stands still in a function. Then it goes on, and ends.

    Gives the list that holds afterwards what `work` returned or raised.
    """
    halt, ended = Halt(), list[Any]()
    monkeypatch.setattr(module, name, halt.around(getattr(module, name)))

    def run() -> None:
        try:
            ended.append(work())
        except Exception as error:  # noqa: BLE001  looked at by the test
            ended.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        assert halt.inside.wait(LONG)
        yield ended
        assert thread.is_alive()
        assert not ended
    finally:
        halt.go.set()
        thread.join(LONG)
    assert not thread.is_alive()


def _database() -> ivm.Database:
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (id BIGINT PRIMARY KEY, x BIGINT, s VARCHAR); CREATE TABLE u (x BIGINT)")
    db.sql("CREATE MATERIALIZED VIEW total AS SELECT count(*) AS n, sum(x) AS s FROM t")
    db.sql("CREATE VIEW low AS SELECT id FROM t WHERE x < 2")
    db.sql("INSERT INTO t SELECT range, range, 'n' || range FROM range(5)")
    return db


def _others_work(db: ivm.Database) -> None:
    """Commits, reads, asks, subscribes, all done by this thread."""
    present = db.time
    with db.subscribe("total") as changes:
        db.apply({"t": [{"id": 1000 + present, "x": 10, "s": "new"}]})
        assert changes.fetch().num_rows == 2
    assert db.view("total").fetchall()[0][0] > 5
    assert db.time == present + 1


READERS: list[tuple[Any, str, Callable[[ivm.Database], Any], Any]] = [
    (Numbers, "answer", lambda db: db.sql("SELECT count(*) FROM t").fetchall(), [(5,)]),
    (Numbers, "answer", lambda db: db.sql("SELECT t.s, total.n FROM t, total WHERE id = 3").fetchall(), [("n3", 5)]),
    (Numbers, "answer", lambda db: db.sql("SELECT count(*) FROM low").fetchall(), [(2,)]),
    (oracle, "recompute", lambda db: [each.rows for each in db.verify()], [1]),
    (explained, "lower", lambda db: len(db.sql("EXPLAIN SELECT max(x) FROM low, t").fetchall()), 1),
]


@pytest.mark.parametrize("number", range(len(READERS)))
def test_others_commit_and_read_while_an_answer_is_computed(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    module, function, ask, answer = READERS[number]
    db = _database()
    with halted(monkeypatch, module, function, lambda: ask(db)) as ended:
        _others_work(db)
        db.sql("CREATE MATERIALIZED VIEW more AS SELECT x FROM t; DROP VIEW more")
        _others_work(db)
    assert ended[0] == answer


@pytest.mark.parametrize(("module", "function"), [(defining, "bind"), (part, "optimize"), (part, "lower")])
def test_others_commit_and_read_while_a_view_is_planned(
    module: Any, function: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    db = _database()
    create = "CREATE MATERIALIZED VIEW late AS SELECT s, count(*) AS n FROM t, low WHERE t.id = low.id GROUP BY s"
    with halted(monkeypatch, module, function, lambda: db.sql(create)):
        _others_work(db)
        assert db.sql("SELECT count(*) FROM t").fetchall() == [(6,)]
        assert db.sql("UPDATE t SET x = 1 WHERE id = 0").fetchall() == [(1,)]
        assert "mfp" in db.explain("SELECT id + 1 AS i FROM low")
    assert db.view("late").arrow().num_rows == 2
    db.verify()


def test_what_is_read_is_dropped_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    db = _database()
    with halted(monkeypatch, Numbers, "answer", lambda: db.sql("SELECT n FROM total, low").fetchall()) as ended:
        db.sql("DROP VIEW total; DROP VIEW low; DROP TABLE t; CREATE TABLE t (other VARCHAR)")
    assert ended[0] == [(5,), (5,)]


CHANGES = {
    "UPDATE t SET x = x + 1 WHERE x >= 4": [(0, 0), (1, 1), (2, 2), (3, 3), (4, 5), (7, 101)],
    "DELETE FROM t WHERE x > 3": [(0, 0), (1, 1), (2, 2), (3, 3)],
    "INSERT INTO t SELECT 50, count(*), '' FROM t": [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (7, 100), (50, 6)],
    "INSERT INTO t SELECT 50, n, '' FROM total": [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (7, 100), (50, 6)],
    "DELETE FROM t WHERE id NOT IN (SELECT id FROM low)": [(0, 0), (1, 1)],
}


@pytest.mark.parametrize("statement", CHANGES)
def test_no_change_of_others_is_lost(statement: str, monkeypatch: pytest.MonkeyPatch) -> None:
    db = _database()
    looked = _looks(monkeypatch)
    with halted(monkeypatch, Numbers, "answer", lambda: db.sql(statement)) as ended:
        db.apply({"t": [{"id": 7, "x": 100, "s": "other"}]})
    assert not isinstance(ended[0], Exception)
    assert len(looked) == 2
    monkeypatch.undo()
    assert db.sql("SELECT id, x FROM t ORDER BY id").fetchall() == CHANGES[statement]
    db.verify()


@pytest.mark.parametrize("statement", CHANGES)
def test_what_is_not_read_may_change_meanwhile(statement: str, monkeypatch: pytest.MonkeyPatch) -> None:
    db = _database()
    looked = _looks(monkeypatch)
    with halted(monkeypatch, Numbers, "answer", lambda: db.sql(statement)):
        db.apply({"u": [{"x": 1}]})
        with pytest.raises(ivm.ConstraintError):
            db.apply({"t": [{"id": 1, "x": 1, "s": "a second one"}]})
    assert len(looked) == 1


def _looks(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Grows by what is seen whenever somebody takes hold of what he reads."""
    looked: list[Any] = []
    seen = adhoc.seen

    def look(*asked: Any, **more: Any) -> Any:
        looked.append(seen(*asked, **more))
        return looked[-1]

    monkeypatch.setattr(adhoc, "seen", look)
    return looked


def test_a_change_of_a_table_that_is_another_by_now(monkeypatch: pytest.MonkeyPatch) -> None:
    db = _database()
    with halted(monkeypatch, Numbers, "answer", lambda: db.sql("INSERT INTO u SELECT x FROM t")) as ended:
        db.sql("DROP TABLE u; CREATE TABLE u (x VARCHAR, y BIGINT)")
    assert isinstance(ended[0], ivm.Error)
    assert db.sql("SELECT * FROM u").fetchall() == []
    tx = db.transaction()
    tx.insert("u", [{"x": "a", "y": 1}])
    db.sql("DROP TABLE u")
    with pytest.raises(BindError, match="was dropped"), tx:
        pass
    assert db.time == 1


def test_a_view_that_is_another_by_now_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    db = _database()
    with halted(monkeypatch, Numbers, "answer", lambda: db.sql("INSERT INTO u SELECT id FROM low")):
        db.sql("DROP VIEW low; CREATE VIEW low AS SELECT 77 AS id")
    monkeypatch.undo()
    assert db.sql("SELECT x FROM u").fetchall() == [(77,)]


def test_an_interrupt_in_duckdb_leaves_the_lock_free(monkeypatch: pytest.MonkeyPatch) -> None:
    db = _database()

    def interrupted(*_: Any) -> pa.Table:
        raise KeyboardInterrupt

    monkeypatch.setattr(Numbers, "answer", interrupted)
    for statement in ("SELECT 1 FROM t", "DELETE FROM t", "UPDATE t SET x = 0", "INSERT INTO u SELECT 1"):
        with pytest.raises(KeyboardInterrupt):
            db.sql(statement)
    monkeypatch.undo()
    thread = threading.Thread(target=_others_work, args=(db,))
    thread.start()
    thread.join(LONG)
    assert not thread.is_alive()
    assert db.sql("SELECT count(*), sum(x) FROM t").fetchall() == [(6, 20)]


def test_many_update_one_row() -> None:
    db = _database()
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for step in range(8):
                if number == 0:
                    db.sql("CREATE MATERIALIZED VIEW passing AS SELECT x FROM t; DROP VIEW passing")
                elif number == 1:
                    with db.transaction() as tx:
                        tx.upsert("t", [{"id": 100 + step, "x": 0, "s": None}])
                else:
                    db.sql("UPDATE t SET x = x + 1 WHERE id = 3")
        except BaseException as error:  # noqa: BLE001  shown by the test
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG)
    assert not failures
    assert db.sql("SELECT x FROM t WHERE id = 3").fetchall() == [(3 + 3 * 8,)]
    db.verify()


def test_progress_may_ask_and_change() -> None:
    db = _database()
    seen: list[Any] = []

    def progress(_: ivm.Progress) -> None:
        if not seen:
            db.sql("UPDATE t SET x = x + 1 WHERE id IN (SELECT id FROM low)")
            seen.append(db.sql("SELECT sum(x) FROM t").fetchall())
            assert [each.view for each in db.verify()] == ["total"]

    db.sql("CREATE MATERIALIZED VIEW late AS SELECT x FROM t", progress=progress)
    assert seen == [[(12,)]]
    db.verify()


def test_times_are_looked_at_again_when_somebody_was_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    db = _database()
    incoming = core_of(db).incoming
    checked = incoming.change

    def overtaken(*given: Any) -> Any:
        change = checked(*given)
        db.sql("INSERT INTO u VALUES (1)")
        return change

    monkeypatch.setattr(incoming, "change", overtaken)
    with pytest.raises(ivm.ConstraintError, match="_time 2 is not later"):
        db.apply({"t": [{"id": 9, "x": 1, "s": "", "_time": 2}]})
    db.verify()


def test_what_a_reader_has_does_not_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever commits do to the arrays below it: append, undo, kill, compact, put batches together."""
    monkeypatch.setattr(compaction, "FROM_ROWS", 8)
    monkeypatch.setattr(view_log, "_SPARE_ROWS", 16)
    rng = np.random.default_rng(7)
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (id BIGINT PRIMARY KEY, k INTEGER, s VARCHAR, d DECIMAL(9,2), b BOOLEAN, n BIGINT)")
    db.sql("CREATE MATERIALIZED VIEW by_text AS SELECT s, count(*) AS n, sum(d) AS d FROM t GROUP BY s ORDER BY s")
    db.sql("CREATE MATERIALIZED VIEW all_rows AS SELECT * FROM t WHERE b OR s < 'x5'")
    held: list[tuple[pa.Table, list[Any], Callable[[], pa.Table], list[Any]]] = []
    for number in range(60):
        with db.transaction() as tx:
            ids = np.unique(rng.integers(0, 60, 12))
            rows = [
                {"id": int(i), "k": int(i) % 5, "s": f"x{rng.integers(0, 9)}", "d": int(i), "b": bool(i % 3), "n": None}
                for i in ids
            ]
            tx.upsert("t", rows)
        db.sql(f"DELETE FROM t WHERE id % 4 = {number % 4}")
        with pytest.raises(ivm.ConstraintError):
            db.apply({"t": [{"id": 1000, "k": 1, "s": "never", "d": 1, "b": True, "n": 1}] * 2})
        if number % 5 == 0:
            seen = adhoc.seen(core_of(db), ["t", "by_text", "all_rows"])
            for name, read in seen.stored.items():
                rows = db.sql(f"SELECT * FROM {name}").arrow().to_pylist()
                now = engine_of(core_of(db)).tables["t"].arrow() if name == "t" else db.view(name).arrow()
                held.append((now, now.to_pylist(), read, rows))
    for table, rows, read, later in held:
        assert table.to_pylist() == rows
        assert sorted(map(str, read().to_pylist())) == sorted(map(str, later))
    db.verify()

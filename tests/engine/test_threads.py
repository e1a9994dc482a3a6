"""However many threads there are: the same views, the same changes in the same order, the same errors."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ivm
from ivm.session.database import core_of
from ivm.trace.helpers import Errands, Helpers, cores, parts
from ivm.trace.index.index import Index
from tests.engine.test_laws import FEW
from tests.engine.threads import helped
from tests.engine.world import VIEWS, Tables, apply_step, connect, install


@FEW
@given(data=st.data())
@pytest.mark.parametrize("compile", ["off", "wait"])
def test_views_and_their_changes_are_the_same(compile: Any, data: st.DataObject) -> None:
    tables = Tables()
    steps = [tables.draw_step(data) for _ in range(data.draw(st.integers(3, 6)))] + [tables.clear_step()]
    with helped():
        databases = [connect(compile=compile, threads=threads) for threads in (1, 2, 3)]
        for db in databases:
            apply_step(db, steps[0])
            install(db)
        logs = [{name: db.subscribe(name, snapshot=True) for name in VIEWS} for db in databases]
        for step in steps[1:]:
            for db in databases:
                apply_step(db, step)
            databases[-1].verify()
            for name in VIEWS:
                alone, *others = (db.view(name).arrow() for db in databases)
                assert all(alone.equals(other) for other in others)
                alone, *others = (log[name].fetch() for log in logs)
                assert all(alone.equals(other) for other in others)
        for db in databases:
            db.close()


def _rows(first: int, count: int) -> dict[str, pa.Table]:
    ids = np.arange(first, first + count)
    orders = pa.table({"id": ids, "customer": ids * 7919 % 1009, "total": ids % 97})
    return {"orders": orders, "customers": pa.table({"id": ids, "name": [f"c{i}" for i in ids]})}


def _world(threads: int | None) -> ivm.Database:
    db = ivm.connect(compile="off", threads=threads)
    db.sql("CREATE TABLE orders (id BIGINT PRIMARY KEY, customer BIGINT NOT NULL, total BIGINT NOT NULL)")
    db.sql("CREATE TABLE customers (id BIGINT PRIMARY KEY, name VARCHAR NOT NULL)")
    db.sql("""CREATE MATERIALIZED VIEW spent AS SELECT c.name, sum(o.total) AS spent, count(*) AS n
        FROM orders o JOIN customers c ON o.customer = c.id GROUP BY c.name""")
    return db


@pytest.fixture
def worlds() -> Iterator[tuple[ivm.Database, ivm.Database]]:
    alone, together = _world(1), _world(2)
    for db in (alone, together):
        db.apply(_rows(0, 40_000))
    yield alone, together
    together.close()
    alone.close()


def test_only_many_rows_are_worked_on_by_several_threads() -> None:
    def helpers() -> set[threading.Thread]:
        return {thread for thread in threading.enumerate() if thread.name.startswith("ivm-")}

    before, together = helpers(), _world(3)
    together.apply(_rows(0, 1000))
    assert helpers() <= before
    together.apply(_rows(1000, 20_000))
    begun = helpers() - before
    assert len(begun) == 2
    together.close()
    alone = _world(1)
    alone.apply(_rows(0, 20_000))
    assert helpers() <= before | begun


@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
def test_what_a_helper_raises_undoes_the_commit(
    worlds: tuple[ivm.Database, ivm.Database], error: type[BaseException]
) -> None:
    _, together = worlds
    before = together.view("spent").arrow()
    insert = Index.insert_packed

    def failing(*given: Any) -> bool:
        insert(*given)
        raise error("halfway")

    with patch.object(Index, "insert_packed", failing), pytest.raises(error, match="halfway"):
        together.apply(_rows(50_000, 20_000))
    assert together.view("spent").arrow().equals(before)
    together.apply(_rows(50_000, 20_000))
    together.verify()


@pytest.fixture
def interrupts() -> Iterator[None]:
    """Ctrl-C interrupts, also where the tests were started in the background, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interrupts")
def test_who_is_interrupted_waits_for_the_helpers(worlds: tuple[ivm.Database, ivm.Database]) -> None:
    _, together = worlds
    before = together.view("spent").arrow()
    insert, at_it = Index.insert_packed, list[int]()

    def slow(*given: Any) -> bool:
        me = threading.get_ident()
        at_it.append(me)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.2)
        done = insert(*given)
        at_it.remove(me)
        return done

    with patch.object(Index, "insert_packed", slow), pytest.raises(KeyboardInterrupt):
        together.apply(_rows(50_000, 20_000))
    assert set(at_it) <= {threading.get_ident()}, "a helper is still at it"
    assert together.view("spent").arrow().equals(before)
    together.apply(_rows(50_000, 20_000))
    together.verify()


def test_a_refusal_is_the_same(worlds: tuple[ivm.Database, ivm.Database]) -> None:
    ids = np.arange(70_000, 90_000)
    letters = [f"c{i}" for i in ids]
    bad = [letters[i] if i != 15_000 else b"\xff\xfe" for i in range(len(ids))]
    wrong = pa.array([each if isinstance(each, bytes) else each.encode() for each in bad], pa.binary()).view(
        pa.string()
    )
    twice = np.where(ids == 80_000, 3, ids)
    for rows in (
        {"customers": pa.table({"id": ids, "name": wrong})},
        {"customers": pa.table({"id": twice, "name": letters})},
        {"orders": pa.table({"id": ids, "customer": np.full(20_000, 5), "total": np.full(20_000, 1 << 62)})},
    ):
        said = []
        for db in worlds:
            try:
                db.apply(rows)
                said.append("")
            except ivm.Error as error:
                said.append(f"{type(error).__name__}: {error}")
        assert said[0] == said[1]
        worlds[1].verify()


def test_two_databases_and_two_callers_help_themselves() -> None:
    databases = [_world(2), _world(3)]

    def fill(db: ivm.Database, begin: int) -> None:
        for first in range(begin, begin + 200_000, 40_000):
            db.apply(_rows(first, 20_000))

    callers = [threading.Thread(target=fill, args=(db, begin)) for db in databases for begin in (0, 20_000)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    for db in databases:
        assert len(db.view("spent").fetchall()) == 1009
        db.verify()
        db.close()


def test_it_is_closed_while_others_work() -> None:
    db = _world(2)

    def fill() -> None:
        with pytest.raises(ivm.InterfaceError):
            for first in range(0, 20_000_000, 20_000):
                db.apply(_rows(first, 20_000))

    caller = threading.Thread(target=fill)
    caller.start()
    time.sleep(0.3)
    db.close()
    caller.join(30)
    assert not caller.is_alive()


_FORKED = """
import os, sys
from tests.engine.test_threads import _rows, _world
db = _world(2)
db.apply(_rows(0, 20_000))
child = os.fork()
db.apply(_rows(20_000, 20_000))
db.verify()
if child == 0:
    sys.stdout.flush()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print("both")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_child_begins_its_own_threads_and_the_process_ends_with_a_database_open() -> None:
    done = subprocess.run([sys.executable, "-c", _FORKED], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.split() == ["both"], done.stderr


@pytest.mark.parametrize("threads", [0, -1, 1.5, "two", True, 1 << 63])
def test_a_number_of_threads_that_is_none_is_refused(threads: Any) -> None:
    with pytest.raises(ivm.TypeMismatchError, match="threads is"):
        ivm.connect(threads=threads)


def test_by_default_there_is_one_and_none_is_one_for_each_processor() -> None:
    assert core_of(ivm.connect()).engine.helpers.threads == 1
    assert core_of(ivm.connect(threads=None)).engine.helpers.threads == cores() >= 1


def test_the_first_error_is_raised_whoever_was_first() -> None:
    errands = Errands(Helpers(3))

    def late(number: int) -> None:
        time.sleep(0.02 * (3 - number))
        raise ValueError(number)

    for _ in range(5):
        with pytest.raises(ValueError, match="0"):
            errands.all([partial(late, number) for number in range(4)])
    assert not errands.out


@given(st.integers(1, 200_000))
def test_parts_are_all_rows_in_order(rows: int) -> None:
    covered = [i for part in parts(rows) for i in (part.start, part.stop)]
    assert covered[0] == 0
    assert covered[-1] == rows
    assert covered == sorted(covered)

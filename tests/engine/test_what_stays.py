"""What comes and goes leaves nothing behind: not what was prepared for it, nor what it held, nor the dead of others."""

from __future__ import annotations

import gc
import os
import platform
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from weakref import ref

import pyarrow as pa
import pytest

import ivm
from ivm.analysis.ranges import can_raise, value_range
from ivm.catalog.types import BIGINT
from ivm.plan.identity import Identities
from ivm.session.core import engine_of
from ivm.session.database import core_of
from ivm.sql.ir.scalar import Call, Column, Literal
from ivm.trace.helpers import Errand, Helpers
from ivm.trace.rows import compaction


def sum_of(number: int) -> Call:
    return Call("add", (Column(0, BIGINT), Literal(number, BIGINT)), BIGINT)


def no_thread(_: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


@pytest.mark.parametrize("kind", ["of one thread", "closed", "without a thread to be had"])
def test_errands_that_no_helper_will_take_are_let_go_of(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    helpers = Helpers(1 if kind == "of one thread" else 2)
    if kind == "closed":
        helpers.close()
    if kind == "without a thread to be had":
        monkeypatch.setattr(threading.Thread, "start", no_thread)

    def work() -> int:
        return 7

    errand, held = Errand(work), ref(work)
    helpers.put(errand)
    del work
    del errand
    gc.collect()
    assert held() is None


def test_facts_of_an_expression_go_with_it() -> None:
    whole = sum_of(1)
    assert can_raise(whole)
    assert value_range(whole) is not None
    held = ref(whole)
    del whole
    assert held() is None


def test_the_identities_of_plans_go_that_nobody_asks_for() -> None:
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (a BIGINT)")
    db.sql("CREATE MATERIALIZED VIEW v AS SELECT a + 1 AS b FROM t")
    plan, identities = engine_of(core_of(db)).views["v"].plan, Identities()
    known = identities.of(plan)
    identities.forget()
    assert identities.of(plan) is known
    db.sql("DROP VIEW v")
    held = ref(plan)
    del plan
    identities.forget()
    identities.forget()
    gc.collect()
    assert held() is None


def test_a_checkpoint_holds_nothing_of_what_is_dropped_after_it(tmp_path) -> None:
    db = ivm.connect(tmp_path / "db", compile="off")
    db.sql("CREATE TABLE t (a BIGINT); CREATE TABLE u (a BIGINT); INSERT INTO t VALUES (1); INSERT INTO u VALUES (1)")
    db.sql("CREATE MATERIALIZED VIEW v AS SELECT a, count(*) AS n FROM t GROUP BY a")
    db.sql("CHECKPOINT")
    engine = engine_of(core_of(db))
    held = ref(engine.views["v"].log), ref(engine.tables["u"].store.columns)
    db.sql("DROP VIEW v; DROP TABLE u")
    gc.collect()
    assert [each() for each in held] == [None, None]
    db.sql("INSERT INTO t VALUES (2); CHECKPOINT")
    db.close()
    with ivm.connect(tmp_path / "db", compile="off") as again:
        assert again.sql("SELECT a FROM t ORDER BY a").fetchall() == [(1,), (2,)]


def test_what_is_prepared_for_tables_goes_with_them(tmp_path) -> None:
    db = ivm.connect(tmp_path / "db", durability="off", compile="off")

    def come_and_go(first: int) -> tuple[int, int]:
        for number in range(first, first + 30):
            db.sql(f"CREATE TABLE t{number} (a BIGINT DEFAULT {number})")
            db.apply({f"t{number}": pa.table({"a": [number]})})
            db.sql(f"DROP TABLE t{number}")
        gc.collect()
        kinds = Counter(type(each).__name__ for each in gc.get_objects())
        return kinds["Intake"], kinds["Table"]

    before = come_and_go(0)
    assert come_and_go(30) == before
    assert before[0] <= 2


def test_rows_that_die_go_however_much_of_the_time_views_are_being_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "FROM_ROWS", 1 << 7)
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (id BIGINT PRIMARY KEY, g BIGINT, s VARCHAR)")
    db.sql("CREATE MATERIALIZED VIEW low AS SELECT g, min(s) AS a FROM t GROUP BY g")
    store, commits = engine_of(core_of(db)).tables["t"].store, iter(range(10**6))

    def commit() -> None:
        number = next(commits)
        rows = [{"id": (number * 20 + i) % 100, "g": i, "s": f"text {number} {i}"} for i in range(20)]
        db.apply({"t": rows}, mode="upsert")

    def commits_meanwhile() -> Callable[[object], None]:
        numberings = []

        def progress(_: object) -> None:
            for _ in range(9):
                commit()
                numberings.append(store.columns.numbering)
            assert len(set(numberings)) == 1, "what reads by number finds the same rows"

        return progress

    for _ in range(5):
        commit()
    for _ in range(25):
        db.sql("CREATE MATERIALIZED VIEW passing AS SELECT id FROM t WHERE g > 3", progress=commits_meanwhile())
        db.sql("DROP VIEW passing")
        commit()
        assert store.rows < 5000, "of which 100 live"
    db.verify()


def test_what_dies_while_room_is_made_does_not_have_it_begin_again() -> None:
    db, living, step = ivm.connect(compile="off"), 40_000, 1000
    db.sql("CREATE TABLE t (id BIGINT PRIMARY KEY, x BIGINT)")
    db.apply({"t": {"id": range(living), "x": range(living)}})
    store, most = engine_of(core_of(db)).tables["t"].store, 0
    for first in range(0, 3 * living, step):
        with db.transaction() as tx:
            tx.insert("t", {"id": range(living + first, living + first + step), "x": range(step)})
            tx.delete("t", {"id": range(first, first + step)})
        most = max(most, store.rows)
    assert most < 1.65 * living, "a third is dead when it begins"
    db.verify()


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other allocators have no arenas")
def test_threads_that_come_and_go_leave_no_arenas(tmp_path) -> None:
    told = tmp_path / "arenas.xml"
    environment = {name: value for name, value in os.environ.items() if name != "MALLOC_ARENA_MAX"}
    subprocess.run([sys.executable, "-c", ARENAS, str(told)], check=True, env=environment)
    assert 0 < told.read_text().count("<heap nr=") <= 2, "one, and that of a thread of a library"


ARENAS = """
import ctypes, sys, threading
import ivm

ivm.connect(compile="off")
gate = threading.Barrier(4 * 9)

def allocate():
    held = [bytearray(100_000) for _ in range(50)]
    gate.wait()

threads = [threading.Thread(target=allocate) for _ in range(gate.parties)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
file = ctypes.c_void_p(libc.fopen(sys.argv[1].encode(), b"w"))
libc.malloc_info(0, file)
libc.fclose(file)
"""
"""As many threads at once as glibc would make arenas for on four cores, and who tells how many it has made."""

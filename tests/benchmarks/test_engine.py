"""Commits are timed, those that need a compiler apart."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from ivm.benchmarks import engine
from ivm.benchmarks.engine import Commits
from ivm.benchmarks.process import BenchmarkError
from ivm.render.scalars.cache import find

LOOP = """
from ivm.kernels.compiling.compiled import njit
SIGNATURE = "int64(int64)"
@njit(cache=True, nogil=True, fastmath=False)
def loop(x):
    return x  # {never}
"""


class Database:
    """One whose commits look for the machine code of what they are given."""

    def apply(self, tables: dict[str, Any]) -> None:
        for text in tables.values():
            assert find(text) is None


def test_a_commit_that_compiles_is_counted_apart():
    db: Any = Database()
    commits = Commits()
    commits.apply(db, {})
    commits.apply(db, {"t": LOOP.format(never=uuid.uuid4())})
    took = commits.apply(db, {})
    assert len(commits.seconds) == 2
    assert commits.seconds[-1] == took > 0
    assert commits.measured == commits.seconds
    assert commits.apart() == {"measured_commits": 2, "compiled_commits": 1, "compiled_seconds": commits.compiled[0]}


def test_where_all_commits_compiled_they_are_what_there_is():
    db: Any = Database()
    commits = Commits()
    commits.apply(db, {"t": LOOP.format(never=uuid.uuid4())})
    assert commits.measured == commits.compiled
    assert commits.apart()["measured_commits"] == 1


def test_threads_are_told_where_the_engine_takes_them(monkeypatch: pytest.MonkeyPatch):
    told: list[dict[str, Any]] = []

    def with_threads(*, compile: str, sharing: bool, history: int, threads: int) -> None:
        told.append({"threads": threads})

    def without(*, compile: str, sharing: bool, history: int) -> None:
        told.append({})

    monkeypatch.setattr("pyarrow.set_cpu_count", lambda count: None)
    monkeypatch.setattr("ivm.connect", with_threads)
    engine.connect()
    engine.connect(2)
    monkeypatch.setattr("ivm.connect", without)
    engine.connect()
    with pytest.raises(BenchmarkError, match="cannot measure 2 threads"):
        engine.connect(2)
    assert told == [{"threads": 1}, {"threads": 2}, {}]

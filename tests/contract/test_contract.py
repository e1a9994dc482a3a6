"""Every kind of state keeps the contract of `ivm.trace.state`: random steps, marks, rollbacks, seals, readers, segments.

Each change is plain data; the state is compared with what the plainest code computes from all of them.
"""

from __future__ import annotations

import importlib
import pickle
import pkgutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import ivm.trace
from ivm.trace import view_log
from ivm.trace.columns.segment import Segment
from ivm.trace.rows import compaction, retraction, rows
from ivm.trace.rows.row_store import RowStore
from ivm.trace.rows.rows import Rows
from ivm.trace.state import State, StateSize
from ivm.trace.text.dictionary import TextDictionary
from tests.contract.kinds import Kind, kinds
from tests.more import by_day

KINDS = kinds()
ROOT = Path(__file__).parents[2]
_COMMITS = 60
_KEPT = 3


class Life:
    """A state and the changes that it should hold, over many commits."""

    def __init__(self, kind: Kind, seed: int) -> None:
        self.kind = kind
        self.random = Random(seed)
        self.dictionary = TextDictionary()
        self.state = kind.new(self.dictionary)
        self.history: list[tuple[int, Any]] = []
        self.time = 0
        self.readers: list[tuple[int, Callable[[], Any], Any]] = []

    def go_on(self, commits: int) -> None:
        """So many commits, some of which are undone, with all else that may be done between."""
        for _ in range(commits):
            self._commit()
            self._check()
            if self.random.random() < 0.5:
                self._hold()
            if self.random.random() < 0.1:
                self._move()

    def segments(self) -> list[list[pa.RecordBatch]]:
        """Of each state, as they are written."""
        return [[segment.batch for segment in each.segments()] for each in self.kind.states(self.state)]

    def restore(self, written: list[list[pa.RecordBatch]]) -> None:
        """Be born again from what was written, with a dictionary of codes in another order."""
        self.dictionary = TextDictionary()
        self.dictionary.encode(pa.array(["zebra", "yak", "bee", "ä"]))
        self.state = self.kind.blank(self.dictionary)
        for each, batches in zip(self.kind.states(self.state), written, strict=True):
            each.restore(Segment(batch) for batch in batches)

    @property
    def _since(self) -> int:
        return max(self.time - _KEPT, 0)

    def _commit(self) -> None:
        self.time += 1
        states, begun = self.kind.states(self.state), list(self.history)
        marks = [each.mark() for each in states]
        self._steps()
        if self.random.random() < 0.3:
            inner, there = [each.mark() for each in states], list(self.history)
            self._steps()
            if self.random.random() < 0.5:
                self._back(inner, there)
        if self.random.random() < 0.3:
            self._back(marks, begun)
            if self.random.random() < 0.5:
                self._steps()
        for each in states:
            each.seal(self.time + 1, self._since)
            if self.random.random() < 0.1:
                each.seal(self.time + 1, self._since)  # after an interruption

    def _steps(self) -> None:
        for _ in range(self.random.randint(1, 3)):
            change = self.kind.change(self.random, self.time, self.history)
            self.kind.step(self.state, change, self.time)
            self.history.append((self.time, change))

    def _back(self, marks: list[Any], history: list[tuple[int, Any]]) -> None:
        for each, mark in reversed(list(zip(self.kind.states(self.state), marks, strict=True))):
            each.rollback(mark)
            if self.random.random() < 0.3:
                each.rollback(mark)  # after an interruption
        self.history[:] = history

    def _check(self) -> None:
        assert self.kind.contents(self.state) == self.kind.expected(self.history)
        for each in self.kind.states(self.state):
            size = each.size()
            assert isinstance(size, StateSize)
            assert min(size.rows, size.entries, size.bytes) >= 0
        for _, read, expected in self.readers:
            assert read() == expected
        self.readers = [each for each in self.readers if self.random.random() < 0.9]

    def _hold(self) -> None:
        """A reader, who stays for some commits."""
        as_of = self.random.randint(self._since, self.time) if self.kind.keeps_history else self.time
        expected = self.kind.expected([each for each in self.history if each[0] <= as_of])
        read = self.kind.reader(self.state, as_of)
        if self.random.random() < 0.5:
            assert read() == expected
        self.readers.append((as_of, read, expected))

    def _move(self) -> None:
        self.restore(self.segments())
        self._check()


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done to large states now and then is done to small ones too."""
    monkeypatch.setattr(view_log, "_SPARE_ROWS", 20)
    monkeypatch.setattr(view_log, "_LEAST_FUEL", 3)
    monkeypatch.setattr(compaction, "FROM_ROWS", 8)
    monkeypatch.setattr(compaction, "_AT_LEAST", 3)
    monkeypatch.setattr(compaction, "_FOR_EACH", 2)
    monkeypatch.setattr(retraction, "_FOR_EACH", 0)
    monkeypatch.setattr(retraction, "_PART", 0)
    monkeypatch.setattr(rows, "_AT_LEAST", 2)
    monkeypatch.setattr(rows, "_FOR_EACH", 1)
    monkeypatch.setattr(rows, "_LEFT", 1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", by_day(range(4), 2))
def test_a_life(kind: str, seed: int) -> None:
    Life(KINDS[kind], seed).go_on(_COMMITS)


def test_another_process_goes_on(tmp_path: Path) -> None:
    for name, kind in KINDS.items():
        life = Life(kind, 99)
        life.go_on(20)
        folder = tmp_path / name
        folder.mkdir()
        for i, batches in enumerate(life.segments()):
            for j, batch in enumerate(batches):
                with (
                    pa.OSFile(str(folder / f"{i}-{j:06}.arrow"), "wb") as file,
                    pa.ipc.new_file(file, batch.schema) as out,
                ):
                    out.write_batch(batch)
        (folder / "history").write_bytes(pickle.dumps((life.history, life.time)))
    command = [sys.executable, "-m", "tests.contract.elsewhere", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines() == list(KINDS)


def test_each_class_that_keeps_the_contract_is_put_to_it() -> None:
    put = {type(each) for kind in KINDS.values() for each in kind.states(kind.new(TextDictionary()))}
    within: set[type] = {State, Rows, RowStore}  # the contract itself; tables and derived rows
    there = {
        each
        for module in pkgutil.walk_packages(ivm.trace.__path__, "ivm.trace.")
        for each in vars(importlib.import_module(module.name)).values()
        if isinstance(each, type) and hasattr(each, "rollback") and hasattr(each, "segments")
    }
    assert len(there) > len(within)
    assert not [each for each in there - within if not any(issubclass(one, each) for one in put)]

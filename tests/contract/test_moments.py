"""Segments are of the moment in which they were asked for, whatever is committed, freed and given out again meanwhile."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from random import Random
from threading import Event, Thread
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest

from ivm.trace import view_log
from ivm.trace.columns.segment import Segment
from ivm.trace.keyed import group_segments, groups
from ivm.trace.ordered import ordered_tree, window_tree
from ivm.trace.rows import row_store, rows_reader
from ivm.trace.text import sweep
from ivm.trace.text.dictionary import TextDictionary
from ivm.trace.text.sweep import Pace, Sweep
from tests.contract import groups as groups_of_kind
from tests.contract import kinds as kinds_of_state
from tests.contract.kinds import Kind, Stored, kinds
from tests.contract.test_contract import _small

KINDS = kinds()
_CHUNK = 5
small = _small
"""What is done to large states now and then is done to small ones too."""


class Moment:
    """All segments of a state, as of now, to be read later on, and what they should say."""

    def __init__(self, life: Life) -> None:
        self.kind = life.kind
        self.expected = life.kind.expected(life.history)
        self._left = [iter(each.segments()) for each in life.states]
        self._found: list[list[pa.RecordBatch]] = [[] for _ in self._left]
        self._at = 0

    def go_on(self) -> bool:
        """Read one more of them; whether there was one."""
        while self._at < len(self._left):
            segment = next(self._left[self._at], None)
            if segment is not None:
                self._found[self._at].append(segment.batch)
                return True
            self._at += 1
        return False

    def check(self) -> None:
        """What another state that is restored from all of them holds."""
        dictionary = TextDictionary()
        dictionary.encode(pa.array(["zebra", "bee"]))
        state = self.kind.blank(dictionary)
        for each, batches in zip(self.kind.states(state), self._found, strict=True):
            each.restore(Segment(batch) for batch in batches)
        assert self.kind.contents(state) == self.expected


class Life:
    """A state whose texts are freed, and their codes given out again, all the time."""

    def __init__(self, kind: Kind, seed: int) -> None:
        self.kind = kind
        self.random = Random(seed)
        self.dictionary = TextDictionary()
        self.state = kind.new(self.dictionary)
        self.history: list[tuple[int, Any]] = []
        self.time = 0
        self._sweep = Sweep(self.dictionary, lambda: enumerate(self.states))

    @property
    def states(self) -> tuple[Stored, ...]:
        """The states that are kept."""
        return tuple(self.kind.states(self.state))

    def commit(self) -> None:
        """Steps, some of which are undone, a seal, and some sweeping. Most texts come, and soon go for good."""
        self.time += 1
        for module in (kinds_of_state, groups_of_kind):
            module.TEXTS = ("", None, *(f"text {self.time - i}" for i in range(3)))  # type: ignore[attr-defined]
        marks, begun = [each.mark() for each in self.states], list(self.history)
        before = [each.edition for each in self.states]
        self._step()
        if self.random.random() < 0.3:
            for each, mark in reversed(list(zip(self.states, marks, strict=True))):
                each.rollback(mark)
            self.history[:] = begun
            self._step()
        for each in self.states:
            each.seal(self.time + 1, max(self.time - 2, 0))
        if len(self.history) > len(begun) and self.kind.expected(self.history) != self.kind.expected(begun):
            assert [each.edition for each in self.states] != before
        self._brings_texts()
        self._sweep.work()

    def _step(self) -> None:
        change = self.kind.change(self.random, self.time, self.history)
        self.kind.step(self.state, change, self.time)
        self.history.append((self.time, change))

    def _brings_texts(self) -> None:
        """Texts that nobody keeps take the codes of those that have gone."""
        self.dictionary.codes([f"{self.time} {self.random.random()}" for _ in range(3)])


@pytest.fixture(autouse=True)
def _bit_by_bit(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Pieces are small, and a sweep takes a commit or some."""
    for module in (group_segments, ordered_tree, view_log, window_tree):
        monkeypatch.setattr(module, "_CHUNK", _CHUNK)
    for kind in (kinds_of_state, groups_of_kind):
        monkeypatch.setattr(kind, "TEXTS", ())
    for module in (row_store, rows_reader):
        monkeypatch.setattr(module, "SEGMENT_ROWS", _CHUNK)
    monkeypatch.setattr(ordered_tree, "_AT_ONCE", 2)
    monkeypatch.setattr(window_tree, "_AT_ONCE_SAVED", 2)
    monkeypatch.setattr(groups, "_LEAST_RELEASED", 1)
    with patch.object(sweep, "PACE", Pace(least=0, piece=1, growth=0, worth=0, base=1 << 16, rate=0)):
        yield


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(6))
def test_segments_are_of_their_moment(kind: str, seed: int) -> None:
    life, moments = Life(KINDS[kind], seed), list[Moment]()
    for _ in range(60):
        life.commit()
        if life.random.random() < 0.4:
            moments.append(Moment(life))
        for moment in tuple(moments):
            if life.random.random() < 0.2:
                moments.remove(moment)  # forgotten half read, or not read at all
            elif life.random.random() < 0.7 and not moment.go_on():
                moment.check()
                moments.remove(moment)
    for moment in moments:
        while moment.go_on():
            pass
        moment.check()
    assert life.dictionary.strings < 150, "of more than 200, most of which are gone"


@pytest.mark.parametrize("kind", KINDS)
def test_another_thread_reads_them(kind: str) -> None:
    life, errors = Life(KINDS[kind], 77), list[BaseException]()
    moments: list[Moment] = []
    asked, ended = Event(), Event()

    def read() -> None:
        try:
            while not ended.is_set() or moments:
                asked.wait(1)
                asked.clear()
                while moments:
                    moment = moments[0]
                    while moment.go_on():
                        pass
                    moment.check()
                    moments.pop(0)
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    reader = Thread(target=read)
    reader.start()
    try:
        for _ in range(150):
            life.commit()
            if len(moments) < 3:
                moments.append(Moment(life))
                asked.set()
    finally:
        ended.set()
        asked.set()
        reader.join(60)
        sys.setswitchinterval(before)
    assert not errors, errors
    assert not reader.is_alive()

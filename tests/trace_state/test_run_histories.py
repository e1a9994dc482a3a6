"""All short histories of an index with an ascending run: rows come in and out of order, die, are looked for, sealed,
taken back, and come again. Blocks have two rows and each row that leaves the run leaves alone, so that few rows are many.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from ivm.trace.columns.column import NOBODY, Ints
from ivm.trace.index import index as index_module
from ivm.trace.index import run
from ivm.trace.index.index import Index
from ivm.trace.lessons import Lessons, Met
from tests.trace_state.run_invariant import check_run
from tests.trace_state.words import KeysOf

FOREVER = 2**63 - 1
NEVER_ENOUGH = -(10**9)
"""Searches of a run so far, that it never moves to the table."""
BLOCK = 2
KEYS = (0, 1, 2)
Step = tuple[str, tuple[int, ...]]
History = tuple[Step, ...]
THERE: Step = ("in", KEYS)
SEAL: Step = ("seal", ())
BEGINNINGS: tuple[History, ...] = ((), (THERE, SEAL), (THERE, SEAL, ("out", (2,)), SEAL))
FEW: tuple[Step, ...] = (
    ("in", (0,)), ("in", (2,)), ("in", (0, 1)), ("out", (0,)), ("out", (2,)), ("probe", (0,)), ("probe", (-1, *KEYS, 3)), SEAL,
    ("undo", ()),
)  # fmt: skip
MORE: tuple[Step, ...] = (
    *FEW, ("in", (1,)), ("in", (0, 2)), ("in", (1, 2)), ("in", (2, 0)), ("in", KEYS), ("in", (0, 0)), ("in", (2, 2)),
    ("out", (1,)), ("probe", (2,)), ("keep", ()),
)  # fmt: skip


class Life:
    """An index beside the rows of its store: their keys, when they came, and when they died.

    It learns from what is looked for when it is sealed.
    """

    def __init__(self, unique: bool, melts: bool) -> None:
        self.keys: list[int] = []
        self.born: list[int] = []
        self.died: list[int] = []
        self.index = Index(1, unique, KeysOf(self._words))
        if not melts:
            self.index._melting.searched = NEVER_ENOUGH
        self.now = self.since = 1
        self.final: tuple[int, list[int]] = 0, []
        self.before = _words_of(self.index)
        self.lessons = Lessons()

    def learn(self, met: Met) -> None:
        self.index.learn(met, self._deaths())

    def can(self, step: Step) -> bool:
        """Whether a store could do this: keys of a unique index live once, and rows die that live."""
        what, keys = step
        living = {key for key, died in zip(self.keys, self.died, strict=True) if died == FOREVER}
        if what == "in" and self.index.unique:
            return len(set(keys)) == len(keys) and not living & set(keys)
        if what == "out":
            return keys[0] in living
        return what != "undo" or bool(self.lessons) or not self.is_final

    @property
    def is_final(self) -> bool:
        """Whether nothing has come or gone since the last seal."""
        return (len(self.keys), self.died) == self.final

    def do(self, step: Step) -> None:
        what, keys = step
        self.now += 1
        match what:
            case "in":
                self.keys += keys
                self.born += [self.now] * len(keys)
                self.died += [FOREVER] * len(keys)
                self.index.insert(np.array(keys, np.int64), None, self._deaths())
            case "out":
                living = (row for row, died in enumerate(self.died) if died == FOREVER)
                self.died[next(row for row in living if self.keys[row] == keys[0])] = self.now
            case "probe":
                for time in sorted({self.since, self.now}):
                    self._probe(keys, time)
            case "seal" | "keep":  # or else what has died since can still be read
                self.since = self.now if what == "seal" else self.since
                self.index.seal(self.since, self._deaths())
                self.lessons.teach()
                self.final, self.before = (len(self.keys), self.died.copy()), _words_of(self.index)
            case "undo":
                rows, died = self.final
                self.lessons.clear()
                self.index.truncate(rows)
                assert not self.is_final or _words_of(self.index) == self.before, "what was only asked leaves nothing"
                self.keys, self.born, self.died = self.keys[:rows], self.born[:rows], died.copy()
                self.before = _words_of(self.index)

    def check(self) -> None:
        """What has to hold; nothing is written."""
        dead = [died <= self.since for died in self.died]
        check_run(self.index, [(key,) for key in self.keys], dead, block=BLOCK)

    def _probe(self, keys: tuple[int, ...], as_of: int) -> None:
        rows = np.array([sum(born <= as_of for born in self.born)], np.int64)
        asked, times = np.array(keys, np.int64), np.array([as_of], np.int64)
        before = _words_of(self.index)
        with self.lessons:
            positions, found = self.index.probe(asked, None, rows, self._deaths(), times, self)
        assert _words_of(self.index) == before, "a search changes nothing"
        wanted = [
            (position, row)
            for position, key in enumerate(keys)
            for row, died in enumerate(self.died)
            if self.keys[row] == key and self.born[row] <= as_of < died
        ]
        assert sorted(zip(positions.tolist(), found.tolist(), strict=True)) == wanted

    def _words(self, rows: slice) -> Ints:
        return np.array(self.keys, np.int64)[rows].reshape(-1, 1)

    def _deaths(self) -> Ints:
        return np.array(self.died, np.int64) if any(died != FOREVER for died in self.died) else NOBODY


def _words_of(index: Index) -> tuple[bytes, ...]:
    """All that an index keeps."""
    return (
        *(each.tobytes() for each in (index.block, *index._chains.tables, index._chains.following.array)),
        repr((index.rows, index.is_ascending, vars(index._melting))).encode(),
    )


def histories(unique: bool, melts: bool, begun: History, steps: tuple[Step, ...], more: int) -> Iterator[None]:
    """Live through all histories that go on by so many steps, and check each after its last step."""
    for step in steps:
        life = Life(unique, melts)
        for each in begun:
            life.do(each)
        if not life.can(step):
            continue
        history = (*begun, step)
        try:
            life.do(step)
            life.check()
        except Exception as error:
            raise AssertionError(f"unique={unique} melts={melts}: {history}") from error
        yield
        if more > 1:
            yield from histories(unique, melts, history, steps, more - 1)


@pytest.fixture(autouse=True)
def _tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_module, "_AT_ONCE", 1)
    monkeypatch.setattr(run, "FENCED", BLOCK)
    monkeypatch.setattr(run, "_MELT", 1)
    monkeypatch.setattr(run, "_SEARCH", 0)


@pytest.mark.parametrize(
    ("unique", "melts", "steps"), [(True, True, 4), (True, False, 4), (False, True, 3), (False, False, 3)]
)
def test_all_short_histories(unique: bool, melts: bool, steps: int) -> None:
    many = sum(1 for begun in BEGINNINGS for _ in histories(unique, melts, begun, FEW, steps))
    assert many > 1_000


@pytest.mark.slow
@pytest.mark.parametrize("melts", [True, False])
@pytest.mark.parametrize("unique", [True, False])
def test_all_longer_histories(unique: bool, melts: bool) -> None:
    many = sum(1 for begun in BEGINNINGS for _ in histories(unique, melts, begun, MORE, 4))
    assert many > 40_000

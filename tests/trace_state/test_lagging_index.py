"""An index that lags behind its store, interrupted at every line while it catches up: it finds what it should when that
is done again, at once, after a seal, or after the commit was undone.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

from ivm.catalog.types import BIGINT, Physical
from ivm.trace.columns.batch import Batch, Reader, Readers
from ivm.trace.index import arrangement as arrangement_module
from ivm.trace.index.arrangement import Arrangement
from ivm.trace.index.keys import KeyLayout
from ivm.trace.rows.row_store import RowStore
from ivm.trace.text.dictionary import TextDictionary
from ivm.trace.time import stamps
from tests.faults.lines import lines_of, raising

BEFORE, COMING = 23, 9
LAYOUT = KeyLayout(((Physical.INT64, False),), "drop")
KEYS: dict[str, Callable[[int], list[int]]] = {
    "ascending": lambda n: list(range(n)),
    "in pairs": lambda n: [i // 2 for i in range(n)],
    "few": lambda n: [i * i % 5 for i in range(n)],
    "out of order": lambda n: [i * 7 % n for i in range(n)],
    "going on": lambda n: [min(i, 6) for i in range(n)],
}
UNIQUE = ("ascending", "out of order")


class Lagging:
    """A store, of which some rows have died, before and after the last seal, and an index that has none of them."""

    def __init__(self, form: str, unique: bool, known: int) -> None:
        dictionary = TextDictionary()
        self.readers = Readers([Reader(BIGINT, dictionary)])
        self.store = RowStore([BIGINT], dictionary)
        self.arrangement = Arrangement(self.store, (0,), LAYOUT, unique=unique)
        self.keys = KEYS[form](BEFORE + COMING)
        self._append(0, known, 1)
        self.arrangement.catch_up()
        self.seal(1)
        self._append(known, BEFORE, 2)
        self.store.kill(np.array([2, 11]), stamps(2))
        self.store.seal(3, 2)

    def begin(self) -> None:
        """More rows come; some die."""
        self.mark = self.store.mark()
        self._append(BEFORE, BEFORE + COMING, 3)
        self.store.kill(np.array([4, BEFORE + 1]), stamps(3))

    def seal(self, time: int) -> None:
        self.arrangement.seal(time)
        self.store.seal(time + 1, time)

    def undo(self) -> None:
        self.arrangement.truncate(BEFORE)
        self.store.rollback(self.mark)

    def check(self) -> None:
        """Against looking at each row."""
        store, arrangement = self.store, self.arrangement
        assert arrangement.is_whole
        asked = np.arange(-1, max(self.keys) + 2)
        positions, rows = arrangement.probe(asked, None, store.last_time, True)
        found = sorted(zip(asked[positions].tolist(), rows.tolist(), strict=True))
        assert found == sorted((self.keys[row], row) for row in range(store.rows) if store.died[row] == 0)

    def _append(self, first: int, stop: int, time: int) -> None:
        if first < stop:
            rows = pa.record_batch({"k": pa.array(self.keys[first:stop], pa.int64())})
            self.store.append(Batch(rows, self.readers), stop - first, time)


def _in_commit(lagging: Lagging) -> None:
    lagging.arrangement.catch_up()
    lagging.seal(3)


def _sealed(lagging: Lagging) -> None:
    lagging.seal(3)
    lagging.arrangement.catch_up()


def _undone(lagging: Lagging) -> None:
    lagging.undo()
    assert lagging.arrangement.index.rows <= BEFORE
    lagging.arrangement.catch_up()


def _filled(lagging: Lagging) -> None:
    lagging.undo()
    for _ in lagging.arrangement.fill():
        pass


@pytest.mark.parametrize("after", [_in_commit, _sealed, _undone, _filled])
@pytest.mark.parametrize(("form", "unique"), [*((form, False) for form in KEYS), *((form, True) for form in UNIQUE)])
def test_what_is_interrupted_is_caught_up_with(
    form: str, unique: bool, after: Callable[[Lagging], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrangement_module, "_CATCH_UP_ROWS", 6)
    for known in (0, 5):
        whole = Lagging(form, unique, known)
        whole.begin()
        places = lines_of(whole.arrangement.catch_up)
        whole.check()
        assert len(places) > 10
        for place in places:
            lagging = Lagging(form, unique, known)
            lagging.begin()
            for error in (KeyboardInterrupt, MemoryError):
                raising(lagging.arrangement.catch_up, place, error)
            after(lagging)
            lagging.check()
            for _ in range(2):  # go on, and back
                if lagging.store.rows > BEFORE:
                    break
                lagging.begin()
                lagging.arrangement.catch_up()
                lagging.check()
                lagging.undo()
            lagging.check()

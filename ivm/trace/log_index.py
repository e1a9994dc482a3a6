"""Finds updates of a view's log by the values of some columns, for those who ask for few rows of many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import monotonic

import numpy as np
import numpy.typing as npt

from ivm.trace.columns.column import Column, Ints
from ivm.trace.updates import Updates

Words = npt.NDArray[np.uint64]
Places = tuple[int, ...]
"""Columns of a log, by their places."""

_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_PLACE = np.uint64((1 << 36) - 1)
_HASH = ~_PLACE
"""The bits of a word that say where an update lies, and those of its hash above them."""
_TAIL = 1 << 10
"""So many updates behind those that an index has are looked at one by one."""
_CHUNK = 1 << 16
_MOST = 4
"""So many ways of asking are remembered for each log."""
_SECONDS = 600.0
"""An index of which nobody asks for so long is let go of."""


@dataclass(frozen=True, slots=True)
class _Index:
    """The first `length` updates of a log, which are these `updates`: runs of words in order, each the hash of an
    update and where it lies. A run has at least twice the words of the next.
    """

    updates: Updates
    length: int
    runs: tuple[Words, ...] = ()


class LogIndex:
    """Where updates lie that have some values in `columns`.

    What it holds is a memo of what is sealed: whoever asks makes it and goes on with it, in any thread and without a
    lock, and puts it here by one store; the one that comes last stays. Size: a word for each update.
    """

    def __init__(self, columns: Places) -> None:
        self._columns = columns
        self._index: _Index | None = None
        self.asked = monotonic()

    @property
    def nbytes(self) -> int:
        """Bytes of the words."""
        index = self._index
        return 0 if index is None else sum(run.nbytes for run in index.runs)

    def catch_up(self, updates: Updates, length: int) -> None:
        """Have all that is sealed, but for a few. Cost: hashes and sorts what is new; now and then, merges with it what
        is there, a few accesses of each update in the end.
        """
        index = self._index
        if index is None or index.updates is not updates:
            index = _Index(updates, 0)
        if length - index.length <= _TAIL:
            return
        new = np.arange(index.length, length, dtype=np.uint64)
        for begin in range(index.length, length, _CHUNK):
            end = min(begin + _CHUNK, length)
            new[begin - index.length : end - index.length] |= self._hashed(updates, begin, end)
        new.sort()
        runs = index.runs
        while runs and len(runs[-1]) < 2 * len(new):
            new = np.concatenate([runs[-1], new])
            new.sort(kind="stable")  # which merges what is in order
            runs = runs[:-1]
        self._index = _Index(updates, length, (*runs, new))

    def find(self, updates: Updates, length: int, wanted: Sequence[Column], most: int) -> Ints | None:
        """The updates that have one of some rows of values in the columns, and maybe some others, in their order.

        `wanted`: the values as columns, texts in codes of the log's. None if it is not known, or if they are more than
        `most`. Cost: a binary search for each, and a look at those that are not in the index yet.
        """
        index = self._index
        if index is None or index.updates is not updates:
            return None
        self.asked = monotonic()
        hashes = hashes_of(wanted) & _HASH
        found = [np.empty(0, np.uint64)]
        for run in index.runs:
            begins, ends = run.searchsorted(hashes), run.searchsorted(hashes | _PLACE, "right")
            if int((ends - begins).sum()) > most:
                return None
            found += [run[begin:end] & _PLACE for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)]
        known = np.unique(np.concatenate(found)).view(np.int64)
        early = known[: np.searchsorted(known, length)]
        if length <= index.length:
            return early
        late = np.flatnonzero(np.isin(self._hashed(updates, index.length, length), hashes))
        return np.concatenate([early, index.length + late])

    def tidy(self, updates: Updates) -> None:
        """Let go of what is known of another log, or was not asked for long."""
        index = self._index
        if index is not None and (index.updates is not updates or monotonic() - self.asked > _SECONDS):
            self._index = None

    def _hashed(self, updates: Updates, begin: int, end: int) -> Words:
        """The hashes of the updates from `begin` to `end`."""
        columns, _, _ = updates.part(begin, end)
        return hashes_of([columns[each] for each in self._columns]) & _HASH


class LogIndexes:
    """The indexes of a log: those by which it was asked for last, a few."""

    def __init__(self) -> None:
        self._of: Mapping[Places, LogIndex] = {}  # which nobody writes to

    def __bool__(self) -> bool:
        return bool(self._of)

    @property
    def nbytes(self) -> int:
        """Bytes of all."""
        return sum(each.nbytes for each in self._of.values())

    def asked(self, columns: Places, updates: Updates, length: int) -> LogIndex | None:
        """What finds updates by the values of columns, up to date; None where nobody has asked for that before.

        Any thread may ask, and needs no lock. Cost: none where nothing has changed; see `LogIndex.catch_up`.
        """
        known = self._of.get(columns)
        if known is None:
            kept = sorted(self._of.items(), key=lambda each: each[1].asked)[1 - _MOST :]
            self._of = {**dict(kept), columns: LogIndex(columns)}
        else:
            known.catch_up(updates, length)
        return known

    def tidy(self, updates: Updates) -> None:
        """Let go of what is of no use any more. Called when the log is sealed."""
        for each in self._of.values():
            each.tidy(updates)


def hashes_of(columns: Sequence[Column]) -> Words:
    """Equal for rows that are equal in all columns."""
    found = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        values = column.values
        if values.dtype.kind == "f":
            values = np.where(np.isnan(values), np.float64(0.5), np.add(values, 0.0))  # which makes 0.0 of -0.0
        for word in [values] if values.ndim == 1 else list(values.T):
            found = (found ^ np.ascontiguousarray(word, _whole(word)).view(np.uint64)) * _FACTOR
            found ^= found >> np.uint64(29)
    return found


def _whole(word: npt.NDArray[np.generic]) -> type[np.generic]:
    return np.float64 if word.dtype.kind == "f" else np.uint64 if word.dtype == np.uint64 else np.int64

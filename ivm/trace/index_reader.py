"""Looking keys up in an index without writing anything, while others may change it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ivm.kernels.hashing.index import hash_rows
from ivm.kernels.hashing.probe import absent_keys, probe_rows
from ivm.kernels.types import Hashes
from ivm.trace.chains import Tables
from ivm.trace.column import Bools, Ints
from ivm.trace.growable import Growable
from ivm.trace.run import RunReader

_ALL = np.empty(0, np.bool_)
_NOTHING = np.empty(0, np.int64)
_NO_SEARCH = 0, _NOTHING, _NOTHING, _NOTHING
_MOST_LONG = 1024
"""How many long chains a probe tells of."""


class Lesson(NamedTuple):
    """What a probe had to do that maintenance can spare the next one: `absent` keys were looked for in the run.

    `words` are those that were found there, in the lengths[i] rows from firsts[i] on; `long` the words of keys whose
    chains are full of dead rows.
    """

    absent: int
    words: Ints
    firsts: Ints
    lengths: Ints
    long: Ints


class Found(NamedTuple):
    """Rows of keys: (position of the key, row), by position. `visited`: how many entries were met."""

    positions: Ints
    rows: Ints
    visited: int
    lesson: Lesson | None


class IndexReader(NamedTuple):
    """An index as it is now, for keys as of times that are sealed, whatever is done to the index meanwhile.

    It holds the arrays that it saw; in them rows are only added in front of chains, or taken out for whom nobody asks.
    `undone` counts how often rows were taken back, whose numbers other rows may have got since.
    """

    words: int
    unique: bool
    since: int
    tables: Tables
    following: Growable[np.int32]
    run: RunReader
    undone: list[int]

    def probe(self, words: Ints, dropped: Bools | None, limits: Ints, died: Ints, times: Ints) -> Found:
        """The rows of each key with row < limits[i] and died[row] > times[i]; see `Index.probe`."""
        undone = self.undone[0]
        words = words.reshape(-1, self.words)
        hashes = hashed(words)
        if dropped is None:
            dropped = _ALL
        n = len(words)
        firsts = lengths = _NOTHING
        absent, at, first, length = self._search_run(words, hashes, dropped) if self.run.stop else _NO_SEARCH
        if len(at):
            firsts, lengths = np.zeros(n, np.int64), np.zeros(n, np.int64)
            firsts[at], lengths[at] = first, length
        start = count = tired = visited = 0
        following, (slots, old, _) = self.following, self.tables
        unique = self.unique
        room = n if unique else 2 * n + 16
        positions, rows = np.empty(room, np.int64), np.empty(room, np.int64)
        long = _NOTHING if unique or not len(died) else np.empty(min(n, _MOST_LONG), np.int64)
        while start < n:
            if visited:
                positions, rows = _doubled(positions), _doubled(rows)
            start, count, tired, met = probe_rows(
                slots, old, following.array, died, words, hashes, dropped, limits, times, unique, self.since,
                firsts, lengths, start, count, tired, positions, rows, long,
            )  # fmt: skip
            visited += met
        lesson = None
        if absent or tired:
            lesson = Lesson(absent, words[at], first, length, words[long[:tired]])
        if self.undone[0] != undone:
            return self.probe(words, dropped, limits, died, times)
        if count < len(rows):
            positions, rows = positions[:count], rows[:count]
        return Found(positions, rows, visited, lesson)

    def _search_run(self, words: Ints, hashes: Hashes, dropped: Bools) -> tuple[int, Ints, Ints, Ints]:
        """How many keys the tables do not have; the positions of those that the run has, first rows and lengths."""
        positions = np.empty(len(words), np.int64)
        # Keys that come in order are often looked for before they come: those beyond the last one are not in the run.
        slots, old, _ = self.tables
        absent = absent_keys(slots, old, words, hashes, dropped, self.run.shift, self.run.last_lead, positions)
        if not absent:
            return _NO_SEARCH
        at = positions[:absent]
        first, length = self.run.find(words[at])
        some = np.flatnonzero(length)
        if len(some) < absent:
            at, first, length = at[some], first[some], length[some]
        return absent, at, first, length


def hashed(words: Ints) -> Hashes:
    """The hash of each key."""
    hashes = np.empty(len(words), np.uint64)
    hash_rows(words, hashes)
    return hashes


def _doubled(array: Ints) -> Ints:
    grown = np.empty(2 * len(array), np.int64)
    grown[: len(array)] = array
    return grown

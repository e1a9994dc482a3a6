"""Looking keys up in an index without writing anything, while others may change it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ivm.kernels.hashing.index import hash_rows
from ivm.kernels.hashing.probe import absent_keys, probe_rows
from ivm.kernels.types import Hashes
from ivm.trace.chains import Tables
from ivm.trace.column import ALL, NOBODY, Bools, Ints
from ivm.trace.growable import Growable
from ivm.trace.run import RunReader

_MOST_LONG = 1024
"""How many long chains a probe tells of."""


class Lesson(NamedTuple):
    """What a probe had to do that maintenance can spare the next one.

    `words` were found in the run, in the lengths[i] rows from firsts[i] on; the chains of the keys `long` are full of
    dead rows.
    """

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
        hashes, dropped = hashed(words), ALL if dropped is None else dropped
        found = find_rows(
            self.tables, self.following, self.run, self.unique, self.since, words, hashes, dropped,
            self.absent(words, hashes, dropped), limits, died, times,
        )  # fmt: skip
        if self.undone[0] != undone:
            return self.probe(words, dropped, limits, died, times)
        return found

    def absent(self, words: Ints, hashes: Hashes, dropped: Bools) -> Ints:
        """The positions of the keys that the tables do not know, and the run may.

        Keys that come in order are often looked for before they come: those beyond the last one are not in the run.
        """
        if not self.run.stop:
            return NOBODY
        positions, run, (slots, old, _) = np.empty(len(words), np.int64), self.run, self.tables
        count = absent_keys(slots, old, words, hashes, dropped, run.shift, run.last_lead, positions)
        return positions[:count]


def find_rows(
    tables: Tables, following: Growable[np.int32], run: RunReader, unique: bool, since: int, words: Ints,
    hashes: Hashes, dropped: Bools, absent: Ints, limits: Ints, died: Ints, times: Ints,
) -> Found:  # fmt: skip
    """`Index.probe`, where no row is taken back meanwhile, and of which keys the run may have is known: `absent`."""
    n, at, firsts, lengths = len(words), absent, NOBODY, NOBODY
    if len(absent):
        first, length = run.find(words[absent])
        some = np.flatnonzero(length)
        at, first, length = at[some], first[some], length[some]
        if len(at):
            firsts, lengths = np.zeros(n, np.int64), np.zeros(n, np.int64)
            firsts[at], lengths[at] = first, length
    start = count = tired = visited = 0
    slots, old, _ = tables
    room = n if unique else 2 * n + 16
    positions, rows = np.empty(room, np.int64), np.empty(room, np.int64)
    long = NOBODY if unique or not len(died) else np.empty(min(n, _MOST_LONG), np.int64)
    while start < n:
        if visited:
            positions, rows = np.resize(positions, 2 * len(rows)), np.resize(rows, 2 * len(rows))
        start, count, tired, met = probe_rows(
            slots, old, following.array, died, words, hashes, dropped, limits, times, unique, since,
            firsts, lengths, start, count, tired, positions, rows, long,
        )  # fmt: skip
        visited += met
    lesson = None
    if len(at) or tired:
        lesson = Lesson(words[at], firsts[at], lengths[at], words[long[:tired]])
    if count < len(rows):
        positions, rows = positions[:count], rows[:count]
    return Found(positions, rows, visited, lesson)


def hashed(words: Ints) -> Hashes:
    """The hash of each key."""
    hashes = np.empty(len(words), np.uint64)
    hash_rows(words, hashes)
    return hashes

"""Looking keys up in an index without writing anything, while others may change it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from ivm.kernels.hashing.index import hash_rows
from ivm.kernels.hashing.probe import absent_keys, probe_rows
from ivm.kernels.types import Hashes
from ivm.trace.columns.column import ALL, NOBODY, Array, Bools, Ints
from ivm.trace.columns.growable import Growable
from ivm.trace.helpers import Errands, at_hand, parts
from ivm.trace.index.chains import Tables
from ivm.trace.index.run import RunReader

_MOST_LONG = 1024
"""How many long chains a probe tells of."""


_Probed = tuple[Ints, Ints, int, Ints]
"""Positions of keys and their rows, how many entries were met, and the positions of keys with long chains."""


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
    errands = at_hand(n)
    if errands is None:
        positions, rows, visited, long = _probed(
            tables, following, unique, since, died, words, hashes, dropped, limits, times, firsts, lengths
        )
    else:
        probe = partial(_probed, tables, following, unique, since, died)
        given = words, hashes, dropped, limits, times, firsts, lengths
        positions, rows, visited, long = _by_parts(errands, probe, given)
    lesson = None
    if len(at) or len(long):
        lesson = Lesson(words[at], firsts[at], lengths[at], words[long])
    return Found(positions, rows, visited, lesson)


def _probed(
    tables: Tables, following: Growable[np.int32], unique: bool, since: int, died: Ints, words: Ints, hashes: Hashes,
    dropped: Bools, limits: Ints, times: Ints, firsts: Ints, lengths: Ints,
) -> _Probed:  # fmt: skip
    """What `probe_rows` finds for all keys."""
    n, (slots, old, _) = len(words), tables
    start = count = tired = visited = 0
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
    if count < len(rows):
        positions, rows = positions[:count], rows[:count]
    return positions, rows, visited, long[:tired]


def _by_parts(errands: Errands, probe: Callable[..., _Probed], given: Sequence[Array]) -> _Probed:
    """What a probe finds for keys, part by part of them; of what is `given`, some are for all of the keys alike."""
    spans = parts(len(given[0]))
    found = errands.all([partial(probe, *(a[span] if len(a) > 1 else a for a in given)) for span in spans])
    ends = np.cumsum([len(part[1]) for part in found]).tolist()
    positions, rows = np.empty(ends[-1], np.int64), np.empty(ends[-1], np.int64)
    for span, end, part in zip(spans, ends, found, strict=True):
        np.add(part[0], span.start, out=positions[end - len(part[0]) : end])
        rows[end - len(part[1]) : end] = part[1]
    long = np.concatenate([part[3] + span.start for span, part in zip(spans, found, strict=True)])
    return positions, rows, sum(part[2] for part in found), long


def hashed(words: Ints) -> Hashes:
    """The hash of each key."""
    hashes = np.empty(len(words), np.uint64)
    hash_rows(words, hashes)
    return hashes

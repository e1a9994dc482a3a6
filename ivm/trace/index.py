"""An index: a hash multimap from key words to row numbers of a store, read as of any time."""

from __future__ import annotations

import numpy as np

from ivm.kernels.hashing.changes import COUNTS, FAILED, INSERTED, KILLED, NEW_KEYS, apply_changes
from ivm.kernels.hashing.index import (
    count_keys,
    hash_rows,
    insert_rows,
    link_again,
    link_ranges,
    rehash,
    renumber,
    unlink_rows,
)
from ivm.kernels.hashing.probe import absent_keys, probe_rows, probe_unique
from ivm.kernels.types import Hashes, Int32s
from ivm.trace.column import Bools, Ints
from ivm.trace.growable import Growable
from ivm.trace.run import BLOCK, AscendingRun, WordsOf
from ivm.trace.time import BEGINNING, FOREVER

_ALL = np.empty(0, np.bool_)
_NOBODY = np.empty(0, np.int64)
_NO_KEY = np.empty((0, 1), np.int64)
_LARGE = 1 << 18
"""Slots below which a table grows fourfold: half the copying, and half the memory touched on the way."""
_SMALLEST = 16
_RESERVED_LOAD = 0.6
_MAX_FAILURES = 3
_AT_ONCE = 1 << 17
_MELT = 1024
_SEARCH = 64
"""How many keys are found in a run in the time that the search itself takes."""
_SEARCHES_A_ROW = 5
"""How many rows are moved to the table in the time that finding a key in the run takes."""


class Applied:
    """What a sequence of changes did: rows inserted, rows killed and when, positions of changes that had to fail.

    It is made before, with room for `changes` of them, and known to whoever would have to undo them: the kernel that
    carries them out says here in the same call how far it came. Until then nothing was done.
    """

    __slots__ = ("_failed", "_killed", "_killed_at", "counts")

    def __init__(self, changes: int, *, go_on: bool = False) -> None:
        self.counts = np.zeros(COUNTS, np.int64)
        self._killed, self._killed_at = np.empty(changes, np.int64), np.empty(changes, np.int64)
        self._failed = np.empty(changes + 1 if go_on else _MAX_FAILURES, np.int64)

    @property
    def inserted(self) -> int:
        """How many rows were inserted."""
        return int(self.counts[INSERTED])

    @property
    def killed(self) -> Ints:
        """The rows that died, in the order of the changes."""
        return self._killed[: self.counts[KILLED]]

    @property
    def killed_at(self) -> Ints:
        """When each of them died."""
        return self._killed_at[: self.counts[KILLED]]

    @property
    def failed(self) -> Ints:
        """The positions of changes that were not possible, the first few at least."""
        return self._failed[: self.counts[FAILED]]

    @property
    def room(self) -> tuple[Ints, Ints, Ints, Ints]:
        """What `apply_changes` writes to."""
        return self._killed, self._killed_at, self._failed, self.counts


class Index:
    """Rows 0.. of a store by keys of W = `words` int64 words, which arguments give as (n, W), or (n,) if W is 1.

    `unique`: at most one row of a key lives at any time. `words_of` reads keys from the store (for keys of one word, or
    unique ones); where it is given, and as long as keys come in the ascending order of their leads (see
    `ivm.kernels.hashing.ascending` for `shift`), rows are kept as a run outside of the hash table and move there by and
    by, in proportion to what is asked for, never all at once for the sake of a few keys. A key that has a slot has all
    of its rows in that slot's chain; the rows of the others are in the run.

    Every method that changes or reads chains takes `died` (int64 by row number, of length 0 while nobody ever died).
    `since`: nobody reads as of an earlier time, so rows that died by then are unlinked where they are met.
    Rows with a True in `dropped` (None: none) are not indexed; keys with one find nothing.
    Size: 8 (W + 1) bytes a slot, of which at most three quarters are used, and 4 bytes a row; see `nbytes`.
    """

    max_load = 0.75

    def __init__(self, words: int, unique: bool = False, words_of: WordsOf | None = None, shift: int = 0) -> None:
        self.words = words
        self.unique = unique
        self.rows = 0
        self.visited = 0
        self.since = BEGINNING
        self._words_of = _no_words if words_of is None else words_of
        self._run = AscendingRun(self._words_of, shift, unique)
        self._ascending = words_of is not None
        self._searched = 0
        self._slots = np.zeros((_SMALLEST, words + 1), np.int64)
        self._used = 0
        self._following = Growable(np.dtype(np.int32))

    @property
    def nbytes(self) -> int:
        """Bytes of slots, chains and fences."""
        return self._slots.nbytes + self._following.nbytes + self._run.nbytes

    @property
    def keys(self) -> int:
        """The slots in use: keys in the hash table, with those whose rows are all gone and not yet forgotten."""
        return self._used

    @property
    def backlog(self) -> int:
        """Rows that wait in the ascending run."""
        return len(self._run)

    @property
    def entries(self) -> int:
        """References to rows that are kept: a run needs none but one for each of its keys that the table knows.

        Cost: where there is a run, a pass over the table.
        """
        heads = self._slots[:, self.words] - 1
        known = np.count_nonzero((heads >= self._run.start) & (heads < self._run.stop)) if self.backlog else 0
        return self.rows - self.backlog + int(known)

    def reserve(self, keys: float, died: Ints) -> None:
        """Make room for about so many keys in all, so that the table need not grow on the way there."""
        if keys > len(self._slots) * self.max_load:
            self._move(int(keys / _RESERVED_LOAD), died)

    def insert(self, words: Ints, dropped: Bools | None, died: Ints) -> None:
        """Index the rows from `rows` on with these keys. Cost: a comparison a row while keys ascend, else 17-19 ns."""
        if self.extend(words, dropped, died):
            return
        words = self._shaped(words)
        dropped = _ALL if dropped is None else dropped
        hashes = _hashed(words)
        self._settle(words, hashes, dropped, died)
        self._insert(words, hashes, dropped, self.rows, died)
        self.rows += len(words)

    def extend(self, words: Ints, dropped: Bools | None, died: Ints = _NOBODY) -> bool:
        """Index further rows if they go on ascending, which proves unique keys new; else change nothing, say False."""
        if not self._ascending or self._run.stop != self.rows or (dropped is not None and dropped.any()):
            return False
        words = self._shaped(words)
        last = _NO_KEY if self.unique else self._run.last_key()
        if not self._run.extend(words):
            return False
        if len(last) and len(words) and words[0, 0] == last[0, 0]:
            self._extend_key(last, words, died)
        self.rows += len(words)
        return True

    def apply(
        self, words: Ints, inserts: Bools, times: Ints, died: Ints, applied: Applied, *, replace: bool = False
    ) -> None:
        """Insert further rows and kill living ones, change by change in the order given.

        inserts[i] links the next row of the store, or else a living row of key i dies at times[i] (times: length 1 or
        n). In a unique index an insert whose key has a living row fails, or kills that row if `replace`. In any other
        rows are unlinked as they die: all that are linked live, which `since` has to say, and none are looked up as of
        the past. A delete without a living row fails. `died` is written to and covers the rows to come, unless all are
        plain inserts. After a few failures nothing more is done, unless `applied` is to go on. After one the caller
        undoes everything: `truncate` here, then `link_again` what was unlinked; the store revives the rows killed. If
        he lets the failures be, nothing.
        """
        words = self._shaped(words)
        hashes = _hashed(words)
        self._settle(words, hashes, _ALL, died)
        n = len(words)
        self._ensure(n, died)
        self._following.reserve(self.rows + n)
        apply_changes(
            self._slots, self._following.array, died, words, hashes, inserts, times, self.rows, self.since,
            self.unique, replace, *applied.room,
        )  # fmt: skip
        self._used += int(applied.counts[NEW_KEYS])
        self.rows += applied.inserted
        self._following.length = self.rows

    def probe(self, words: Ints, dropped: Bools | None, limits: Ints, died: Ints, times: Ints) -> tuple[Ints, Ints]:
        """(position of the key, row) for the rows of each key with row < limits[i] and died[row] > times[i], by
        position.

        `limits` and `times` have length n, or 1 if all are the same; times are at least `since`. The order of the
        rows of one key is unspecified. Cost: about two random accesses a key and one for each further entry of its
        chain; a key changed k times between `since` and its time has k entries more.
        """
        dropped = _ALL if dropped is None else dropped
        words = self._shaped(words)
        hashes = _hashed(words)
        self._settle(words, hashes, dropped, died)
        if self.unique:
            return self._probe_unique(words, hashes, dropped, limits, died, times)
        n = len(words)
        positions, rows = np.empty(2 * n + 16, np.int64), np.empty(2 * n + 16, np.int64)
        at = count = 0
        while True:
            at, count, visited = probe_rows(
                self._slots, self._following.array, died, words, hashes, dropped, limits, times, self.since,
                at, count, positions, rows,
            )  # fmt: skip
            self.visited += visited
            if at == n:
                return positions[:count], rows[:count]
            positions, rows = _doubled(positions), _doubled(rows)

    def truncate(self, first_row: int, words: Ints, dropped: Bools | None) -> None:
        """Undo the inserts of the rows from `first_row` on, whose keys are `words`."""
        dropped = _ALL if dropped is None else dropped
        words = self._shaped(words)
        unlinked = unlink_rows(self._slots, self._following.array, words, _hashed(words), dropped, first_row)
        if unlinked:
            # The table may know keys above the run's last one now, so order alone no longer proves a key new.
            self._ascending = False
        self._run.truncate(first_row)
        self._following.truncate(first_row)
        self.rows = min(self.rows, first_row)

    def link_again(self, words: Ints, rows: Ints) -> None:
        """Undo that `apply` unlinked `rows`, ascending, whose keys are `words`."""
        words = self._shaped(words)
        self._ensure(len(words), _NOBODY)
        self._used += link_again(self._slots, words, _hashed(words), rows)

    def renumber(self, mapping: Int32s, survivors_before: Ints) -> None:
        """The store's rows got new numbers: row r is now mapping[r], gone if -1; survivors_before[r] are left below r.

        Cost: one pass over slots and chains.
        """
        rows = int(survivors_before[self.rows])
        self._run.renumber(survivors_before)
        # The table may know keys of rows that are gone, above the last one left.
        self._ascending = self._ascending and self._used == 0
        chains = Growable(np.dtype(np.int32))
        renumber(self._slots, self._following.array, mapping, chains.reserve(rows))
        chains.length = rows
        self._following = chains
        self.rows = rows

    def _probe_unique(
        self, words: Ints, hashes: Hashes, dropped: Bools, limits: Ints, died: Ints, times: Ints
    ) -> tuple[Ints, Ints]:
        positions, rows = np.empty(len(words), np.int64), np.empty(len(words), np.int64)
        count, visited = probe_unique(
            self._slots, self._following.array, died, words, hashes, dropped, limits, times, positions, rows
        )
        self.visited += visited
        return positions[:count], rows[:count]

    def _settle(self, words: Ints, hashes: Hashes, dropped: Bools, died: Ints) -> None:
        """Bring every row of the run that these keys could find into the hash table."""
        if not len(self._run):
            return
        positions, run = np.empty(len(words), np.int64), self._run
        # Keys that come in order are often looked for before they come: those beyond the last one are not in the run.
        absent = absent_keys(self._slots, words, hashes, dropped, run.shift, run.last_lead, positions)
        if absent:
            self._find_in_run(words, hashes, positions[:absent], died)

    def _find_in_run(self, words: Ints, hashes: Hashes, absent: Ints, died: Ints) -> None:
        """Bring the rows of the run that have the keys at `absent`, which the table does not know, into it.

        Once searching has cost as much as moving all rows, they move in proportion to the number of such keys, so that
        the backlog melts away with use.
        """
        self._searched += len(absent) + _SEARCH
        if self._searched * _SEARCHES_A_ROW >= len(self._run):
            if 4 * BLOCK * len(absent) >= len(self._run):
                self._melt(len(self._run), died)
                # Where order is not asked to prove anything, a run that is used up as it comes is only a detour.
                self._ascending = self._ascending and self.unique
            else:
                self._melt(max(4 * len(absent), _MELT), died)
        if len(self._run):
            self._link(words[absent], hashes[absent], *self._run.find(words[absent]), died)

    def _extend_key(self, key: Ints, words: Ints, died: Ints) -> None:
        """The run's last key goes on in `words`: link those rows if the table knows the key.

        Where rows die the table has to, so that a key that is updated over and over keeps a short chain.
        """
        absent = absent_keys(self._slots, key, _hashed(key), _ALL, 0, FOREVER, np.empty(1, np.int64))
        if absent and len(died):
            self._link(key, _hashed(key), *self._run.find(key), died)
        elif not absent:
            others = np.flatnonzero(words[:, 0] != key[0, 0])
            words = words[: others[0]] if len(others) else words
            self._insert(words, _hashed(words), _ALL, self.rows, died)

    def _shaped(self, words: Ints) -> Ints:
        return words.reshape(-1, self.words)

    def _melt(self, count: int, died: Ints) -> None:
        """Move the first `count` rows of the run, and what else their last key has, into the hash table."""
        run = self._run
        goal = min(run.start + count, run.stop)
        while run.start < goal:
            stop = min(run.start + _AT_ONCE, goal)
            if not self.unique:
                stop = run.end_of_key(stop - 1)
            words = self._words_of(slice(run.start, stop))
            first = np.arange(len(words))
            if not self.unique and len(words):
                first = np.flatnonzero(np.concatenate([[True], words[1:, 0] != words[:-1, 0]]))
                words = words[first]
            counts = np.diff(first, append=stop - run.start)
            self._link(words, _hashed(words), first + run.start, counts, died)
            run.start = stop

    def _link(self, words: Ints, hashes: Hashes, firsts: Ints, counts: Ints, died: Ints) -> None:
        self._ensure(len(words), died)
        self._following.reserve(self._run.stop)
        # What lies behind its length a growing array does not take along.
        self._following.length = max(self._following.length, self._run.stop)
        self._used += link_ranges(self._slots, self._following.array, words, hashes, firsts, counts)

    def _insert(self, words: Ints, hashes: Hashes, dropped: Bools, first_row: int, died: Ints) -> None:
        self._following.reserve(first_row + len(words))
        self._following.length = max(self._following.length, first_row + len(words))
        at = 0
        while True:
            room = int(len(self._slots) * self.max_load) - self._used
            at, new = insert_rows(
                self._slots, self._following.array, died, words, hashes, dropped, at, first_row, self.since, room
            )
            self._used += new
            if at == len(words):
                return
            self._ensure(1, died)

    def _ensure(self, keys: int, died: Ints) -> None:
        """Make room for so many new keys; forgets keys whose rows have all died by `since`."""
        if self._used + keys <= int(len(self._slots) * self.max_load):
            return
        left = count_keys(self._slots, self._following.array, died, self.since)
        capacity = len(self._slots)
        while left + keys > int(capacity * self.max_load * 0.75):
            capacity *= 4 if capacity < _LARGE and keys < left else 2
        self._move(capacity, died)

    def _move(self, capacity: int, died: Ints) -> None:
        slots = np.zeros((capacity, self.words + 1), np.int64)
        self._used = rehash(self._slots, slots, self._following.array, died, self.since)
        self._slots = slots


def _no_words(rows: Ints | slice) -> Ints:
    raise AssertionError("an index without a run has no rows to read")


def _hashed(words: Ints) -> Hashes:
    hashes = np.empty(len(words), np.uint64)
    hash_rows(words, hashes)
    return hashes


def _doubled(array: Ints) -> Ints:
    grown = np.empty(2 * len(array), np.int64)
    grown[: len(array)] = array
    return grown

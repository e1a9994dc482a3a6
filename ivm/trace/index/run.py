"""The ascending run: the first rows of an index, as long as their keys arrive in ascending order.

Such rows are found by their order, which also proves that keys are unique, and need no place in a hash table before
somebody asks for them. Only every 16th lead is kept, as a fence; the others are read from the store when a key is
looked up. The lead is the first part of a key (see `ivm.kernels.hashing.ascending`).

What holds at all times, whatever comes, dies, is looked for, leaves the run, or is taken back:

- The leads of the rows below `stop` never fall, and fence i is that of row 16 i. If keys are unique they differ, and no
  more than 16 have one lead.
- A key that the hash table knows has all of its rows that somebody may still read in its chain there. All rows of any
  other key are in the run: from `start` on and below `stop`.
- Where further rows may be taken for new by their order (`Index.is_ascending`), the table knows no key above the last
  one.

`tests/trace_state/run_invariant.py` checks it, after each of all short histories.

It earns its lines: without it a commit of 100,000 rows of TPC-H takes 1.1 to 3.6 times as long, and its state twice the
memory. Groups have no run: theirs saved a fifth of Q18 alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from ivm.kernels.hashing.ascending import (
    NO_ROOM,
    TAKEN,
    UNSURE,
    extend_run,
    extend_unordered,
    find_near,
    rows_near,
)
from ivm.kernels.hashing.block import ANY_LEAD, DISTINCT, FENCED, FENCES, IN_ORDER, LAST_LEAD, SHIFT, START, STOP
from ivm.trace.columns.column import NOBODY, Ints
from ivm.trace.columns.growable import Growable
from ivm.trace.helpers import side_by_side

_AT_ONCE = 4096
_MELT = 1024
"""Rows that leave a run at once, at least: fewer are not worth it."""
_SEARCH = 64
"""How many keys are found in a run in the time that the search itself takes."""
_SEARCHES_A_ROW = 5
"""How many rows are moved to the table in the time that finding a key in the run takes."""
_MELTED_EACH = 4
"""How many rows leave for each key that is looked for in Python, once that has paid for it."""
_MELTED_HALVES = 3
"""How many rows leave for two keys that a step looks for, which is quick: moving one takes as long."""
_USED_UP, _OFTEN_USED_UP, _TIMES_USED_UP = 8, 32, 2
"""All rows leave where there are no more than so many for each key that is looked for at once; no more than so many,
where there may be no run instead; how often that happens, time after time, before there is none. None leave before
there are no more than the first for each key that was ever looked for."""


WordsOf = Callable[["Ints | slice"], Ints]
"""The key words (n, W) of rows of the store, given by their numbers or as a slice."""


@dataclass(slots=True)
class RunReader:
    """The rows [start, stop) of a run as they were when it was made, whatever becomes of the run."""

    start: int
    stop: int
    shift: int
    distinct: bool
    last_lead: int
    fences: Ints
    words_of: WordsOf

    def __len__(self) -> int:
        return self.stop - self.start

    def find(self, words: Ints) -> tuple[Ints, Ints]:
        """The rows of each key: the first one, and how many there are, one after the other.

        Cost: a binary search among the fences, and reading one or two blocks of the store for each key.
        """
        if len(words) <= _AT_ONCE:
            return self._find(words)
        self.words_of(NOBODY)  # after which reading the store changes nothing there
        begins = range(0, len(words), _AT_ONCE)
        parts = side_by_side([partial(self._find, words[begin : begin + _AT_ONCE]) for begin in begins], len(words))
        return np.concatenate([f for f, _ in parts]), np.concatenate([c for _, c in parts])

    def _find(self, words: Ints) -> tuple[Ints, Ints]:
        n = len(words)
        rows, starts = np.empty(2 * FENCED * n, np.int64), np.empty(n + 1, np.int64)
        used = rows_near(self.fences, words, self.shift, FENCED, self.stop, rows, starts)
        near = self.words_of(rows[:used])
        first, count = np.empty(n, np.int64), np.empty(n, np.int64)
        find_near(words, near, rows, starts, self.shift, FENCED, self.distinct, first, count)
        return first, count


class Melting:
    """How many rows of a run move to the table: in proportion to what is looked for, so that it melts away with use.

    `is_needed`: its order proves keys new; else no run need be kept where it is used up as it comes. `asked`: keys that
    steps have looked for in the run since rows left it for them. `searched`: what all searches in Python have cost so
    far, in keys.
    """

    def __init__(self, *, is_needed: bool) -> None:
        self.asked = 0
        self._asked_in_all = 0
        self._most = _USED_UP if is_needed else _OFTEN_USED_UP
        self._due = 0
        self._used_up = 0
        self.searched = 0

    @property
    def is_detour(self) -> bool:
        """Whether the run is used up as it comes."""
        return self._used_up >= _TIMES_USED_UP

    def after_steps(self, backlog: int) -> int:
        """How many of so many rows are to leave, since steps have looked for keys among them."""
        asked, self.asked = self.asked, 0
        self._asked_in_all += asked
        if self._most * asked >= backlog:
            self._used_up += 1
            return backlog
        self._used_up = 0
        if _USED_UP * self._asked_in_all >= backlog:
            self._due += _MELTED_HALVES * asked // 2
        if self._due < _MELT:
            return 0
        due, self._due = self._due, 0
        return min(due, backlog)

    def before_search(self, keys: int, backlog: int) -> int:
        """How many of so many rows are to leave before keys are looked for there in Python, which takes longer.

        None before searches have paid for it. All do where the keys are many enough.
        """
        self.searched += keys + _SEARCH
        if self.searched * _SEARCHES_A_ROW < backlog:
            return 0
        if 4 * FENCED * keys >= backlog:
            self._used_up = _TIMES_USED_UP
            return backlog
        return min(max(_MELTED_EACH * keys, _MELT), backlog)


def no_words(rows: Ints | slice) -> Ints:
    """The words of rows where there is no run, or an empty one."""
    raise AssertionError("where there is no run no rows are read")


EMPTY = RunReader(0, 0, 0, True, 0, np.empty(0, np.int64), no_words)


class AscendingRun:
    """Rows [start, stop) of a store, whose leads never fall. Size: a lead for every 16 rows.

    `distinct`: all keys differ, and at most 16 have the same lead. Otherwise a key is its lead.
    """

    def __init__(self, words_of: WordsOf, shift: int, distinct: bool, block: Ints) -> None:
        self._words_of = words_of
        self._shift = shift
        self._distinct = distinct
        self._block = block
        block[SHIFT], block[DISTINCT] = shift, distinct
        self._fences = Growable(np.dtype(np.int64), block=block, at=FENCES)
        self._recent: tuple[int, Ints] = 0, NOBODY
        self._reader: RunReader | None = None

    @property
    def start(self) -> int:
        """The first row that has not left the run."""
        return self._block.item(START)

    @start.setter
    def start(self, row: int) -> None:
        self._block[START] = row

    @property
    def stop(self) -> int:
        """The row behind the last one."""
        return self._block.item(STOP)

    @property
    def nbytes(self) -> int:
        """Bytes of the fences."""
        return 8 * _fences_of(self.stop)

    def reader(self) -> RunReader:
        """The run as it is now."""
        start, stop = self.start, self.stop
        if start == stop:
            return EMPTY
        kept = self._reader
        if kept is None or kept.start != start or kept.stop != stop:
            fences = self._fences.array[: _fences_of(stop)]
            kept = RunReader(start, stop, self._shift, self._distinct, self.last_lead, fences, self._words_of)
            self._reader = kept
        return kept

    def extend(self, words: Ints) -> bool:
        """Take the rows from `stop` on, with these keys, if they go on ascending; else change nothing and say False.

        Cost: a comparison a row.
        """
        if len(words) == 0:
            return True
        said = extend_run(self._block, words, FENCED)
        return said == TAKEN or self.extend_further(words, said)

    def extend_further(self, words: Ints, said: int) -> bool:
        """As `extend`, of rows, at least one, to which `extend_run` has said this."""
        if said == NO_ROOM:
            self._fences.length = _fences_of(self.stop)
            self._fences.reserve(_fences_of(self.stop + len(words)))
            said = extend_run(self._block, words, FENCED)
        if said == UNSURE:
            recent = self._recent_words()
            seam = np.concatenate([recent, words[:FENCED]])
            said = extend_unordered(self._block, seam, words, FENCED)
            if said == NO_ROOM:
                return self.extend_further(words, said)
            if said == TAKEN:
                self._recent = self.stop, np.concatenate([recent, words[-FENCED:]])[-FENCED:]
        return said == TAKEN

    @property
    def last_lead(self) -> int:
        """The lead of the last of its rows, of which there is one."""
        lead = self._block.item(LAST_LEAD)
        return lead if lead != ANY_LEAD else int(self._recent_words()[-1, 0]) >> self._shift

    def truncate(self, row: int) -> None:
        """Cut off the rows from `row` on."""
        block = self._block
        self._reader, self._recent = None, (0, NOBODY)
        block[LAST_LEAD], block[IN_ORDER] = ANY_LEAD, False
        block[STOP] = min(block.item(STOP), row)
        block[START] = min(block.item(START), row)

    def end_of_key(self, row: int) -> int:
        """The row behind the last one of the key of `row`."""
        first, count = self.reader().find(self._words_of(slice(row, row + 1)))
        return int(first[0] + count[0])

    def _recent_words(self) -> Ints:
        """The words of the last 16 rows, or of all if there are fewer."""
        at, recent = self._recent
        stop = self.stop
        if at != stop or at == 0:
            recent = self._words_of(slice(max(stop - FENCED, 0), stop)).copy()
            self._recent = stop, recent
        return recent


def _fences_of(rows: int) -> int:
    """How many fences so many rows have."""
    return -(-rows // FENCED)

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

It earns its lines: without it a commit of 100,000 rows of TPC-H takes 1.1 to 3.6 times as long, and state is half as
large again. Runs of keys that repeat save 5 % of the state. Groups have no run: theirs saved a fifth of Q18 alone.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ivm.kernels.hashing.ascending import NO_ROOM, TAKEN, UNSURE, extend_run, extend_unordered
from ivm.kernels.hashing.block import (
    ANY_LEAD,
    DISTINCT,
    EACH,
    FENCED,
    FENCES,
    FINAL,
    IN_ORDER,
    LAST_LEAD,
    SHIFT,
    START,
    STOP,
)
from ivm.kernels.hashing.search import NEAR_PLACES, RUN, RUN_PARTS
from ivm.kernels.hashing.settle import MOST, SETTLING, SETTLING_FOR_EACH, find_in_run, first_keys
from ivm.trace.columns.column import NOBODY, Ints
from ivm.trace.columns.growable import Growable
from ivm.trace.index.search import Run

_MELT = 512
"""Rows that leave a run at once, at least: fewer are not worth it."""
_SEARCH = 64
"""A search costs as much beside its keys as so many of them."""
_SEARCHES_A_ROW = 5
"""How many rows are moved to the table in the time that finding a key in the run takes."""
_MELTED_EACH = 4
"""How many rows leave for each key that changes look for, once searches have paid for it."""
_MELTED_HALVES = 3
"""How many rows leave for two keys that a step looks for: moving one takes as long."""
_USED_UP, _OFTEN_USED_UP, _TIMES_USED_UP = 8, 32, 2
"""All rows leave where there are no more than so many for each key that is looked for at once; no more than so many,
where there may be no run instead; how often that happens, time after time, before there is none. None leave before
there are no more than the first for each key that was ever looked for."""


class RunKeys(Protocol):
    """The keys of a store's rows."""

    def words(self, rows: slice) -> Ints:
        """The words (n, W) of these rows."""
        ...

    def at(self, rows: int) -> Run:
        """Where kernels find the keys of the first `rows` rows."""
        ...


class Melting:
    """How many rows of a run move to the table: in proportion to what is looked for, so that it melts away with use.

    `is_needed`: its order proves keys new; else no run need be kept where it is used up as it comes. `searched`: what
    all searches for changes have cost so far, in keys.
    """

    def __init__(self, *, is_needed: bool) -> None:
        self._asked = 0
        self._most = _USED_UP if is_needed else _OFTEN_USED_UP
        self._due = 0
        self._used_up = 0
        self.searched = 0

    @property
    def is_detour(self) -> bool:
        """Whether the run is used up as it comes."""
        return self._used_up >= _TIMES_USED_UP

    def after_step(self, asked: int, backlog: int) -> int:
        """How many of so many rows are to leave, since a step has looked for so many keys among them."""
        self._asked += asked
        if self._most * asked >= backlog:
            self._used_up += 1
            return backlog
        self._used_up = 0
        if _USED_UP * self._asked >= backlog:
            self._due += _MELTED_HALVES * asked // 2
        if self._due < _MELT:
            return 0
        due, self._due = self._due, 0
        return min(due, backlog)

    def most(self, backlog: int) -> int:
        """How many keys changes look for among so many rows before some of these are to leave."""
        return (backlog - 1) // _SEARCHES_A_ROW - self.searched - _SEARCH

    def looked_for(self, keys: int) -> None:
        """Changes have looked for so many keys."""
        self.searched += keys + _SEARCH

    def before_search(self, keys: int, backlog: int) -> int:
        """How many of so many rows are to leave before changes look for keys there.

        None before searches have paid for it. All do where the keys are many enough.
        """
        self.looked_for(keys)
        if self.searched * _SEARCHES_A_ROW < backlog:
            return 0
        if 4 * FENCED * keys >= backlog:
            self._used_up = _TIMES_USED_UP
            return backlog
        return min(max(_MELTED_EACH * keys, _MELT), backlog)


class AscendingRun:
    """Rows [start, stop) of a store, whose leads never fall. Size: a lead for every 16 rows.

    `distinct`: all keys differ, and at most 16 have the same lead. Otherwise a key is its lead.
    """

    def __init__(self, keys: RunKeys | None, shift: int, distinct: bool, block: Ints) -> None:
        self._keys = keys
        self._shift = shift
        self._block = block
        block[SHIFT], block[DISTINCT], block[EACH] = shift, distinct, FENCED.bit_length() - 1
        self._fences = Growable(np.dtype(np.int64), block=block, at=FENCES)
        self._recent: tuple[int, Ints] = 0, NOBODY

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

    def find(self, words: Ints) -> tuple[Ints, Ints]:
        """The rows of each key (n, W): the first one, and how many there are, one after the other.

        The keys that have left the run are found as well. Cost: see `find_in_run`.
        """
        first, count = np.empty(len(words), np.int64), np.empty(len(words), np.int64)
        is_readable = find_in_run(self.settling(words.shape[1], 0), self._block, words, first, count)
        assert is_readable, "the columns of a key have places"
        return first, count

    def settling(self, width: int, most: int) -> Ints:
        """A frame to find keys of so many words by, at most so many; see `ivm.kernels.hashing.settle`."""
        frame = np.zeros(SETTLING + SETTLING_FOR_EACH * width, np.int64)
        frame[NEAR_PLACES], frame[RUN], frame[RUN_PARTS] = self._keys_of().at(self.stop)
        frame[MOST] = most
        return frame

    def extend(self, words: Ints) -> bool:
        """Take the rows from `stop` on, with these keys, if they go on ascending; else change nothing and say False.

        Cost: a comparison a row.
        """
        if len(words) == 0:
            return True
        said = extend_run(self._block, words)
        return said == TAKEN or self.extend_further(words, said)

    def extend_further(self, words: Ints, said: int) -> bool:
        """As `extend`, of rows, at least one, to which `extend_run` has said this."""
        if said == NO_ROOM:
            self.make_room(len(words))
            said = extend_run(self._block, words)
        if said == UNSURE:
            recent = self._recent_words()
            seam = np.concatenate([recent, words[:FENCED]])
            said = extend_unordered(self._block, seam, words)
            if said == NO_ROOM:
                return self.extend_further(words, said)
            if said == TAKEN:
                self._recent = self.stop, np.concatenate([recent, words[-FENCED:]])[-FENCED:]
        return said == TAKEN

    def make_room(self, rows: int) -> None:
        """Room for so many rows more."""
        self._fences.length = _fences_of(self.stop)
        self._fences.reserve(_fences_of(self.stop + rows))

    @property
    def last_lead(self) -> int:
        """The lead of the last of its rows, of which there is one."""
        lead = self._block.item(LAST_LEAD)
        return lead if lead != ANY_LEAD else int(self._recent_words()[-1, 0]) >> self._shift

    def truncate(self, row: int) -> None:
        """Cut off the rows from `row` on."""
        block = self._block
        self._recent = 0, NOBODY
        block[LAST_LEAD], block[IN_ORDER] = ANY_LEAD, False
        block[FINAL] = min(block.item(FINAL), row)
        block[STOP] = min(block.item(STOP), row)
        block[START] = min(block.item(START), row)

    def keys(self, rows: int, width: int) -> tuple[Ints, Ints, Ints]:
        """The keys of the first `rows` rows, of so many words each: these (n, W), the first row of each, how many it
        has, of the last one those behind too.
        """
        words, firsts, counts = np.empty((rows, width), np.int64), np.empty(rows, np.int64), np.empty(rows, np.int64)
        found = first_keys(self.settling(width, 0), self._block, rows, words, firsts, counts)
        assert found >= 0, "the columns of a key have places"
        return words[:found], firsts[:found], counts[:found]

    def words(self, start: int, stop: int) -> Ints:
        """The words (n, W) of these rows, as the store has them."""
        return self._keys_of().words(slice(start, stop))

    def _keys_of(self) -> RunKeys:
        assert self._keys is not None, "where there is no run no keys are read"
        return self._keys

    def _recent_words(self) -> Ints:
        """The words of the last 16 rows, or of all if there are fewer."""
        at, recent = self._recent
        stop = self.stop
        if at != stop or at == 0:
            recent = self.words(max(stop - FENCED, 0), stop).copy()
            self._recent = stop, recent
        return recent


def _fences_of(rows: int) -> int:
    """How many fences so many rows have."""
    return -(-rows // FENCED)

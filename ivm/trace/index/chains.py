"""Chains of row numbers by key, in a hash table that grows a little at a time."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np

from ivm.kernels.hashing.block import CAME, FEW, FOLLOWED, FOLLOWING, LOOK_FROM, OWES, TABLES
from ivm.kernels.hashing.changes import undo_changes
from ivm.kernels.hashing.index import (
    count_chains,
    count_keys,
    cut_all_chains,
    cut_chains,
    link_ranges,
    move_keys,
    unlink_dead,
)
from ivm.kernels.hashing.slots import ALIVE, FEW_SLOTS, LOADS, MOVED, OLD, SAMPLE, SLOTS, TABLE_BLOCK, USED
from ivm.kernels.types import Hashes
from ivm.trace.columns.column import Bools, Ints
from ivm.trace.columns.growable import Growable
from ivm.trace.rows.changes import Applied

_LARGE = 1 << 18
"""Slots below which a table grows fourfold: half the copying, and half the memory touched on the way."""
_SMALLEST = 16
_RESERVED_LOAD = 0.6
_SLOTS_A_ROW, _SLOTS_AT_LEAST = 16, 256
"""How many slots of the table before are moved for each row that came. Two would do before the next growth."""
_LINKED, _SLOTS_A_LINKED = 1 << 11, 4
"""Of keys that are linked at once only so many count as rows that came, and fewer slots are moved for each: a few rows
may let many leave a run.
"""
_AHEAD_FROM_BYTES, _AHEAD, _AHEAD_A_ROW = 1 << 18, 0.15, 32
"""Of larger tables the next one is made when this part of the slots is still free, at most so many slots a row."""
_MANY = 1 << 15
"""Rows of a commit that takes its time anyway: it pays for the next table when that is needed, if it ever is."""
_PAGE_WORDS, _LARGE_PAGE_WORDS = 1 << 9, 1 << 18


class Tables(NamedTuple):
    """The arrays of a table, and its block, which tells of them and counts; see `ivm.kernels.hashing.slots`.

    Whoever holds them finds what was there, and more.
    """

    slots: Ints
    old: Ints
    block: Ints


class Chains:
    """The rows of each key, newest first: a table of keys of W = `words` int64 words, and the next row of each row.

    When the table is full a bigger one takes its place, or one of the same size if enough of its keys are dead. Keys
    move there in proportion to the rows that come, and until the last one has, those that are not found are looked for
    in the table before. So no batch waits for the growth of a large table. Nor for its memory: keys lie all over it, so
    that the first few would make the system fill all of it with zeros, in pages of 2 MiB; that is done before, page by
    page, and no more than one large page in a commit.

    `died`, `since`: nobody reads as of a time before `since`, so rows that died by then may leave their chains.
    `block`, the index's, tells where the table and the next rows are. Size: 8 (W + 1) bytes a slot, of which at most
    three quarters are used, of few slots less; half as much more while keys move; and 4 bytes a row.
    """

    _paged: ClassVar[int | None] = None
    """The `since` of the commit in which a table got a large page ahead of need: others wait for the next commit."""

    def __init__(self, words: int, block: Ints) -> None:
        self._block = block
        block[TABLES + 1] = TABLE_BLOCK
        self._put(_fresh(_SMALLEST, words))
        self.following = Growable(np.dtype(np.int32), block=block, at=FOLLOWING)
        self._before: list[Tables] = []
        self.is_moving = False
        """Whether a table takes the place of another: `seal` has something to do, however few rows came."""
        self._linked = 0
        self._next: Tables | None = None
        self._there = 0

    @property
    def nbytes(self) -> int:
        """Bytes of slots and chains."""
        slots, old, _ = self.tables
        following = max(self.following.length, self._block.item(FOLLOWED)) * self.following.array.itemsize
        return slots.nbytes + old.nbytes + following + 8 * self._there * slots.shape[1]

    @property
    def keys(self) -> int:
        """Keys in the table, with those whose rows are all gone and not yet forgotten; about, while keys move."""
        return int(self.tables.block[USED]) + _to_come(self.tables)

    def count(self, low: int, high: int) -> int:
        """How many keys have rows from `low` on and below `high`. Cost: a pass over the table."""
        return count_chains(*self.tables, self.following.array, low, high)

    def reserve(self, keys: float, died: Ints, since: int) -> None:
        """Make room for about so many keys in all, so that the table need not grow on the way there."""
        if keys > _room(len(self.tables.slots)):
            self._gather(int(keys / _RESERVED_LOAD), died, since)

    def link(self, words: Ints, hashes: Hashes, firsts: Ints, lengths: Ints, end: int, died: Ints, since: int) -> None:
        """Link the lengths[i] rows from firsts[i] on, below `end`, to key i where it is new."""
        came = min(len(words), _LINKED)
        self.ensure(len(words), came, died, since)
        self.lengthen(end, 0)
        link_ranges(*self.tables, self.following.array, words, hashes, firsts, lengths)
        self._block[CAME] += came
        self._linked += came
        self._block[OWES] = True

    def undo(self, words: Ints, inserts: Bools, first_row: int, applied: Applied) -> None:
        """Undo `apply` in an index that is not unique, after whatever came later is undone."""
        slots, _, block = self.tables
        undo_changes(slots, block, self.following.array, words, inserts, first_row, applied.done)

    def cut(self, words: Ints | None, first_row: int) -> int:
        """Take the rows from `first_row` on out of the chains of these keys, or of all; how many chains had any.

        Who reads as of an earlier time may hold tables that have been left since the last `seal`: those are cut too.
        """
        following, cut = self.following.array, 0
        for tables in (self.tables, *self._before):
            for slots in (tables.slots, tables.old) if len(tables.old) else (tables.slots,):
                if words is None:
                    cut += cut_all_chains(slots, following, first_row)
                else:
                    cut += cut_chains(slots, following, words, first_row)
        return cut

    def shorten(self, words: Ints, died: Ints, since: int) -> None:
        """Take the rows that died by `since` out of the chains of these keys."""
        unlink_dead(self.tables.slots, self.following.array, died, words, since)

    def ensure(self, keys: int, coming: int, died: Ints, since: int) -> None:
        """Make room for so many new keys, of as many rows as are coming. Cost: in proportion to them."""
        tables = self.tables
        used, capacity = tables.block.item(USED), len(tables.slots)
        if used + keys <= _room(capacity) - _to_come(tables):
            return
        if len(tables.old):
            self._gather(2 * (used + keys) + len(tables.old), died, since)
            return
        seen = min(SAMPLE, capacity)
        alive = count_keys(tables.slots, self.following.array, died, since, seen)
        left = alive * capacity // seen
        at_once = capacity <= _SLOTS_A_ROW * coming and left >= 0.9 * used
        left = used if at_once else left
        while left + keys > int(_room(capacity) * 0.75):
            capacity = _larger(capacity) if keys < left else 2 * capacity
        if at_once:
            self._gather(capacity, died, since)
            return
        made = self._made(capacity)
        made.block[ALIVE] = alive
        self._leave(tables)
        self._put(_over(made, tables.slots))

    def seal(self, died: Ints, since: int) -> None:
        """Nothing done so far is undone any more. Moves keys, in proportion to what came since the last time."""
        came = self._block.item(CAME)
        self._before.clear()
        if len(self.tables.old):
            linked = self._linked
            self._move(_SLOTS_A_ROW * (came - linked) + _SLOTS_A_LINKED * linked + _SLOTS_AT_LEAST, died, since)
        elif self._block.item(LOOK_FROM) == FEW <= came < _MANY and self.tables.slots.nbytes >= _AHEAD_FROM_BYTES:
            self._go_ahead(came, since)  # else they came in many commits, and the next one shows how many do in one
        self._block[CAME], self._linked, self.is_moving = 0, 0, len(self.tables.old) > 0
        self._block[LOOK_FROM] = max(FEW, self._left())

    def lengthen(self, first: int, count: int) -> None:
        """Make room for the chains of so many rows from `first` on, and of those before, few of which get any soon."""
        following, end = self.following, first + count
        if end > following.length:
            following.length = max(following.length, self._block.item(FOLLOWED))
            if first > following.length or end > len(following.array):
                following.skip(first)
                following.reserve(end)
            # What lies behind its length a growing array does not take along.
            following.length = end

    def _gather(self, capacity: int, died: Ints, since: int) -> None:
        """Put all keys into one table of so many slots, at once. Cost: a pass over the tables."""
        tables = self.tables
        made = self._made(capacity)
        for part in (tables.slots, tables.old) if len(tables.old) else (tables.slots,):
            made.block[MOVED] = 0
            move_keys(made.slots, part, made.block, self.following.array, died, since, False, len(part))
        self._leave(tables)
        self._put(made)

    def _go_ahead(self, came: int, since: int) -> None:
        """Get memory for the next table, in proportion to the rows that came, so that it is there when it is needed.

        Of r slots without memory and l rows that still fit, m of which come, r m / (l - m) slots get it: r / l never
        rises from about 2 (below `_LARGE` 4) / 0.15, and all have it when no more than m fit. It rises with keys that
        are linked, which count less, and while a large page waits for the next commit; none waits beyond the bound of
        slots a row. What has no memory when the table is full gets it from the rows that come there.
        """
        slots, left = self.tables.slots, self._left()
        if left > 0:
            return
        left += int(_AHEAD * len(slots))
        if self._next is None:
            self._next, self._there = _fresh(_larger(len(slots)), slots.shape[1] - 1), 0
        words, missing = self._next.slots.reshape(-1), len(self._next.slots) - self._there
        wanted, most = -(-missing * came // max(left, came, 1)), _AHEAD_A_ROW * came
        there = self._there + min(wanted, most, missing)
        first, end = self._there * slots.shape[1], there * slots.shape[1]
        at = words.ctypes.data // 8 - 1
        if (at + first) // _LARGE_PAGE_WORDS < (at + end) // _LARGE_PAGE_WORDS:
            if Chains._paged == since and wanted <= most:
                return
            Chains._paged = since
        words[first:end:_PAGE_WORDS] = 0
        self._there = there

    def _left(self) -> int:
        """How many keys fit before the next table is got ahead of need."""
        tables = self.tables
        room = int(_room(len(tables.slots))) - int(_AHEAD * len(tables.slots))
        return room - _to_come(tables) - tables.block.item(USED)

    def _made(self, capacity: int) -> Tables:
        """An empty table of so many slots."""
        ahead, self._next, self._there = self._next, None, 0
        if ahead is not None and len(ahead.slots) == capacity:
            return ahead
        return _fresh(capacity, self.tables.slots.shape[1] - 1)

    def _move(self, most: int, died: Ints, since: int) -> None:
        """Move the keys of so many slots of the table before; those without rows are forgotten."""
        tables = self.tables
        if move_keys(*tables, self.following.array, died, since, True, most):
            self._put(_over(tables, tables.old[:0].copy()))

    def _leave(self, tables: Tables) -> None:
        """Another table is about to take the place of this one."""
        self.is_moving = self._block[OWES] = True
        self._before.append(tables)

    def _put(self, tables: Tables) -> None:
        """This is the table from now on."""
        address, block = tables.block.ctypes.data, self._block
        block[LOOK_FROM] = FEW
        block[TABLES], self.tables = address, tables  # in one line, for nothing is raised between the two


def _fresh(capacity: int, words: int) -> Tables:
    """An empty table."""
    slots, block = np.zeros((capacity, words + 1), np.int64), np.zeros(TABLE_BLOCK, np.int64)
    block[SLOTS:OLD] = slots.ctypes.data, *slots.shape
    return _over(Tables(slots, slots, block), np.empty((0, words + 1), np.int64))


def _over(tables: Tables, old: Ints) -> Tables:
    """The same table, in which keys are also looked for in `old`."""
    block = tables.block.copy()
    block[OLD:USED] = old.ctypes.data, *old.shape
    return Tables(tables.slots, old, block)


def _room(capacity: int) -> float:
    """How many of so many slots may be used."""
    return capacity * LOADS[capacity <= FEW_SLOTS]


def _larger(capacity: int) -> int:
    """The slots of the table that comes after one of so many, as a rule."""
    return 4 * capacity if capacity < _LARGE else 2 * capacity


def _to_come(tables: Tables) -> int:
    """How many keys are still to come from the table before: as many of each slot as a sample has had."""
    if not len(tables.old):
        return 0
    left = len(tables.old) - int(tables.block[MOVED])
    return int(tables.block[ALIVE]) * left // min(SAMPLE, len(tables.old))

"""Groups by round: what a group holds in each round of a loop, as what changes from round to round.

A group has a *cell* for each round in which it changes: `cells` int64 (capacity, HEADS + fields), with the round, the
next cell + 1 of the group, whose rounds ascend, and a mark: where the commit has noted it + 1, 0 if it has not; then
the fields, which are what that round adds to those before it. So a group's fields in a round are the sum of its cells
up to it. Groups stand in a table as `groups.table` has it, whose first field is the first cell + 1; the mark is that of
`opened` + 1. They may have two more; see `groups.settled`.

What one time changes is noted in two arrays, by which it is undone, and what is due in two:

* `opened` int64 (n, OPENED + 2 * fields), a group that was touched: its slot; the cell + 1 that was looked at last; in
  which round it is due, -1 if in none; whether it was made; its fields up to that cell, as they were and as they
  are. A settled group has no fields there, and what its rank was in place of that cell.
* `touched` int64 (n, TOUCHED + fields), a cell that was changed: which, the slot, whether it was made, its fields
  before. Cells that are made behind all others are not noted at that time: their mark is -1 less the slot.
* `heap` int64 (n, 2): rounds in which groups are due, and which of `opened` each is; the least is first. Of a group
  that is due earlier than it was thought the later entry stays, and is passed over.
* `stack` int64 (n,): groups that are due in one round, STACKED, in place of entries of the heap; see `round_due`.

A round is evaluated once, after all that comes of rounds before it; what comes is of that round or of later ones. So
each group is looked at in the rounds in which it changes, and for as long as it differs from what it was in all in
which it has cells (Differential Dataflow, section 4, for one outer time).

`block` int64 (BLOCK_WORDS) says of each of the five arrays where it lies, how many rows fit, and how many there are;
with which of `opened`, `touched` and the cells the present time begins, and with which of the cells the commit; how
many fields a cell has; the first free cell + 1, and how many are free; the least round in which a group is due, -1 if
there is none; STACKED; and how wide `opened` is.
"""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.part import part
from ivm.kernels.memory.at import ints_at, words_at
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Ints

ROUND, NEXT, MARK = range(3)
HEADS = 3
SLOT, CURSOR, DUE, MADE = range(4)
WAS_RANK = CURSOR
OPENED = 4
CELL, OF, NEW = range(3)
TOUCHED = 3

AT, CAPACITY, LENGTH = range(3)
CELLS, OPEN, TOUCH, HEAP, STACK = 0, 3, 6, 9, 12
OPEN_FROM, TOUCH_FROM, CELLS_FROM, COMMIT_FROM, FIELDS, FREE_CELL, FREE_CELLS, FIRST, STACKED, OPEN_WORDS = range(
    15, 25
)
BLOCK_WORDS = 25


@part(inline=True, counted=True)
def cells_in(block: Ints) -> Ints:
    """The cells."""
    return words_at(block[CELLS + AT], block[CELLS + CAPACITY], HEADS + block[FIELDS])


@part(inline=True, counted=True)
def opened_in(block: Ints) -> Ints:
    """The groups that the commit has opened."""
    return words_at(block[OPEN + AT], block[OPEN + CAPACITY], block[OPEN_WORDS])


@part(inline=True, counted=True)
def touched_in(block: Ints) -> Ints:
    """The cells that the commit has touched."""
    return words_at(block[TOUCH + AT], block[TOUCH + CAPACITY], TOUCHED + block[FIELDS])


@part(inline=True, counted=True)
def heap_in(block: Ints) -> Ints:
    """The rounds in which groups are due."""
    return words_at(block[HEAP + AT], block[HEAP + CAPACITY], 2)


@part(inline=True, counted=True)
def stack_in(block: Ints) -> Ints:
    """The groups that are due in the round STACKED."""
    return ints_at(block[STACK + AT], block[STACK + CAPACITY])


@part(inline=True)
def dues_in(block: Ints) -> Word:
    """How many groups may be due, in whatever round: the heap and the stack each have room for all of them."""
    return np.int64(block[HEAP + LENGTH] + block[STACK + LENGTH])


@part()
def has_room(block: Ints, rows: Word) -> bool:
    """Whether so many rows can be put."""
    for which in (CELLS, OPEN, TOUCH):
        if block[which + LENGTH] + rows > block[which + CAPACITY]:
            return False
    return dues_in(block) + rows <= min(block[HEAP + CAPACITY], block[STACK + CAPACITY])

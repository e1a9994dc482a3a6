"""The least value of each group, by round of a loop. See `groups.round_block` for rounds, cells and what is due.

A group's values stand in a tree by value, a treap whose priorities are hashes of their places, so that it is shallow
whatever comes in whatever order. `values` int64 (capacity, 5): the value; the first of its cells + 1, by round; the
values to its left and right + 1; how much of it the commit has changed up to the round that was looked at last. A cell
has one field, how often the round adds the value.

A group has, besides, a cell for each round in which it has cells of values; its field counts these, and its mark is the
first cell that the commit has changed in that round, by its place in `touched` + 1. The table of groups has two fields:
the tree + 1, and the first of these cells + 1.

`opened` has in place of the cell that was looked at last how many values are not what they were, up to that round.
`touched` int64 (n, 8): a cell that was changed, the group's slot, whether it was made; its value, the cell of the group
in its round, the next such cell + 1 of that round; its field before; whether its value was made.
"""

from __future__ import annotations

from ivm.kernels.compiling.part import part
from ivm.kernels.groups.round_block import BLOCK_WORDS, CAPACITY, HEADS, TOUCH
from ivm.kernels.memory.at import words_at
from ivm.kernels.types import Ints

VALUE, HEAD, LEFT, RIGHT, CHANGED = range(5)
VALUE_WORDS = 5
NODE, ROUND_CELL, FOLLOWING, WAS, NEW_VALUE = range(3, 8)
TOUCHED_WORDS = 8
COUNT = HEADS
"""The one field of a cell."""
VALUES = BLOCK_WORDS
FREE_VALUE = VALUES + 3
EXTREME_WORDS = VALUES + 4
"""What the block says besides: where the values lie, how many fit, how many there are; the first free one + 1."""


@part(inline=True, counted=True)
def values_in(block: Ints) -> Ints:
    """The values of groups."""
    return words_at(block[VALUES], block[VALUES + CAPACITY], VALUE_WORDS)


@part(inline=True, counted=True)
def changed_in(block: Ints) -> Ints:
    """The cells of values that the commit has touched."""
    return words_at(block[TOUCH], block[TOUCH + CAPACITY], TOUCHED_WORDS)

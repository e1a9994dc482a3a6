"""The least value of each group, by round of a loop. See `groups.round_block` for rounds and what is due.

Each value of a group has a cell for each round in which it changes, int64 (capacity, VALUE_WORDS): the round; the cell
to its left + 1; where the commit has noted it + 1; how often the round adds the value; the cell to its right + 1; the
value. The cells of a group stand in a tree by value, those of a value by round: a treap whose priorities are hashes of
their places, so that it is shallow whatever comes in whatever order. The one field of the table of groups is the tree
+ 1.

`opened` has in place of the cell that was looked at last the last of `touched` + 1; in place of the fields what was
found in the round that was looked at last: the least values, as they were and as they are, and which of these are
there, SAME if all values are what they were. `touched` int64 (n, TOUCHED_WORDS): a cell that was changed, the group's
slot, whether it was made; its count before; the group's one before it + 1.

A round in which no cell says anything of a least value, or of one below, changes nothing: so a group waits for those
rounds alone in which some cell has a value below its least one, or takes of that. As long as a group differs in no
value from what it was, only cells that the commit has changed matter, and of these all.
"""

from __future__ import annotations

from ivm.kernels.compiling.part import part
from ivm.kernels.groups.round_block import CAPACITY, CELLS, HEADS, NEXT, OPENED, TOUCH
from ivm.kernels.memory.at import words_at
from ivm.kernels.types import Ints

LEFT, COUNT, RIGHT, VALUE = NEXT, HEADS, HEADS + 1, HEADS + 2
VALUE_WORDS = HEADS + 3
FOUND_FIELDS = 2
"""So many fields groups have for what `opened` knows of them."""
THERE, WAS_LEAST, LEAST = OPENED, OPENED + 1, OPENED + 2
OLD, NEW, SAME = 1, 2, 4
"""What THERE says, in bits."""
WAS, EARLIER = 3, 4
TOUCHED_WORDS = 5


@part(inline=True, counted=True)
def values_in(block: Ints) -> Ints:
    """The cells of values."""
    return words_at(block[CELLS], block[CELLS + CAPACITY], VALUE_WORDS)


@part(inline=True, counted=True)
def changed_in(block: Ints) -> Ints:
    """The cells of values that the commit has touched."""
    return words_at(block[TOUCH], block[TOUCH + CAPACITY], TOUCHED_WORDS)

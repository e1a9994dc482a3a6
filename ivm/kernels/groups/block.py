"""The control block of a table of groups, and what a batch notes. See `ivm.kernels.groups.table`.

`block` is the control block of a table, int64 (BLOCK_WORDS). It begins with `counts`: slots ever used, the first free
slot + 1, free slots, groups, where the run ends, whether it goes on; where the run begins, partitions of the index.
Behind them it says how many words a key has, how large a partition is, and where the arrays are, as
`ivm.kernels.memory.at` reads it.

The run: groups that came in the ascending order of their keys got the next slots, one after the other, so that no hash
was taken and no index holds them. The slots from `counts[MELTED]` up to `counts[RUN]` are found by a binary search;
what the run is asked for moves to the index by and by, in proportion to the asking.

`memory` is all that a batch notes, int64. It begins with `meta`: how far the batch has come, its cells, how many keys
were searched for in the run, how many groups it left empty, how many rows it has, how many times (0 if all are the
same), and what the first of `counts` were before. So what a kernel has done is known, and can be undone, wherever an
exception comes. Behind it lie, with an entry for each row, `cell_time` (only for many times), `row_cell`, `cell_slot`
and `cell_previous`, the last three int32, each from a new word on.
"""

from __future__ import annotations

from ivm.kernels.compiling.part import part
from ivm.kernels.memory.at import address_of
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Ints

USED, FREE, FREED, LIVE, RUN, OPEN = range(6)
MELTED, PARTITIONS = 6, 7
STEPPED, COUNTS = 6, 8
"""How many of the counts a batch changes, of how many in all."""

KEY_WORDS, SIZE, DIRECTORY, ENTRIES, PARTS, STATE = 8, 9, 10, 12, 14, 17
BLOCK_WORDS = 20

PHASE, CELLS, SEARCHED, EMPTIED, ROWS, TIMES, BEFORE = range(7)
META = BEFORE + STEPPED
UNTOUCHED, OPENED, PUT, FOLDED, UNDONE = range(5)
"""The phases of a batch: it has no cells; no fields; they are its own; the groups', which have left theirs there."""

KNOWN, GONE, NEW = -1, -2, -3
LAST_FREE = -3


@part(inline=True)
def cells_at(memory: Ints, which: Word) -> Word:
    """Where `row_cell` (0), `cell_slot` (1) or `cell_previous` (2) of a batch lies."""
    words = META + memory[TIMES] + which * ((memory[ROWS] + 1) >> 1)
    return address_of(memory) + 8 * words

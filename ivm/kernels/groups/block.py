"""The control block of a table of groups, and what a batch notes. See `ivm.kernels.groups.table`.

`block` is the control block of a table, int64 (BLOCK_WORDS). It begins with counts: slots ever used, the first free
slot + 1, groups, partitions of the index. Behind them it says how many words a key has, how large a partition is, and
where the arrays are, as `ivm.kernels.memory.at` reads it.

`memory` is all that a batch notes, int64. It begins with `meta`: how far the batch has come, its cells, how many groups
it left empty, how many rows it has, how many times (0 if all are the same), and what the first of the counts were
before. So what a kernel has done is known, and can be undone, wherever an exception comes. Behind it lie, with an entry
for each row, `cell_time` (only for many times), `row_cell`, `cell_slot` and `cell_previous`, the last three int32, each
from a new word on.
"""

from __future__ import annotations

from ivm.kernels.compiling.part import part
from ivm.kernels.memory.at import address_of
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Ints

USED, FREE, LIVE, PARTITIONS = range(4)
STEPPED = 3
"""How many of the counts are undone with a batch: an index that has been split may stay so."""

KEY_WORDS, SIZE, DIRECTORY, ENTRIES, PARTS, STATE = 4, 5, 6, 8, 10, 13
BLOCK_WORDS = 16

PHASE, CELLS, EMPTIED, ROWS, TIMES, BEFORE = range(6)
META = BEFORE + STEPPED
UNTOUCHED, OPENED, PUT, FOLDED, UNDONE = range(5)
"""The phases of a batch: it has no cells; no fields; they are its own; the groups', which have left theirs there."""

KNOWN, NEW = -1, -2
LAST_FREE = -1


@part(inline=True)
def cells_at(memory: Ints, which: Word) -> Word:
    """Where `row_cell` (0), `cell_slot` (1) or `cell_previous` (2) of a batch lies."""
    words = META + memory[TIMES] + which * ((memory[ROWS] + 1) >> 1)
    return address_of(memory) + 8 * words

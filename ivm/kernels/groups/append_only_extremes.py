"""Least and greatest values of groups that only gain rows: each is a field of its group, there is nothing else to keep.

Key words and `kinds` are those of `ivm.kernels.ordered.tree`, `heap` and `starts` the dictionary's. The field of an
extreme is a word, 1 where there is one, and its key words. `state` is that of `ivm.kernels.groups.table`: fields begin
at column `first`. `after` int64 (cells, fields) takes the extremes of each cell.
"""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.numbers.wide import Word
from ivm.kernels.ordered.keys import compare_keys
from ivm.kernels.texts.dictionary import Bytes
from ivm.kernels.types import Bools, Int32s, Ints


@njit(cache=True, nogil=True, fastmath=False)
def gather_extremes(
    keys: Ints,
    valid: Bools,
    row_cell: Int32s,
    slot: Int32s,
    previous: Int32s,
    state: Ints,
    first: Word,
    field: Word,
    sign: Word,
    kinds: Ints,
    heap: Bytes,
    starts: Ints,
    after: Ints,
) -> None:
    """Write for each cell the least (sign 1) or greatest (-1) of its rows' keys and of what its group had before.

    Rows ascend by time, as cells do, so that the group's cell before is complete when the first row of one comes.
    `valid` (n, 1), of length 0 if all are. Cost: one comparison a row, one random access a cell.
    """
    width = len(kinds)
    begun = np.zeros(len(slot), np.bool_)
    for i in range(len(row_cell)):
        cell = np.int64(row_cell[i])
        if not begun[cell]:
            begun[cell] = True
            before = np.int64(previous[cell])
            for f in range(field, field + 1 + width):
                after[cell, f] = after[before, f] if before >= 0 else state[slot[cell], first + f]
        if len(valid) and not valid[i, 0]:
            continue
        known = after[cell, field] != 0
        if known and compare_keys(keys, i, after, cell, field + 1, width, kinds, heap, starts) * sign >= 0:
            continue
        after[cell, field] = 1
        for w in range(width):
            after[cell, field + 1 + w] = keys[i, w]

"""Rows of window trees that are read bit by bit, while others change: where to go on, and what is still to be read."""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.numbers.wide import Word
from ivm.kernels.ordered.tree import compare_keys
from ivm.kernels.texts.dictionary import Bytes
from ivm.kernels.types import Bools, Int32s, Ints
from ivm.kernels.windows.tree import LEFT, RIGHT, child


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def node_behind(
    nodes: Ints, roots: Int32s, kinds: Ints, heap: Bytes, starts: Ints, slot: Word, last: Ints
) -> Word:  # fmt: skip
    """The first node of the partition in `slot` whose row comes behind that in `last` (1, row words); -1 if none does.

    Cost: O(log n) comparisons.
    """
    node, found = np.int64(roots[slot]) - 1, np.int64(-1)
    while node >= 0:
        if compare_keys(last, 0, nodes, node, 0, len(kinds) - 1, kinds, heap, starts) < 0:
            found = node
            node = child(nodes, len(kinds), node, LEFT)
        else:
            node = child(nodes, len(kinds), node, RIGHT)
    return found


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def rows_behind(rows: Ints, order: Ints, kinds: Ints, heap: Bytes, starts: Ints, last: Ints, behind: Bools) -> None:
    """Whether each of rows[order] comes behind the row in `last` (1, row words)."""
    for k in range(len(order)):
        behind[k] = compare_keys(last, 0, rows, order[k], 0, len(kinds) - 1, kinds, heap, starts) < 0

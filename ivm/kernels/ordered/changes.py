"""The changes of a batch, brought into order for an ordered tree: cell by cell, key by key, equal keys added up."""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.numbers.wide import Word
from ivm.kernels.ordered.keys import compare_keys, same_words
from ivm.kernels.texts.dictionary import Bytes
from ivm.kernels.types import Int32s, Ints

_RUN = 8  # rows sorted by insertion


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def net_changes(
    keys: Ints, kinds: Ints, heap: Bytes, starts: Ints, diffs: Ints, row_cell: Int32s, order: Ints, net: Ints,
    offsets: Ints, scratch: Ints,
) -> None:  # fmt: skip
    """Write each cell's changes: rows `order[offsets[c] : offsets[c + 1]]`, by their keys, with diffs
    `net[row]`.

    Rows of equal keys are one, the first of them; what adds up to 0 is left out. `diffs` has length 0 if all are one.
    `order`, `net` and `scratch` are int64 (n,), `offsets` int64 (cells + 1,). Cost: a sort of each cell's rows.
    """
    for c in range(len(offsets)):
        offsets[c] = 0
    for i in range(len(row_cell)):
        offsets[row_cell[i] + 1] += 1
    for c in range(1, len(offsets)):
        offsets[c] += offsets[c - 1]
    for i in range(len(row_cell) - 1, -1, -1):
        c = row_cell[i] + 1
        offsets[c] -= 1
        order[offsets[c]] = i
    # Now cell c begins at offsets[c + 1]; its end is where the next one begins.
    cells = len(offsets) - 1
    at = np.int64(0)
    for c in range(cells):
        first = offsets[c + 1]
        stop = offsets[c + 2] if c + 1 < cells else np.int64(len(row_cell))
        _sort(keys, kinds, heap, starts, order, first, stop, scratch)
        offsets[c] = at
        k = first
        while k < stop:
            total = diffs[order[k]] if len(diffs) else np.int64(1)
            row = order[k]
            k += 1
            while k < stop and same_words(keys, row, keys, order[k], 0, len(kinds)):
                total += diffs[order[k]] if len(diffs) else np.int64(1)
                k += 1
            if total != 0:
                order[at] = row
                net[row] = total
                at += 1
    offsets[cells] = at


@part()
def _sort(
    keys: Ints, kinds: Ints, heap: Bytes, starts: Ints, order: Ints, first: Word, stop: Word, scratch: Ints
) -> None:
    """Sort a stretch of row numbers by their keys; equal ones stay in order. Runs by insertion, then merged."""
    width = len(kinds)
    for begin in range(first, stop, _RUN):
        for k in range(begin + 1, min(begin + _RUN, stop)):
            row = order[k]
            at = k
            while at > begin and compare_keys(keys, order[at - 1], keys, row, 0, width, kinds, heap, starts) > 0:
                order[at] = order[at - 1]
                at -= 1
            order[at] = row
    size = np.int64(_RUN)
    while size < stop - first:
        for begin in range(first, stop - size, 2 * size):
            _merge(keys, kinds, heap, starts, order, begin, begin + size, min(begin + 2 * size, stop), scratch)
        size *= 2


@part(inline=True)
def _merge(
    keys: Ints, kinds: Ints, heap: Bytes, starts: Ints, order: Ints, first: Word, middle: Word, stop: Word,
    scratch: Ints,
) -> None:  # fmt: skip
    """Merge two sorted stretches that follow each other."""
    width = len(kinds)
    if compare_keys(keys, order[middle - 1], keys, order[middle], 0, width, kinds, heap, starts) <= 0:
        return
    for k in range(first, middle):
        scratch[k] = order[k]
    left, right, at = first, middle, first
    while left < middle and right < stop:
        if compare_keys(keys, scratch[left], keys, order[right], 0, width, kinds, heap, starts) <= 0:
            order[at] = scratch[left]
            left += 1
        else:
            order[at] = order[right]
            right += 1
        at += 1
    while left < middle:
        order[at] = scratch[left]
        left += 1
        at += 1

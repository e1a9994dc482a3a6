"""Batches of changes of an ordered tree, their rows by cells, and what they come to by cells and keys.

Who applies a batch adds to `meta[CHANGES]` with each of its rows, those that do not count too: so it is known how far
it was applied, whatever ended it, and `undo_rows` takes back so much.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.memory.at import bools_at, ints_at, words_at
from ivm.kernels.numbers.wide import Word
from ivm.kernels.ordered.nodes import CHANGES, Tree
from ivm.kernels.ordered.tree import add, compare_keys, find, same_words
from ivm.kernels.texts.dictionary import Bytes
from ivm.kernels.types import Bools, Int32s, Ints

_RUN = 8  # rows sorted by insertion


class TreeBatch(NamedTuple):
    """Changes of keys' multiplicities; none of the arrays may be written to.

    `keys` (n, W); `valid` (n, 1), a mask of those that count, of length 0 if all do; `diffs` (n,), of length 0 if all
    are one; `order`, in which order the rows are taken, of length 0 if as they come.
    """

    keys: Ints
    valid: Bools
    diffs: Ints
    order: Ints


@part(inline=True, counted=True)
def batch_at(address: Word, rows: Word, width: Word) -> TreeBatch:
    """The batch of so many rows at an address: its keys, then their diffs, then the order."""
    keys, diffs = words_at(address, rows, width), address + 8 * rows * width
    return TreeBatch(keys, bools_at(np.int64(0), 0, 1), ints_at(diffs, rows), ints_at(diffs + 8 * rows, rows))


@part(inline=True)
def row_at(batch: TreeBatch, k: Word) -> Word:
    """Which row of a batch is taken as number k."""
    return batch.order[k] if len(batch.order) else np.int64(k)


@part(inline=True)
def diff_of(batch: TreeBatch, i: Word) -> Word:
    """By how much row i of a batch changes its key's multiplicity."""
    if len(batch.valid) and not batch.valid[i, 0]:
        return np.int64(0)
    return batch.diffs[i] if len(batch.diffs) else np.int64(1)


@part(inline=True)
def apply_row(tree: Tree, batch: TreeBatch, i: Word, sign: Word, near: bool) -> None:
    """Apply row i, its diff times `sign`, and count it. `near`: the keys come in order, or nearly."""
    diff = np.int64(sign) * diff_of(batch, i)
    if diff != 0:
        add(tree, batch.keys, i, diff, near)
    tree.meta[CHANGES] += 1


@part(inline=True)
def completed(order: Ints, times: Ints, row_cell: Int32s, k: Word, done: Word, opened: Word) -> tuple[Word, Word]:
    """The cells [first, stop) that have all their rows when the row that is taken as number k is applied.

    With an order all rows have the same time, and those of a cell stand together. Else cells are numbered as their
    times come, those before `done` are complete, and those from `opened` on have no row yet. `times` has length 1 if
    all are the same.
    """
    is_last = k + 1 == len(row_cell)
    if len(order):
        cell = np.int64(row_cell[order[k]])
        ends = is_last or row_cell[order[k + 1]] != cell
        return cell, cell + np.int64(ends)
    ends = is_last or (len(times) > 1 and times[k + 1] != times[k])
    return done, opened if ends else done


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def add_rows(
    rows: Ints, heads: Ints, meta: Ints, kinds: Ints, heap: Bytes, starts: Ints, keys: Ints, valid: Bools, diffs: Ints,
    order: Ints, count: Word, sign: Word, near: bool,
) -> None:  # fmt: skip
    """Apply the first `count` changes of a batch, their diffs times `sign`. `near`: as for `apply_row`."""
    tree, batch = Tree(rows, heads, meta, kinds, heap, starts), TreeBatch(keys, valid, diffs, order)
    for k in range(count):
        apply_row(tree, batch, row_at(batch, k), sign, near)


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def undo_rows(
    rows: Ints, heads: Ints, meta: Ints, kinds: Ints, heap: Bytes, starts: Ints, keys: Ints, valid: Bools, diffs: Ints,
    order: Ints, before: Word,
) -> None:  # fmt: skip
    """Take back what was applied of a batch that was the last one; `meta[CHANGES]` was `before` when it began."""
    tree, batch = Tree(rows, heads, meta, kinds, heap, starts), TreeBatch(keys, valid, diffs, order)
    while meta[CHANGES] > before:
        i = row_at(batch, meta[CHANGES] - before - 1)
        diff = diff_of(batch, i)
        if diff != 0:
            add(tree, keys, i, -diff, len(order) > 0)
        meta[CHANGES] -= 1


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def drop_rows(rows: Ints, heads: Ints, meta: Ints, kinds: Ints, heap: Bytes, starts: Ints, keys: Ints) -> None:
    """Take the entries of these keys, which come in order, out for good; those that are not there are passed over."""
    tree = Tree(rows, heads, meta, kinds, heap, starts)
    for i in range(len(keys)):
        at, there = find(tree, keys, i, True)
        if there:
            add(tree, keys, i, -rows[at, len(kinds)], True)


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

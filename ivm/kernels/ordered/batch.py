"""Batches of changes of an ordered tree, and their rows by cells.

Who applies a batch adds to `meta[CHANGES]` with each of its rows, those that do not count too: so it is known how far
it was applied, whatever ended it, and `undo_rows` takes back so much.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.numbers.wide import Word
from ivm.kernels.ordered.nodes import CHANGES, Tree
from ivm.kernels.ordered.tree import add, find
from ivm.kernels.texts.dictionary import Bytes
from ivm.kernels.types import Bools, Int32s, Ints


class TreeBatch(NamedTuple):
    """Changes of keys' multiplicities; none of the arrays may be written to.

    `keys` (n, W); `valid` (n, 1), a mask of those that count, of length 0 if all do; `diffs` (n,), of length 0 if all
    are one; `order`, in which order the rows are taken, of length 0 if as they come.
    """

    keys: Ints
    valid: Bools
    diffs: Ints
    order: Ints


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
    order: Ints, sign: Word, near: bool,
) -> None:  # fmt: skip
    """Apply a batch, its diffs times `sign`. `near`: as for `apply_row`."""
    tree, batch = Tree(rows, heads, meta, kinds, heap, starts), TreeBatch(keys, valid, diffs, order)
    for k in range(len(keys)):
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

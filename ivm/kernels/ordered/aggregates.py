"""Quantiles and whole groups in order, of the rows of all groups in one ordered tree: also for string_agg and list.

Keys are a group's slot and the words of a value. For quantiles the tree has sums (see `ordered.walk`).
"""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.memory.move import grown
from ivm.kernels.numbers.wide import Word
from ivm.kernels.ordered.batch import TreeBatch, apply_row, completed, row_at
from ivm.kernels.ordered.nodes import Tree
from ivm.kernels.ordered.tree import enter
from ivm.kernels.ordered.walk import copies_before, entry_at, first_of_group, following
from ivm.kernels.texts.dictionary import Bytes
from ivm.kernels.types import Bools, Floats, Int32s, Ints

EXACT, ROUNDED, BETWEEN = 0, 1, 2
_FEW = 64  # entries of a group that are counted one by one


@part()
def _places(wanted: Ints, fractions: Floats, q: Word, count: Word) -> tuple[Word, Word, float]:
    """The positions that quantile q of `count` rows lies between, and how far from the first to the second."""
    kind, fraction = wanted[q, 0], fractions[q]
    if kind == BETWEEN:
        place = np.float64(count - 1) * fraction
        low = np.int64(np.floor(place))
        return low, np.int64(np.ceil(place)), float(place - np.float64(low))
    if kind == EXACT:
        behind = (count * wanted[q, 2] - count * wanted[q, 1]) // wanted[q, 2]
    else:
        behind = np.int64(np.floor(np.float64(count) - np.float64(count) * fraction))
    at = max(np.int64(1), count - behind) - 1
    return at, at, 0.0


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def apply_quantiles(
    rows: Ints, heads: Ints, meta: Ints, kinds: Ints, heap: Bytes, starts: Ints, keys: Ints, valid: Bools, diffs: Ints,
    order: Ints, times: Ints, row_cell: Int32s, cell_slot: Int32s, wanted: Ints, fractions: Floats, present: Bools,
    picked: Ints, shares: Floats, probe: Ints,
) -> None:  # fmt: skip
    """Apply a batch in the order of time, and pick each cell's quantiles as of its time.

    The first arguments and `probe` are as in `apply_extremes`. A row of `wanted` (q, 3) is a quantile: EXACT (a row's
    value, at a fraction that is the second number over the third), ROUNDED (the same, at `fractions[q]`) or BETWEEN
    (between two rows, at `fractions[q]`). `present` (cells,) says whether the group has a row; `picked[c, q]`
    (cells, q, 2 K) gets the words of the values on both sides, `shares` (cells, q) how far the quantile lies from the
    first to the second. Cost: O(log n) a row, and a cell and quantile.
    """
    tree, batch = Tree(rows, heads, meta, kinds, heap, starts), TreeBatch(keys, valid, diffs, order)
    done = opened = np.int64(0)
    for k in range(len(row_cell)):
        i = row_at(batch, k)
        opened = max(opened, np.int64(row_cell[i]) + 1)
        apply_row(tree, batch, i, 1, len(order) > 0)
        first, done = completed(order, times, row_cell, k, done, opened)
        for cell in range(first, done):
            _pick(tree, np.int64(cell_slot[cell]), probe, wanted, fractions, present, picked, shares, cell)


@part()
def _pick(
    tree: Tree, slot: Word, probe: Ints, wanted: Ints, fractions: Floats, present: Bools, picked: Ints, shares: Floats,
    cell: Word,
) -> None:  # fmt: skip
    """Pick the quantiles of a cell of a group: of few rows by reading them, of many by their ranks."""
    rows, words = tree.rows, len(tree.kinds)
    first = first_of_group(tree, slot, probe)
    if first < 0 or rows[first, 0] != slot:
        return
    count, met, at = np.int64(0), 0, first
    while at >= 0 and rows[at, 0] == slot and met < _FEW:
        count += rows[at, words]
        met += 1
        at = following(tree, at)
    base = np.int64(-1)
    if at >= 0 and rows[at, 0] == slot:
        probe[0, 0] = slot
        enter(tree, probe, 0, 1, False, False)
        base = copies_before(tree)
        enter(tree, probe, 0, 1, True, True)
        count = copies_before(tree) - base
    present[cell] = count > 0
    for q in range(len(wanted) if count > 0 else 0):
        low, high, share = _places(wanted, fractions, q, count)
        one, copy = _row_at(tree, first, base, low)
        if one < 0:  # a multiplicity is negative
            present[cell] = False
            return
        other = one
        if high > low and copy + 1 == rows[one, words]:
            other = following(tree, one)
        for w in range(1, words):
            picked[cell, q, w - 1] = rows[one, w]
            picked[cell, q, words - 2 + w] = rows[other, w]
        shares[cell, q] = share


@part(inline=True)
def _row_at(tree: Tree, first: Word, base: Word, place: Word) -> tuple[Word, Word]:
    """The entry that has a group's copy at `place`, and which of its copies that is.

    `first` is the group's first entry; `base` says how many copies stand before it, -1 that the rows are few.
    """
    if base >= 0:
        return entry_at(tree, base + place)
    rows, words = tree.rows, len(tree.kinds)
    at, left = np.int64(first), np.int64(place)
    while left >= rows[at, words]:
        left -= rows[at, words]
        at = following(tree, at)
    return at, left


@njit(cache=True, nogil=True, fastmath=False)
def apply_rows(
    rows: Ints, heads: Ints, meta: Ints, kinds: Ints, heap: Bytes, starts: Ints, keys: Ints, valid: Bools, diffs: Ints,
    order: Ints, times: Ints, row_cell: Int32s, cell_slot: Int32s, present: Bools, offsets: Ints, probe: Ints,
) -> Ints:  # fmt: skip
    """Apply a batch in the order of time, and return each cell's rows as of its time, key words without the slot.

    The arguments are as in `apply_extremes` of `ivm.kernels.ordered.extremes`. Cell c has the rows from `offsets[c]` to
    `offsets[c + 1]`, each as often as it counts; `present` (cells,) says whether it has any. Cost: O(log n) a row,
    O(rows of the group) a cell.
    """
    tree, batch = Tree(rows, heads, meta, kinds, heap, starts), TreeBatch(keys, valid, diffs, order)
    out = np.empty((len(row_cell), len(kinds) - 1), np.int64)
    count = np.int64(0)
    done = opened = np.int64(0)
    for k in range(len(row_cell)):
        i = row_at(batch, k)
        opened = max(opened, np.int64(row_cell[i]) + 1)
        apply_row(tree, batch, i, 1, len(order) > 0)
        first, done = completed(order[:0], times, row_cell, k, done, opened)
        for cell in range(first, done):
            offsets[cell] = count
            out, count = _read_group(tree, np.int64(cell_slot[cell]), probe, out, count)
            present[cell] = count > offsets[cell]
    offsets[done] = count
    return out[:count]


@part(inline=True, counted=True)
def _read_group(tree: Tree, slot: Word, probe: Ints, out: Ints, count: Word) -> tuple[Ints, Word]:
    """Write a group's rows, each as often as it counts; the output, grown if need be."""
    rows, words = tree.rows, len(tree.kinds)
    at = first_of_group(tree, slot, probe)
    while at >= 0 and rows[at, 0] == slot:
        copies: Word = max(rows[at, words], np.int64(0))
        out = grown(out, count, count + copies)
        for _ in range(copies):
            for w in range(1, words):
                out[count, w - 1] = rows[at, w]
            count += 1
        at = following(tree, at)
    return out, count

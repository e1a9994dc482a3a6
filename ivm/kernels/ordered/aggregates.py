"""Aggregates of groups from the rows of all groups in one ordered tree (see `ordered.tree`): the smallest and the
largest, quantiles, and whole groups in order, also for string_agg and list.

Keys are a group's slot and the words of a value. A group's fields for an extreme are a one and its words, or zeros.
For quantiles the tree has sums (see `ordered.walk`).
"""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.memory.move import grown
from ivm.kernels.numbers.wide import Word
from ivm.kernels.ordered.batch import TreeBatch, apply_row, completed, diff_of, row_at
from ivm.kernels.ordered.nodes import CHANGES, LEAF, Tree
from ivm.kernels.ordered.tree import add, enter
from ivm.kernels.ordered.walk import (
    before_gap,
    behind_gap,
    copies_before,
    entry_at,
    first_of_group,
    following,
    last_entry,
)
from ivm.kernels.texts.dictionary import Bytes, compare_text
from ivm.kernels.types import Bools, Floats, Int32s, Ints

NOT_WANTED = -1
_UNKNOWN = 2  # in place of the one, until the end of the time: it may have gone
EXACT, ROUNDED, BETWEEN = 0, 1, 2
_FEW = 64  # entries of a group that are counted one by one


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def apply_extremes(
    rows: Ints, heads: Ints, meta: Ints, kinds: Ints, heap: Bytes, starts: Ints, keys: Ints, valid: Bools, diffs: Ints,
    order: Ints, times: Ints, row_cell: Int32s, cell_slot: Int32s, cell_previous: Int32s, state: Ints, before: Word,
    least: Word, most: Word, cells: Ints, probe: Ints,
) -> None:  # fmt: skip
    """Apply a batch in the order of time, and write each cell's extremes as of its time into its fields.

    `keys`, `valid`, `diffs` and `order` are the batch; `times` says which cells are complete when (see
    `ordered.batch`). `least` and `most` are the fields of the smallest and the largest, or NOT_WANTED. The fields that
    a group came with are those from column `before` of its row of `state`; a `state` without rows says that nobody
    knows them. `probe` int64 (1, 1) is scratch. Cost: O(log n) a row, and a cell whose extreme has gone where the tree
    changed its shape.
    """
    tree, batch = Tree(rows, heads, meta, kinds, heap, starts), TreeBatch(keys, valid, diffs, order)
    width = len(kinds)
    done = opened = np.int64(0)
    for k in range(len(row_cell)):
        i = row_at(batch, k)
        cell = np.int64(row_cell[i])
        while opened <= cell:
            _open(state, before, least, width, cell_slot, cell_previous, cells, opened)
            _open(state, before, most, width, cell_slot, cell_previous, cells, opened)
            opened += 1
        diff = diff_of(batch, i)
        if diff != 0:
            at = add(tree, keys, i, diff, len(order) > 0)
            if at < 0:
                _leave(tree, keys, i, cells, cell, least, True)
                _leave(tree, keys, i, cells, cell, most, False)
            elif rows[at, width] == diff:
                _enter(tree, keys, i, cells, cell, least, np.int64(1))
                _enter(tree, keys, i, cells, cell, most, np.int64(-1))
        meta[CHANGES] += 1
        first, done = completed(order, times, row_cell, k, done, opened)
        for whole in range(first, done):
            _look_up(tree, np.int64(cell_slot[whole]), cells, whole, least, most, probe)


@part(inline=True)
def _open(
    state: Ints, before: Word, field: Word, width: Word, cell_slot: Int32s, cell_previous: Int32s, cells: Ints,
    cell: Word,
) -> None:  # fmt: skip
    """Begin a cell with the extreme that its group had; the fields are as wide as a key."""
    if field < 0:
        return
    previous = np.int64(cell_previous[cell])
    if previous >= 0:
        for f in range(field, field + width):
            cells[cell, f] = cells[previous, f]
    elif len(state) == 0:
        cells[cell, field] = _UNKNOWN
    else:
        slot = np.int64(cell_slot[cell])
        for f in range(field, field + width):
            cells[cell, f] = state[slot, before + f]


@part(inline=True)
def _enter(tree: Tree, keys: Ints, i: Word, cells: Ints, cell: Word, field: Word, way: Word) -> None:
    """Bring a cell's extreme up to date with a value that came; `way` is 1 for the smallest, -1 for the largest."""
    kinds = tree.kinds
    if field < 0 or cells[cell, field] == _UNKNOWN:
        return
    ahead = cells[cell, field] == 0
    for w in range(1, len(kinds) if not ahead else 1):
        x, y = keys[i, w], cells[cell, field + w]
        if x != y:
            if kinds[w] == 0:
                ahead = (x < y) == (way > 0)
            else:
                ahead = np.int64(compare_text(tree.heap, tree.starts, x, y)) * kinds[w] * way < 0
            break
    if ahead:
        cells[cell, field] = 1
        for w in range(1, len(kinds)):
            cells[cell, field + w] = keys[i, w]


@part(inline=True)
def _leave(tree: Tree, keys: Ints, i: Word, cells: Ints, cell: Word, field: Word, behind: bool) -> None:
    """Bring a cell's extreme up to date with a value that the path has just lost: the next is the one beside it.

    `behind`: the smallest, which the one behind follows; else the largest.
    """
    if field < 0 or cells[cell, field] != 1:
        return
    for w in range(1, len(tree.kinds)):
        if keys[i, w] != cells[cell, field + w]:
            return
    if tree.meta[LEAF] < 0:
        cells[cell, field] = _UNKNOWN
        return
    at = behind_gap(tree) if behind else before_gap(tree)
    _read(tree, at, keys[i, 0], cells, cell, field)


@part()
def _look_up(tree: Tree, slot: Word, cells: Ints, cell: Word, least: Word, most: Word, probe: Ints) -> None:
    """Read what is not known of a cell of a group; one search if the group has one value, or none."""
    at = np.int64(-1)
    if least >= 0 and cells[cell, least] == _UNKNOWN:
        at = first_of_group(tree, slot, probe)
        _read(tree, at, slot, cells, cell, least)
    if most >= 0 and cells[cell, most] == _UNKNOWN:
        if least >= 0 and cells[cell, least] == 0:
            at = np.int64(-1)
        else:
            behind = following(tree, at) if at >= 0 else np.int64(-1)
            if at < 0 or (behind >= 0 and tree.rows[behind, 0] == slot):
                probe[0, 0] = slot
                at = last_entry(tree, probe, 0, 1, False)
        _read(tree, at, slot, cells, cell, most)


@part(inline=True)
def _read(tree: Tree, at: Word, slot: Word, cells: Ints, cell: Word, field: Word) -> None:
    """Write the value at a position, if it is the group's."""
    there = at >= 0 and tree.rows[at, 0] == slot
    cells[cell, field] = np.int64(there)
    for w in range(1, len(tree.kinds)):
        cells[cell, field + w] = tree.rows[at, w] if there else np.int64(0)


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

    The arguments are as in `apply_extremes`. Cell c has the rows from `offsets[c]` to
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

"""The smallest and the largest of each group, from the values of all groups in one ordered tree (see `ordered.tree`).

Keys are a group's slot and the words of a value. A group's fields for an extreme are a one and its words, or zeros.
"""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.numbers.wide import Word
from ivm.kernels.ordered.batch import TreeBatch, completed, diff_of, row_at
from ivm.kernels.ordered.nodes import CHANGES, LEAF, Tree
from ivm.kernels.ordered.tree import add
from ivm.kernels.ordered.walk import before_gap, behind_gap, first_of_group, following, last_entry
from ivm.kernels.texts.dictionary import Bytes, compare_text
from ivm.kernels.types import Bools, Int32s, Ints

NOT_WANTED = -1
_UNKNOWN = 2  # in place of the one, until the end of the time: it may have gone


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

"""The smallest and the largest of each group, from the values of all groups in one ordered tree (see `ordered.tree`).

Keys are a group's slot and the words of a value. A group's fields for an extreme are a one and its words, or zeros.
"""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.numbers.wide import Word
from ivm.kernels.ordered.nodes import CHANGES, LEAF
from ivm.kernels.ordered.tree import add, diff_of, row_at
from ivm.kernels.ordered.walk import before_gap, behind_gap, first_entry, first_near, following, last_entry
from ivm.kernels.texts.dictionary import Bytes, compare_text
from ivm.kernels.types import Bools, Int32s, Ints

NOT_WANTED = -1
_UNKNOWN = 2  # in place of the one, until the end of the time: it may have gone


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def apply_extremes(
    rows: Ints,
    heads: Ints,
    meta: Ints,
    kinds: Ints,
    heap: Bytes,
    starts: Ints,
    keys: Ints,
    valid: Bools,
    diffs: Ints,
    order: Ints,
    times: Ints,
    row_cell: Int32s,
    cell_slot: Int32s,
    cell_previous: Int32s,
    state: Ints,
    before: Word,
    least: Word,
    most: Word,
    cells: Ints,
    probe: Ints,
) -> None:
    """Apply a batch in the order of time, and write each cell's extremes as of its time into its fields.

    `keys`, `valid`, `diffs` and `order` are the batch (see `ordered.tree`), which has an order only where all rows have
    the same time, and then the rows of a cell stand together. `times` has length 1 if all are the same. `least` and
    `most` are the fields of the smallest and the largest, or NOT_WANTED. The fields that a group came with are those
    from column `before` of its row of `state`; a `state` without rows says that nobody knows them. `probe` int64
    (1, 1) is scratch. Cost: O(log n) a row, and a cell whose extreme has gone where the tree changed its shape.
    """
    width = len(kinds)
    done = opened = np.int64(0)
    for k in range(len(row_cell)):
        i = row_at(order, k)
        cell = np.int64(row_cell[i])
        while opened <= cell:
            _open(state, before, least, width, cell_slot, cell_previous, cells, opened)
            _open(state, before, most, width, cell_slot, cell_previous, cells, opened)
            opened += 1
        diff = diff_of(valid, diffs, i)
        if diff != 0:
            at = add(rows, heads, meta, kinds, heap, starts, keys, i, diff, len(order) > 0)
            if at < 0:
                _leave(rows, heads, meta, keys, i, width, cells, cell, least, True)
                _leave(rows, heads, meta, keys, i, width, cells, cell, most, False)
            elif rows[at, width] == diff:
                _enter(keys, i, kinds, heap, starts, cells, cell, least, np.int64(1))
                _enter(keys, i, kinds, heap, starts, cells, cell, most, np.int64(-1))
        meta[CHANGES] += 1
        if len(order):
            if k + 1 == len(row_cell) or row_cell[order[k + 1]] != row_cell[i]:
                probe[0, 0] = cell_slot[cell]
                _look_up(rows, heads, meta, kinds, heap, starts, probe, cells, cell, least, most)
        elif k + 1 == len(row_cell) or (len(times) > 1 and times[k + 1] != times[k]):
            # Cells are numbered as their times come, so those of this time are the ones since the last.
            while done < opened:
                probe[0, 0] = cell_slot[done]
                _look_up(rows, heads, meta, kinds, heap, starts, probe, cells, done, least, most)
                done += 1


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
def _enter(
    keys: Ints, i: Word, kinds: Ints, heap: Bytes, starts: Ints, cells: Ints, cell: Word, field: Word, way: Word
) -> None:
    """Bring a cell's extreme up to date with a value that came; `way` is 1 for the smallest, -1 for the largest."""
    if field < 0 or cells[cell, field] == _UNKNOWN:
        return
    ahead = cells[cell, field] == 0
    for w in range(1, len(kinds) if not ahead else 1):
        x, y = keys[i, w], cells[cell, field + w]
        if x != y:
            if kinds[w] == 0:
                ahead = (x < y) == (way > 0)
            else:
                ahead = np.int64(compare_text(heap, starts, x, y)) * kinds[w] * way < 0
            break
    if ahead:
        cells[cell, field] = 1
        for w in range(1, len(kinds)):
            cells[cell, field + w] = keys[i, w]


@part(inline=True)
def _leave(
    rows: Ints, heads: Ints, meta: Ints, keys: Ints, i: Word, width: Word, cells: Ints, cell: Word, field: Word,
    behind: bool,
) -> None:  # fmt: skip
    """Bring a cell's extreme up to date with a value that the path has just lost: the next is the one beside it.

    `behind`: the smallest, which the one behind follows; else the largest.
    """
    if field < 0 or cells[cell, field] != 1:
        return
    for w in range(1, width):
        if keys[i, w] != cells[cell, field + w]:
            return
    if meta[LEAF] < 0:
        cells[cell, field] = _UNKNOWN
        return
    at = behind_gap(heads, meta) if behind else before_gap(heads, meta)
    _read(rows, at, keys[i, 0], width, cells, cell, field)


@part()
def _look_up(
    rows: Ints, heads: Ints, meta: Ints, kinds: Ints, heap: Bytes, starts: Ints, probe: Ints, cells: Ints, cell: Word,
    least: Word, most: Word,
) -> None:  # fmt: skip
    """Read what is not known of a cell whose slot is in `probe`; one search if the group has one value, or none."""
    slot, width = probe[0, 0], len(kinds)
    at = np.int64(-1)
    if least >= 0 and cells[cell, least] == _UNKNOWN:
        at = first_near(rows, heads, meta, slot)
        if at < 0:
            at = first_entry(rows, heads, meta, kinds, heap, starts, probe, 0, 1, False)
        _read(rows, at, slot, width, cells, cell, least)
    if most >= 0 and cells[cell, most] == _UNKNOWN:
        if least >= 0 and cells[cell, least] == 0:
            at = np.int64(-1)
        else:
            behind = following(heads, meta, at) if at >= 0 else np.int64(-1)
            if at < 0 or (behind >= 0 and rows[behind, 0] == slot):
                at = last_entry(rows, heads, meta, kinds, heap, starts, probe, 0, 1, False)
        _read(rows, at, slot, width, cells, cell, most)


@part(inline=True)
def _read(rows: Ints, at: Word, slot: Word, width: Word, cells: Ints, cell: Word, field: Word) -> None:
    """Write the value at a position, if it is the group's."""
    there = at >= 0 and rows[at, 0] == slot
    cells[cell, field] = np.int64(there)
    for w in range(1, width):
        cells[cell, field + w] = rows[at, w] if there else np.int64(0)

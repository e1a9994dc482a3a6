"""Rows of a left tree with the nearest row of a right one: what changes of both trees change in that, time by time.

The keys of both trees begin with the same words, PREFIX of them: KEYED words that have to agree, then those of a time.
The row of the right that a left one has is the last whose prefix is not greater, or, if STRICT, is less: so of equal
times the last. NULL, whose word at NULL is 0, stands before all times and is near to nobody.

A row of the right that comes or goes moves the rows of the left from its time up to the next time on the right. Those
of one time of a batch go in their order, so that each row of the left is met once: what is behind is as it was before,
what is ahead as it will be, and of what was near before, the last one is kept in `held`.

`shape` int64 (5,) is always the same; `frame` int64 (FRAME,), zeros at first, is how far a step is. `places` int64
(words of the right that are put out,): for each the word of a right key that it is, or -1: it is 1, or 0 where there is
no row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.memory.at import address_of
from ivm.kernels.numbers.wide import Word
from ivm.kernels.ordered.batch import TreeBatch, apply_row, batch_at, net_changes
from ivm.kernels.ordered.nodes import ROOT, Tree, tree_at
from ivm.kernels.ordered.tree import NOWHERE, compare_keys, same_words
from ivm.kernels.ordered.walk import first_entry, following, last_entry
from ivm.kernels.texts.dictionary import Bytes
from ivm.kernels.types import Int32s, Ints

PREFIX, KEYED, STRICT, OUTER, NULL = range(5)
"""NULL is -1 if no time can be NULL. OUTER: rows without a nearest one are put out, too."""
BEGUN, CELL, STAGE, AT, MEETING, HELD, BOUNDED, WRITTEN = range(8)
FRAME = 8
"""Whether batches are in order; the cell; whether its left rows are next, and the place in their order; the left row
that is met next, one more than its position; whether `held` has a row, and a bound; how many rows are written."""
DIFF, OF_CELL = 0, 1
_OLD, _BOUND = 0, 1


class _Out(NamedTuple):
    """Room for rows that are put out: the words of both sides, and diffs and cells, (n, 2)."""

    left: Ints
    right: Ints
    about: Ints
    places: Ints


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def step_asof(
    left_meta: Ints, left_kinds: Ints, left_memory: Ints, left_diffs: Ints, left_cell: Int32s, left_offsets: Ints,
    right_meta: Ints, right_kinds: Ints, right_memory: Ints, right_diffs: Ints, right_cell: Int32s,
    right_offsets: Ints, heap: Bytes, starts: Ints, scratch: Ints, shape: Ints, frame: Ints, held: Ints,
    places: Ints, out_left: Ints, out_right: Ints, out: Ints,
) -> bool:  # fmt: skip
    """Go on with a batch of each side, cell by cell, as far as there is room; whether it is done.

    A batch's memory begins with its keys (see `batch_at`); its `diffs` have length 0 if all are one; `cell` int32 (n,)
    has the number of each row's time, `offsets` int64 (cells + 1,) are written. `scratch` int64 (rows of the larger,),
    `held` int64 (2, words of a right key). What undoes a change is there before the trees change. Cost: O(log n) a
    change, and the rows that are put out.
    """
    left, right = tree_at(left_meta, left_kinds, heap, starts), tree_at(right_meta, right_kinds, heap, starts)
    lefts = batch_at(address_of(left_memory), np.int64(len(left_cell)), np.int64(len(left_kinds)))
    rights = batch_at(address_of(right_memory), np.int64(len(right_cell)), np.int64(len(right_kinds)))
    if not frame[BEGUN]:
        net_changes(
            lefts.keys, left_kinds, heap, starts, left_diffs, left_cell, lefts.order, lefts.diffs, left_offsets, scratch
        )
        net_changes(
            rights.keys, right_kinds, heap, starts, right_diffs, right_cell, rights.order, rights.diffs, right_offsets,
            scratch,
        )  # fmt: skip
        frame[BEGUN] = 1
    room = _Out(out_left, out_right, out, places)
    while frame[CELL] + 1 < len(left_offsets):
        cell = frame[CELL]
        if frame[STAGE] == 0:
            if not _move(left, right, rights, right_offsets[cell], right_offsets[cell + 1], shape, frame, held, room):
                return False
            frame[STAGE], frame[AT] = 1, left_offsets[cell]
        if not _answer(left, right, lefts, left_offsets[cell + 1], shape, frame, held, room):
            return False
        frame[CELL], frame[STAGE] = cell + 1, 0
        frame[AT] = right_offsets[cell + 1]
    return True


@part(inline=True)
def _nearest(tree: Tree, keys: Ints, i: Word, shape: Ints, strict: bool) -> Word:
    """The position of the row of the right that key i has, or -1."""
    at = last_entry(tree, keys, i, shape[PREFIX], strict)
    if at < 0 or not same_words(tree.rows, at, keys, i, 0, shape[KEYED]):
        return np.int64(NOWHERE)
    return np.int64(NOWHERE) if shape[NULL] >= 0 and tree.rows[at, shape[NULL]] == 0 else at


@part(inline=True)
def _compare(tree: Tree, a: Ints, i: Word, b: Ints, j: Word, shape: Ints) -> Word:
    return compare_keys(a, i, b, j, np.int64(0), shape[PREFIX], tree.kinds, tree.heap, tree.starts)


@part()
def _move(
    left: Tree, right: Tree, batch: TreeBatch, first: Word, stop: Word, shape: Ints, frame: Ints, held: Ints, out: _Out
) -> bool:  # fmt: skip
    """Apply a cell's changes of the right, and write which rows of the left move; False if there is no room."""
    while frame[AT] < stop:
        at = frame[AT]
        row, end = batch.order[at], at + 1
        while end < stop and same_words(batch.keys, row, batch.keys, batch.order[end], 0, shape[PREFIX]):
            end += 1
        if left.meta[ROOT] < 0:
            for k in range(at, end):
                apply_row(right, batch, batch.order[k], 1, True)
        else:
            if frame[MEETING] == 0:
                _keep_old(right, batch, first, at, shape, frame, held)
                for k in range(at, end):
                    apply_row(right, batch, batch.order[k], 1, True)
                _find_moved(left, right, batch, at, end, stop, shape, frame, held)
            if frame[MEETING] > 0 and not _write_moved(left, right, batch.keys, row, shape, frame, held, out):
                return False
        frame[AT], frame[MEETING] = end, 0
    return True


@part()
def _keep_old(right: Tree, batch: TreeBatch, first: Word, at: Word, shape: Ints, frame: Ints, held: Ints) -> None:
    """Keep in `held` the row that was the last one up to the time of a change before the cell, if there was one.

    Up to the change before it in the cell the tree is as it will be: what was there is in `held` already.
    """
    row = batch.order[at]
    there = _nearest(right, batch.keys, row, shape, False)
    if at > first:
        before = batch.order[at - 1]
        if same_words(batch.keys, before, batch.keys, row, 0, shape[KEYED]):
            if there < 0 or _compare(right, right.rows, there, batch.keys, before, shape) <= 0:
                return
    frame[HELD] = np.int64(there >= 0)
    if there >= 0:
        _copy(right.rows, there, held, _OLD, len(right.kinds))


@part(inline=True)
def _copy(rows: Ints, at: Word, to: Ints, place: Word, width: Word) -> None:
    for w in range(width):
        to[place, w] = rows[at, w]


@part()
def _find_moved(
    left: Tree, right: Tree, batch: TreeBatch, at: Word, end: Word, stop: Word, shape: Ints, frame: Ints, held: Ints
) -> None:  # fmt: skip
    """Find the first row of the left that changes of one time, which are applied, move, and what bounds them."""
    keys, row = batch.keys, batch.order[at]
    now = _nearest(right, keys, row, shape, False)
    if now < 0 and not frame[HELD]:
        return
    if now >= 0 and frame[HELD] and same_words(held, _OLD, right.rows, now, 0, len(right.kinds)):
        return
    found = first_entry(left, keys, row, shape[PREFIX], shape[STRICT] != 0)
    if found < 0 or not same_words(left.rows, found, keys, row, 0, shape[KEYED]):
        return
    frame[MEETING] = found + 1
    behind = first_entry(right, keys, row, shape[PREFIX], True)
    frame[BOUNDED] = np.int64(behind >= 0 and same_words(right.rows, behind, keys, row, 0, shape[KEYED]))
    if frame[BOUNDED]:
        _copy(right.rows, behind, held, _BOUND, shape[PREFIX])
    if end < stop and same_words(keys, batch.order[end], keys, row, 0, shape[KEYED]):
        if not frame[BOUNDED] or _compare(right, keys, batch.order[end], held, _BOUND, shape) < 0:
            frame[BOUNDED] = 1
            _copy(keys, batch.order[end], held, _BOUND, shape[PREFIX])


@part()
def _write_moved(
    left: Tree, right: Tree, keys: Ints, row: Word, shape: Ints, frame: Ints, held: Ints, out: _Out
) -> bool:  # fmt: skip
    """Write the rows of the left that move, with what they had and what they have; False if there is no room."""
    now, strict = _nearest(right, keys, row, shape, False), shape[STRICT] != 0
    had = np.int64(_OLD) if frame[HELD] else np.int64(NOWHERE)
    at = frame[MEETING] - 1
    while at >= 0 and same_words(left.rows, at, keys, row, 0, shape[KEYED]):
        if frame[BOUNDED]:
            side = _compare(left, left.rows, at, held, _BOUND, shape)
            if side > 0 or (side == 0 and not strict):
                break
        if frame[WRITTEN] + 2 > len(out.about):
            frame[MEETING] = at + 1
            return False
        count = left.rows[at, len(left.kinds)]
        _write(left, left.rows, at, held, had, -count, shape, frame, out)
        _write(left, left.rows, at, right.rows, now, count, shape, frame, out)
        at = following(left, at)
    return True


@part()
def _answer(
    left: Tree, right: Tree, batch: TreeBatch, stop: Word, shape: Ints, frame: Ints, held: Ints, out: _Out
) -> bool:  # fmt: skip
    """Apply a cell's changes of the left, and write them with what is near to them; False if there is no room."""
    while frame[AT] < stop:
        if frame[WRITTEN] == len(out.about):
            return False
        row = batch.order[frame[AT]]
        apply_row(left, batch, row, 1, True)
        near = _nearest(right, batch.keys, row, shape, shape[STRICT] != 0)
        _write(left, batch.keys, row, right.rows, near, batch.diffs[row], shape, frame, out)
        frame[AT] += 1
    return True


@part(inline=True)
def _write(
    left: Tree, rows: Ints, at: Word, near: Ints, there: Word, diff: Word, shape: Ints, frame: Ints, out: _Out
) -> None:  # fmt: skip
    """Write a row of the left with one of the right, or, if that is -1, without."""
    if there < 0 and not shape[OUTER]:
        return
    to = frame[WRITTEN]
    _copy(rows, at, out.left, to, len(left.kinds))
    _put_right(near, there, out.places, out.right, to)
    out.about[to, DIFF], out.about[to, OF_CELL] = diff, frame[CELL]
    frame[WRITTEN] = to + 1


@part(inline=True)
def _put_right(near: Ints, there: Word, places: Ints, out: Ints, to: Word) -> None:
    for w in range(len(places)):
        if there < 0:
            out[to, w] = 0
        else:
            out[to, w] = near[there, places[w]] if places[w] >= 0 else np.int64(1)


LEFT_AT, RIGHT_AT, HAS, PUT = range(4)
PAIRING = 4


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def pair_entries(
    left: Ints, right: Ints, ended: bool, kinds: Ints, heap: Bytes, starts: Ints, shape: Ints, places: Ints,
    last: Ints, frame: Ints, out_left: Ints, out_right: Ints, out: Ints,
) -> None:  # fmt: skip
    """Write entries of the left tree, which come in order, with those of the right, until those of a side are all read.

    `frame` int64 (PAIRING,) has how many of either are read, whether `last` (1, words of a right entry) has the one of
    the right before, and how many rows are written; there is room for all of the left. `ended`: no more of the right
    follow.
    """
    strict, width = shape[STRICT] != 0, left.shape[1] - 1
    while frame[LEFT_AT] < len(left):
        i = frame[LEFT_AT]
        while frame[RIGHT_AT] < len(right):
            j = frame[RIGHT_AT]
            side = compare_keys(right, j, left, i, np.int64(0), shape[PREFIX], kinds, heap, starts)
            if side > 0 or (side == 0 and strict):
                break
            _copy(right, j, last, 0, last.shape[1])
            frame[HAS], frame[RIGHT_AT] = 1, j + 1
        if frame[RIGHT_AT] == len(right) and not ended:
            return
        there = np.int64(NOWHERE)
        if frame[HAS] and same_words(last, 0, left, i, 0, shape[KEYED]):
            if shape[NULL] < 0 or last[0, shape[NULL]] != 0:
                there = np.int64(0)
        if there >= 0 or shape[OUTER]:
            to = frame[PUT]
            _copy(left, i, out_left, to, width)
            _put_right(last, there, places, out_right, to)
            out[to] = left[i, width]
            frame[PUT] = to + 1
        frame[LEFT_AT] = i + 1

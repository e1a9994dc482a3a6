"""Window functions over ordered partitions: what a batch changes in rows and in the functions' values, time by time.

See `windows.tree` for the trees, `windows.values` for `functions`, and `windows.reach` for the rows that a change may
concern. A cell (see `groups.table`) is a partition at a time: its rows are put into the tree and taken out, and then
every function is brought up to date where its reach takes it.

Output rows are int64 (rows, row words + value words + 3): a row's key words without the copy, its values, the diff,
the cell, and the node. To undo changes is to make the opposite ones, without an output.

The mark of a node is the number of the cell (`sizes[BEGUN]`) that has written what it was, or that negative if it came
in then: so marks need no removal, which an error might prevent.
"""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.memory.move import grown
from ivm.kernels.numbers.wide import Word
from ivm.kernels.texts.dictionary import Bytes
from ivm.kernels.types import Int32s, Ints
from ivm.kernels.windows.positions import neighbour, select
from ivm.kernels.windows.reach import BACKWARD, NEAR, PARTITION, find_intervals, find_stretches
from ivm.kernels.windows.tree import (
    BEGUN,
    CHANGES,
    DEEPEST,
    INPUT,
    KEY,
    LEFT,
    PAYLOAD,
    RIGHT,
    VALUES,
    WORDS,
    Trees,
    WindowBatch,
    child,
    insert,
    last_copy,
    refresh,
    remove,
    size,
)
from ivm.kernels.windows.values import (
    AT,
    COUNT,
    FAR,
    FRAME_HIGH,
    FRAME_LOW,
    GROUPED,
    MEMORY,
    PEERS_HIGH,
    PEERS_LOW,
    REACH,
    Scratch,
    evaluate,
)

DIFF, CELL, NODE = -3, -2, -1
"""The last columns of output rows."""
_ABOVE_ALL = np.int64(2**62)
ROOM = 3
SCRATCH = 5 * DEEPEST + MEMORY


@part()
def _put(nodes: Ints, shape: Ints, node: Word, diff: Word, cell: Word, out: Ints, row: Word) -> None:
    width = shape[KEY] - 1
    for w in range(width):
        out[row, w] = nodes[node, w]
    for w in range(shape[WORDS]):
        out[row, width + w] = nodes[node, shape[VALUES] + w]
    end = width + shape[WORDS]
    out[row, end], out[row, end + 1], out[row, end + 2] = diff, cell, node


@part(inline=True)
def _change_rows(
    trees: Trees, group: Word, rows: Ints, i: Word, diff: Word, cell: Word, out: Ints, written: Word
) -> tuple[Word, bool]:
    """Put copies of row i in, or take copies out: the rows of the output, and whether there were enough to take.

    Afterwards the row's word for the copy is that of the first copy in or out. The output, if any, has room.
    """
    nodes, roots, sizes, key = trees.nodes, trees.roots, trees.sizes, len(trees.kinds)
    copy, wanted = key - 1, len(out) > 0
    rows[i, copy] = _ABOVE_ALL
    last = last_copy(trees, group, rows, i)
    copies = nodes[last, copy] + 1 if last >= 0 else np.int64(0)
    if copies + diff < 0:
        return written, False
    for number in range(copies, copies + diff):
        rows[i, copy] = number
        node = insert(trees, group, rows, i)
        nodes[node, key + 2] = -sizes[BEGUN]
        if wanted:
            out[written, DIFF], out[written, NODE] = 1, node
            written += 1
    for number in range(copies - 1, copies + diff - 1, -1):
        if number < copies - 1:
            rows[i, copy] = _ABOVE_ALL
            last = last_copy(trees, group, rows, i)
        if wanted:
            _put(nodes, trees.shape, last, -1, cell, out, written)
            written += 1
        remove(nodes, roots, sizes, key, group, last)
    rows[i, copy] = copies + min(diff, np.int64(0))
    return written, True


@part(inline=True)
def _note(trees: Trees, f: Word, node: Word, cell: Word, result: Ints, out: Ints, written: Word) -> tuple[Word, bool]:
    """Give a node new words of function f: the rows of the output, and whether an old row has what it had.

    The output, if any, has room for two rows.
    """
    nodes, begun, key = trees.nodes, trees.sizes[BEGUN], len(trees.kinds)
    mark, to = nodes[node, key + 2], trees.shape[VALUES] + trees.functions[f, AT]
    same = True
    for w in range(trees.functions[f, COUNT]):
        same = same and nodes[node, to + w] == result[0, w]
    if same:
        return written, mark != -begun
    if len(out) and mark not in (-begun, begun):
        _put(nodes, trees.shape, node, -1, cell, out, written)
        out[written + 1, DIFF], out[written + 1, NODE] = 1, node
        written += 2
        nodes[node, key + 2] = begun
    for w in range(trees.functions[f, COUNT]):
        nodes[node, to + w] = result[0, w]
    return written, False


@part(counted=True)
def _walk(
    trees: Trees, root: Word, f: Word, rows: Ints, stretches: Ints, cell: Word, scratch: Scratch, out: Ints,
    written: Word,
) -> tuple[Ints, Word]:  # fmt: skip
    """Bring function f up to date in a partition. Cost: O(log n) and the rows that its reach takes it to."""
    nodes, sizes, memory, wanted = trees.nodes, trees.sizes, scratch.memory, len(out) > 0
    memory[FRAME_LOW], memory[FRAME_HIGH], memory[PEERS_LOW], memory[PEERS_HIGH] = -2 * FAR, -2 * FAR, 2 * FAR, -2 * FAR
    memory[GROUPED] = -2 * FAR
    todo = scratch.room[len(stretches) :]
    steps = find_intervals(trees, root, f, rows, stretches, memory, todo)
    reach, key = trees.functions[f, REACH], len(trees.kinds)
    bounded = reach in (NEAR, PARTITION)
    back = reach == BACKWARD
    count = size(nodes, key, root)
    at, k = np.int64(0), 0
    while k < steps:
        at = max(at, todo[k, 0])
        limit = todo[k, 1]
        k += 1
        if at >= count:
            break
        if bounded and at >= limit:
            continue
        node = select(nodes, root, sizes, key, count - 1 - at if back else at)
        while True:
            while k < steps and todo[k, 0] <= at:
                limit = max(limit, todo[k, 1])
                k += 1
            if bounded and at >= limit:
                break
            evaluate(trees, root, f, node, count - 1 - at if back else at, scratch)
            if wanted:
                out = grown(out, written, written + 2)
            written, same = _note(trees, f, node, cell, scratch.result, out, written)
            settled = same and at >= limit
            at += 1
            if settled or at >= count:
                break
            node = neighbour(nodes, sizes, key, node, LEFT if back else RIGHT)
    return out, written


@part()
def _finish(nodes: Ints, shape: Ints, cell: Word, out: Ints, first: Word, written: Word) -> None:
    """Write the new rows of a cell where their place was kept."""
    for row in range(first, written):
        if out[row, DIFF] > 0:
            _put(nodes, shape, out[row, NODE], 1, cell, out, row)


@njit(cache=True, nogil=True, fastmath=False)
def apply_window(
    nodes: Ints, roots: Int32s, sizes: Ints, kinds: Ints, heap: Bytes, starts: Ints, shape: Ints, carries: Ints,
    extremes: Ints, functions: Ints, defaults: Ints, rows: Ints, diffs: Ints, order: Ints, offsets: Ints,
    cell_slot: Int32s, peers: bool, cells: Ints, room: Ints, scratch: Ints, before: Word, undo: bool,
) -> tuple[Ints, Word]:  # fmt: skip
    """Apply a batch's net changes, a cell after the other, and return how the output changes: (output, its rows).

    `rows` (n, input words) are the rows of the batch; `order`, `diffs` and `offsets` are as `net_changes` of
    `ivm.kernels.ordered.batch` writes them. `peers`: some function asks for them. `cells` (cells, 1) gets the rows of
    each partition as of each cell. There must be room for the new nodes. `room` has `ROOM` rows of `STRETCH` words for
    each row of the cell that has the most, and one more; `scratch` has `SCRATCH` words, and as many as the function
    that has the most.

    `sizes[CHANGES]`, which was `before`, counts the rows applied; a row that takes out more copies than there are ends
    the batch at once, before it is counted. Cost: O(log n) an update, and for each function what its reach takes it to.

    With `undo` it takes back, last cell first, what was applied of the batch, which was the last one, and there is no
    output: trees and values follow from the rows alone. It allocates nothing on the way.
    """
    trees = Trees(nodes, roots, sizes, kinds, heap, starts, shape, carries, extremes, functions, defaults)
    batch, memory = WindowBatch(rows, diffs, order, peers), scratch[5 * DEEPEST : SCRATCH]
    result = scratch[SCRATCH:].reshape((1, len(scratch) - SCRATCH))
    arrays = Scratch(scratch[:DEEPEST], scratch[DEEPEST : 5 * DEEPEST], memory, result, room)
    out = np.empty((0 if undo else 16 + 2 * len(order), shape[KEY] - 1 + shape[WORDS] + 3), np.int64)
    written = np.int64(0)
    applied = sizes[CHANGES] - before
    for step in range(len(cells)):
        cell, sign, stop = np.int64(step), np.int64(1), offsets[step + 1]
        if undo:
            cell, sign, written = np.int64(len(cells) - 1 - step), np.int64(-1), np.int64(0)
            stop = min(offsets[cell + 1], applied)
            if stop <= offsets[cell]:
                continue
        group, begun = np.int64(cell_slot[cell]), written
        out, written, enough = _apply_cell(
            trees, batch, sign, offsets[cell], stop, cell, group, cells, arrays, out, written
        )  # fmt: skip
        _finish(nodes, shape, cell, out, begun, written)
        if not enough:
            break
    return out, written


@part(counted=True)
def _apply_cell(
    trees: Trees, batch: WindowBatch, sign: Word, first: Word, stop: Word, cell: Word, group: Word, cells: Ints,
    scratch: Scratch, out: Ints, written: Word,
) -> tuple[Ints, Word, bool]:  # fmt: skip
    """Apply a cell's changes: the output, its rows, of which new ones are to be finished, and whether all applied."""
    sizes, wanted = trees.sizes, len(out) > 0
    sizes[BEGUN] += 1
    for k in range(first, stop):
        i = batch.order[k]
        diff = sign * batch.diffs[i]
        if wanted:
            out = grown(out, written, written + abs(diff))
        written, enough = _change_rows(trees, group, batch.rows, i, diff, cell, out, written)
        if not enough:
            return out, written, False
        sizes[CHANGES] += sign
    root = np.int64(trees.roots[group]) - 1
    refresh(trees, root, scratch.stack)
    cells[cell, 0] = size(trees.nodes, len(trees.kinds), root)
    if root >= 0:
        stretches = scratch.room[: stop - first]
        find_stretches(trees, root, batch, sign, first, stop, stretches)
        for f in range(len(trees.functions)):
            out, written = _walk(trees, root, f, batch.rows, stretches, cell, scratch, out, written)
    return out, written, True


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def copy_rows(
    nodes: Ints, roots: Int32s, sizes: Ints, shape: Ints, slot: Word, node: Word, slots: Int32s, rows: Ints
) -> tuple[Word, Word, Word]:
    """Copy the rows of all partitions in order, from a node (-1: the first) of the one in `slot` on.

    `rows` (n, input words) gets them as batches have them, but for the copy, each copy once; `slots` (n,) their slots.
    Returns how many, and the slot and the node that are next; there is none left when the slot is behind all roots.
    """
    count, key = np.int64(0), shape[KEY]
    while slot < len(roots):
        if node < 0:
            node = np.int64(roots[slot]) - 1
            while node >= 0 and child(nodes, key, node, LEFT) >= 0:
                node = child(nodes, key, node, LEFT)
        while node >= 0:
            if count == len(rows):
                return count, slot, node
            for w in range(key):
                rows[count, w] = nodes[node, w]
            for w in range(key, shape[INPUT]):
                rows[count, w] = nodes[node, shape[PAYLOAD] - key + w]
            slots[count] = slot
            count += 1
            node = neighbour(nodes, sizes, key, node, RIGHT)
        slot += 1
    return count, slot, np.int64(-1)

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
    GONE,
    INPUT,
    KEY,
    LEFT,
    PAYLOAD,
    RIGHT,
    VALUES,
    WORDS,
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
    PEERS_HIGH,
    PEERS_LOW,
    REACH,
    evaluate,
)

DIFF, CELL, NODE = -3, -2, -1
"""The last columns of output rows."""
_ABOVE_ALL = np.int64(2**62)
ROOM = 6
SCRATCH = 5 * DEEPEST + 4


@part()
def _put(nodes: Ints, shape: Ints, node: Word, diff: Word, cell: Word, out: Ints, row: Word) -> None:
    width = shape[KEY] - 1
    for w in range(width):
        out[row, w] = nodes[node, w]
    for w in range(shape[WORDS]):
        out[row, width + w] = nodes[node, shape[VALUES] + w]
    end = width + shape[WORDS]
    out[row, end], out[row, end + 1], out[row, end + 2] = diff, cell, node


@part(counted=True)
def _change_rows(
    nodes: Ints,
    roots: Int32s,
    sizes: Ints,
    kinds: Ints,
    heap: Bytes,
    starts: Ints,
    shape: Ints,
    group: Word,
    rows: Ints,
    i: Word,
    diff: Word,
    cell: Word,
    out: Ints,
    written: Word,
) -> tuple[Ints, Word, bool]:
    """Put copies of row i in, or take copies out: the output, its rows, and whether there were enough to take.

    Afterwards the row's word for the copy is that of the first copy in or out.
    """
    copy, wanted = shape[KEY] - 1, len(out) > 0
    rows[i, copy] = _ABOVE_ALL
    last = last_copy(nodes, roots, sizes, kinds, heap, starts, group, rows, i)
    copies = nodes[last, copy] + 1 if last >= 0 else np.int64(0)
    if copies + diff < 0:
        return out, written, False
    if wanted:
        out = grown(out, written, written + abs(diff))
    for number in range(copies, copies + diff):
        rows[i, copy] = number
        node = insert(nodes, roots, sizes, kinds, heap, starts, shape, group, rows, i)
        nodes[node, shape[KEY] + 2] = -sizes[BEGUN]
        if wanted:
            out[written, out.shape[1] - 3], out[written, out.shape[1] - 1] = 1, node
            written += 1
    for number in range(copies - 1, copies + diff - 1, -1):
        if number < copies - 1:
            rows[i, copy] = _ABOVE_ALL
            last = last_copy(nodes, roots, sizes, kinds, heap, starts, group, rows, i)
        if wanted:
            _put(nodes, shape, last, -1, cell, out, written)
            written += 1
        remove(nodes, roots, sizes, shape[KEY], group, last)
    rows[i, copy] = copies + min(diff, np.int64(0))
    return out, written, True


@part(counted=True)
def _note(
    nodes: Ints, sizes: Ints, shape: Ints, node: Word, cell: Word, at: Word, words: Word, result: Ints, out: Ints,
    written: Word,
) -> tuple[Ints, Word, bool]:  # fmt: skip
    """Give a node new words of its values: the output, its rows, and whether an old row has what it had."""
    mark, to = nodes[node, shape[KEY] + 2], shape[VALUES] + at
    is_new = mark == -sizes[BEGUN]
    same = True
    for w in range(words):
        same = same and nodes[node, to + w] == result[0, w]
    if same:
        return out, written, not is_new
    if len(out) and not is_new and mark != sizes[BEGUN]:
        out = grown(out, written, written + 2)
        _put(nodes, shape, node, -1, cell, out, written)
        out[written + 1, out.shape[1] - 3], out[written + 1, out.shape[1] - 1] = 1, node
        written += 2
        nodes[node, shape[KEY] + 2] = sizes[BEGUN]
    for w in range(words):
        nodes[node, to + w] = result[0, w]
    return out, written, False


@part(counted=True)
def _walk(
    nodes: Ints,
    root: Word,
    sizes: Ints,
    shape: Ints,
    kinds: Ints,
    carries: Ints,
    extremes: Ints,
    heap: Bytes,
    starts: Ints,
    functions: Ints,
    defaults: Ints,
    f: Word,
    stretches: Ints,
    cell: Word,
    memory: Ints,
    cover: Ints,
    result: Ints,
    room: Ints,
    out: Ints,
    written: Word,
) -> tuple[Ints, Word]:
    """Bring function f up to date in a partition. Cost: O(log n) and the rows that its reach takes it to."""
    memory[FRAME_LOW], memory[FRAME_HIGH], memory[PEERS_LOW], memory[PEERS_HIGH] = -2 * FAR, -2 * FAR, 2 * FAR, -2 * FAR
    todo = find_intervals(nodes, root, sizes, kinds, heap, starts, shape, functions, f, stretches, memory, room)
    reach, key = functions[f, REACH], shape[KEY]
    bounded = reach in (NEAR, PARTITION)
    back = reach == BACKWARD
    count = size(nodes, key, root)
    at, k = np.int64(0), 0
    while k < len(todo):
        at = max(at, todo[k, 0])
        limit = todo[k, 1]
        k += 1
        if at >= count:
            break
        if bounded and at >= limit:
            continue
        node = select(nodes, root, sizes, key, count - 1 - at if back else at)
        while True:
            while k < len(todo) and todo[k, 0] <= at:
                limit = max(limit, todo[k, 1])
                k += 1
            if bounded and at >= limit:
                break
            evaluate(
                nodes, root, sizes, shape, kinds, carries, extremes, heap, starts, functions, defaults, f, node,
                count - 1 - at if back else at, memory, cover, result,
            )  # fmt: skip
            out, written, same = _note(
                nodes, sizes, shape, node, cell, functions[f, AT], functions[f, COUNT], result, out, written
            )
            settled = same and at >= limit
            at += 1
            if settled or at >= count:
                break
            node = neighbour(nodes, sizes, key, node, LEFT if back else RIGHT)
    return out, written


@part()
def _finish(nodes: Ints, shape: Ints, cell: Word, out: Ints, first: Word, written: Word) -> None:
    """Write the new rows of a cell where their place was kept."""
    last = out.shape[1] - 1
    for row in range(first, written):
        if out[row, last - 2] > 0:
            node = out[row, last]
            _put(nodes, shape, node, 1, cell, out, row)


@njit(cache=True, nogil=True, fastmath=False)
def apply_window(
    nodes: Ints,
    roots: Int32s,
    sizes: Ints,
    kinds: Ints,
    heap: Bytes,
    starts: Ints,
    shape: Ints,
    carries: Ints,
    extremes: Ints,
    functions: Ints,
    defaults: Ints,
    rows: Ints,
    diffs: Ints,
    order: Ints,
    cell_begin: Ints,
    cell_slot: Int32s,
    peers: bool,
    cells: Ints,
    room: Ints,
    scratch: Ints,
    before: Word,
    undo: bool,
) -> tuple[Ints, Word]:
    """Apply a batch, a cell after the other, and return what changes in the output at each time: (output, its rows).

    `rows` (n, input words) are the rows of the batch, equal ones of a cell but once; `diffs` has length 0 if all are
    one. The rows of cell c are order[cell_begin[c] : cell_begin[c + 1]]. `peers`: some function asks for them.
    `cells` (cells, 1) gets the rows of each partition as of each cell. There must be room for the new nodes. `room`
    has `ROOM` rows of four words for each row of the cell that has the most, and two more; `scratch` has `SCRATCH`
    words, and as many as the function that has the most.

    `sizes[CHANGES]`, which was `before`, counts the rows applied; a row that takes out more copies than there are ends
    the batch at once, before it is counted. Cost: O(log n) an update, and for each function what its reach takes it to.

    With `undo` it takes back, last cell first, what was applied of the batch, which was the last one, and there is no
    output: trees and values follow from the rows alone. It allocates nothing on the way.
    """
    out = np.empty((0 if undo else 16 + 2 * len(order), shape[KEY] - 1 + shape[WORDS] + 3), np.int64)
    written = np.int64(0)
    stack, cover = scratch[:DEEPEST], scratch[DEEPEST : 5 * DEEPEST]
    memory, result = scratch[5 * DEEPEST : SCRATCH], scratch[SCRATCH:].reshape((1, len(scratch) - SCRATCH))
    applied = sizes[CHANGES] - before
    for step in range(len(cells)):
        cell, sign, stop = step, np.int64(1), cell_begin[step + 1]
        if undo:
            cell, sign, written = len(cells) - 1 - step, np.int64(-1), np.int64(0)
            stop = min(cell_begin[cell + 1], applied)
            if stop <= cell_begin[cell]:
                continue
        out, written, failed = _apply_cell(
            nodes, roots, sizes, kinds, heap, starts, shape, carries, extremes, functions, defaults, rows, diffs,
            sign, order, cell_begin[cell], stop, cell, np.int64(cell_slot[cell]), peers, cells, stack, memory, cover,
            result, room, out, written,
        )  # fmt: skip
        if failed:
            break
    return out, written


@part(counted=True)
def _apply_cell(
    nodes: Ints,
    roots: Int32s,
    sizes: Ints,
    kinds: Ints,
    heap: Bytes,
    starts: Ints,
    shape: Ints,
    carries: Ints,
    extremes: Ints,
    functions: Ints,
    defaults: Ints,
    rows: Ints,
    diffs: Ints,
    sign: Word,
    order: Ints,
    first: Word,
    stop: Word,
    cell: Word,
    group: Word,
    peers: bool,
    cells: Ints,
    stack: Ints,
    memory: Ints,
    cover: Ints,
    result: Ints,
    room: Ints,
    out: Ints,
    written: Word,
) -> tuple[Ints, Word, bool]:
    begun = written
    sizes[BEGUN] += 1
    for k in range(first, stop):
        i = order[k]
        diff = sign * (diffs[i] if len(diffs) else np.int64(1))
        out, written, enough = _change_rows(
            nodes, roots, sizes, kinds, heap, starts, shape, group, rows, i, diff, cell, out, written
        )
        if not enough:
            _finish(nodes, shape, cell, out, begun, written)
            return out, written, True
        sizes[CHANGES] += sign
    root = np.int64(roots[group]) - 1
    refresh(nodes, root, sizes, shape, carries, extremes, heap, starts, stack)
    cells[cell, 0] = size(nodes, shape[KEY], root)
    if root >= 0:
        stretches = find_stretches(
            nodes, root, sizes, kinds, heap, starts, shape, rows, diffs, sign, order, first, stop, peers, room
        )  # fmt: skip
        for f in range(len(functions)):
            out, written = _walk(
                nodes, root, sizes, shape, kinds, carries, extremes, heap, starts, functions, defaults, f, stretches,
                cell, memory, cover, result, room[2 * (stop - first) :], out, written,
            )  # fmt: skip
    _finish(nodes, shape, cell, out, begun, written)
    return out, written, False


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def living(nodes: Ints, shape: Ints, first: Word, stop: Word, found: Ints) -> Word:
    """Write which nodes of [first, stop) are in use to `found`; how many they are."""
    count = np.int64(0)
    for node in range(first, stop):
        if nodes[node, shape[KEY] + 2] != GONE:
            found[count] = node
            count += 1
    return count


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

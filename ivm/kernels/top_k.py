"""Windows over ordered sets: the rows of each group from position `begin` to `end`, kept while the group changes.

The window of a group is the stretch [begin, end) of its rows in order, each as often as it counts. The word of a node
that is its user's (see `ordered_set`) says how many of its copies the window shows. A group's fields (see
`group_table`) are its multiplicity, the copies shown, and the last node shown + 1. Where the window is full, a change
behind that node cannot matter, and costs no more than the set does; any other costs a walk over the window.

Output rows are int64 (rows, K + 2): a row's key words, the diff, and the cell.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ivm.kernels.ordered_set import LEFT, RIGHT, VISITED, change, child, order, remove
from ivm.kernels.text import Bytes
from ivm.kernels.types import Int32s, Ints
from ivm.kernels.wide import Word

COUNTED, SHOWN, LAST = 0, 1, 2
FIELDS = 3
GONE = -1  # in a node's own word: it is free
_DEEPEST = 1024  # far beyond the depth of any treap that fits memory


@njit(cache=True, nogil=True, fastmath=False)
def _grown(out: Ints, rows: Word) -> Ints:
    """The output with room for one more row at least."""
    if rows < len(out):
        return out
    more = np.empty((2 * len(out) + 16, out.shape[1]), np.int64)
    more[:rows] = out[:rows]
    return more


@njit(cache=True, nogil=True, fastmath=False)
def _put(nodes: Ints, width: Word, node: Word, diff: Word, cell: Word, out: Ints, rows: Word) -> None:
    for w in range(width):
        out[rows, w] = nodes[node, w]
    out[rows, width] = diff
    out[rows, width + 1] = cell


@njit(cache=True, nogil=True, fastmath=False)
def _walk(
    nodes: Ints,
    roots: Int32s,
    sizes: Ints,
    width: Word,
    group: Word,
    begin: Word,
    end: Word,
    sign: Word,
    cell: Word,
    cells: Ints,
    stack: Ints,
    out: Ints,
    rows: Word,
) -> tuple[Ints, Word]:
    """Bring a group's window up to date, and write what changed in it, times `sign`.

    `cells[cell]` has how much was shown, and gets how much is. Goes on until the window is full and everything shown
    before was met: O(end) nodes and those that changed.
    """
    before, met = cells[cell, SHOWN], np.int64(0)
    position, shown, last = np.int64(0), np.int64(0), np.int64(0)
    depth = 0
    node = np.int64(roots[group]) - 1
    while (node >= 0 or depth > 0) and (position < end or met < before):
        while node >= 0:
            stack[depth] = node
            depth += 1
            node = child(nodes, width, node, LEFT)
        depth -= 1
        node = stack[depth]
        sizes[VISITED] += 1
        copies = max(nodes[node, width], np.int64(0))
        take = min(position + copies, end) - max(position, begin)
        take = max(take, np.int64(0))
        old = nodes[node, width + 2]
        if take != old:
            out = _grown(out, rows)
            _put(nodes, width, node, sign * (take - old), cell, out, rows)
            rows += 1
            nodes[node, width + 2] = take
        if take > 0:
            last = node + 1
        met += old
        shown += take
        position += copies
        node = child(nodes, width, node, RIGHT)
    cells[cell, SHOWN] = shown
    cells[cell, LAST] = last
    return out, rows


@njit(cache=True, nogil=True, fastmath=False)
def apply_windows(
    nodes: Ints,
    roots: Int32s,
    sizes: Ints,
    kinds: Ints,
    heap: Bytes,
    starts: Ints,
    keys: Ints,
    diffs: Ints,
    times: Ints,
    begin: Word,
    end: Word,
    rest: bool,
    key_width: Word,
    state: Ints,
    row_cell: Int32s,
    cell_slot: Int32s,
    cell_previous: Int32s,
    cells: Ints,
) -> tuple[Ints, Word]:
    """Apply a batch in the order of time, and return the changes of the windows at each time: (output, its rows).

    `rest`: the changes of what lies outside of the windows instead. `diffs` has length 0 if all are one, `times`
    length 1 if all are the same. `cells` (cells, FIELDS) gets the fields of each group as of each cell. Cost: O(log
    n) an update, O(end) a cell whose window may have changed.
    """
    width = len(kinds)
    out = np.empty((16 + 2 * len(row_cell), width + 2), np.int64)
    rows = np.int64(0)
    row_node = np.empty(len(row_cell), np.int64)
    dirty = np.zeros(len(cells), np.bool_)
    stack = np.empty(_DEEPEST, np.int64)
    done = opened = first = np.int64(0)
    for i in range(len(row_cell)):
        cell = np.int64(row_cell[i])
        slot = np.int64(cell_slot[cell])
        if cell >= opened:
            previous = np.int64(cell_previous[cell])
            for f in range(FIELDS):
                cells[cell, f] = cells[previous, f] if previous >= 0 else state[slot, key_width + 1 + f]
            opened = cell + 1
        diff = diffs[i] if len(diffs) else np.int64(1)
        node = change(nodes, roots, sizes, kinds, heap, starts, slot, keys, i, diff)
        row_node[i] = node
        cells[cell, COUNTED] += diff
        if rest:
            out = _grown(out, rows)
            _put(nodes, width, node, diff, cell, out, rows)
            rows += 1
        if not dirty[cell]:
            last = cells[cell, LAST] - 1
            full = cells[cell, SHOWN] >= end - begin
            dirty[cell] = not full or (last >= 0 and order(nodes, node, nodes, last, kinds, heap, starts) <= 0)
        if i + 1 == len(row_cell) or (len(times) > 1 and times[i + 1] != times[i]):
            sign = np.int64(-1) if rest else np.int64(1)
            while done < opened:
                if dirty[done]:
                    group = np.int64(cell_slot[done])
                    out, rows = _walk(
                        nodes, roots, sizes, width, group, begin, end, sign, done, cells, stack, out, rows
                    )
                done += 1
            _drop_empty(nodes, roots, sizes, kinds, heap, starts, row_node, row_cell, cell_slot, first, i + 1)
            first = np.int64(i + 1)
    return out, rows


@njit(cache=True, nogil=True, fastmath=False)
def _drop_empty(
    nodes: Ints,
    roots: Int32s,
    sizes: Ints,
    kinds: Ints,
    heap: Bytes,
    starts: Ints,
    row_node: Ints,
    row_cell: Int32s,
    cell_slot: Int32s,
    first: Word,
    stop: Word,
) -> None:
    """Take the nodes of rows [first, stop) that count nothing any more out of their sets."""
    width = len(kinds)
    for i in range(first, stop):
        node = row_node[i]
        if nodes[node, width] == 0 and nodes[node, width + 2] != GONE:
            group = np.int64(cell_slot[row_cell[i]])
            remove(nodes, roots, sizes, kinds, heap, starts, group, node)
            nodes[node, width + 2] = GONE


@njit(cache=True, nogil=True, fastmath=False)
def undo_windows(
    nodes: Ints,
    roots: Int32s,
    sizes: Ints,
    kinds: Ints,
    heap: Bytes,
    starts: Ints,
    keys: Ints,
    diffs: Ints,
    begin: Word,
    end: Word,
    key_width: Word,
    state: Ints,
    row_cell: Int32s,
    cell_slot: Int32s,
    cells: Ints,
) -> None:
    """Take a batch back, before its groups are closed: the sets and windows are again what they were.

    Equal sets have equal windows, so this is the batch with its signs changed; but nodes may have moved, and the
    groups' fields that name them follow. Cost: that of the batch.
    """
    width = len(kinds)
    row_node = np.empty(len(row_cell), np.int64)
    stack = np.empty(_DEEPEST, np.int64)
    out = np.empty((16, width + 2), np.int64)
    for i in range(len(row_cell)):
        diff = -diffs[i] if len(diffs) else np.int64(-1)
        group = np.int64(cell_slot[row_cell[i]])
        row_node[i] = change(nodes, roots, sizes, kinds, heap, starts, group, keys, i, diff)
    for cell in range(len(cells)):
        group = np.int64(cell_slot[cell])
        if state[group, key_width] == cell + 1:
            out, _ = _walk(
                nodes, roots, sizes, width, group, begin, end, np.int64(1), cell, cells, stack, out, np.int64(0)
            )
            state[group, key_width + 1 + LAST] = cells[cell, LAST]
    _drop_empty(nodes, roots, sizes, kinds, heap, starts, row_node, row_cell, cell_slot, 0, len(row_cell))

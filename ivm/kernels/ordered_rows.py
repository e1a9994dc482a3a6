"""Whole groups read in order, and texts joined: what string_agg and list are made of."""

from __future__ import annotations

import numpy as np
from numba import njit

from ivm.kernels.counted_set import DEEPEST
from ivm.kernels.ordered_set import LEFT, RIGHT, VISITED, change, child, remove
from ivm.kernels.text import Bytes
from ivm.kernels.types import Bools, Int32s, Ints
from ivm.kernels.wide import Word


@njit(cache=True, nogil=True, fastmath=False)
def _read_group(
    nodes: Ints, roots: Int32s, sizes: Ints, width: Word, group: Word, stack: Ints, out: Ints, rows: Word
) -> tuple[Ints, Word]:
    """Write a group's rows in order, each as often as it counts; the output, grown if need be, and its rows."""
    depth = 0
    node = np.int64(roots[group]) - 1
    while node >= 0 or depth > 0:
        while node >= 0:
            stack[depth] = node
            depth += 1
            node = child(nodes, width, node, LEFT)
        depth -= 1
        node = stack[depth]
        sizes[VISITED] += 1
        copies = max(nodes[node, width], np.int64(0))
        if rows + copies > len(out):
            more = np.empty((2 * (rows + copies) + 16, width), np.int64)
            more[:rows] = out[:rows]
            out = more
        for _ in range(copies):
            for w in range(width):
                out[rows, w] = nodes[node, w]
            rows += 1
        node = child(nodes, width, node, RIGHT)
    return out, rows


@njit(cache=True, nogil=True, fastmath=False)
def apply_rows(
    nodes: Ints,
    roots: Int32s,
    sizes: Ints,
    kinds: Ints,
    heap: Bytes,
    starts: Ints,
    keys: Ints,
    valid: Bools,
    diffs: Ints,
    times: Ints,
    sign: Word,
    row_cell: Int32s,
    cell_slot: Int32s,
    present: Bools,
    offsets: Ints,
) -> Ints:
    """Apply a batch in the order of time, and return each cell's rows as of its time: key words, int64 (rows, K).

    The arguments are as in `apply_extremes`. Cell c has the rows from `offsets[c]` to `offsets[c + 1]`; `present`
    (cells,) says whether its set is not empty. Cost: O(log n) a row, O(rows of the group) a cell.
    """
    width = len(kinds)
    stack = np.empty(DEEPEST, np.int64)
    out = np.empty((len(row_cell) if sign > 0 else 0, width), np.int64)
    rows = np.int64(0)
    done = until = np.int64(0)
    for i in range(len(row_cell)):
        cell = np.int64(row_cell[i])
        until = max(until, cell + 1)
        if len(valid) == 0 or valid[i, 0]:
            diff = np.int64(sign) * (diffs[i] if len(diffs) else np.int64(1))
            group = np.int64(cell_slot[cell])
            node = change(nodes, roots, sizes, kinds, heap, starts, group, keys, i, diff)
            if nodes[node, width] == 0:
                remove(nodes, roots, sizes, kinds, heap, starts, group, node)
        last = i + 1 == len(row_cell) or (len(times) > 1 and times[i + 1] != times[i])
        if last and sign > 0:
            while done < until:
                group = np.int64(cell_slot[done])
                present[done] = roots[group] != 0
                offsets[done] = rows
                out, rows = _read_group(nodes, roots, sizes, width, group, stack, out, rows)
                done += 1
    if sign > 0:
        offsets[done] = rows
    return out[:rows]


@njit(cache=True, nogil=True, fastmath=False)
def joined_sizes(codes: Ints, offsets: Ints, starts: Ints, separator: Word, ends: Ints) -> None:
    """`ends` (n + 1,): where the joined texts of the runs [offsets[c], offsets[c + 1]) of codes begin and end.

    `separator` is the number of bytes between two texts.
    """
    at = np.int64(0)
    ends[0] = 0
    for c in range(len(offsets) - 1):
        for i in range(offsets[c], offsets[c + 1]):
            at += starts[codes[i] + 1] - starts[codes[i]]
        at += max(offsets[c + 1] - offsets[c] - 1, np.int64(0)) * separator
        ends[c + 1] = at


@njit(cache=True, nogil=True, fastmath=False)
def join_texts(codes: Ints, offsets: Ints, heap: Bytes, starts: Ints, separator: Bytes, out: Bytes) -> None:
    """Write the texts of each run of codes, `separator` between them, one run after the other. Cost: their bytes."""
    at = 0
    for c in range(len(offsets) - 1):
        for i in range(offsets[c], offsets[c + 1]):
            if i > offsets[c]:
                for b in range(len(separator)):
                    out[at] = separator[b]
                    at += 1
            for b in range(starts[codes[i]], starts[codes[i] + 1]):
                out[at] = heap[b]
                at += 1

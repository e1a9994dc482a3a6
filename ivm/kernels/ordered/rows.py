"""Whole groups read in order, and texts joined: what string_agg and list are made of."""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.memory.move import grown
from ivm.kernels.numbers.wide import Word
from ivm.kernels.ordered.batch import TreeBatch, apply_row, completed, row_at
from ivm.kernels.ordered.nodes import Tree
from ivm.kernels.ordered.walk import first_of_group, following
from ivm.kernels.texts.dictionary import Bytes, begin_of, length_of
from ivm.kernels.types import Bools, Int32s, Ints


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


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def joined_sizes(codes: Ints, offsets: Ints, places: Ints, separator: Word, ends: Ints) -> None:
    """`ends` (n + 1,): where the joined texts of the runs [offsets[c], offsets[c + 1]) of codes begin and end.

    `separator` is the number of bytes between two texts.
    """
    at = np.int64(0)
    ends[0] = 0
    for c in range(len(offsets) - 1):
        for i in range(offsets[c], offsets[c + 1]):
            at += length_of(places[codes[i]])
        at += max(offsets[c + 1] - offsets[c] - 1, np.int64(0)) * separator
        ends[c + 1] = at


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def join_texts(codes: Ints, offsets: Ints, heap: Bytes, places: Ints, separator: Bytes, out: Bytes) -> None:
    """Write the texts of each run of codes, `separator` between them, one run after the other. Cost: their bytes."""
    at = 0
    for c in range(len(offsets) - 1):
        for i in range(offsets[c], offsets[c + 1]):
            if i > offsets[c]:
                for b in range(len(separator)):
                    out[at] = separator[b]
                    at += 1
            begin = begin_of(places[codes[i]])
            for b in range(begin, begin + length_of(places[codes[i]])):
                out[at] = heap[b]
                at += 1

"""Whole groups read in order, and texts joined: what string_agg and list are made of."""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.memory.move import grown
from ivm.kernels.numbers.wide import Word
from ivm.kernels.ordered.nodes import CHANGES
from ivm.kernels.ordered.tree import add, diff_of, row_at
from ivm.kernels.ordered.walk import first_entry, first_near, following
from ivm.kernels.texts.dictionary import Bytes, begin_of, length_of
from ivm.kernels.types import Bools, Int32s, Ints


@njit(cache=True, nogil=True, fastmath=False)
def apply_rows(
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
    present: Bools,
    offsets: Ints,
    probe: Ints,
) -> Ints:
    """Apply a batch in the order of time, and return each cell's rows as of its time, key words without the slot.

    The arguments are as in `apply_extremes` of `ivm.kernels.ordered.extremes`. Cell c has the rows from `offsets[c]` to
    `offsets[c + 1]`, each as often as it counts; `present` (cells,) says whether it has any. Cost: O(log n) a row,
    O(rows of the group) a cell.
    """
    out = np.empty((len(row_cell), len(kinds) - 1), np.int64)
    count = np.int64(0)
    done = until = np.int64(0)
    for k in range(len(row_cell)):
        i = row_at(order, k)
        until = max(until, np.int64(row_cell[i]) + 1)
        diff = diff_of(valid, diffs, i)
        if diff != 0:
            add(rows, heads, meta, kinds, heap, starts, keys, i, diff, len(order) > 0)
        meta[CHANGES] += 1
        if k + 1 == len(row_cell) or (len(times) > 1 and times[k + 1] != times[k]):
            while done < until:
                probe[0, 0] = cell_slot[done]
                at = first_near(rows, heads, meta, probe[0, 0])
                if at < 0:
                    at = first_entry(rows, heads, meta, kinds, heap, starts, probe, 0, 1, False)
                offsets[done] = count
                out, count = _read_group(rows, heads, meta, len(kinds), at, probe[0, 0], out, count)
                present[done] = count > offsets[done]
                done += 1
    offsets[done] = count
    return out[:count]


@part(counted=True)
def _read_group(
    rows: Ints, heads: Ints, meta: Ints, words: Word, at: Word, slot: Word, out: Ints, count: Word
) -> tuple[Ints, Word]:
    """Write a group's rows from its first entry on, each as often as it counts; the output, grown if need be."""
    while at >= 0 and rows[at, 0] == slot:
        copies: Word = max(rows[at, words], np.int64(0))
        out = grown(out, count, count + copies)
        for _ in range(copies):
            for w in range(1, words):
                out[count, w - 1] = rows[at, w]
            count += 1
        at = following(heads, meta, at)
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

"""Groups that only gain rows: their extremes, and their first rows in order. Nothing else is kept of the rows.

Both are fields of their group. `state` is that of `ivm.kernels.groups.table`: fields begin at column `first`. `after`
int64 (cells, fields) takes those of each cell; rows ascend by time, as cells do, so that the group's cell before is
complete when the first row of one comes. Key words and `kinds` are those of `ivm.kernels.ordered.tree`, `heap` and
`starts` the dictionary's.

The field of an extreme is a word, 1 where there is one, and its key words. For its first rows, a group's fields are its
multiplicity, the number of distinct rows kept, and for each its K key words and how many copies are kept; together no
more than the `end` first. A row that comes behind them can never come before them, since none goes. Output rows are
int64 (rows, K + 2): a row's key words, the diff, and the cell.
"""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.numbers.wide import Word
from ivm.kernels.ordered.tree import compare_keys
from ivm.kernels.texts.dictionary import Bytes
from ivm.kernels.types import Bools, Int32s, Ints

_COUNT, _ROWS = 1, 2


@part()
def _begin(
    cell: Word, field: Word, stop: Word, slot: Int32s, previous: Int32s, state: Ints, first: Word, after: Ints
) -> None:
    """Give a cell the fields from `field` up to `stop` that its group had before."""
    before = np.int64(previous[cell])
    for f in range(field, stop):
        after[cell, f] = after[before, f] if before >= 0 else state[slot[cell], first + f]


@njit(cache=True, nogil=True, fastmath=False)
def gather_extremes(
    keys: Ints,
    valid: Bools,
    row_cell: Int32s,
    slot: Int32s,
    previous: Int32s,
    state: Ints,
    first: Word,
    field: Word,
    sign: Word,
    kinds: Ints,
    heap: Bytes,
    starts: Ints,
    after: Ints,
) -> None:
    """Write for each cell the least (sign 1) or greatest (-1) of its rows' keys and of what its group had before.

    `valid` (n, 1), of length 0 if all are. Cost: one comparison a row, one random access a cell.
    """
    width = len(kinds)
    begun = np.zeros(len(slot), np.bool_)
    for i in range(len(row_cell)):
        cell = np.int64(row_cell[i])
        if not begun[cell]:
            begun[cell] = True
            _begin(cell, field, field + 1 + width, slot, previous, state, first, after)
        if len(valid) and not valid[i, 0]:
            continue
        known = after[cell, field] != 0
        if known and compare_keys(keys, i, after, cell, field + 1, width, kinds, heap, starts) * sign >= 0:
            continue
        after[cell, field] = 1
        for w in range(width):
            after[cell, field + 1 + w] = keys[i, w]


@njit(cache=True, nogil=True, fastmath=False)
def keep_first(
    keys: Ints,
    diffs: Ints,
    row_cell: Int32s,
    slot: Int32s,
    previous: Int32s,
    state: Ints,
    first: Word,
    end: Word,
    kinds: Ints,
    heap: Bytes,
    starts: Ints,
    after: Ints,
) -> None:
    """Write for each cell the first `end` rows of its group with the batch's.

    Cost: a binary search a row, and a move of what is kept for those that are among the first; a copy of it a cell.
    """
    width = len(kinds) + 1
    begun = np.zeros(len(slot), np.bool_)
    for i in range(len(row_cell)):
        cell = np.int64(row_cell[i])
        if not begun[cell]:
            begun[cell] = True
            _begin(cell, 0, after.shape[1], slot, previous, state, first, after)
        diff = diffs[i] if len(diffs) else np.int64(1)
        after[cell, 0] += diff
        place = _place(keys, i, after, cell, kinds, heap, starts)
        count = after[cell, _COUNT]
        at = _ROWS + place * width
        if place < count and compare_keys(keys, i, after, cell, at, width - 1, kinds, heap, starts) == 0:
            after[cell, at + width - 1] += diff
        else:
            if place >= end:
                continue  # behind as many rows as there is room for
            last = min(count, end - 1)  # one that falls out needs no place
            for f in range(_ROWS + (last + 1) * width - 1, at + width - 1, -1):
                after[cell, f] = after[cell, f - width]
            for w in range(width - 1):
                after[cell, at + w] = keys[i, w]
            after[cell, at + width - 1] = diff
            after[cell, _COUNT] = last + 1
        _cut(after, cell, width, end)


@part()
def _cut(after: Ints, cell: Word, width: Word, end: Word) -> None:
    """Forget the copies behind the first `end`."""
    copies = np.int64(0)
    count = after[cell, _COUNT]
    for r in range(count):
        at = _ROWS + r * width
        if copies >= end:
            after[cell, _COUNT] = min(after[cell, _COUNT], r)
            for f in range(at, at + width):
                after[cell, f] = 0
            continue
        after[cell, at + width - 1] = min(after[cell, at + width - 1], end - copies)
        copies += after[cell, at + width - 1]


@part()
def _place(keys: Ints, i: Word, after: Ints, cell: Word, kinds: Ints, heap: Bytes, starts: Ints) -> Word:
    """How many of the rows of a cell come before key i."""
    width = len(kinds) + 1
    low, high = np.int64(0), after[cell, _COUNT]
    while low < high:
        middle = (low + high) // 2
        if compare_keys(keys, i, after, cell, _ROWS + middle * width, width - 1, kinds, heap, starts) > 0:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def window_changes(
    slot: Int32s, previous: Int32s, state: Ints, first: Word, begin: Word, width: Word, after: Ints, out: Ints
) -> Word:
    """Write how the rows from position `begin` on of each cell differ from its group's before; how many rows that is.

    `width` is K + 1. Nothing is written beyond the length of `out`. Cost: a pass over what is kept, for each cell, and
    over all of it for each row that comes or goes.
    """
    rows = np.int64(0)
    for c in range(len(slot)):
        cell, before, none = np.int64(c), np.int64(previous[c]), np.int64(0)
        if before >= 0:
            rows = _more(after, cell, none, after, before, none, begin, width, 1, cell, out, rows)
            rows = _more(after, before, none, after, cell, none, begin, width, -1, cell, out, rows)
        else:
            at = np.int64(slot[c])
            rows = _more(after, cell, none, state, at, first, begin, width, 1, cell, out, rows)
            rows = _more(state, at, first, after, cell, none, begin, width, -1, cell, out, rows)
    return rows


@part()
def _more(
    one: Ints,
    i: Word,
    p: Word,
    other: Ints,
    j: Word,
    q: Word,
    begin: Word,
    width: Word,
    sign: Word,
    cell: Word,
    out: Ints,
    rows: Word,
) -> Word:
    """Write the rows that group `one[i, p:]` shows more often than `other[j, q:]`, `sign` being that of their diffs.

    Both are in one order, so that what is found in the other one is found further and further on.
    """
    seen, passed, r_other = np.int64(0), np.int64(0), np.int64(0)
    for r in range(one[i, p + _COUNT]):
        at = p + _ROWS + r * width
        more = _within(seen, one[i, at + width - 1], begin)
        seen += one[i, at + width - 1]
        if more == 0:
            continue
        found, skipped = r_other, passed
        while found < other[j, q + _COUNT] and not _same(one, i, at, other, j, q + _ROWS + found * width, width - 1):
            skipped += other[j, q + _ROWS + found * width + width - 1]
            found += 1
        if found < other[j, q + _COUNT]:
            more -= _within(skipped, other[j, q + _ROWS + found * width + width - 1], begin)
            r_other, passed = found, skipped
        if more > 0:
            if rows < len(out):
                for w in range(width - 1):
                    out[rows, w] = one[i, at + w]
                out[rows, width - 1] = sign * more
                out[rows, width] = cell
            rows += 1
    return rows


@part()
def _within(seen: Word, copies: Word, begin: Word) -> Word:
    """How many of the copies behind the first `seen` rows stand from position `begin` on."""
    return max(seen + copies - begin, np.int64(0)) - max(seen - begin, np.int64(0))


@part()
def _same(a: Ints, i: Word, p: Word, b: Ints, j: Word, q: Word, words: Word) -> bool:
    for w in range(words):
        if a[i, p + w] != b[j, q + w]:
            return False
    return True

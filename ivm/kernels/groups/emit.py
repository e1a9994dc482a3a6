"""The updates that a batch causes: the old row of a group out, its new row in, wherever the two differ.

Cells are worked through in blocks that stay in the cache, a column at a time within each. See `groups.table` for groups
and cells, `groups.accumulate` for fields and `plan`, `groups.finalize` for `outputs`.

`room` is where output rows are written, int64, with space for `capacity` of them. It has one after the other: the
places of the rows' columns (see `memory.places`), the keys, then the outputs; how many NULLs each output has; `flat`,
the columns of the outputs, where word w of output o of row i is `flat[capacity * at + words * i + w]`, `at` and `words`
being the output's; the key words of each row; the diffs; the times, if there are many; masks of a byte a row, of the
outputs, then of the parts of the key that may be NULL, each written if there are NULLs. There is always space for all.
"""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.groups.accumulate import add_before
from ivm.kernels.groups.finalize import AT, WORDS, finalize
from ivm.kernels.memory.at import address_of, bools_at, ints_at, load, words_at
from ivm.kernels.memory.places import ADDRESS, BIT, PIECES, SIZE, STRIDE, VALIDITY
from ivm.kernels.memory.places import WORDS as PLACE_WORDS
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Bools, Int32s, Ints

BLOCK = 128

FROM, BEGIN, ITEM, MASK, NULL_HALF, NULL_BIT = range(6)
SHOWN = 6
"""What is said of a column of output rows: whether it lies in NO_PLACE, among the KEY words, or is an AGGREGATE; with
which byte of a row's key words, or which word of an output row, it begins; how many bytes an item has; which mask is
its own, that of an output with the output's number; in which half word of the key which bit says that it is NULL, -1 of
what never is, and of aggregates."""
NO_PLACE, KEY, AGGREGATE = range(3)
_INT = np.int32(0)


@part(counted=True)
def emit(
    plan: Ints,
    outputs: Ints,
    always: bool,
    width: Word,
    state: Ints,
    cell_slot: Int32s,
    cell_previous: Int32s,
    cell_time: Ints,
    cells: Ints,
    scratch: Ints,
    words: Word,
    capacity: Word,
    shown_columns: Ints,
    room: Word,
) -> tuple[Word, Word, Word]:
    """Turn what was added to each cell, `cells`, into totals, and write the updates of the output in the cells' order.

    `always`: a group exists also where its multiplicity is zero. `shown_columns` int64 (columns, SHOWN) are those of
    the rows. There is space for two rows a cell in `room`, an address; outputs have `words` words in all. Returns (rows
    written, accumulator that overflowed or -1, output that overflowed or -1). Cost: a random access a cell, then what
    the aggregates cost.
    """
    places = words_at(room, len(shown_columns), PLACE_WORDS)
    room += 8 * PLACE_WORDS * len(places)
    nulls, flat = ints_at(room, len(outputs)), ints_at(room + 8 * len(outputs), capacity * words)
    at = room + 8 * (len(outputs) + capacity * words)
    keys, diffs = words_at(at, capacity, width), ints_at(at + 8 * capacity * width, capacity)
    at += 8 * capacity * (width + 1)
    times = ints_at(at, capacity)
    masks = at + 8 * capacity
    flat_valid = bools_at(masks, len(outputs), capacity)
    nulls[:] = 0
    size = min(BLOCK, len(cells))
    before, since = np.empty((size, cells.shape[1]), np.int64), np.empty(size, np.int64)
    shown, valid = np.empty((words, 2 * size), np.int64), np.empty((len(outputs), 2 * size), np.bool_)
    source = np.empty(2 * size, np.int64)
    rows = np.int64(0)
    for first in range(0, len(cells), BLOCK):
        count, begun = min(BLOCK, len(cells) - first), rows
        known = _begin(width, state, cell_slot, cell_previous, cells, first, count, before, since)
        for k in range(len(plan)):
            if add_before(plan, k, before, since, cells, first, count):
                return rows, np.int64(k), np.int64(-1)
        for o in range(len(outputs)):
            finalize(outputs, o, always, before, 0, 0, known, shown, valid, 0, scratch)
            if finalize(outputs, o, always, cells, first, 0, count, shown, valid, size, scratch):
                return rows, np.int64(-1), np.int64(o)
        for i in range(count):
            cell, now = first + i, size + i
            was = now - since[i] if since[i] > 0 else -since[i]
            existed = always or (cells[cell - since[i], 0] if since[i] > 0 else before[was, 0]) != 0
            exists = always or cells[cell, 0] != 0
            if existed and exists and not _differ(shown, valid, was, now):
                continue
            slot = np.int64(cell_slot[cell])
            for is_new in range(2):
                if exists if is_new else existed:
                    source[rows - begun] = now if is_new else was
                    diffs[rows] = 2 * is_new - 1
                    for w in range(width):
                        keys[rows, w] = state[slot, w]
                    if len(cell_time):
                        times[rows] = cell_time[cell]
                    rows += 1
        for o in range(len(outputs)):
            write_output(outputs, o, shown, valid, source, begun, rows, flat, flat_valid, nulls, capacity)
    tell_places(shown_columns, width, capacity, rows, nulls, address_of(flat), address_of(keys), masks, places)
    return rows, np.int64(-1), np.int64(-1)


@part()
def tell_places(
    columns: Ints, width: Word, capacity: Word, rows: Word, nulls: Ints, flat: Word, keys: Word, masks: Word,
    places: Ints,
) -> None:  # fmt: skip
    """Write down where the columns of so many output rows lie; those in NO_PLACE have no stride.

    Cost: that of a look at each part of a key that may be NULL.
    """
    for c in range(len(columns)):
        place, size, mask = places[c], columns[c, ITEM], masks + capacity * columns[c, MASK]
        place[SIZE], place[STRIDE], place[PIECES], place[VALIDITY] = size, np.int64(0), np.int64(0), np.int64(0)
        has_nulls = False
        if columns[c, FROM] == KEY:
            place[ADDRESS], place[STRIDE] = keys + columns[c, BEGIN], 8 * width
            if columns[c, NULL_HALF] >= 0:
                half = keys + 4 * columns[c, NULL_HALF]
                has_nulls = _mask_keys(half, 8 * width, columns[c, NULL_BIT], bools_at(mask, np.int64(1), rows))
        elif columns[c, FROM] == AGGREGATE:
            place[ADDRESS], place[STRIDE] = flat + 8 * capacity * columns[c, BEGIN], size
            has_nulls = nulls[columns[c, MASK]] > 0
        if has_nulls:
            place[VALIDITY], place[BIT] = mask, np.int64(-1)


@part()
def _mask_keys(half: Word, step: Word, bit: Word, mask: Bools) -> bool:
    """Write for half words at an address, so many bytes apart, whether a bit is not set; whether one is."""
    found = False
    for r in range(mask.shape[1]):
        null = (np.int64(load(half + step * r, _INT)) >> bit) & np.int64(1) != 0
        mask[0, r] = not null
        found |= null
    return found


@part()
def _begin(
    width: Word,
    state: Ints,
    cell_slot: Int32s,
    cell_previous: Int32s,
    cells: Ints,
    first: Word,
    count: Word,
    before: Ints,
    since: Ints,
) -> Word:
    """For each cell of a block how many cells before it, in the block, its group had its last one, into `since`.

    Where it had none there, the totals that it begins with go to the next row of `before`, and 0 less that row to
    `since`. How many those are.
    """
    known = np.int64(0)
    for i in range(count):
        slot, previous = np.int64(cell_slot[first + i]), np.int64(cell_previous[first + i])
        if previous >= first:
            since[i] = first + i - previous
            continue
        since[i] = -known
        for f in range(cells.shape[1]):
            before[known, f] = cells[previous, f] if previous >= 0 else state[slot, width + 1 + f]
        known += 1
    return known


@part()
def _differ(shown: Ints, valid: Bools, one: Word, other: Word) -> bool:
    for w in range(len(shown)):
        if shown[w, one] != shown[w, other]:
            return True
    for o in range(len(valid)):
        if valid[o, one] != valid[o, other]:
            return True
    return False


@part()
def write_output(
    outputs: Ints,
    o: Word,
    shown: Ints,
    valid: Bools,
    source: Ints,
    first: Word,
    stop: Word,
    flat: Ints,
    flat_valid: Bools,
    nulls: Ints,
    capacity: Word,
) -> None:
    """Write output o of rows [first, stop), of which `source` says at which places of `shown` they are.

    Which of them are valid is written from the first NULL on.
    """
    words, at, none = outputs[o, WORDS], outputs[o, AT], np.int64(0)
    base, count = at * capacity + words * first, stop - first
    if words == 1:
        for r in range(count):
            flat[np.uint64(base + r)] = shown[at, np.uint64(source[r])]
    else:
        for r in range(count):
            place = np.uint64(source[r])
            flat[np.uint64(base + 2 * r)] = shown[at, place]
            flat[np.uint64(base + 2 * r + 1)] = shown[at + 1, place]
    for r in range(count):
        none += not valid[o, np.uint64(source[r])]
    if nulls[o] == 0 and none > 0:
        for r in range(first):
            flat_valid[o, r] = True
    nulls[o] += none
    if nulls[o] > 0:
        for r in range(count):
            flat_valid[o, first + r] = valid[o, source[r]]


@njit(cache=True, nogil=True, fastmath=False)
def read_groups(
    outputs: Ints, width: Word, words: Word, state: Ints, always: bool, scratch: Ints, shown_columns: Ints, room: Ints
) -> Word:  # fmt: skip
    """Write what these rows of groups show, for all of which `room` has space; rows written."""
    capacity, places = len(state), words_at(address_of(room), len(shown_columns), PLACE_WORDS)
    room = room[PLACE_WORDS * len(places) :]
    behind = len(outputs) + capacity * words
    nulls, flat = room[: len(outputs)], room[len(outputs) : behind]
    keys = room[behind : behind + capacity * width].reshape(capacity, width)
    masks = address_of(room) + 8 * (behind + capacity * (width + 2))
    flat_valid = bools_at(masks, len(outputs), capacity)
    nulls[:] = 0
    size = min(BLOCK, len(state))
    shown, valid = np.empty((words, size), np.int64), np.empty((len(outputs), size), np.bool_)
    source = np.empty(size, np.int64)
    rows = np.int64(0)
    for first in range(0, len(state), BLOCK):
        count, begun = min(BLOCK, len(state) - first), rows
        for i in range(count):
            if always or state[first + i, width + 1] != 0:
                source[rows - begun] = i
                for w in range(width):
                    keys[rows, w] = state[first + i, w]
                rows += 1
        for o in range(len(outputs)):
            finalize(outputs, o, always, state, first, width + 1, count, shown, valid, 0, scratch)
            write_output(outputs, o, shown, valid, source, begun, rows, flat, flat_valid, nulls, capacity)
    tell_places(shown_columns, width, capacity, rows, nulls, address_of(flat), address_of(keys), masks, places)
    return rows

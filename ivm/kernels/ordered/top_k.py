"""Windows over an ordered tree: the rows of each group from place `begin` to `end`, kept while the group changes.

The tree has sums (see `ordered.walk`); keys are a group's slot and the words of a row, and a row takes as many
places as it counts. With `ties` not 0 the window ends behind all rows that agree with the one at the last place in
their first `ties` words, the slot included: rank() <= end. A group's fields (see `groups.table`) are its multiplicity
and, with ties, where its window ended last.

A change moves all rows behind it by as many places as it adds. So of the rows between two changes only those cross a
border of the window that stand within so many places of it, and they alone are read: a change costs logarithms, and
the rows that enter or leave.

`frame` int64 is what a step is told: first what is always the same, numbers and arrays by their `id`; from STAGE on how
far it is, and the same about its rows and about memory for what it makes. At LISTED is the `id` of a list of the
sources of its rows (see `memory.places.lay_updates`), which are written down behind the frame; READS are the columns
that are read of them: those of the key, then those of the terms.

`room` is where the output goes, with space for CAPACITY rows: the places of their columns (see `memory.places`), then K
+ 1 words a row, those of its values, the diff and the cell; then all diffs, and, if there are many, all times.

A step ends where it needs more memory, and goes on when it is called again: for groups, or for the output of a cell.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.groups.block import CELLS, KEY_WORDS, META, PHASE, PUT, ROWS, STATE, TIMES, cells_at
from ivm.kernels.groups.opening import open_keyed
from ivm.kernels.memory.at import address_of, data_if, data_of, int32s_at, ints_at, words_at, words_in
from ivm.kernels.memory.places import WORDS, lay_updates
from ivm.kernels.numbers.wide import Word
from ivm.kernels.ordered.batch import TreeBatch, apply_row, batch_at, net_changes
from ivm.kernels.ordered.encode import TERM, decode_rows, encode_rows
from ivm.kernels.ordered.nodes import Tree, tree_at
from ivm.kernels.ordered.tree import enter, find
from ivm.kernels.ordered.walk import copies_before, entry_at, following
from ivm.kernels.texts.dictionary import Bytes
from ivm.kernels.types import Ints

COUNTED, END = 0, 1
FIELDS = 2
ENDLESS = 1 << 62

BASE, OLD_END, NEW_END, MET, MOST = 0, 1, 2, 3, 4
"""Of a cell: copies before its group; ends of its window; changes that may matter; rows that it may write at most."""
CELL = 5

KEYS, KEY_FORM, READS, WIDTH, KINDS, TERMS, TERM_COUNT, BEGIN, END_AT, TIES, NONE = range(11)
ABOUT = 11
STAGE, AT, WRITTEN, LISTED, ROW_TIMES, DIFFS, BATCH, SCRATCH, AFTER, ROOM, CAPACITY = range(16, 27)
LENGTH = 27
"""How many columns a key has, how it is made of them, where all columns are read, how many words the keys of the tree
have, how they compare, the terms and their number, the window, and None. ABOUT: the cell that a step is at, CELL words.
Then how far it is, and at which row, or cell; how many output rows it has; its sources, times, diffs (0: all are one),
a batch for the tree to journal, scratch, three words a row and one, the fields of the cells, and the room, 0 if there
is none."""
OPENING, APPLYING, WRITING = range(3)
DONE, NO_SLOTS, NOT_READABLE, NO_ROOM = range(4)
"""NO_ROOM: there is a room for at least CAPACITY rows to be found, which begins as the one before does."""


class _Cell(NamedTuple):
    """Scratch for one cell: where its changes stand, how often those keys count, and the words above."""

    places: Ints
    copies: Ints
    about: Ints


@njit(cache=True, nogil=True, fastmath=False)
def step_windows(block: Ints, memory: Ints, meta: Ints, frame: Ints, heap: Bytes, starts: Ints) -> Word:
    """Go on with a batch as far as may be, cell by cell: DONE, or why it is not.

    `block` and `memory` are those of the groups (see `groups.block`), `meta` is the tree's, `heap` and `starts` are the
    dictionary's. Written are the batch for the tree, of each cell its changes (see `net_changes`), the fields of the
    cells, and how the windows change. What undoes a change is there before the tree changes. Cost: O(log n) a change,
    and the output.
    """
    rows, width = memory[ROWS], frame[WIDTH]
    tree = tree_at(meta, ints_at(data_of(frame[KINDS]), width), heap, starts)
    batch, scratch = batch_at(data_of(frame[BATCH]), rows, width), data_of(frame[SCRATCH])
    found = _Cell(ints_at(scratch, rows), ints_at(scratch + 8 * rows, rows), frame[ABOUT : ABOUT + CELL])
    offsets = ints_at(scratch + 16 * rows, rows + 1)
    if frame[STAGE] == OPENING:
        said = _open(block, memory, frame, batch.keys)
        if said != DONE:
            return said
        diffs = ints_at(data_if(frame[DIFFS]), rows if frame[DIFFS] else np.int64(0))
        row_cell = int32s_at(cells_at(memory, 0), rows)
        net_changes(
            batch.keys, tree.kinds, heap, starts, diffs, row_cell, batch.order, batch.diffs,
            offsets[: memory[CELLS] + 1], found.places,
        )  # fmt: skip
        frame[STAGE], frame[AT], frame[WRITTEN] = APPLYING, 0, 0
    if not _step_cells(tree, batch, offsets, block, memory, frame, found):
        return np.int64(NO_ROOM)
    memory[PHASE] = PUT
    if frame[WRITTEN] > 0:
        _put_out(memory, frame)
    return np.int64(DONE)


@part(counted=True)
def _open(block: Ints, memory: Ints, frame: Ints, keys: Ints) -> Word:
    """Open the cells, and write the keys of all rows for the tree; DONE, or why that is not."""
    reads, sources = words_at(data_of(frame[READS]), frame[KEYS] + frame[TERM_COUNT], 2), address_of(frame[LENGTH:])
    if not lay_updates(frame[LISTED], frame[NONE], frame[DIFFS], reads, frame[LENGTH:]):
        return np.int64(NOT_READABLE)
    times = data_if(frame[ROW_TIMES])
    frame[AT] = open_keyed(block, memory, sources, frame[KEYS], frame[KEY_FORM], times, frame[AT])
    if frame[AT] >= 0:
        return np.int64(NO_SLOTS)
    encode_rows(
        sources, reads[frame[KEYS] :], words_at(data_of(frame[TERMS]), frame[TERM_COUNT], TERM), np.int64(1), keys
    )
    row_cell, cell_slot = int32s_at(cells_at(memory, 0), len(keys)), int32s_at(cells_at(memory, 1), memory[CELLS])
    for row in range(len(keys)):
        keys[row, 0] = cell_slot[row_cell[row]]
    return np.int64(DONE)


@part(inline=True)
def _rows_at(frame: Ints) -> Word:
    """Where output rows are, if there is a room."""
    return data_of(frame[ROOM]) + 8 * WORDS * frame[TERM_COUNT] if frame[ROOM] else np.int64(0)


@part()
def _step_cells(
    tree: Tree, batch: TreeBatch, offsets: Ints, block: Ints, memory: Ints, frame: Ints, found: _Cell
) -> bool:  # fmt: skip
    """Apply each cell's changes, `order[offsets[c] : offsets[c + 1]]`, and write its output; False if that has no room.

    A group's fields before the batch stand behind its key and a word more; the cells get those as of each.
    """
    count, state, before = memory[CELLS], words_in(block, STATE), block[KEY_WORDS] + 1
    cell_slot, cell_previous = int32s_at(cells_at(memory, 1), count), int32s_at(cells_at(memory, 2), count)
    cells = words_at(data_of(frame[AFTER]), count, FIELDS)
    out = words_at(_rows_at(frame), frame[CAPACITY], frame[WIDTH] + 1)
    while frame[AT] < count:
        cell = frame[AT]
        first, stop = offsets[cell], offsets[cell + 1]
        if frame[STAGE] == APPLYING:
            previous, slot = np.int64(cell_previous[cell]), np.int64(cell_slot[cell])
            for f in range(FIELDS):
                cells[cell, f] = cells[previous, f] if previous >= 0 else state[slot, before + f]
            if first < stop:
                _apply_cell(tree, batch, first, stop, frame[BEGIN], frame[END_AT], frame[TIES], cells, cell, found)
                frame[STAGE] = WRITING
        if first < stop:
            if frame[WRITTEN] + found.about[MOST] > len(out):
                frame[CAPACITY] = frame[WRITTEN] + found.about[MOST]
                return False
            total, written = cells[cell, COUNTED], frame[WRITTEN]
            frame[WRITTEN] = _write_cell(tree, batch, first, frame[BEGIN], total, cell, found, out, written)
        frame[STAGE], frame[AT] = APPLYING, cell + 1
    return True


@part()
def _put_out(memory: Ints, frame: Ints) -> None:
    """Make columns of the output rows, and put their diffs and times together."""
    count, capacity, width, many = frame[WRITTEN], frame[CAPACITY], frame[WIDTH], memory[TIMES] != 0
    out, behind = words_at(_rows_at(frame), count, width + 1), _rows_at(frame) + 8 * capacity * (width + 1)
    diffs, times = ints_at(behind, count), ints_at(behind + 8 * capacity, count)
    for row in range(count):
        diffs[row] = out[row, width - 1]
        if many:
            times[row] = memory[META + out[row, width]]
    terms = words_at(data_of(frame[TERMS]), frame[TERM_COUNT], TERM)
    decode_rows(terms, out, words_at(data_of(frame[ROOM]), len(terms), WORDS))


@part()
def _apply_cell(
    tree: Tree, batch: TreeBatch, first: Word, stop: Word, begin: Word, end: Word, ties: Word, cells: Ints, cell: Word,
    found: _Cell,
) -> None:  # fmt: skip
    """Apply a cell's changes; find where those stand now that may matter, and how often they count."""
    rows, words, about = tree.rows, len(tree.kinds), found.about
    keys, net, order = batch.keys, batch.diffs, batch.order
    for k in range(first, stop):
        apply_row(tree, batch, order[k], 1, True)
        cells[cell, COUNTED] += net[order[k]]
    enter(tree, keys, order[first], 1, False, False)
    base = copies_before(tree)
    about[BASE] = base
    about[OLD_END] = about[NEW_END] = end
    if ties:
        if cells[cell, END]:
            about[OLD_END] = cells[cell, END]
        at, _ = entry_at(tree, base + end - 1)
        if at >= 0 and rows[at, 0] == keys[order[first], 0]:
            enter(tree, rows, at, ties, True, True)
            about[NEW_END] = copies_before(tree) - base
        cells[cell, END] = about[NEW_END] if cells[cell, COUNTED] != 0 else np.int64(0)
    farthest = max(about[OLD_END], about[NEW_END])
    shift, behind, room = np.int64(0), np.int64(0), np.int64(0)
    met = np.int64(first)
    while met < stop:
        at, there = find(tree, keys, order[met], True)
        place = copies_before(tree) - base
        if place >= farthest and place - shift >= farthest:
            break
        found.places[met] = place
        found.copies[met] = rows[at, words] if there else np.int64(0)
        room += 1 + _crossing(behind, place, shift, begin, about)
        shift += net[order[met]]
        behind = place + found.copies[met]
        met += 1
    about[MET] = met
    about[MOST] = room + _crossing(behind, cells[cell, COUNTED], shift, begin, about)


@part(inline=True)
def _border(first: Word, stop: Word, new: Word, old: Word) -> tuple[Word, Word]:
    """The places in [first, stop) on different sides of a border that is at `new` and would, unmoved, be at `old`."""
    return max(first, min(new, old)), min(stop, max(new, old))


@part()
def _crossing(first: Word, stop: Word, shift: Word, begin: Word, about: Ints) -> Word:
    """How many of the places [first, stop), moved by `shift`, may have crossed a border of the window."""
    low, high = _border(first, stop, begin, begin + shift)
    low_end, high_end = _border(first, stop, about[NEW_END], about[OLD_END] + shift)
    return max(high - low, np.int64(0)) + max(high_end - low_end, np.int64(0))


@part()
def _write_cell(
    tree: Tree,
    batch: TreeBatch,
    first: Word,
    begin: Word,
    total: Word,
    cell: Word,
    found: _Cell,
    out: Ints,
    count: Word,
) -> Word:
    """Write how a cell's window changes: its changes that are inside, and what they push in and out."""
    about = found.about
    shift, behind = np.int64(0), np.int64(0)
    for k in range(first, about[MET]):
        i, place, copies = batch.order[k], found.places[k], found.copies[k]
        count = _write_crossed(tree, behind, place, shift, begin, about, cell, out, count)
        was = _inside(place - shift, copies - batch.diffs[i], begin, about[OLD_END])
        diff = _inside(place, copies, begin, about[NEW_END]) - was
        count = _write(batch.keys, i, len(tree.kinds), diff, cell, out, count)
        shift += batch.diffs[i]
        behind = place + copies
    return _write_crossed(tree, behind, total, shift, begin, about, cell, out, count)


@part(inline=True)
def _inside(place: Word, copies: Word, begin: Word, end: Word) -> Word:
    return max(min(place + copies, end) - max(place, begin), np.int64(0))


@part()
def _write_crossed(
    tree: Tree, first: Word, stop: Word, shift: Word, begin: Word, about: Ints, cell: Word, out: Ints, count: Word
) -> Word:
    """Write which of the rows at places [first, stop), that moved by `shift`, entered or left the window.

    Each counts as often as it is inside now, less as often as it was: both follow from where its places lie. So a row
    that has copies at both borders is written once.
    """
    words, place = len(tree.kinds), np.int64(0)
    for side in range(2):
        if side == 0:
            low, high = _border(first, stop, begin, begin + shift)
        else:
            low, high = _border(max(first, place), stop, about[NEW_END], about[OLD_END] + shift)
        if low >= high:
            continue
        at, copy = entry_at(tree, about[BASE] + low)
        place = low - copy
        while at >= 0 and place < high:
            copies = tree.rows[at, words]
            diff = _inside(place, copies, begin, about[NEW_END])
            diff -= _inside(place - shift, copies, begin, about[OLD_END])
            count = _write(tree.rows, at, words, diff, cell, out, count)
            place += copies
            at = following(tree, at)
    return count


@part(inline=True)
def _write(source: Ints, at: Word, words: Word, diff: Word, cell: Word, out: Ints, count: Word) -> Word:
    """Write a row whose diff is not 0; the rows of the output."""
    if diff == 0:
        return count
    for w in range(1, words):
        out[count, w - 1] = source[at, w]
    out[count, words - 1] = diff
    out[count, words] = cell
    return count + 1


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def show_windows(entries: Ints, words: Word, begin: Word, end: Word, ties: Word, last: Ints, shown: Ints) -> None:
    """How often the windows show each of the entries, which follow each other in the tree, into `shown` (n,).

    `last` int64 (W + 1,) goes from one call to the next: the slot, -1 at first; the words of the row that has the
    last place, from 1 on; and in the last word the place behind the entry before.
    """
    for i in range(len(entries)):
        if entries[i, 0] != last[0]:
            last[0] = entries[i, 0]
            last[words] = 0
        place = last[words]
        copies = entries[i, words]
        shown[i] = _inside(place, copies, begin, end)
        if ties:
            if place + copies >= end:
                same = place >= end
                for w in range(1, ties):
                    same = same and entries[i, w] == last[w]
                if place < end:
                    for w in range(1, ties):
                        last[w] = entries[i, w]
                if same or place < end:
                    shown[i] = place + copies - max(place, begin)
        last[words] += copies

"""Windows over an ordered tree: the rows of each group from place `begin` to `end`, kept while the group changes.

The tree has sums (see `ordered.walk`); keys are a group's slot and the words of a row, and a row takes as many
places as it counts. With `ties` not 0 the window ends behind all rows that agree with the one at the last place in
their first `ties` words, the slot included: rank() <= end. A group's fields (see `groups.table`) are its multiplicity
and, with ties, where its window ended last.

A change moves all rows behind it by as many places as it adds. So of the rows between two changes only those cross a
border of the window that stand within so many places of it, and they alone are read: a change costs logarithms, and
the rows that enter or leave.

Output rows are int64 (rows, K + 2): a row's words, the slot left out, the diff, and the cell.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.groups.block import CELLS, KEY_WORDS, PHASE, PUT, ROWS, STATE, cells_at
from ivm.kernels.groups.opening import open_keyed
from ivm.kernels.memory.at import address_of, bools_at, data_of, int32s_at, ints_at, words_at, words_in
from ivm.kernels.memory.move import grown
from ivm.kernels.memory.places import WORDS, place_of
from ivm.kernels.numbers.wide import Word
from ivm.kernels.ordered.batch import TreeBatch, apply_row, net_changes
from ivm.kernels.ordered.encode import TERM, encode_rows
from ivm.kernels.ordered.nodes import META, Tree
from ivm.kernels.ordered.tree import enter, find
from ivm.kernels.ordered.walk import copies_before, entry_at, following
from ivm.kernels.texts.dictionary import Bytes
from ivm.kernels.types import Int32s, Ints

COUNTED, END = 0, 1
FIELDS = 2
ENDLESS = 1 << 62

BASE, OLD_END, NEW_END, MET, ROOM = 0, 1, 2, 3, 4
"""Of a cell: copies before its group; ends of its window; changes that may matter; rows that it may write at most."""
CELL = 5


KEYS, KEY_FORM, WIDTH, KINDS, TERMS, TERM_COUNT, BEGIN, END_AT, TIES, SOURCE = range(10)
TREE_META, AT, ROW_TIMES, DIFFS, ROW_KEYS, ORDER, NET, AFTER = range(11, 19)
TREE_ROWS, TREE_ROOM, HEADS, HEADS_ROOM = range(19, 23)
LENGTH = 23
"""Of a step's frame. First what is always the same: how many columns a key has, how it is made of them, how many words
the keys of the tree have, how they compare, the terms and their number, the window, and the source of the rows: the
columns of the key, then those of the terms. Then what belongs to one step: the tree's `meta`, how far its cells are,
times, diffs (0: all are one), memory for what it makes, and the tree's other arrays with their lengths.
"""


class _Cell(NamedTuple):
    """Scratch for one cell: where its changes stand, how often those keys count, and the words above."""

    places: Ints
    copies: Ints
    about: Ints


@njit(cache=True, nogil=True, fastmath=False)
def step_windows(block: Ints, memory: Ints, frame: Ints, heap: Bytes, starts: Ints) -> tuple[Ints, Word]:
    """Apply a batch, cell by cell, and return how the windows change: (output, its rows), or -1 rows.

    Then there was no room for a group: it is to be called again once there is. `block` and `memory` are those of the
    groups (see `groups.block`), `heap` and `starts` the dictionary's. `frame` has numbers, and arrays by their `id`.

    Written are the keys of the batch's rows, for each cell its changes (see `net_changes`), and the fields of the
    cells; what undoes a change is there before the tree changes. Cost: O(log n) a change, and the output.
    """
    keyed, source = frame[KEYS], address_of(frame) + 8 * SOURCE
    frame[AT] = open_keyed(block, memory, source, keyed, frame[KEY_FORM], frame[ROW_TIMES], frame[AT])
    if frame[AT] >= 0:
        return np.empty((0, 1), np.int64), np.int64(-1)
    rows, cells, width, state = memory[ROWS], memory[CELLS], frame[WIDTH], words_in(block, STATE)
    row_cell, cell_slot = int32s_at(cells_at(memory, 0), rows), int32s_at(cells_at(memory, 1), cells)
    cell_previous = int32s_at(cells_at(memory, 2), cells)
    keys, kinds = words_at(data_of(frame[ROW_KEYS]), rows, width), ints_at(data_of(frame[KINDS]), width)
    places = words_at(place_of(source, np.int64(0), keyed), frame[TERM_COUNT], WORDS)
    encode_rows(places, words_at(data_of(frame[TERMS]), frame[TERM_COUNT], TERM), np.int64(1), keys)
    for i in range(rows):
        keys[i, 0] = cell_slot[row_cell[i]]
    diffs = ints_at(data_of(frame[DIFFS]) if frame[DIFFS] else np.int64(0), rows if frame[DIFFS] else np.int64(0))
    order, net = ints_at(data_of(frame[ORDER]), rows), ints_at(data_of(frame[NET]), rows)
    offsets, scratch = np.empty(cells + 1, np.int64), np.empty(rows, np.int64)
    net_changes(keys, kinds, heap, starts, diffs, row_cell, order, net, offsets, scratch)
    tree_rows = words_at(data_of(frame[TREE_ROWS]), frame[TREE_ROOM], width + 2)
    heads = words_at(data_of(frame[HEADS]), frame[HEADS_ROOM], 3)
    tree = Tree(tree_rows, heads, ints_at(data_of(frame[TREE_META]), META), kinds, heap, starts)
    batch = TreeBatch(keys, bools_at(np.int64(0), 0, 1), net, order)
    after = words_at(data_of(frame[AFTER]), cells, FIELDS)
    out, count = _apply_windows(
        tree, batch, offsets, frame[BEGIN], frame[END_AT], frame[TIES], block[KEY_WORDS] + 1, state, cell_slot,
        cell_previous, after,
    )  # fmt: skip
    memory[PHASE] = PUT
    return out, count


@part(counted=True)
def _apply_windows(
    tree: Tree, batch: TreeBatch, offsets: Ints, begin: Word, end: Word, ties: Word, before: Word, state: Ints,
    cell_slot: Int32s, cell_previous: Int32s, cells: Ints,
) -> tuple[Ints, Word]:  # fmt: skip
    """Apply each cell's changes, `order[offsets[c] : offsets[c + 1]]`; the output and its rows.

    A group's fields before the batch stand from column `before` of its row of `state`; `cells` (cells, FIELDS) gets
    those as of each cell.
    """
    changes = offsets[len(cells)]
    out = np.empty((16 + 2 * changes, len(tree.kinds) + 1), np.int64)
    places, copies = np.empty(changes, np.int64), np.empty(changes, np.int64)
    about = np.empty(CELL, np.int64)
    count = np.int64(0)
    for cell in range(len(cells)):
        previous, slot = np.int64(cell_previous[cell]), np.int64(cell_slot[cell])
        for f in range(FIELDS):
            cells[cell, f] = cells[previous, f] if previous >= 0 else state[slot, before + f]
        first, stop = offsets[cell], offsets[cell + 1]
        if first < stop:
            found = _Cell(places, copies, about)
            _apply_cell(tree, batch, first, stop, begin, end, ties, cells, cell, found)
            out = grown(out, count, count + about[ROOM])
            count = _write_cell(tree, batch, first, begin, cells[cell, COUNTED], cell, found, out, count)
    return out, count


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
    about[ROOM] = room + _crossing(behind, cells[cell, COUNTED], shift, begin, about)


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

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
from ivm.kernels.memory.move import grown
from ivm.kernels.numbers.wide import Word
from ivm.kernels.ordered.batch import TreeBatch, apply_row
from ivm.kernels.ordered.nodes import Tree
from ivm.kernels.ordered.tree import enter, find
from ivm.kernels.ordered.walk import copies_before, entry_at, following
from ivm.kernels.texts.dictionary import Bytes
from ivm.kernels.types import Bools, Int32s, Ints

COUNTED, END = 0, 1
FIELDS = 2
ENDLESS = 1 << 62

BASE, OLD_END, NEW_END, MET, ROOM = 0, 1, 2, 3, 4
"""Of a cell: copies before its group; ends of its window; changes that may matter; rows that it may write at most."""
CELL = 5


class _Cell(NamedTuple):
    """Scratch for one cell: where its changes stand, how often those keys count, and the words above."""

    places: Ints
    copies: Ints
    about: Ints


@njit(cache=True, nogil=True, fastmath=False)
def apply_windows(
    rows: Ints, heads: Ints, meta: Ints, kinds: Ints, heap: Bytes, starts: Ints, keys: Ints, valid: Bools, net: Ints,
    order: Ints, offsets: Ints, begin: Word, end: Word, ties: Word, before: Word, state: Ints, cell_slot: Int32s,
    cell_previous: Int32s, cells: Ints,
) -> tuple[Ints, Word]:  # fmt: skip
    """Apply a batch's net changes (see `net_changes`), cell by cell, and return how the windows change.

    (output, its rows). `valid` has length 0. A group's fields before the batch stand from column `before` of its row
    of `state`; `cells` (cells, FIELDS) gets those as of each cell. Cost: O(log n) a change, and the output.
    """
    tree, batch = Tree(rows, heads, meta, kinds, heap, starts), TreeBatch(keys, valid, net, order)
    out = np.empty((16 + 2 * len(order), len(kinds) + 1), np.int64)
    places, copies = np.empty((2, len(order)), np.int64)
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

"""The ordered kind of state where places count: the rows of partitions, with what window functions show of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, NamedTuple

import numpy as np

from ivm.kernels.types import Int32s
from ivm.kernels.windows.functions import DIFF, NODE, ROOM, SCRATCH, apply_window, copy_rows
from ivm.kernels.windows.reach import STRETCH
from ivm.kernels.windows.saving import node_behind, rows_behind
from ivm.kernels.windows.tree import CHANGES, GONE, INPUT, KEY, LIVE, SIZES, USED, VALUES, VISITED, WORDS, Trees
from ivm.kernels.windows.values import COUNT
from ivm.trace.columns.column import Array, Bools, Ints
from ivm.trace.columns.growable import Growable
from ivm.trace.columns.segment import Segment, Segments
from ivm.trace.ordered.net_changes import NetChanges, net_of
from ivm.trace.ordered.window_rows import AnyLayout, Layout, Rows
from ivm.trace.state import Apart, StateSize, WeakList
from ivm.trace.text.dictionary import TextDictionary
from ivm.trace.text.sweep import AT_ONCE
from ivm.trace.text.texts import Strings

_CHUNK = 1 << 16
_AT_ONCE_SAVED = 1 << 12
"""Rows that are read while others wait."""
_NOTHING: Ints = np.empty((0, 0), np.int64)


class _Entry(NamedTuple, Generic[AnyLayout]):
    """Of the journal: rows by cells (see `apply_window`), how many changes the tree had seen before, scratch for the
    kernel to do and undo the changes, and what was put out for them, by which layout. A wider one moves the rows alone.
    """

    rows: Ints
    changes: NetChanges
    slots: Int32s
    counts: Ints
    before: int
    room: Ints
    scratch: Ints
    layout: AnyLayout
    out: Ints


class _Place(NamedTuple):
    """Up to where rows are read: all before slot `slot`, and there those up to `last` (1, row words), if it has any."""

    slot: int
    last: Ints


class _Change(NamedTuple, Generic[AnyLayout]):
    """Rows that take changes back, which the tree had seen `before` of, and what their codes stand for."""

    before: int
    layout: AnyLayout
    rows: Rows
    strings: Strings


class _Nodes(Generic[AnyLayout]):
    """The arrays of all trees, their layout, and the changes that are not final, which are exchanged as one."""

    def __init__(self, layout: AnyLayout, visited: int = 0, changes: int = 0) -> None:
        self.layout = layout
        self.rows: Growable[np.int64] = Growable(np.dtype(np.int64), layout.node_words)
        self.roots: Growable[np.int32] = Growable(np.dtype(np.int32))
        self.sizes = np.zeros(SIZES, np.int64)
        self.sizes[[VISITED, CHANGES]] = visited, changes
        self.journal: list[_Entry[AnyLayout]] = []


class WindowTree(Generic[AnyLayout]):
    """Rows in order by partition, whose slot is given, with the values of window functions at each.

    The journal has all changes before the kernel runs, and the kernel counts what it has applied, so that `rollback`
    undoes just that. State: a node for each copy, whose words `layout` says, and 4 bytes a partition.
    A node has a number that it keeps, parent, children, and what its subtree adds up to for each frame. A node of
    `ivm.trace.ordered.ordered_tree` has none of this: its entries move, and 64 would have to be added up again on each
    level. That is worth two to six times the time of a change; see there for what was measured.
    """

    def __init__(self, layout: AnyLayout, dictionary: TextDictionary) -> None:
        self._dictionary = dictionary
        self._nodes = _Nodes(layout)
        self.edition = 0
        self.is_still = False
        self._readers: WeakList[WindowReader[AnyLayout]] = WeakList()
        self._savers: WeakList[_Saver[AnyLayout]] = WeakList()

    @property
    def is_changing(self) -> bool:
        """Whether there are changes that are not final."""
        return bool(self._nodes.journal)

    @property
    def layout(self) -> AnyLayout:
        """The layout."""
        return self._nodes.layout

    def __len__(self) -> int:
        """Rows, each as often as it is there."""
        return int(self._nodes.sizes[LIVE])

    @property
    def used(self) -> int:
        """Nodes that were ever in use."""
        return int(self._nodes.sizes[USED])

    @property
    def slots(self) -> int:
        """Slots below which all partitions lie."""
        return self._nodes.roots.length

    @property
    def strings(self) -> Strings:
        """What the codes stand for now."""
        return self._dictionary.now()

    @property
    def visited(self) -> int:
        """Nodes visited so far."""
        return int(self._nodes.sizes[VISITED])

    def apply(self, rows: Ints, diffs: Ints | None, row_cell: Int32s, slots: Int32s) -> tuple[Ints, Ints, bool]:
        """Apply the changes of rows, as the layout has them, of cells, which are of the partitions in `slots`.

        Returns the output (see `ivm.kernels.windows.functions`), the rows (cells, 1) of each partition as of its cell,
        and whether there were all rows to take out. Cost: see `apply_window`.
        """
        nodes, layout = self._nodes, self._nodes.layout
        kinds = layout.kinds[:-1]  # but for the copy
        changes = net_of(rows, kinds, self._dictionary, diffs, row_cell, len(slots))
        nodes.rows.length = self.used
        nodes.rows.reserve(self.used + int(np.abs(changes.diffs[changes.order]).sum()))
        nodes.roots.fill(0, int(slots.max(initial=-1)) + 1)
        counts = np.zeros((len(slots), 1), np.int64)
        entry = _Entry(rows, changes, slots, counts, self.mark(), *_scratch(layout, changes), layout, _NOTHING)
        nodes.journal.append(entry)
        for saver in self._savers.each():
            saver.apart.wait()
        out = self._run(entry, False)
        nodes.journal[-1] = entry._replace(out=out)
        return out, counts, self.mark() - entry.before == len(changes.order)

    def _run(self, entry: _Entry[AnyLayout], undo: bool) -> Ints:
        rows, (diffs, order, offsets), slots, counts, before, room, scratch, _, _ = entry
        out, count = apply_window(
            *self._arguments(), rows, diffs, order, offsets, slots, self.layout.uses_peers, counts, room, scratch,
            before, undo,
        )  # fmt: skip
        return out[:count]

    def _arguments(self) -> Trees:
        nodes, layout, strings = self._nodes, self._nodes.layout, self._dictionary.now()
        return Trees(
            nodes.rows.array, nodes.roots.array, nodes.sizes, layout.kinds, strings.heap, strings.places,
            layout.shape, layout.carries, layout.extremes, layout.plan, layout.defaults,
        )  # fmt: skip

    def widen(self, layout: AnyLayout) -> None:
        """Exchange the layout for one with more room for sums. Cost: a pass over all nodes, which is rare."""
        old, new = self._nodes, _Nodes(layout)
        new.rows.append(layout.moved(old.layout, old.rows.array[: self.used]))
        new.roots, new.sizes = old.roots, old.sizes
        for entry in old.journal:
            room, scratch = _scratch(layout, entry.changes)
            rows = layout.moved_rows(old.layout, entry.rows)
            new.journal.append(entry._replace(rows=rows, room=room, scratch=scratch))
        self._nodes = new

    def mark(self) -> int:
        """How many changes were made."""
        return int(self._nodes.sizes[CHANGES])

    def rollback(self, mark: int) -> None:
        """Undo what was applied since."""
        while self._nodes.journal and self._nodes.journal[-1].before >= mark:
            self._run(self._nodes.journal[-1], True)
            self._nodes.journal.pop()

    def seal(self, upper: int, since: int) -> None:
        """Forget how to undo the changes, and tell readers; free everything where nothing is left."""
        for reader in self._readers.each():
            for entry in self._nodes.journal:
                reader.note(entry.before, entry.layout, entry.out)
        for saver in self._savers.each():
            for entry in self._nodes.journal:
                saver.note(entry, self._dictionary.now())
        self.edition += 1
        self._nodes.journal.clear()
        sizes = self._nodes.sizes
        if sizes[LIVE] == 0 and sizes[USED] > 0:
            self._nodes = _Nodes(self.layout, self.visited, self.mark())

    def reader(self) -> WindowReader[AnyLayout]:
        """The rows as they are now, for as long as the reader is kept, whatever is sealed meanwhile."""
        reader = WindowReader(self)
        self._readers.hold(reader)
        return reader

    def let_go(self, saver: _Saver[AnyLayout]) -> None:
        """It has read all."""
        self._savers.let_go(saver)

    def read(self, first: int, stop: int) -> Ints:
        """What is shown of those of the nodes from `first` to `stop` that are in use, as rows of the output."""
        there, shape = self._living(first, stop), self.layout.shape
        values = int(shape[VALUES])
        return np.concatenate([there[:, : shape[KEY] - 1], there[:, values : values + shape[WORDS]]], axis=1)

    def _living(self, first: int, stop: int) -> Ints:
        nodes: Ints = self._nodes.rows.array[first:stop]
        return nodes[nodes[:, self.layout.shape[KEY] + 2] != GONE]

    def segments(self) -> Iterator[Segment]:
        """All rows, with their partitions' slots; what is shown follows from them. See `State.segments`."""
        saver = _Saver(self)
        self._savers.hold(saver)
        return saver.segments()

    def some_rows(self, place: _Place, end: int) -> tuple[AnyLayout, Rows, _Place]:
        """Some rows in order, all copies of each, from a place on, of slots below `end`; and the next place."""
        nodes, layout, strings = self._nodes, self._nodes.layout, self._dictionary.now()
        roots, width, sizes = nodes.roots.view()[:end], len(layout.kinds) - 1, nodes.sizes.copy()
        (slot, last), node = place, -1
        if len(last) and slot < len(roots):
            node = node_behind(nodes.rows.array, roots, layout.kinds, strings.heap, strings.places, slot, last)
            slot += node < 0
        slots: Int32s = np.empty(0, np.int32)
        rows: Ints = np.empty((0, int(layout.shape[INPUT])), np.int64)
        while slot < len(roots):
            more = np.empty(_AT_ONCE_SAVED, np.int32), np.empty((_AT_ONCE_SAVED, rows.shape[1]), np.int64)
            count, slot, node = copy_rows(nodes.rows.array, roots, sizes, layout.shape, slot, node, *more)
            slots, rows = np.concatenate([slots, more[0][:count]]), np.concatenate([rows, more[1][:count]])
            if slot == len(roots):
                break
            like_last = (slots == slots[-1]) & (rows[:, :width] == rows[-1, :width]).all(axis=1)
            whole = len(rows) if slots[-1] != slot else int(np.argmax(like_last))
            if whole:
                last = rows[whole - 1 : whole, :width].copy() if slots[whole - 1] == slot else _NOTHING
                return layout, Rows(slots[:whole], rows[:whole], None), _Place(int(slot), last)
        return layout, Rows(slots, rows, None), _Place(end, _NOTHING)

    def restore(self, segments: Iterable[Segment]) -> None:
        """Become what the segments say; there must be nothing yet."""
        for layout, (slots, rows, diffs) in _partitions(self.layout.restored(Segments(segments))):
            if self.used == 0:
                self._nodes = _Nodes(layout)
            elif layout is not self.layout:
                self.widen(layout)
            of_cells, row_cell = np.unique(slots, return_inverse=True)
            _, _, enough = self.apply(rows, diffs, row_cell.astype(np.int32), of_cells)
            assert enough, "a segment takes out rows that are not there"
            self.seal(0, 0)

    def codes(self) -> Iterator[Array]:
        """Those of the rows' texts, of arguments and of values; see `State.codes`."""
        begin = 0
        while begin < self.used:
            end = min(begin + AT_ONCE, self.used)
            yield from self.layout.codes(self._living(begin, end))
            begin = end
        for saver in self._savers.each():
            for word in np.flatnonzero(self.layout.kinds[:-1]):
                yield saver.place.last[:, word : word + 1]

    def size(self) -> StateSize:
        """Rows and bytes."""
        nodes = self._nodes
        bytes_ = self.used * nodes.layout.node_words * 8 + nodes.roots.nbytes
        return StateSize(len(self), 0, bytes_ + sum(reader.nbytes for reader in self._readers.each()))


class WindowReader(Generic[AnyLayout]):
    """What is shown of a tree's rows as of when the reader was made.

    Nodes are read as they are when their turn comes; what was put out before that is taken back. `read` comes between
    commits, any number of times.
    """

    def __init__(self, tree: WindowTree[AnyLayout]) -> None:
        self._tree = tree
        self._since: list[tuple[int, AnyLayout, Ints]] = []

    @property
    def nbytes(self) -> int:
        """Bytes of what was put out since."""
        return sum(out.nbytes for _, _, out in self._since)

    def note(self, before: int, layout: AnyLayout, out: Ints) -> None:
        """This output is final; `before` is how many changes the tree had seen. It may be told again."""
        if len(out) and (not self._since or self._since[-1][0] < before):
            self._since.append((before, layout, out))

    def read(self) -> Iterator[tuple[AnyLayout, Ints, Ints | None]]:
        """Rows, as those of the output, with their layout and their diffs, None if all are one; they add up."""
        at = known = 0
        back: list[tuple[AnyLayout, Ints]] = []
        while at < self._tree.used or known < len(self._since):
            back += [(layout, out[out[:, NODE] >= at]) for _, layout, out in self._since[known:]]
            known = len(self._since)
            first, at = at, max(at, min(at + _CHUNK, self._tree.used))
            yield self._tree.layout, self._tree.read(first, at), None
        for layout, out in back:
            yield layout, out, -out[:, DIFF]


class _Saver(Generic[AnyLayout]):
    """The rows of a tree as they were when it was made, in order.

    What has changed of those that are not read yet is kept, and taken back in the end.
    """

    def __init__(self, tree: WindowTree[AnyLayout]) -> None:
        self._tree = tree
        self._end = tree.slots
        self._since: list[_Change[AnyLayout]] = []
        self.place = _Place(0, _NOTHING)
        self.apart = Apart(lambda: tree.is_changing)

    def note(self, entry: _Entry[AnyLayout], strings: Strings) -> None:
        """These changes are final. They may be told again."""
        layout, (diffs, order, offsets) = self._tree.layout, entry.changes  # all rows of the journal have its form
        if len(order) == 0 or (self._since and self._since[-1].before >= entry.before):
            return
        slots, (slot, last) = np.repeat(entry.slots, np.diff(offsets)), self.place
        left = (slots >= slot) & (slots < self._end)
        if len(last):
            behind: Bools = np.empty(len(order), np.bool_)
            rows_behind(entry.rows, order, layout.kinds, strings.heap, strings.places, last, behind)
            left &= (slots > slot) | behind
        order = order[left]
        rows = Rows(slots[left], entry.rows[order], -diffs[order])
        self._since.append(_Change(entry.before, layout, rows, strings))

    def segments(self) -> Iterator[Segment]:
        """The rows. Needs no lock."""
        while self.place.slot < self._end:
            layout, rows, strings = self.apart.read(self._next)
            yield layout.segment(rows, strings)
        layout = self._tree.layout
        self._tree.let_go(self)
        for _, narrow, back, strings in reversed(self._since):  # so that there is all that goes
            if len(back.slots):
                wide = back if narrow is layout else back._replace(rows=layout.moved_rows(narrow, back.rows))
                yield layout.segment(wide, strings)

    def _next(self) -> tuple[AnyLayout, Rows, Strings]:
        """The rows that come next, and what their codes stand for now."""
        layout, rows, self.place = self._tree.some_rows(self.place, self._end)
        return layout, rows, self._tree.strings


def _partitions(parts: Iterator[tuple[AnyLayout, Rows]]) -> Iterator[tuple[AnyLayout, Rows]]:
    """The same rows, whole partitions together, since what is shown of them depends on all; then what is taken back."""
    held: list[Rows] = []
    of: AnyLayout | None = None
    count = 0
    for layout, rows in parts:
        begins = bool(held) and len(rows.slots) > 0 and rows.slots[0] != held[-1].slots[-1]
        if of is not None and (layout is not of or rows.diffs is not None or (count >= _CHUNK and begins)):
            yield of, _joined(held)
            held, of, count = [], None, 0
        if rows.diffs is not None:
            yield layout, rows
        elif len(rows.slots):
            held, of, count = [*held, rows], layout, count + len(rows.slots)
    if of is not None:
        yield of, _joined(held)


def _joined(parts: Sequence[Rows]) -> Rows:
    return Rows(np.concatenate([each.slots for each in parts]), np.concatenate([each.rows for each in parts]), None)


def _scratch(layout: Layout, changes: NetChanges) -> tuple[Ints, Ints]:
    """Room for the kernel to do and undo changes."""
    most = int(np.diff(changes.offsets).max(initial=0))
    words = int(layout.plan[:, COUNT].max(initial=1))
    return np.empty((ROOM * most + 1, STRETCH), np.int64), np.empty(SCRATCH + words, np.int64)

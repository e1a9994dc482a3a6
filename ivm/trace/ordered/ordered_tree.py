"""The ordered kind of state: a collection of rows of words, in order, that readers see as of a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from ivm.kernels.ordered.batch import TreeBatch, add_rows, drop_rows, undo_rows
from ivm.kernels.ordered.nodes import (
    CHANGES,
    ENTRIES,
    FANOUT,
    FREE,
    HEADS,
    LEAF,
    LIVE,
    META,
    ROOT,
    ROWS,
    USED,
    VISITED,
    Tree,
    nodes_short,
)
from ivm.kernels.ordered.walk import copy_entries, copy_guides
from ivm.trace.columns.arrow import numbers_from
from ivm.trace.columns.column import Array, Bools, Column, Ints, readonly, readonly_diffs
from ivm.trace.columns.growable import Growable
from ivm.trace.columns.segment import Segment, Segments, columns_to_arrow, segment_of
from ivm.trace.ordered.row_order import RowOrder
from ivm.trace.state import Apart, StateSize, WeakList
from ivm.trace.text.dictionary import TextDictionary
from ivm.trace.text.texts import Strings

_CHUNK = 1 << 16
_AT_ONCE = 1 << 12
"""Entries that are read while others wait."""
_KIND = "ordered rows"
_MANY = 4096  # rows; a sort of fewer costs more than it saves
_BITS = 63
_WORD = 2**64 - 1

ALL_COUNT: Bools = readonly(np.empty((0, 1), np.bool_))
AS_THEY_COME: Ints = readonly(np.empty(0, np.int64))


class _Entry(NamedTuple):
    """Of the journal: a batch, how many changes the tree had seen before, and the rows of this and all before it.

    A batch of keys of `width` words that a kernel makes is the memory that `ivm.kernels.ordered.batch` finds it in.
    """

    given: TreeBatch | Ints
    before: int
    rows: int

    def changes(self, width: int) -> TreeBatch:
        """The batch, whose keys have so many words."""
        if isinstance(self.given, TreeBatch):
            return self.given
        rows = len(self.given) // (width + 2)
        keys, behind = readonly(self.given[: rows * width].reshape(rows, width)), readonly(self.given[rows * width :])
        return TreeBatch(keys, ALL_COUNT, behind[:rows], behind[rows:])


class _Nodes:
    """The arrays of a tree."""

    def __init__(self, width: int, visited: int = 0, changes: int = 0) -> None:
        self.meta = np.zeros(META, np.int64)
        self.meta[[ROOT, FREE, LEAF]] = -1
        self.meta[[VISITED, CHANGES]] = visited, changes
        self.meta[[ROWS + 2, HEADS + 2]] = width, 3
        self.address: int = self.meta.ctypes.data
        self.rows: Growable[np.int64] = Growable(np.dtype(np.int64), width, block=self.meta, at=ROWS)
        self.heads: Growable[np.int64] = Growable(np.dtype(np.int64), 3, block=self.meta, at=HEADS)


class OrderedTree:
    """Entries of `len(kinds)` key words, compared as `kinds` says, and `payload` words, the first the multiplicity.

    With two payload words or more places can be counted (see `ivm.kernels.ordered.walk`). A step passes what
    `changing` gives it to a kernel that applies the changes, or calls `add`. An entry of multiplicity 0 goes.

    The journal has each batch before its kernel runs, and kernels count what they have applied, so that `rollback`
    undoes just that. For it, too, there is room before the kernel runs.
    State: (W + P) * 8 bytes an entry, in nodes that are half to completely full. The treap of
    `ivm.trace.ordered.window_tree` takes as much memory (of a million entries of two words 40 bytes each, here 36), but
    a node for each copy, and more time (for each of 1,000 changes in groups of 20 rows 1.8 microseconds, here 0.8; in
    one group 4.2, here 0.7).
    """

    def __init__(self, kinds: Ints, payload: int, dictionary: TextDictionary) -> None:
        self.kinds = kinds
        self.payload = payload
        self.dictionary = dictionary
        self._nodes = _Nodes(len(kinds) + payload)
        self._journal: list[_Entry] = []
        self.edition = 0
        self.is_still = False
        self._readers: WeakList[OrderedReader] = WeakList()

    @property
    def is_changing(self) -> bool:
        """Whether there are changes that are not final."""
        return bool(self._journal)

    @property
    def arrays(self) -> tuple[Ints, Ints, Ints]:
        """`rows`, `heads` and `meta` (see `ivm.kernels.ordered.nodes`)."""
        nodes = self._nodes
        return nodes.rows.array, nodes.heads.array, nodes.meta

    @property
    def meta(self) -> Ints:
        """What tells kernels of the tree, until the next seal."""
        return self._nodes.meta

    @property
    def address(self) -> int:
        """Where `meta` lies, until the next seal."""
        return self._nodes.address

    @property
    def arguments(self) -> Tree:
        """The tree as kernels take it; anew for each call, since making room may move it."""
        strings = self.dictionary.now()
        return Tree(*self.arrays, self.kinds, strings.heap, strings.places)

    @property
    def readable(self) -> Tree:
        """The tree for kernels that read it: where they are in it they note in an array of their own."""
        return self.arguments._replace(meta=self._nodes.meta.copy())

    def __len__(self) -> int:
        """Entries."""
        return int(self._nodes.meta[ENTRIES])

    @property
    def visited(self) -> int:
        """Nodes visited so far."""
        return int(self._nodes.meta[VISITED])

    @property
    def nodes(self) -> int:
        """Nodes in use."""
        return int(self._nodes.meta[LIVE])

    @property
    def nbytes(self) -> int:
        """Bytes of all nodes that were ever in use, and of what readers keep."""
        nodes = self._nodes
        node = FANOUT * nodes.rows.array.shape[1] + nodes.heads.array.shape[1]
        return int(nodes.meta[USED]) * node * 8 + sum(reader.nbytes for reader in self._readers.each())

    def changing(self, changes: TreeBatch) -> Tree:
        """The tree, for a kernel that applies `changes` next, which may then be rolled back."""
        self._expect(changes, len(changes.keys))
        return self.arguments

    def begin(self, rows: int) -> Ints:
        """Memory for a batch of so many rows which a kernel makes, and then applies; that may then be rolled back."""
        memory: Ints = np.empty(rows * (len(self.kinds) + 2), np.int64)
        self._expect(memory, rows)
        return memory

    def _expect(self, changes: TreeBatch | Ints, rows: int) -> None:
        """A kernel applies changes of so many rows, or as many of them as it wants to, next."""
        if self._journal:
            rows += self._journal[-1].rows
        self.make_room(rows)
        readers = self._readers.each() if self._readers else ()
        for reader in readers:
            reader.since.make_room(rows)
        self._journal.append(_Entry(changes, self.mark(), rows))
        for reader in readers:
            reader.apart.wait()

    def add(self, changes: TreeBatch, sign: int = 1) -> None:
        """Add the changes' diffs times `sign` to the multiplicities of their keys. Cost: O(log n) a key."""
        add_rows(*self.changing(changes), *changes, len(changes.keys), sign, len(changes.order) > 0)

    def drop(self, keys: Ints) -> None:
        """Take the entries of `keys`, in order, out for good, as far as they are there. To be done by a seal."""
        drop_rows(*self.arguments, readonly(keys))

    def mark(self) -> int:
        """How many changes were made."""
        return self._nodes.meta.item(CHANGES)

    def rollback(self, mark: int) -> None:
        """Undo what was applied since."""
        while self._journal and self._journal[-1].before >= mark:
            entry = self._journal[-1]
            undo_rows(*self.arguments, *entry.changes(len(self.kinds)), entry.before)
            self._journal.pop()

    def seal(self, upper: int, since: int) -> None:
        """Forget how to undo the changes, and tell those of them to readers; free everything where nothing is left."""
        for reader in self._readers.each() if self._readers else ():
            ends = [*(entry.before for entry in self._journal[1:]), self.mark()]
            for entry, end in zip(self._journal, ends, strict=False):
                reader.note(entry.changes(len(self.kinds)), entry.before, end)
        self.edition += 1
        self._journal.clear()
        meta = self._nodes.meta
        if meta.item(ENTRIES) == 0 and meta.item(USED) > 0:
            self._nodes = _Nodes(len(self.kinds) + self.payload, int(meta[VISITED]), int(meta[CHANGES]))

    def reader(self) -> OrderedReader:
        """The entries as they are now, for as long as the reader is kept, whatever is sealed meanwhile.

        Cost: that of the changes meanwhile, once more, and their size, until it has read all.
        """
        reader = OrderedReader(self)
        self._readers.hold(reader)
        return reader

    def let_go(self, reader: OrderedReader) -> None:
        """It has read all."""
        self._readers.let_go(reader)

    def codes(self) -> Iterator[Array]:
        """Those of the texts in keys; see `State.codes`.

        Keys above the leaves may be of entries that are gone, and come from leaves; so they are told last, all at once.
        """
        words = np.flatnonzero(self.kinds)
        if len(words) == 0:
            return
        for entries in OrderedReader(self).read():  # it is told of no changes, and finds what there is
            for word in words:
                yield entries[:, word]
        guides = np.empty((self.nodes, self.arrays[0].shape[1]), np.int64)
        count = copy_guides(*self.arrays, guides)
        for word in words:
            yield guides[:count, word]
        for reader in self._readers.each():
            yield from reader.since.codes()
            for entries in (reader.last, *reader.kept):
                yield entries[:, words]

    def size(self) -> StateSize:
        """Entries and bytes."""
        return StateSize(entries=len(self), bytes=self.nbytes)

    def make_room(self, more: int) -> None:
        """Room for the nodes that `more` changes may need; amortized."""
        nodes = self._nodes
        if wanted := nodes_short(nodes.meta, more):
            nodes.rows.length, nodes.heads.length = nodes.meta.item(USED) * FANOUT, nodes.meta.item(USED)
            nodes.rows.reserve(wanted * FANOUT)
            nodes.heads.reserve(wanted)


class OrderedReader:
    """The entries of a tree as they were when the reader was made: those of today, less what changed since.

    Nothing is copied but the changes since. `last` is the key (1, W) up to which it has read: its texts keep their
    codes, as do those of entries that whoever reads has `kept`.
    """

    def __init__(self, tree: OrderedTree) -> None:
        self._tree = tree
        self._first = tree.mark()
        self.apart = Apart(lambda: tree.is_changing)
        self.since = OrderedTree(tree.kinds, 1, tree.dictionary)
        self.last: Ints = np.zeros((1, len(tree.kinds)), np.int64)
        self.kept: Sequence[Ints] = ()

    @property
    def nbytes(self) -> int:
        """Bytes of the changes since."""
        return self.since.nbytes

    def note(self, changes: TreeBatch, before: int, end: int) -> None:
        """These changes are final: the tree had seen `before` of them, now `end`. They may be told again."""
        if self._first + self.since.mark() <= before:
            add_rows(*self.since.arguments, *changes, end - before, -1, len(changes.order) > 0)

    def read(self, *, apart: bool = False) -> Iterator[Ints]:
        """All entries in order, in chunks (n, W + 1), which may be empty; others may commit between two.

        `apart`: at any time; no lock is needed. Nobody reads again then: with the last chunk it is let go of.
        """
        tree = self._tree
        ended = begun = False
        last = self.last = np.zeros((1, len(tree.kinds)), np.int64)
        while not ended:
            most, count = min(len(tree) + len(self.since), _CHUNK), 0
            chunk = np.empty((max(1, -(-most // _AT_ONCE)) * _AT_ONCE, last.shape[1] + 1), np.int64)
            while not ended and count + _AT_ONCE <= len(chunk):
                part = chunk[count : count + _AT_ONCE]
                copy: Callable[[], tuple[int, bool]] = partial(self._copy, last, begun, part)
                found, ended = self.apart.read(copy) if apart else copy()
                begun, count = True, count + found
            if ended and apart:
                tree.let_go(self)
            yield chunk[:count]

    def _copy(self, last: Ints, begun: bool, out: Ints) -> tuple[int, bool]:
        """Copy entries behind the last one to `out`; how many they are, and whether those were all."""
        trees = *self._tree.readable, *self.since.readable[:3]
        count, ended = copy_entries(*trees, last, begun, out)
        return int(count), bool(ended)


class OrderedRows(OrderedTree):
    """Rows, which stand in `order` within each group, or, unless they are `grouped`, all of them together.

    `places`: whether kernels count places. State: see `OrderedTree`, with a word more for the slot of a group.
    """

    def __init__(
        self, order: RowOrder, dictionary: TextDictionary, *, places: bool = False, grouped: bool = True
    ) -> None:
        super().__init__(np.insert(order.kinds, 0, 0) if grouped else order.kinds, 2 if places else 1, dictionary)
        self.row_order = order
        self._ahead = int(grouped)
        self._types = [term.type for term in sorted(order.terms, key=lambda term: term.column)]

    def batch(
        self,
        columns: Sequence[Column],
        slots: Ints | None,
        valid: Bools = ALL_COUNT,
        diffs: Ints | None = None,
        times: Ints | int | None = None,
    ) -> TreeBatch:
        """The changes of rows, of the groups at these slots; what is not `valid` does not count.

        They are taken as they come or, where their `times` are given, in the order that suits the tree.
        """
        keys = self.row_order.encode(columns, len(columns[0]), self._ahead)
        if slots is not None:
            keys[:, 0] = slots
        order = AS_THEY_COME if times is None else in_order(keys, self.kinds, times)
        return TreeBatch(readonly(keys), valid, readonly_diffs(diffs), order)

    def segments(self) -> Iterator[Segment]:
        """The entries in order: slots, multiplicities, and the columns of the rows; see `State.segments`."""
        return self._segments(self.reader(), self.dictionary.now())

    def _segments(self, reader: OrderedReader, strings: Strings) -> Iterator[Segment]:
        width = len(self.kinds)
        for entries in reader.read(apart=True):
            arrays = {"slot": numbers_from(entries[:, 0])} if self._ahead else {}
            arrays["count"] = numbers_from(entries[:, width])
            columns = self.row_order.decode(np.ascontiguousarray(entries[:, self._ahead : width]))
            yield segment_of(_KIND, arrays | columns_to_arrow(columns, self._types, strings))

    def restore(self, segments: Iterable[Segment]) -> None:
        """Become what the segments say; there must be nothing yet."""
        for segment in Segments(segments).all_of(_KIND):
            columns = segment.columns(self._types, self.dictionary)
            slots = segment.ints("slot") if self._ahead else None
            changes = self.batch(columns, slots, diffs=segment.ints("count"))
            self.add(changes._replace(order=readonly(np.arange(segment.rows))))
            super().seal(0, 0)


def in_order(keys: Ints, kinds: Ints, times: Ints | int) -> Ints:
    """The order in which a batch's keys are best brought to a tree: near each other.

    Of length 0 where they should come as they are: few, of many times, or texts. Keys that agree in the 63 bits that
    are compared come in any order. Cost: a few passes, and a sort of one word.
    """
    if not isinstance(times, int) or len(keys) < _MANY or kinds[1] != 0:
        return AS_THEY_COME
    joined, room = np.zeros(len(keys), np.uint64), _BITS
    for word, kind in enumerate(kinds):
        if kind != 0 or room == 0:  # the order of codes is not that of their texts
            break
        column = keys[:, word]
        low = int(column.min())
        bits = (int(column.max()) - low).bit_length()
        taken = min(bits, room)
        part = (column.view(np.uint64) - np.uint64(low & _WORD)) >> np.uint64(bits - taken)
        joined = (joined << np.uint64(taken)) | part
        room -= taken
    return readonly(np.argsort(joined.view(np.int64)))

"""Groups: keyed state. Rows of fields by key, which a batch finds by cells, and changes when it is final."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from struct import Struct

import numpy as np

from ivm.catalog.types import SqlType
from ivm.kernels.groups.block import FREE, LIVE, OPENED, PARTITIONS, PHASE, PUT, USED
from ivm.kernels.groups.offer import IS_OFFERED, KNOWN_OPEN, OPEN, OWES, SEALS, TIME, VERSION
from ivm.kernels.groups.table import fold_cells, index_groups, open_cells, release_empty, undo_cells
from ivm.kernels.types import Int32s
from ivm.trace.columns.column import Array, Ints, readonly, readonly_times
from ivm.trace.columns.segment import Segment, Segments
from ivm.trace.index.keys import KeyLayout
from ivm.trace.keyed.group_reader import GroupReader, Written
from ivm.trace.keyed.group_search import Seen
from ivm.trace.keyed.group_segments import group_segments, take_groups
from ivm.trace.keyed.group_table import (
    NO_CELLS,
    Cells,
    Form,
    GroupKeys,
    Table,
    coded,
    empty_store,
    empty_table,
)
from ivm.trace.state import State, StateSize, WeakList
from ivm.trace.text.dictionary import TextDictionary
from ivm.trace.text.sweep import AT_ONCE
from ivm.trace.time import BEGINNING

_SMALL = 64
_LEAST_RELEASED = 1 << 12
_RELEASED_EACH = 4
_MOST_SPARE = 1 << 15
"""How many words of a step are kept for another one."""
_pack = Struct("6q").pack_into


class Groups(Written[Form], State):
    """A hash table from keys, the (type, nullable) of `keys`, to rows of int64 fields, the first the multiplicity.

    A step opens the groups that it touches: `open` gives their cells, `put` takes the new fields of each cell. Until
    the next step lookups see them as of the cells' times; then they become the groups' and the groups' own are kept
    beside them, so that any number of steps can be rolled back. `seal` forgets groups all of whose fields are zero.

    What a step has used is offered to the next one, the first of a commit: a kernel may begin that by itself, once the
    groups are marked, and notes so. Such a step is open until a kernel seals it, with those of other groups; whoever
    wants to know of it before, or to begin another one, has it `taken_over`.
    """

    def __init__(self, keys: Sequence[tuple[SqlType, bool]], fields: Form, dictionary: TextDictionary) -> None:
        self.layout = KeyLayout(tuple((type_.physical, nullable) for type_, nullable in keys), nulls="match")
        super().__init__(self.layout.words, fields)
        self._keys = GroupKeys(self.layout, tuple(type_ for type_, _ in keys), dictionary)
        self._steps: list[Cells | Table[Form]] = []  # a table: the one before the fields were laid out anew
        self._emptied: list[Int32s] = []
        self._readers: WeakList[GroupReader[Form]] = WeakList()
        self.expected = _SMALL
        """For how many cells a step that does not know better gets memory at first."""
        self._spare: Cells | None = None
        self._offered, self._offers = NO_CELLS, 0

    @property
    def edition(self) -> int:
        """See `State.edition`."""
        return self._view[SEALS]

    @edition.setter
    def edition(self, edition: int) -> None:
        self._view[SEALS] = edition

    def __len__(self) -> int:
        """Groups that there are, those included that a step has opened."""
        return int(self._store.counts[LIVE])

    @property
    def capacity(self) -> int:
        """Slots that there is room for."""
        return len(self.state)

    @property
    def nbytes(self) -> int:
        """Bytes of the slots in use, of the index, and of what readers need."""
        rows = self.used * self.state.shape[1] * 8
        index = self._store.index.nbytes(int(self._store.counts[PARTITIONS]))
        return rows + index + sum(reader.nbytes for reader in self._readers.each())

    def size(self) -> StateSize:
        """Groups and bytes."""
        return StateSize(rows=len(self), bytes=self.nbytes)

    def open(self, words: Ints, times: Ints | int) -> Cells:
        """The cells of a step whose keys are `words` and whose times ascend. Cost: two random accesses a row."""
        rows = len(words)
        keys = readonly(np.ascontiguousarray(words).reshape(rows, self.width))
        ordered = readonly_times(times)
        batch = self.begin(rows, times)
        at = 0
        while (at := open_cells(keys, ordered, at, self.block(), batch.memory)) < rows:
            self.make_room()
        self.end()
        return batch.filled()

    def begin(self, rows: int, times: Ints | int) -> Cells:
        """A step of so many rows whose times ascend, without cells so far. Its groups are written until `end`."""
        self.taken_over()
        self._view[IS_OFFERED] = 0
        batch, self._spare = self._spare, None
        if batch is None or not batch.begin(rows, times, batch.memory):
            batch = Cells(rows, times)
        self._view[VERSION] |= 1
        if self._steps:
            self._fold(self._last)
        self._steps.append(batch)
        return batch

    def taken_over(self) -> Cells | None:
        """The step that a kernel has begun with what was offered, like others from now on; None if none is open."""
        view = self._view
        if not view[OPEN]:
            return None
        cells, self._spare, self._offers = self._offered, None, 1
        cells.renew(view[TIME])
        self._steps.append(cells)
        view[OPEN] = 0
        return cells

    def has_ended(self, request: int) -> bool:
        """Whether the step that is open was begun with the request at this address; it says so once."""
        view = self._view
        if view[OPEN] != request:
            return False
        view[OPEN] = KNOWN_OPEN
        return True

    def is_last(self, cells: Cells) -> bool:
        """Whether these are the cells of the last step that is not taken back."""
        return bool(self._steps) and self._steps[-1] is cells

    def offer_next(self) -> None:
        """Offer what the last step has used to that of the next commit; to be said of each that is sealed."""
        self._offers = 1

    def block(self) -> Ints:
        """The control block of kernels, until the next step, or `make_room`."""
        return self._store.counts

    def put(self, after: Ints) -> None:
        """The fields of each cell that `open` gave last, which are the groups' to keep."""
        batch = self._steps[-1]
        assert isinstance(batch, Cells), "fields are put after the cells were opened"
        batch.after = after
        batch.memory[PHASE] = PUT

    def widen(self, fields: Form, move: Callable[[Ints, Ints], None]) -> None:
        """Lay the fields out anew; `move` copies fields (n, old) to (n, new), which are zero. Cost: a copy of all."""
        self._view[IS_OFFERED] = 0  # of other fields
        self.version |= 1
        self._fold(self._last)
        self.end()
        old = self._store.table
        table = empty_table(self.width, fields)
        new, head = table.rows.reserve(self.used)[: self.used], self.width + 1
        new[:, :head] = old.rows.array[: self.used, :head]
        new[:, head:] = 0
        move(old.rows.array[: self.used, head:], new[:, head:])
        self._steps.append(old)
        self._store.table = table
        self._store.block()

    def mark(self) -> int:
        """How many steps there are."""
        return len(self._steps)

    def rollback(self, mark: int) -> None:
        """Take back all steps but the first `mark`. Cost: a random access a cell."""
        self.version |= 1
        if self._view[OPEN]:
            undo_cells(self._store.block(), self._offered.memory, self._offered.after)
            self._view[OPEN] = 0
        while len(self._steps) > mark:
            step, block = self._steps[-1], self._store.block()
            if isinstance(step, Cells):
                undo_cells(block, step.memory, step.after)
            else:
                self._store.table = step
            self._steps.pop()
        self._store.block()
        self.end()

    def seal(self, upper: int, since: int) -> None:
        """Give all groups their new fields, forget the empty ones, and see to the index, in proportion to the steps.

        Where no group is left of many, everything is given back.
        """
        view = self._view
        if not self._steps and not view[OPEN] and not view[OWES]:
            return  # a kernel has sealed it
        self.taken_over()
        view[VERSION] |= 1
        self._offers |= view[IS_OFFERED]
        view[IS_OFFERED] = 0
        if self._readers:
            self._keep_for_readers(self._last)
        block, touched, batch = self._store.counts, 0, NO_CELLS
        for step in self._steps:
            if isinstance(step, Cells):
                batch, cells = step, fold_cells(block, step.memory, step.after)
                if cells < 0:
                    cells = -1 - cells
                    self._emptied.append(step.filled().slot.copy())
                touched += cells
            else:
                batch = NO_CELLS
        if batch is not NO_CELLS and batch.memory.size + batch.after.size <= _MOST_SPARE:
            self._spare = batch
        view[SEALS] += bool(self._steps)  # before it can be called again, and finds nothing
        self._steps.clear()
        self.expected = 2 * touched + _SMALL
        if self._emptied and not self._readers:
            self._release(max(_RELEASED_EACH * touched, _LEAST_RELEASED))
        if self.used > _SMALL and not self._emptied and not self._readers and not len(self):
            self._store = empty_store(self.width, self.fields)
        view[OWES] = bool(self._readers or self._emptied)
        if self._offers:
            self._offer()
        self.end()

    def seen(self) -> Seen:
        """What there is now, for look-ups until the next step."""
        cells = (self._last or NO_CELLS).filled()
        assert cells is NO_CELLS or cells.memory[PHASE] == PUT, "a step has put its fields when somebody looks"
        time = cells.times if isinstance(cells.times, int) else 0
        return Seen(self.block(), cells.memory, time, cells.after, cells.jumps())

    def reader(self, as_of: int) -> GroupReader[Form]:
        """A reader of the groups as of `as_of`, the time up to which they are sealed, for as long as somebody has it.

        To be called while nobody else steps. Size: the fields of each group that changes meanwhile, as they were.
        """
        last = self._last
        assert len(self._steps) == (last is not None), "the groups are no longer as they were sealed"
        self._view[OWES] = 1  # from now on fields are kept for it before they change
        reader = GroupReader(self, as_of)
        self._readers.hold(reader)
        return reader

    def codes(self) -> Iterator[Array]:
        """Those of keys, and of fields that are texts; see `State.codes`. A group keeps its slot."""
        begin, width = 0, self.width
        while begin < self.used:
            rows = self.state[begin : min(begin + AT_ONCE, self.used)]
            rows = rows[rows[:, width] >= 0]
            yield from self._keys.layout.codes(rows[:, :width])
            yield from coded(self.fields, rows[:, width + 1 :])
            begin += AT_ONCE
        for reader in self._readers.each():
            yield from reader.codes()

    def segments(self) -> Iterator[Segment]:
        """The sealed groups, in their slots; see `State.segments` and `reader`."""
        assert not self._steps, "what is not sealed is not written"
        return group_segments(self._keys, self.reader(BEGINNING), self._keys.dictionary.now())

    def restore(self, segments: Iterable[Segment]) -> None:
        """Become the groups that wrote the segments, if there are none yet. Error if those are of another plan."""
        assert self.used + len(self._steps) == 0, "groups are restored where there are none"
        self._view[IS_OFFERED] = 0
        store = empty_store(self.width, self.fields)
        take_groups(Segments(segments), self._keys, store)
        indexed = 0
        while (indexed := index_groups(indexed, store.block())) < store.counts[USED]:
            store.index = store.index.grown(int(store.counts[PARTITIONS]))
        self._store = store

    def _offer(self) -> None:
        """Offer the spare cells to the next step, if they have room for its rows, of which nobody has anything."""
        self._offers, cells = 0, self._spare
        output = None if cells is None else cells.output
        if cells is None or output is None or not output.is_free():
            return
        self._offered = cells
        _pack(
            self._view, 8 * IS_OFFERED, 1, id(self._store.counts), id(cells.memory), id(cells.after), len(cells.after),
            id(output.room),
        )  # fmt: skip

    @property
    def _last(self) -> Cells | None:
        """The open step whose cells are not folded into the groups yet, if there is one."""
        self.taken_over()
        step = self._steps[-1] if self._steps else None
        return step if isinstance(step, Cells) and step.memory.item(PHASE) in (OPENED, PUT) else None

    def end(self) -> None:
        """Make `version` even again: what is written is whole, and readers need not try once more."""
        self._view[VERSION] = (self._view[VERSION] | 1) + 1

    def _fold(self, batch: Cells | None) -> None:
        """Let the groups have the fields of the last step, if they have not. While `version` is odd."""
        if batch is None:
            return
        assert batch.memory.item(PHASE) == PUT or not len(batch), "a step puts fields, or is rolled back"
        if self._readers:
            self._keep_for_readers(batch)
        fold_cells(self._store.counts, batch.memory, batch.after)

    def _keep_for_readers(self, batch: Cells | None) -> None:
        """Let readers keep what the groups are before they have the fields of the last step."""
        if batch is not None:
            batch.filled()
            for reader in self._readers.each():
                reader.keep(batch.slot, batch.previous)

    def make_room(self) -> None:
        """Room for one more group, where a kernel has found none."""
        store = self._store
        counts = store.counts
        if counts[USED] == self.capacity and counts[FREE] == 0:
            store.table.rows.length = self.used
            store.table.rows.reserve(self.used + 1)
        else:
            store.index = store.index.grown(int(counts[PARTITIONS]))
        store.block()

    def _release(self, most: int) -> None:
        """Forget empty groups, about so many at most."""
        while self._emptied and most > 0:
            slots = self._emptied[-1]
            release_empty(slots, self.block())
            self._emptied.pop()
            most -= len(slots)

"""Groups by round: state of a loop. What groups hold in each round, by what changes from round to round."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from ivm.catalog.types import SqlType
from ivm.kernels.groups.block import PARTITIONS, USED
from ivm.kernels.groups.round_block import (
    BLOCK_WORDS,
    CAPACITY,
    CELLS,
    CELLS_FROM,
    COMMIT_FROM,
    FIELDS,
    FIRST,
    FREE_CELLS,
    HEADS,
    HEAP,
    LENGTH,
    MARK,
    NEXT,
    OPEN,
    OPEN_WORDS,
    OPENED,
    ROUND,
    STACK,
    TOUCH,
    TOUCHED,
)
from ivm.kernels.groups.round_end import close_rounds, settle_rounds, undo_rounds
from ivm.kernels.groups.round_extremes import put_values
from ivm.kernels.groups.rounds import FRAME, NO_SLOTS, NOT_READABLE
from ivm.kernels.groups.table import index_groups
from ivm.kernels.groups.value_block import COUNT, FOUND_FIELDS, LEFT, RIGHT, TOUCHED_WORDS, VALUE, VALUE_WORDS
from ivm.kernels.groups.value_end import close_values, settle_values, undo_values
from ivm.trace.columns.column import Array, Column, Ints
from ivm.trace.columns.growable import Growable
from ivm.trace.columns.places import NONE
from ivm.trace.columns.segment import Segment, Segments, columns_to_arrow, segment_of
from ivm.trace.delta import Delta, Layout, delta_of
from ivm.trace.index.keys import KeyLayout
from ivm.trace.keyed.group_table import Fields, GroupKeys, Store, empty_store
from ivm.trace.keyed.round_reader import RoundReader
from ivm.trace.sources import Frame, Sources, id_of
from ivm.trace.state import State, StateSize, WeakList
from ivm.trace.text.dictionary import TextDictionary

Mark = tuple[int, int, int]
"""How many groups and cells had been noted, and how many cells there were."""
_SEGMENT, _EXTREMES = "rounds", "rounds.values"
_NONE: Ints = np.empty(0, np.int64)
_LEAST_ROOM, _MORE_ROOM = 1 << 16, 8
"""Memory for as many notes stays between commits, and for so many times those of the last."""


class Rounds(State):
    """Groups by `keys`, the (type, nullable) of each, which hold something in each round.

    A step of one time puts what comes of a round and those after it, evaluates round after round, and ends by `close`.
    """

    def __init__(
        self, keys: Sequence[tuple[SqlType, bool]], heads: int, widths: Mapping[int, int], dictionary: TextDictionary
    ) -> None:
        """`heads`: how many fields groups have in the table. `widths`: where the block tells of an array whose rows
        are so wide.
        """
        self.layout = KeyLayout(tuple((type_.physical, nullable) for type_, nullable in keys), nulls="match")
        self._keys = GroupKeys(self.layout, tuple(type_ for type_, _ in keys), dictionary)
        self._heads = Fields((None,) * heads)
        self._store: Store[Fields] = empty_store(self.layout.words, self._heads)
        self.block: Ints = np.zeros(BLOCK_WORDS, np.int64)
        self.block[FIRST], self.block[OPEN_WORDS] = -1, widths[OPEN]
        self._arrays = {
            at: Growable(np.dtype(np.int64), width, block=self.block, at=at)
            for at, width in {**widths, HEAP: 2, STACK: None}.items()
        }
        for which in self._arrays:
            self._room(which, 2)
        self._readers: WeakList[RoundReader] = WeakList()
        self._noted = 0
        """The most notes that there were of a commit since they have been let go."""

    @property
    def due(self) -> int | None:
        """The first round in which some group is to be looked at, or is not any more."""
        first = self.block.item(FIRST)
        return None if first < 0 else first

    @property
    def dues(self) -> int:
        """How many groups may be due, in whatever round."""
        return self.block.item(HEAP + LENGTH) + self.block.item(STACK + LENGTH)

    def table(self) -> Ints:
        """The control block of the table of groups, until there is `make_room`."""
        return self._store.block()

    def reader(self) -> RoundReader:
        """A reader of the groups as they are sealed, for as long as somebody has it. While nobody else steps."""
        assert not self.block[OPEN + LENGTH], "the groups are no longer as they were sealed"
        slots = self._store.table.rows.array[: int(self._store.counts[USED])]
        reader = RoundReader(slots, self._arrays[CELLS].array[: self.block.item(CELLS + LENGTH)])
        self._readers.hold(reader)
        return reader

    def expect(self, rows: int) -> None:
        """Make room for so many rows that are put, of as many groups and rounds. Readers keep what they see."""
        for reader in self._readers.each():
            reader.keep()
        block: list[int] = self.block.tolist()
        dues = block[HEAP + LENGTH] + block[STACK + LENGTH]
        for which in self._arrays:
            there = dues if which in (HEAP, STACK) else block[which + LENGTH]
            if there + rows > block[which + CAPACITY]:
                self._room(which, there + rows)

    def make_room(self) -> None:
        """Room for one more group, where a kernel has found none."""
        store, counts = self._store, self._store.counts
        if counts[USED] == len(store.table.rows.array):
            store.table.rows.length = int(counts[USED])
            store.table.rows.reserve(int(counts[USED]) + 1)
        else:
            store.index = store.index.grown(int(counts[PARTITIONS]))

    @abstractmethod
    def close(self) -> None:
        """End the time that is under way: all that was put since the last call happened at it."""

    @abstractmethod
    def settle(self) -> None:
        """Cells and groups that hold nothing go, and all that was noted."""

    def seal(self, upper: int, since: int) -> None:
        """See `State.seal`. Not between two rounds, as when a loop is filled."""
        if self.dues:
            return
        self.close()
        noted = max(self.block.item(OPEN + LENGTH), self.block.item(TOUCH + LENGTH))
        self.settle()
        self._noted = max(self._noted, noted)
        if self._noted > max(_LEAST_ROOM, _MORE_ROOM * noted):  # not between two rounds of a fill that are as large
            for which in (OPEN, TOUCH, HEAP, STACK):
                self._arrays[which].forget()
            self._noted = noted
        self.edition += 1

    def mark(self) -> Mark:
        """See `State.mark`."""
        return self.block.item(OPEN + LENGTH), self.block.item(TOUCH + LENGTH), self.block.item(CELLS + LENGTH)

    def codes(self) -> Iterator[Array]:
        """Those of keys; see `State.codes`."""
        used, width = int(self._store.counts[USED]), self.layout.words
        rows = self._store.table.rows.array[:used]
        for each in (rows, *(reader.kept for reader in self._readers.each())):
            if each is not None:
                yield from self.layout.codes(np.ascontiguousarray(each[each[:, width] >= 0, :width]))

    def size(self) -> StateSize:
        """Cells that hold something, and bytes of keys and cells."""
        store, cells = self._store, self.block.item(CELLS + LENGTH)
        table = int(store.counts[USED]) * store.table.rows.array.shape[1] * 8
        index = store.index.nbytes(int(store.counts[PARTITIONS]))
        arrays = cells * self._arrays[CELLS].array.shape[1] * 8 + sum(each.nbytes for each in self._readers.each())
        return StateSize(rows=cells - self.block.item(FREE_CELLS), bytes=table + index + arrays)

    def _room(self, which: int, rows: int) -> None:
        """Room for so many rows of an array."""
        array = self._arrays[which]
        if rows > len(array.array):
            array.length = self.block.item(which + LENGTH)
            array.reserve(rows)

    def _indexed(self, store: Store[Fields], groups: int) -> None:
        """Take a table whose groups stand in the first slots, and are not indexed yet."""
        store.table.rows.length = store.counts[USED] = groups
        at = 0
        while (at := index_groups(at, store.block())) < groups:
            store.index = store.index.grown(int(store.counts[PARTITIONS]))
        self._store = store


class RoundGroups(Rounds):
    """Groups of which so many int64 `fields` are summed up in each round; see `groups.round_block`.

    `always`: groups stay, whatever they hold. `settled`: rows stay in the round in which they came: `groups.settled`.
    Size: a key, and a word for each field of each round in which it changes, and three more.
    """

    def __init__(
        self, keys: Sequence[tuple[SqlType, bool]], fields: int, dictionary: TextDictionary, *, always: bool = False,
        settled: bool = False,
    ) -> None:  # fmt: skip
        widths = {CELLS: HEADS + fields, OPEN: OPENED + (0 if settled else 2 * fields), TOUCH: TOUCHED + fields}
        super().__init__(keys, 1 + 2 * settled, widths, dictionary)
        self.block[FIELDS] = fields
        self.fields, self.settled, self._always = fields, settled, always

    def close(self) -> None:
        """See `Rounds.close`."""
        close_rounds(self.table(), self.block)

    def rollback(self, mark: Mark) -> None:
        """See `State.rollback`."""
        undo_rounds(self.table(), self.block, *mark)

    def settle(self) -> None:
        """See `Rounds.settle`."""
        settle_rounds(self.table(), self.block, self._always)

    def segments(self) -> Iterator[Segment]:
        """See `State.segments`: each cell with its key. Cost of the call: copies all."""
        slots, places = self._live()
        state, cells, width = self._store.table.rows.array, self._arrays[CELLS].array, self.layout.words
        words = np.ascontiguousarray(state[slots, :width])
        columns = columns_to_arrow(self.layout.unpack(words), self._keys.types, self._keys.dictionary.now())
        numbers = {f"field {f}": pa.array(cells[places, HEADS + f]) for f in range(self.fields)}
        if self.settled:
            numbers["rank"] = pa.array(state[slots, width + 2])
        return iter([segment_of(_SEGMENT, {"round": pa.array(cells[places, ROUND]), **numbers, **columns})])

    def restore(self, segments: Iterable[Segment]) -> None:
        """See `State.restore`."""
        found = Segments(segments).take(_SEGMENT)
        words, _ = self.layout.pack(found.columns(self._keys.types, self._keys.dictionary), found.rows)
        keys, owners = np.unique(words.reshape(found.rows, self.layout.words), axis=0, return_inverse=True)
        owners, rounds = owners.reshape(found.rows), found.ints("round")
        order = np.lexsort((rounds, owners))
        firsts = np.flatnonzero(np.diff(owners[order], prepend=-1))
        if self._always and not found.rows:  # the one group without keys is there, though it holds nothing
            keys, firsts = np.zeros((1, self.layout.words), np.int64), np.full(1, -1)
        store, cells = empty_store(self.layout.words, self._heads), self._arrays[CELLS]
        state = store.table.rows.reserve(len(keys))
        state[: len(keys), : self.layout.words] = keys
        width = self.layout.words
        state[: len(keys), width], state[: len(keys), width + 1] = 0, firsts + 1
        if self.settled:
            state[: len(keys), width + 2] = found.ints("rank")[order][firsts]
        self._room(CELLS, found.rows)
        rows = cells.array[: found.rows]
        rows[:, NEXT] = np.arange(2, found.rows + 2)
        rows[firsts[1:] - 1, NEXT] = rows[-1:, NEXT] = rows[:, MARK] = 0
        rows[:, ROUND] = rounds[order]
        for field in range(self.fields):
            rows[:, HEADS + field] = found.ints(f"field {field}")[order]
        self.block[[CELLS + LENGTH, CELLS_FROM, COMMIT_FROM]] = found.rows
        self._indexed(store, len(keys))

    def _live(self) -> tuple[Ints, Ints]:
        """The slot of each cell, and the cell, in the order of rounds of each group."""
        state, cells, width = self._store.table.rows.array, self._arrays[CELLS].array, self.layout.words
        slots = np.flatnonzero(state[: int(self._store.counts[USED]), width] >= 0)
        at = state[slots, width + 1]
        found, owners = list[Ints](), list[Ints]()
        while len(at):
            slots, at = slots[at > 0], at[at > 0] - 1
            found.append(at)
            owners.append(slots)
            at = cells[at, NEXT]
        return np.concatenate([_NONE, *owners]), np.concatenate([_NONE, *found])


class RoundExtremes(Rounds):
    """Groups of which the least value is asked, an integer; if the `largest` is, its complement is kept.

    See `groups.value_block`. Size: a key, and six words for each value and round of it.
    """

    def __init__(
        self, keys: Sequence[tuple[SqlType, bool]], dictionary: TextDictionary, *, largest: bool
    ) -> None:  # fmt: skip
        widths = {CELLS: VALUE_WORDS, OPEN: OPENED + 2 * FOUND_FIELDS, TOUCH: TOUCHED_WORDS}
        super().__init__(keys, 1, widths, dictionary)
        self.block[FIELDS] = FOUND_FIELDS
        self.largest = largest

    def close(self) -> None:
        """See `Rounds.close`."""
        close_values(self.table(), self.block)

    def rollback(self, mark: Mark) -> None:
        """See `State.rollback`."""
        undo_values(self.table(), self.block, *mark[:2])

    def settle(self) -> None:
        """See `Rounds.settle`."""
        settle_values(self.table(), self.block)

    def put(self, sources: Sources, frame: Frame, delta: Delta) -> None:
        """Add rows; NotReadable if some column is to be copied first. `sources` and `frame`: see `frame_of`."""
        self.expect(delta.length)
        listed = sources.of(delta)
        frame.tell(0, 0, id_of(delta.diffs), id(listed))
        while (said := put_values(self.table(), self.block, delta.length, self.largest, frame.words)) == NO_SLOTS:
            self.make_room()
        if said == NOT_READABLE:
            raise NotReadable

    def segments(self) -> Iterator[Segment]:
        """See `State.segments`: each value of each round with its key. Cost of the call: copies all."""
        slots, places = self._live()
        state, cells, width = self._store.table.rows.array, self._arrays[CELLS].array, self.layout.words
        words = np.ascontiguousarray(state[slots, :width])
        columns = columns_to_arrow(self.layout.unpack(words), self._keys.types, self._keys.dictionary.now())
        values = ~cells[places, VALUE] if self.largest else cells[places, VALUE]
        numbers = {"round": cells[places, ROUND], "value": values, "count": cells[places, COUNT]}
        return iter([segment_of(_EXTREMES, {**{name: pa.array(each) for name, each in numbers.items()}, **columns})])

    def restore(self, segments: Iterable[Segment]) -> None:
        """See `State.restore`."""
        found = Segments(segments).take(_EXTREMES)
        columns = found.columns(self._keys.types, self._keys.dictionary)
        columns += [Column(found.ints("round")), Column(found.ints("value"))]
        delta = delta_of(columns, 0, np.ascontiguousarray(found.ints("count")), found.rows).copied()
        if found.rows:
            self.put(*frame_of(self.layout, range(len(columns)), delta.layout), delta)
        self.close()  # what was put is not due: it was evaluated by whoever wrote it
        settle_values(self.table(), self.block)

    def _live(self) -> tuple[Ints, Ints]:
        """The slot of each cell, and the cell."""
        state, cells, width = self._store.table.rows.array, self._arrays[CELLS].array, self.layout.words
        slots = np.flatnonzero(state[: int(self._store.counts[USED]), width] >= 0)
        waiting, found, owners = [(slots, state[slots, width + 1])], list[Ints](), list[Ints]()
        while waiting:
            of, at = waiting.pop()
            of, at = of[at > 0], at[at > 0] - 1
            if len(at):
                found.append(at)
                owners.append(of)
                waiting += [(of, cells[at, LEFT]), (of, cells[at, RIGHT])]
        return np.concatenate([_NONE, *owners]), np.concatenate([_NONE, *found])


def frame_of(layout: KeyLayout, columns: Sequence[int], deltas: Layout, *before: int) -> tuple[Sources, Frame]:
    """How deltas of a layout are put: their columns are those of the key, the round, then what is asked of the group.

    `before`: what the frame says of what is summed up.
    """
    sources, keys = Sources(columns, deltas), len(layout.parts)
    form, reads = layout.form_of(sources.places[:keys].tolist()), sources.places
    stays = *(before or (0, 0)), keys, id(form), id(reads), len(reads), NONE
    return sources, Frame(stays, FRAME, sources.count, form, reads)


class NotReadable(Exception):
    """Some column is to be copied first."""

"""Groups by round: state of a loop. What groups hold in each round, by what changes from round to round."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from catalog.types import SqlType
from ivm.kernels.groups.block import PARTITIONS, USED
from ivm.kernels.groups.rounds import (
    BLOCK_WORDS,
    CELLS,
    FIELDS,
    FIRST,
    FREE_CELLS,
    HEADS,
    HEAP,
    LENGTH,
    MARK,
    NEXT,
    OPEN,
    OPENED,
    ROUND,
    TOUCH,
    TOUCHED,
    close_rounds,
    settle_rounds,
    undo_rounds,
)
from ivm.kernels.groups.table import index_groups
from ivm.trace.columns.column import Array, Ints
from ivm.trace.columns.growable import Growable
from ivm.trace.columns.segment import Segment, Segments, columns_to_arrow, segment_of
from ivm.trace.index.keys import KeyLayout
from ivm.trace.keyed.group_table import Fields, GroupKeys, Store, empty_store
from ivm.trace.state import State, StateSize
from ivm.trace.text.dictionary import TextDictionary

Mark = tuple[int, int]
"""How many groups and cells had been noted."""
_SEGMENT = "rounds"
_NONE: Ints = np.empty(0, np.int64)
_HEAD = Fields((None,))
_WIDTHS = {CELLS: HEADS, OPEN: OPENED, TOUCH: TOUCHED, HEAP: 2}
_FIELDS_EACH = {CELLS: 1, OPEN: 2, TOUCH: 1, HEAP: 0}


class RoundGroups(State):
    """Groups by `keys`, the (type, nullable) of each, with so many int64 `fields` in each round; see `groups.rounds`.

    `always`: groups stay, whatever they hold. A step of one time puts what comes of a round and those after it,
    evaluates round after round, and ends by `close`. Size: a key, and a word for each field of each round in which it
    changes, and three more.
    """

    def __init__(
        self, keys: Sequence[tuple[SqlType, bool]], fields: int, dictionary: TextDictionary, *, always: bool = False
    ) -> None:
        self.layout = KeyLayout(tuple((type_.physical, nullable) for type_, nullable in keys), nulls="match")
        self.fields = fields
        self._keys = GroupKeys(self.layout, tuple(type_ for type_, _ in keys), dictionary)
        self._always = always
        self._store: Store[Fields] = empty_store(self.layout.words, _HEAD)
        self.block: Ints = np.zeros(BLOCK_WORDS, np.int64)
        self.block[FIELDS], self.block[FIRST] = fields, -1
        self._arrays = {
            which: Growable(np.dtype(np.int64), width + _FIELDS_EACH[which] * fields, block=self.block, at=which)
            for which, width in _WIDTHS.items()
        }
        for which in self._arrays:
            self._room(which, 2)

    @property
    def due(self) -> int | None:
        """The first round in which some group is to be looked at, or is not any more."""
        first = self.block.item(FIRST)
        return None if first < 0 else first

    @property
    def dues(self) -> int:
        """How many groups may be due, in whatever round."""
        return self.block.item(HEAP + LENGTH)

    def table(self) -> Ints:
        """The control block of the table of groups, until there is `make_room`."""
        return self._store.block()

    def expect(self, rows: int) -> None:
        """Make room for so many rows that are put, of as many groups and rounds."""
        for which in self._arrays:
            self._room(which, self.block.item(which + LENGTH) + rows)

    def make_room(self) -> None:
        """Room for one more group, where a kernel has found none."""
        store, counts = self._store, self._store.counts
        if counts[USED] == len(store.table.rows.array):
            store.table.rows.length = int(counts[USED])
            store.table.rows.reserve(int(counts[USED]) + 1)
        else:
            store.index = store.index.grown(int(counts[PARTITIONS]))

    def close(self) -> None:
        """The time is over in which all was put that is not closed yet."""
        close_rounds(self.table(), self.block)

    def mark(self) -> Mark:
        """See `State.mark`."""
        return self.block.item(OPEN + LENGTH), self.block.item(TOUCH + LENGTH)

    def rollback(self, mark: Mark) -> None:
        """See `State.rollback`."""
        undo_rounds(self.table(), self.block, *mark)

    def seal(self, upper: int, since: int) -> None:
        """See `State.seal`: cells and groups that hold nothing go."""
        self.close()
        settle_rounds(self.table(), self.block, self._always)
        self.edition += 1

    def codes(self) -> Iterator[Array]:
        """Those of keys; see `State.codes`."""
        used, width = int(self._store.counts[USED]), self.layout.words
        rows = self._store.table.rows.array[:used]
        yield from self.layout.codes(np.ascontiguousarray(rows[rows[:, width] >= 0, :width]))

    def size(self) -> StateSize:
        """Cells that hold something, and bytes of keys and cells."""
        store, cells = self._store, self.block.item(CELLS + LENGTH)
        table = int(store.counts[USED]) * store.table.rows.array.shape[1] * 8
        index = store.index.nbytes(int(store.counts[PARTITIONS]))
        living, words = cells - self.block.item(FREE_CELLS), cells * (HEADS + self.fields)
        return StateSize(rows=living, bytes=table + index + words * 8)

    def segments(self) -> Iterator[Segment]:
        """See `State.segments`: each cell with its key. Cost of the call: copies all."""
        slots, places = self._live()
        state, cells, width = self._store.table.rows.array, self._arrays[CELLS].array, self.layout.words
        words = np.ascontiguousarray(state[slots, :width])
        columns = columns_to_arrow(self.layout.unpack(words), self._keys.types, self._keys.dictionary.now())
        numbers = {f"field {f}": pa.array(cells[places, HEADS + f]) for f in range(self.fields)}
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
        store, cells = empty_store(self.layout.words, _HEAD), self._arrays[CELLS]
        state = store.table.rows.reserve(len(keys))
        state[: len(keys), : self.layout.words] = keys
        state[: len(keys), self.layout.words :] = np.stack([np.zeros(len(keys), np.int64), firsts + 1], axis=1)
        store.table.rows.length = store.counts[USED] = len(keys)
        at = 0
        while (at := index_groups(at, store.block())) < len(keys):
            store.index = store.index.grown(int(store.counts[PARTITIONS]))
        self._room(CELLS, found.rows)
        rows = cells.array[: found.rows]
        rows[:, NEXT] = np.arange(2, found.rows + 2)
        rows[firsts[1:] - 1, NEXT] = rows[-1:, NEXT] = rows[:, MARK] = 0
        rows[:, ROUND] = rounds[order]
        for field in range(self.fields):
            rows[:, HEADS + field] = found.ints(f"field {field}")[order]
        self.block[CELLS + LENGTH] = found.rows
        self._store = store

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

    def _room(self, which: int, rows: int) -> None:
        """Room for so many rows of an array."""
        array = self._arrays[which]
        if rows > len(array.array):
            array.length = self.block.item(which + LENGTH)
            array.reserve(rows)

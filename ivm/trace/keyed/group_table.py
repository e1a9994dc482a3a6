"""Tables of groups: rows of fields, the index by which keys find them, and the cells that steps touch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from struct import Struct
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from ivm.catalog.types import SqlType
from ivm.kernels.groups.block import (
    BEFORE,
    BLOCK_WORDS,
    CELLS,
    DIRECTORY,
    ENTRIES,
    KEY_WORDS,
    META,
    PARTITIONS,
    PARTS,
    ROWS,
    SIZE,
    STATE,
    TIMES,
    UNTOUCHED,
)
from ivm.kernels.groups.lookup import link_back
from ivm.kernels.groups.slots import BITS, PARTITION, widen_partitions
from ivm.kernels.types import Int32s
from ivm.trace.columns.column import Array, Bools, Ints
from ivm.trace.columns.growable import Growable
from ivm.trace.columns.segment import Scalar
from ivm.trace.index.keys import KeyLayout
from ivm.trace.text.dictionary import TextDictionary
from ivm.trace.time import BEGINNING

_SMALLEST, _LARGEST = 1 << 6, 1 << 12
_MOST_DIRECTIONS = 1 << 20
NO_SLOTS: Int32s = np.empty(0, np.int32)
NO_FIELDS: Ints = np.empty((0, 1), np.int64)


class SlotIndex(NamedTuple):
    """Partitions of `size` places. To be exchanged as a whole, since its parts belong together."""

    size: int
    directory: Int32s
    parts: Growable[np.int64]
    entries: Growable[np.int64]

    @property
    def arrays(self) -> tuple[int, Int32s, Ints, Ints]:
        """As kernels take them."""
        return self.size, self.directory, self.parts.array, self.entries.array

    def nbytes(self, partitions: int) -> int:
        """Bytes of so many partitions and of the directory."""
        return partitions * (self.size * 8 + PARTITION * 8) + self.directory.nbytes

    def grown(self, partitions: int) -> SlotIndex:
        """An index with more room, where these partitions are in use and one is full.

        Cost: a copy of the directory; of everything while there is a single small partition, or where more keys than
        chance allows have equal hashes.
        """
        if partitions == 1 and self.size < _LARGEST:
            return self._with_larger(partitions, 4 * self.size)
        if partitions == min(len(self.parts.array), len(self.entries.array) // self.size):
            self.parts.length, self.entries.length = partitions, partitions * self.size
            self.parts.reserve(partitions + 1)
            self.entries.reserve((partitions + 1) * self.size)
            return self
        if len(self.directory) < _MOST_DIRECTIONS:
            return self._replace(directory=np.repeat(self.directory, 2))
        return self._with_larger(partitions, 2 * self.size)

    def _with_larger(self, partitions: int, size: int) -> SlotIndex:
        wider = _empty(size, self.directory, partitions)
        wider.parts.array[:partitions, BITS] = self.parts.array[:partitions, BITS]
        widen_partitions(partitions, self.size, self.entries.array, *wider.arrays)
        return wider


def _empty(size: int, directory: Int32s, partitions: int) -> SlotIndex:
    parts: Growable[np.int64] = Growable(np.dtype(np.int64), PARTITION)
    entries: Growable[np.int64] = Growable(np.dtype(np.int64))
    parts.append(np.zeros((partitions, PARTITION), np.int64))
    entries.append(np.zeros(partitions * size, np.int64))
    return SlotIndex(size, directory, parts, entries)


class Fields:
    """What the fields of groups are; never changed itself, only exchanged for another one.

    `kinds`: for each field the type of text or list that it is a code of, None if it is a number.
    """

    def __init__(self, kinds: tuple[SqlType | None, ...]) -> None:
        self.kinds = kinds

    def are_there(self, field: int, rows: Ints) -> Bools | None:
        """In which rows of fields one that is a code is there; None where that is not told."""
        return None

    @property
    def saved(self) -> Scalar:
        """What the places of the fields depend on beside the plan."""
        return None

    def restored(self, saved: Scalar) -> Fields:
        """The fields of the same plan that depend on this."""
        return self


Form = TypeVar("Form", bound=Fields)


@dataclass(slots=True)
class Table(Generic[Form]):
    """Rows by slot (see `ivm.kernels.groups.table`), and what their fields are; both are exchanged at once."""

    rows: Growable[np.int64]
    fields: Form


@dataclass(slots=True)
class Store(Generic[Form]):
    """A table of groups with its index, and the kernels' control block of both, which begins with their counts.

    `counts` is that block, which tells where the arrays lie as long as none has moved since `block` was asked for it.
    """

    table: Table[Form]
    index: SlotIndex
    counts: Ints
    _named: tuple[Array, ...] = ()

    def block(self) -> Ints:
        """The control block, as the arrays lie now. They stay where they are until it is asked for again."""
        rows, index, named = self.table.rows.array, self.index, self._named
        parts, entries = index.parts.array, index.entries.array
        if not (
            named and named[0] is rows and named[1] is index.directory and named[2] is parts and named[3] is entries
        ):
            self._named = ()  # until all of it is written
            name_arrays(self.counts, index.size, (rows, index.directory, parts, entries))
            self._named = (rows, index.directory, parts, entries)
        return self.counts


def name_arrays(block: Ints, size: int, arrays: tuple[Array, ...]) -> None:
    """Write down where rows, directory, partitions and entries of partitions of `size` places lie."""
    rows, directory, parts, entries = arrays
    block[SIZE] = size
    block[DIRECTORY : DIRECTORY + 2] = directory.ctypes.data, len(directory)
    block[ENTRIES : ENTRIES + 2] = entries.ctypes.data, len(entries)
    block[PARTS : PARTS + 3] = parts.ctypes.data, *parts.shape
    block[STATE : STATE + 3] = rows.ctypes.data, *rows.shape


def coded(fields: Fields, rows: Ints) -> Iterator[Array]:
    """Those of the fields (n, fields) that are codes."""
    for field, kind in enumerate(fields.kinds):
        if kind is not None:
            yield rows[:, field]


def empty_table(width: int, fields: Form) -> Table[Form]:
    """A table of groups with keys of `width` words, without any."""
    return Table(Growable(np.dtype(np.int64), width + 1 + len(fields.kinds)), fields)


def empty_store(width: int, fields: Form) -> Store[Form]:
    """An empty table with its index."""
    counts = np.zeros(BLOCK_WORDS, np.int64)
    counts[[PARTITIONS, KEY_WORDS]] = 1, width
    store = Store(empty_table(width, fields), _empty(_SMALLEST, np.zeros(1, np.int32), 1), counts)
    store.block()
    return store


@dataclass(frozen=True)
class GroupKeys:
    """Keys of `types` as `layout` makes words of them; codes are those of `dictionary`."""

    layout: KeyLayout
    types: tuple[SqlType, ...]
    dictionary: TextDictionary


class Room(Protocol):
    """In which a step makes its rows: the array `room`."""

    room: Ints

    def is_free(self) -> bool:
        """Whether nobody has anything any more of what was made there."""
        ...


class Cells:
    """What a step touches: a cell is a group at one time; cells are numbered in the order of their times.

    `memory` is the kernels', with all that they note (see `ivm.kernels.groups.table`). `times`: the time of each cell,
    or the one time of all. `row_cell`: the cell of each row; `slot`: the group of each cell; `previous`: the same
    group's cell before it, below 0 if there is none; they are there once kernels have `filled` the memory. `after`: the
    fields of each cell, once they are known; when the groups have them, those that the groups had. `output`: whatever
    the step makes its rows in, which is kept for another one.
    """

    __slots__ = ("_jumps", "after", "memory", "output", "previous", "row_cell", "slot", "times")

    def __init__(self, rows: int, times: Ints | int) -> None:
        self.after = NO_FIELDS
        self.output: Room | None = None
        self.begin(rows, times, np.empty(_cell_words(rows, times), np.int64))

    def make_room(self, rows: int) -> None:
        """Memory for so many rows, before a kernel has noted any cell."""
        if not self.begin(rows, self.times, self.memory):
            self.begin(rows, self.times, np.empty(_cell_words(rows, self.times), np.int64))

    def begin(self, rows: int, times: Ints | int, memory: Ints) -> bool:
        """Be the cells of a step of so many rows in this memory, which nobody else has; whether it is large enough."""
        if _cell_words(rows, times) > len(memory):
            return False
        _BEGIN.pack_into(memory.data, 0, UNTOUCHED, 0, 0, rows, 0 if isinstance(times, int) else rows)
        self.memory = memory
        self.renew(times)
        return True

    def renew(self, times: Ints | int) -> None:
        """Be the cells of another step, at these times, of which kernels know, or will."""
        self.times = times
        self.row_cell = self.slot = self.previous = NO_SLOTS
        self._jumps: Int32s | None = None

    def __len__(self) -> int:
        return self.memory.item(CELLS)

    def filled(self) -> Cells:
        """The cells, now that kernels have noted them."""
        if self.slot is not NO_SLOTS:
            return self
        count, rows, many = self.memory.item(CELLS), self.memory.item(ROWS), self.memory.item(TIMES)
        half, ints = rows + 1 & -2, self.memory[META + many :].view(np.int32)
        if many:
            self.times = self.memory[META : META + count]
        self.row_cell, self.previous = ints[:rows], ints[2 * half : 2 * half + count]
        self.slot = ints[half : half + count]
        return self

    def jumps(self) -> Int32s:
        """The same group's cell further back, for those who look for one by its time; see `link_back`."""
        if self._jumps is None:
            jumps = self.previous
            if not isinstance(self.times, int):
                jumps = np.empty_like(self.previous)
                link_back(self.previous, jumps)
            self._jumps = jumps
        return self._jumps


def _cell_words(rows: int, times: Ints | int) -> int:
    """How much memory cells take of so many rows, which have times of their own if these are many."""
    return META + (0 if isinstance(times, int) else rows) + 3 * (rows + 1 >> 1)


_BEGIN = Struct(f"{BEFORE}q")
NO_CELLS = Cells(0, BEGINNING)

"""What a dictionary of texts is made of, and how it makes room."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from catalog.errors import NumericError
from ivm.kernels.texts.dictionary import (
    COUNT,
    FREE,
    META,
    MOST_BYTES,
    MOVED,
    NEXT,
    PADDING,
    TAKEN,
    USED,
    encode_text,
    move_slots,
)
from ivm.trace.column import Array, Bools, Ints
from ivm.trace.growable import Growable
from ivm.trace.readonly import readonly
from ivm.trace.texts import Strings
from ivm.trace.turns import Turns

Codes = npt.NDArray[np.int32]
Marks = npt.NDArray[np.uint8]
Slots = npt.NDArray[np.uint64]

NO_MARKS: Marks = np.empty(0, np.uint8)
_NO_SLOTS: Slots = np.empty(0, np.uint64)
_NO_CODES: Codes = np.empty(0, np.int32)
_ALL_VALID: Bools = np.empty(0, np.bool_)
_FIRST_BYTES, _FIRST_STRINGS, _FIRST_SLOTS = 1 << 12, 1 << 8, 1 << 9
_MOST_STRINGS = 2**31 - 2
_MOVED_EACH = 4
"""Slots that are moved for each string that is looked up while there are two tables."""
EACH = 24
"""What a string takes beside its bytes: its place, and two slots of which it has one."""


class Heap:
    """Where the bytes of strings lie, the places of codes, which codes are free, and all counts: exchanged as one."""

    def __init__(self, size: int, strings: int) -> None:
        self.free: Codes = _NO_CODES
        self.meta = np.zeros(META, np.int64)
        self.bytes: Growable[np.uint8] = Growable(np.dtype(np.uint8))
        self.places: Growable[np.int64] = Growable(np.dtype(np.int64))
        self.bytes.reserve(size + PADDING)
        self.places.reserve(strings)
        self.strings = Strings(self.bytes.array, self.places.array)

    def reserve(self, used: int, more: int, count: int) -> None:
        """Room for `more` bytes behind those `used`, and for one code behind `count`."""
        self.bytes.length, self.places.length = used, min(count, len(self.places.array))
        self.bytes.reserve(used + more + PADDING)
        self.places.reserve(count + 1)
        self.strings = Strings(self.bytes.array, self.places.array)


class TextMemory:
    """The arrays (see `ivm.kernels.texts.dictionary`), to be changed by who has `lock`.

    `kept`: the marks of what goes from `old` to `slots`; empty: all does. `coming`: the heap that takes the place of
    this one as soon as all that stays is copied.
    """

    def __init__(self) -> None:
        self.heap = Heap(_FIRST_BYTES, _FIRST_STRINGS)
        self.slots: Slots = np.zeros(_FIRST_SLOTS, np.uint64)
        self.old: Slots = _NO_SLOTS
        self.kept: Marks = NO_MARKS
        self.marks: Marks = NO_MARKS
        self.coming: Heap | None = None
        self.lock = Turns()

    @property
    def meta(self) -> Ints:
        """The counts."""
        return self.heap.meta

    @property
    def count(self) -> int:
        """Codes lie below."""
        return int(self.meta[COUNT])

    @property
    def strings(self) -> int:
        """The strings that there are."""
        return int(self.meta[COUNT] - self.meta[FREE] + self.meta[NEXT])

    @property
    def weight(self) -> int:
        """Bytes in use, about."""
        return int(self.meta[USED]) + EACH * self.strings

    @property
    def nbytes(self) -> int:
        """Bytes of the strings, of their places, of the hash table and of what serves to free codes."""
        rest = self.slots.nbytes + self.old.nbytes + self.heap.free.nbytes + self.marks.nbytes
        return int(self.meta[USED]) + 8 * self.count + rest

    def encode(self, data: Array, offsets: Array, valid: Bools | None, codes: Codes, row: int, stop: int) -> None:
        """The codes of strings `row` to `stop`; see `encode_text`. The caller has the lock."""
        mask = _ALL_VALID if valid is None else valid
        text, where = readonly(data), readonly(offsets)
        while True:
            if len(self.old):
                self._move(_MOVED_EACH * (stop - row))
            heap = self.heap
            row = int(
                encode_text(
                    text, where, mask, codes, row, stop, self.slots, self.old, heap.strings.heap, heap.strings.places,
                    heap.free, self.marks, heap.meta,
                )
            )  # fmt: skip
            if row == stop:
                return
            self._make_room(int(where[row + 1] - where[row]))

    def begin_move(self, slots: Slots, kept: Marks) -> None:
        """Fill another table from now on, with the codes that are `kept`: those with a mark, or beyond the marks."""
        if len(self.old):
            self._move(len(self.old))
        # In this order: whoever is interrupted between two of them has all strings in `old`, or all in `slots`.
        self.kept = kept
        self.meta[MOVED] = self.meta[TAKEN] = 0
        self.old, self.slots = self.slots, slots

    def move(self, count: int) -> bool:
        """Move so many slots, and say whether that were all. The caller has the lock."""
        if len(self.old):
            self._move(count)
        return len(self.old) == 0

    def _move(self, count: int) -> None:
        stop = min(int(self.meta[MOVED]) + count, len(self.old))
        move_slots(self.old, self.slots, self.kept, self.meta, stop)
        while self.meta[MOVED] < stop:  # more is kept than was thought: some of it was looked for meanwhile
            wider = np.zeros(2 * len(self.slots), np.uint64)
            move_slots(self.slots, wider, NO_MARKS, np.zeros(META, np.int64), len(self.slots))
            self.slots = wider
            move_slots(self.old, self.slots, self.kept, self.meta, stop)
        if stop == len(self.old):
            self.old = _NO_SLOTS

    def _make_room(self, length: int) -> None:
        """Grow whatever cannot take one more string of `length` bytes."""
        used, count = int(self.meta[USED]), self.count
        if count >= _MOST_STRINGS:
            raise NumericError("cannot add a string: the dictionary holds 2**31 distinct ones; split the database")
        if used + length + PADDING > MOST_BYTES or length >= 1 << 32:
            raise NumericError(
                f"cannot add a string of {length} bytes: the dictionary holds {used} of at most {MOST_BYTES}; "
                "split the database"
            )
        self.heap.reserve(used, length + PADDING, count)
        if 2 * (int(self.meta[TAKEN]) + 1) > len(self.slots):
            self.begin_move(np.zeros(2 * len(self.slots), np.uint64), NO_MARKS)

"""The text dictionary: every distinct string of a database, once, under an int32 code; and its memory."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import accumulate
from struct import Struct
from typing import Any, Protocol
from weakref import WeakSet, WeakValueDictionary

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ivm.catalog.errors import NumericError
from ivm.kernels.memory.in_place import look_up
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
from ivm.kernels.texts.lying import DICTIONARY, read_texts
from ivm.trace.columns.column import ALL, Array, Bools, Column, Ints, concat, readonly, validity_mask, zeroed
from ivm.trace.columns.growable import Growable
from ivm.trace.text.texts import Strings, Texts, places_in, text_buffers
from ivm.trace.turns import Turns

Codes = npt.NDArray[np.int32]
Marks = npt.NDArray[np.uint8]
Slots = npt.NDArray[np.uint64]

NO_MARKS: Marks = np.empty(0, np.uint8)
_NO_SLOTS: Slots = np.empty(0, np.uint64)
_NO_CODES: Codes = np.empty(0, np.int32)
_FIRST_BYTES, _FIRST_STRINGS, _FIRST_SLOTS = 1 << 12, 1 << 8, 1 << 9
_MOST_STRINGS = 2**31 - 2
_MOVED_EACH = 4
"""Slots that are moved for each string that is still to be looked up while there are two tables."""
EACH = 24
"""What a string takes beside its bytes: its place, and two slots of which it has one."""
ANY_BYTES = "surrogateescape"
"""How Python's strings hold bytes that are not UTF-8, as a literal of BLOB does."""
_pack = Struct(f"{DICTIONARY}q").pack_into
_AT_ONCE = 1 << 14
"""After so many strings of one call other threads may add theirs."""


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
        self.has_come = True
        """Whether strings may have come since the sweep has looked, which then asks whether it is due."""

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
        meta = self.heap.meta.tolist()
        return int(meta[USED] + EACH * (meta[COUNT] - meta[FREE] + meta[NEXT]))

    @property
    def nbytes(self) -> int:
        """Bytes of the strings, of their places, of the hash table and of what serves to free codes."""
        rest = self.slots.nbytes + self.old.nbytes + self.heap.free.nbytes + self.marks.nbytes
        return int(self.meta[USED]) + 8 * self.count + rest

    def look_up(self, data: Array, offsets: Array, valid: Bools | None, codes: Codes, row: int, stop: int) -> None:
        """The codes of strings `row` to `stop`; see `encode_text`. The caller has the lock."""
        self.has_come, mask = True, ALL if valid is None else valid
        text, where = readonly(data), readonly(offsets)
        while True:
            if len(self.old):
                self.move(_MOVED_EACH * (len(codes) - row))
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
            self.move(len(self.old))
        # In this order: whoever is interrupted between two of them has all strings in `old`, or all in `slots`.
        self.kept = kept
        self.meta[MOVED] = self.meta[TAKEN] = 0
        self.old, self.slots = self.slots, slots

    def move(self, count: int) -> bool:
        """Move so many slots, and say whether that were all. The caller has the lock."""
        if len(self.old) == 0:
            return True
        stop = min(int(self.meta[MOVED]) + count, len(self.old))
        move_slots(self.old, self.slots, self.kept, self.meta, stop)
        while self.meta[MOVED] < stop:  # more is kept than was thought: some of it was looked for meanwhile
            wider = np.zeros(2 * len(self.slots), np.uint64)
            move_slots(self.slots, wider, NO_MARKS, np.zeros(META, np.int64), len(self.slots))
            self.slots = wider
            move_slots(self.old, self.slots, self.kept, self.meta, stop)
        if stop == len(self.old):
            self.old = _NO_SLOTS
        return len(self.old) == 0

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


class Literals:
    """Texts whose codes stay for as long as this does: the constants of expressions."""

    def __init__(self, dictionary: TextDictionary) -> None:
        self._dictionary = dictionary
        self.held: list[int] = []
        dictionary.literals.add(self)

    def code(self, text: str) -> int:
        """The code of a text."""
        return self.codes([text])[0]

    def hold(self, codes: Array) -> None:
        """Keep these codes, which somebody refers to now, from being freed for as long as this is there."""
        with self._dictionary.lock:
            self.held += codes.tolist()

    def codes(self, texts: Sequence[str]) -> list[int]:
        """The codes of texts."""
        with self._dictionary.lock:
            codes: list[int] = self._dictionary.codes(texts).tolist()
            self.held += codes
        return codes


class Memo(Protocol):
    """What somebody remembers by code."""

    def codes(self) -> Iterator[Codes]:
        """The codes that it would answer with, bit by bit; it may come to answer with others that are new."""
        ...

    @property
    def nbytes(self) -> int:
        """Bytes reserved."""
        ...

    def forget(self, marks: npt.NDArray[np.uint8], begin: int, end: int) -> None:
        """The codes from `begin` to `end` whose entry in `marks`, 0 or 1, is 0 stand for nothing any more."""
        ...


class TextDictionary(TextMemory):
    """Distinct strings and their codes: equal strings have equal codes for as long as somebody refers to them.

    Code 0 is the empty string, so that a zero is safe to decode. Growth is amortized. Any thread may add strings; codes
    that somebody has can be decoded meanwhile. What is not referred to any more goes now and then: see
    `ivm.trace.text.sweep`, which has to be told of all who keep codes beyond a commit. States tell their codes,
    constants are `literals`, memos are among `memos`, and readers take `now()` with their codes.
    """

    def __init__(self) -> None:
        super().__init__()
        self.literals: WeakSet[Literals] = WeakSet()
        self.memos: WeakSet[Memo] = WeakSet()
        self.shared: WeakValueDictionary[Hashable, Any] = WeakValueDictionary()  # what depends on this dictionary
        self._arrays: Ints = np.zeros(DICTIONARY, np.int64)
        self.code("")

    def __len__(self) -> int:
        """The number of distinct strings."""
        return self.strings

    def now(self) -> Strings:
        """What decodes the codes that somebody has now, at any time."""
        return self.heap.strings

    def encode(self, array: pa.Array | pa.ChunkedArray) -> Column:
        """The codes of Arrow text (string, large_string, string_view, a dictionary of these) or bytes, adding new ones.

        NULL is invalid, over code 0. Cost: one pass over Arrow's buffers, about 10 ns a short string that is known;
        for Arrow's dictionaries, a pass over their values and a gather.
        """
        if isinstance(array, pa.ChunkedArray):
            if array.num_chunks == 0:
                return Column(np.empty(0, np.int32))
            return concat([self.encode(chunk) for chunk in array.chunks])
        if pa.types.is_dictionary(array.type):
            return self._encode_dictionary(array)
        data, offsets, valid = text_buffers(array)
        return Column(self.encode_parts(data, offsets, valid), valid)

    def encode_texts(self, texts: Texts) -> Column:
        """The codes of strings that lie elsewhere, adding new ones; NULL is invalid, over code 0. See `encode`."""
        return Column(self.encode_parts(*texts.packed(), texts.valid), texts.valid)

    def code(self, text: str) -> int:
        """The code of `text`, which is added if it is new."""
        return int(self.codes([text])[0])

    def codes(self, texts: Sequence[str]) -> Codes:
        """The codes of `texts`, which are added if they are new; int32 (n,)."""
        there = [text.encode(errors=ANY_BYTES) for text in texts]
        offsets = np.array([0, *accumulate(map(len, there))], np.int64)
        return self.encode_parts(np.frombuffer(b"".join(there), np.uint8), offsets)

    def read(self, wanted: Ints, rows: Ints, lies: Ints, pieces: Ints, room: Ints, places: Ints) -> None:
        """Find what is known of few texts, and of functions of them, adding nothing; see `read_texts`."""
        with self.lock:
            heap, strings = self.heap, self.heap.strings
            _pack(
                self._arrays.data, 0, id(self.slots), id(self.old), id(strings.heap), id(strings.places),
                id(self.marks), id(heap.meta),
            )  # fmt: skip
            read_texts(wanted, rows, lies, pieces, self._arrays, room, places)

    def encode_parts(self, data: Array, offsets: Array, valid: Bools | None = None) -> Codes:
        """The codes of the strings `data[offsets[i] : offsets[i + 1]]`, adding new ones; int32 (n,), 0 for a NULL."""
        codes = np.zeros(len(offsets) - 1, np.int32)
        for start in range(0, len(codes), _AT_ONCE):
            with self.lock:
                self.look_up(data, offsets, valid, codes, start, min(start + _AT_ONCE, len(codes)))
        return codes

    def _encode_dictionary(self, array: pa.DictionaryArray) -> Column:
        if len(array.dictionary) > 2 * len(array):
            return self.encode(array.dictionary_decode())
        known = self.encode(array.dictionary)
        indices = array.indices
        validity, places = indices.buffers()
        valid = validity_mask(indices, validity)
        rows = places_in(places, indices)
        if valid is not None:
            rows = readonly(np.where(valid, rows, rows.dtype.type(0)))
        if len(known) == 0:
            return Column(np.zeros(len(rows), np.int32), valid)
        if known.valid is None:
            codes = np.empty(len(rows), np.int32)
            look_up(known.values, rows, codes)
            column = Column(codes)
        else:
            column = known.take(rows)
        if valid is None:
            return column
        return Column(zeroed(column.values, valid), valid if column.valid is None else valid & column.valid)

"""The text dictionary: every distinct string of a database, once, under an int32 code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from catalog.errors import NumericError
from ivm.kernels.numbers.pack import look_up
from ivm.kernels.texts.dictionary import (
    NEAR,
    PADDING,
    copy_texts,
    encode_text,
    encode_text_ahead,
    find_text,
    move_slots,
    text_offsets,
)
from ivm.trace.column import Array, Bools, Column, Ints, concat
from ivm.trace.growable import Growable
from ivm.trace.readonly import readonly
from ivm.trace.texts import Texts
from ivm.trace.turns import Turns
from ivm.trace.validity import validity_mask

Codes = npt.NDArray[np.int32]

_FIRST_BYTES, _FIRST_STRINGS = 1 << 12, 1 << 8
_MOST_BYTES = 2**31 - 1
_MOST_STRINGS = 2**31 - 2
_ALL_VALID: Bools = np.empty(0, np.bool_)
ANY_BYTES = "surrogateescape"
"""How Python's strings hold bytes that are not UTF-8, as a literal of BLOB does."""
_NO_BYTES = np.empty(0, np.uint8)
_AT_ONCE = 1 << 14
"""After so many strings of one call other threads may add theirs."""


class TextDictionary:
    """Distinct strings and their codes, append-only: a code never changes its string and no string is ever forgotten.

    Code 0 is the empty string, so that a zero is safe to decode. Growth is amortized. Any thread may add strings; codes
    that somebody has can be decoded meanwhile, since what they stand for is never written again, and growth copies it.
    """

    def __init__(self) -> None:
        self._heap = Growable(np.dtype(np.uint8))
        self._starts = Growable(np.dtype(np.int64))
        self._heap.reserve(_FIRST_BYTES)
        self._starts.fill(0, _FIRST_STRINGS)
        self._slots = np.zeros(1 << 9, np.uint64)
        self._count = 0
        self._used = 0
        self._writing = Turns()
        self.code("")

    def __len__(self) -> int:
        """The number of distinct strings."""
        return self._count

    @property
    def nbytes(self) -> int:
        """Bytes of the strings, of where they begin and of the hash table."""
        return self._used + 8 * (self._count + 1) + self._slots.nbytes

    @property
    def heap(self) -> npt.NDArray[np.uint8]:
        """The UTF-8 bytes of all strings, uint8; string c is `heap[offsets[c] : offsets[c + 1]]`."""
        return self._heap.array[: self._used]

    @property
    def offsets(self) -> Ints:
        """Where the strings begin in `heap`, int64 (len + 1,)."""
        return self._starts.array[: self._count + 1]

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
        given = array.type
        narrow = pa.types.is_string(given) or pa.types.is_binary(given)
        if not (narrow or pa.types.is_large_string(given) or pa.types.is_large_binary(given)):
            array = array.cast(pa.large_string())
        n = len(array)
        validity, offsets, data = array.buffers()
        word = np.dtype(np.int32 if narrow else np.int64)
        valid = validity_mask(array, validity)
        codes = np.zeros(n, np.int32)
        if n and offsets is not None:
            where = np.frombuffer(offsets, word, n + 1, array.offset * word.itemsize)
            self._encode(_NO_BYTES if data is None else np.frombuffer(data, np.uint8), where, valid, codes)
        return Column(codes, valid)

    def encode_texts(self, texts: Texts) -> Column:
        """The codes of strings that lie elsewhere, adding new ones; NULL is invalid, over code 0. See `encode`."""
        codes = np.zeros(len(texts), np.int32)
        if len(texts):
            data, offsets = texts.packed()
            self._encode(data, offsets, texts.valid, codes)
        return Column(codes, texts.valid)

    def texts(self, codes: Array) -> Texts:
        """The strings of `codes` int32 (n,), where they lie until the next string is added. Cost: two gathers."""
        offsets = self._starts.array
        return Texts(readonly(self.heap), readonly(offsets[codes]), readonly(offsets[1:][codes]))

    def decode(self, codes: Array, valid: Bools | None = None) -> pa.Array | pa.ChunkedArray:
        """The strings of `codes` int32 (n,) as Arrow strings, NULL where `valid` is False.

        Chunked only if one array of strings could not hold them, at 2 GiB. Cost: copies the bytes.
        """
        n = len(codes)
        wanted = readonly(np.ascontiguousarray(codes, np.int32))
        offsets = np.empty(n + 1, np.int64)
        text_offsets(self._starts.array, wanted, _ALL_VALID if valid is None else np.ascontiguousarray(valid), offsets)
        if offsets[n] > _MOST_BYTES - PADDING:
            halves = (slice(0, n // 2), slice(n // 2, n))
            parts = [self.decode(codes[half], None if valid is None else valid[half]) for half in halves]
            return pa.chunked_array([c for p in parts for c in (p.chunks if isinstance(p, pa.ChunkedArray) else [p])])
        data = np.empty(int(offsets[n]) + PADDING, np.uint8)
        copy_texts(self._heap.array, self._starts.array, wanted, offsets, data)
        validity = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
        buffers = [validity, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data[: int(offsets[n])])]
        return pa.Array.from_buffers(pa.string(), n, buffers)

    def code(self, text: str) -> int:
        """The code of `text`, which is added if it is new."""
        data = np.frombuffer(text.encode(errors=ANY_BYTES), np.uint8)
        codes = np.zeros(1, np.int32)
        self._encode(data, readonly(np.array([0, len(data)], np.int32)), None, codes)
        return int(codes[0])

    def codes(self, texts: Sequence[str]) -> Codes:
        """The codes of `texts`, which are added if they are new; int32 (n,)."""
        data = [text.encode(errors=ANY_BYTES) for text in texts]
        offsets = np.zeros(len(data) + 1, np.int64)
        np.cumsum([len(each) for each in data], out=offsets[1:])
        codes = np.zeros(len(data), np.int32)
        self._encode(np.frombuffer(b"".join(data), np.uint8), offsets, None, codes)
        return codes

    def find(self, text: str) -> int | None:
        """The code of `text`, or None if the dictionary does not have it."""
        data = readonly(np.frombuffer(text.encode(), np.uint8))
        code = int(find_text(data, self._slots, self._heap.array, self._starts.array))
        return None if code < 0 else code

    def strings(self, codes: Array) -> list[str]:
        """The strings of `codes` as Python objects."""
        texts: list[str] = self.decode(codes).to_pylist()
        return texts

    def ranks(self, codes: Array) -> Ints:
        """The order of the strings of `codes` among themselves, int64 (n,): dense from 0, equal codes have equal ranks.

        The order is bytewise. Cost: sorts the distinct strings.
        """
        distinct, inverse = np.unique(codes, return_inverse=True)
        ranks = np.empty(len(distinct), np.int64)
        ranks[pc.sort_indices(self.decode(distinct)).to_numpy()] = np.arange(len(distinct))
        return ranks[inverse]

    def _encode(self, data: Array, offsets: Array, valid: Bools | None, codes: Codes) -> None:
        for start in range(0, len(codes), _AT_ONCE):
            with self._writing:
                self._add(data, offsets, valid, codes, start, min(start + _AT_ONCE, len(codes)))

    def _add(self, data: Array, offsets: Array, valid: Bools | None, codes: Codes, row: Any, end: int) -> None:
        mask = _ALL_VALID if valid is None else valid
        text, where = readonly(data), readonly(offsets)
        while True:
            encode = encode_text if len(self._slots) <= NEAR else encode_text_ahead
            row, count, used = encode(
                text,
                where,
                mask,
                codes,
                row,
                end,
                self._slots,
                self._heap.array,
                self._starts.array,
                self._count,
                self._used,
            )
            self._count, self._used = int(count), int(used)
            if row == end:
                return
            self._make_room(int(where[row + 1] - where[row]))

    def _make_room(self, length: int) -> None:
        """Grow whatever cannot take one more string of `length` bytes."""
        if self._count >= _MOST_STRINGS:
            raise NumericError("cannot add a string: the dictionary holds 2**31 distinct ones; split the database")
        self._heap.length, self._starts.length = self._used, self._count + 1
        self._heap.reserve(self._used + length + PADDING)
        self._starts.reserve(self._count + 2)
        if 2 * (self._count + 1) > len(self._slots):
            slots = np.zeros(2 * len(self._slots), np.uint64)
            move_slots(self._slots, slots)
            self._slots = slots

    def _encode_dictionary(self, array: pa.DictionaryArray) -> Column:
        if len(array.dictionary) > 2 * len(array):
            return self.encode(array.dictionary_decode())
        known = self.encode(array.dictionary)
        indices = array.indices
        valid = validity_mask(indices, indices.buffers()[0])
        rows = indices.fill_null(0).to_numpy() if valid is not None else indices.to_numpy()
        if len(known) == 0:
            return Column(np.zeros(len(rows), np.int32), valid)
        column = known.take(rows) if known.valid is not None else Column(_looked_up(known.values, rows))
        if valid is None:
            return column
        codes = np.where(valid, column.values, np.int32(0))
        return Column(codes, valid if column.valid is None else valid & column.valid)


def _looked_up(codes: Array, rows: Array) -> Array:
    found = np.empty(len(rows), np.int32)
    look_up(codes, rows, found)
    return found

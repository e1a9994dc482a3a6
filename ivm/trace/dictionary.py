"""The text dictionary: every distinct string of a database, once, under an int32 code."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any, Protocol
from weakref import WeakSet, WeakValueDictionary

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ivm.kernels.numbers.pack import look_up
from ivm.kernels.texts.sweep import flag_lists
from ivm.trace.column import Array, Bools, Column, concat, validity_mask
from ivm.trace.readonly import readonly
from ivm.trace.text_memory import NO_MARKS, Codes, TextMemory
from ivm.trace.texts import Strings, Texts, text_buffers

ANY_BYTES = "surrogateescape"
"""How Python's strings hold bytes that are not UTF-8, as a literal of BLOB does."""
_AT_ONCE = 1 << 14
"""After so many strings of one call other threads may add theirs."""


class Literals:
    """Texts whose codes stay for as long as this does: the constants of expressions."""

    def __init__(self, dictionary: TextDictionary) -> None:
        self._dictionary = dictionary
        self.held: list[int] = []
        dictionary.literals.add(self)

    def code(self, text: str) -> int:
        """The code of a text."""
        return self.codes([text])[0]

    def codes(self, texts: Sequence[str]) -> list[int]:
        """The codes of texts."""
        with self._dictionary.memory.lock:
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
        """The codes from `begin` to `end` whose entry in `marks` is 0 stand for nothing any more."""
        ...


class TextDictionary:
    """Distinct strings and their codes: equal strings have equal codes for as long as somebody refers to them.

    Code 0 is the empty string, so that a zero is safe to decode. Growth is amortized. Any thread may add strings; codes
    that somebody has can be decoded meanwhile. What is not referred to any more goes now and then: see
    `ivm.trace.sweep`, which has to be told of all who keep codes beyond a commit. States tell their codes, constants
    are `literals`, memos are among `memos`, and readers take `now()` with their codes.
    """

    def __init__(self) -> None:
        self.memory = TextMemory()
        self.literals: WeakSet[Literals] = WeakSet()
        self.memos: WeakSet[Memo] = WeakSet()
        self.shared: WeakValueDictionary[Hashable, Any] = WeakValueDictionary()  # what depends on this dictionary
        self.code("")

    def __len__(self) -> int:
        """The number of distinct strings."""
        return self.memory.strings

    @property
    def bound(self) -> int:
        """All codes are below."""
        return self.memory.count

    @property
    def nbytes(self) -> int:
        """Bytes of the strings, of where they begin and of the hash table."""
        return self.memory.nbytes

    def now(self) -> Strings:
        """What decodes the codes that somebody has now, at any time."""
        return self.memory.heap.strings

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
        data = [text.encode(errors=ANY_BYTES) for text in texts]
        offsets = np.zeros(len(data) + 1, np.int64)
        np.cumsum([len(each) for each in data], out=offsets[1:])
        return self.encode_parts(np.frombuffer(b"".join(data), np.uint8), offsets)

    def encode_parts(self, data: Array, offsets: Array, valid: Bools | None = None) -> Codes:
        """The codes of the strings `data[offsets[i] : offsets[i + 1]]`, adding new ones; int32 (n,), 0 for a NULL."""
        codes = np.zeros(len(offsets) - 1, np.int32)
        for start in range(0, len(codes), _AT_ONCE):
            with self.memory.lock:
                self.memory.encode(data, offsets, valid, codes, start, min(start + _AT_ONCE, len(codes)))
        return codes

    def note_lists(self, codes: Codes, elements: Codes) -> None:
        """These are lists, and their elements the codes `elements`, which stay for as long as the lists do."""
        memory = self.memory
        with memory.lock:
            for heap in (memory.heap, memory.coming):
                if heap is not None:
                    flag_lists(readonly(codes), heap.strings.places)
            if memory.marks is not NO_MARKS:
                memory.marks[elements[elements < len(memory.marks)]] = 1

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

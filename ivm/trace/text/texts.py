"""Strings where they lie, in an Arrow array or in the text dictionary, and those that codes stand for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ivm.kernels.texts.dictionary import PADDING, Bytes, Places, copy_texts, text_bounds, text_offsets
from ivm.kernels.texts.parts import pack_texts
from ivm.trace.columns.column import ALL, Array, Bools, Ints, readonly, validity_buffer, validity_mask

_NO_BYTES: Bytes = readonly(np.empty(0, np.uint8))
_NOWHERE: Places = readonly(np.zeros(1, np.int64))
_OFFSETS: dict[int, np.dtype[Any]] = {
    **dict.fromkeys((pa.string().id, pa.binary().id), np.dtype(np.int32)),
    **dict.fromkeys((pa.large_string().id, pa.large_binary().id), np.dtype(np.int64)),
}
_MOST_BYTES = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Texts:
    """String i is the UTF-8 bytes `data[starts[i] : ends[i]]`, uint8; the places are both int32 or both int64 (n,).

    `valid` bool (n,) says which are not NULL, None if all are; what lies under a NULL is some string. Read-only.
    """

    data: Bytes
    starts: Places
    ends: Places
    valid: Bools | None = None

    def __len__(self) -> int:
        return len(self.starts)

    def moved(self, begins: Ints, stops: Ints) -> Texts:
        """Other parts of the same bytes, one for each string."""
        return Texts(self.data, readonly(begins), readonly(stops), self.valid)

    def packed(self) -> tuple[Bytes, Ints]:
        """The strings one after the other, and where each begins, int64 (n + 1,). Cost: copies the bytes."""
        valid = ALL if self.valid is None else readonly(np.ascontiguousarray(self.valid))
        offsets = np.empty(len(self) + 1, np.int64)
        out = np.empty(int((self.ends - self.starts).sum()) + PADDING, np.uint8)
        pack_texts(self.data, self.starts, self.ends, valid, offsets, out)
        return out, offsets

    def arrow(self) -> pa.Array:
        """The strings as an Arrow array; '' for NULL. Cost: copies the bytes."""
        data, offsets = self.packed()
        return pa.Array.from_buffers(pa.large_string(), len(self), [None, pa.py_buffer(offsets), pa.py_buffer(data)])

    def strings(self) -> list[str]:
        """The strings as Python objects; '' for NULL."""
        data, offsets = self.packed()
        whole = data.tobytes()
        return [whole[a:b].decode() for a, b in pairwise(offsets.tolist())]


def texts_of(texts: Sequence[bytes]) -> Texts:
    """Texts that Python has, one behind the other."""
    offsets = np.array([0, *accumulate(map(len, texts))], np.int64)
    return Texts(np.frombuffer(b"".join(texts), np.uint8), readonly(offsets[:-1]), readonly(offsets[1:]))


def text_buffers(array: pa.Array) -> tuple[Bytes, Places, Bools | None]:
    """The bytes of an Arrow array, where each string begins and the last one ends, (n + 1,), and which are not NULL.

    Of any encoding of text but a dictionary, or of bytes; only views are copied.
    """
    word = _OFFSETS.get(array.type.id)
    if word is None:
        array, word = array.cast(pa.large_string()), np.dtype(np.int64)
    validity, offsets, data = array.buffers()
    if offsets is None or len(array) == 0:
        return _NO_BYTES, _NOWHERE, None
    where = np.frombuffer(offsets, word, len(array) + 1, array.offset * word.itemsize)
    return _NO_BYTES if data is None else np.frombuffer(data, np.uint8), where, validity_mask(array, validity)


def places_in(data: pa.Buffer, indices: pa.Array) -> Array:
    """What the buffer of an array of places in a dictionary holds, not copied; read-only. Under NULL it is anything."""
    size, kind = indices.type.bit_width // 8, "u" if pa.types.is_unsigned_integer(indices.type) else "i"
    return readonly(np.frombuffer(data, f"{kind}{size}", len(indices), indices.offset * size))


def arrow_texts(array: pa.Array) -> Texts:
    """The strings of an Arrow array of any encoding of text but a dictionary; see `text_buffers`."""
    data, where, valid = text_buffers(array)
    return Texts(readonly(data), readonly(where[:-1]), readonly(where[1:]), valid)


def joined(parts: Sequence[pa.Array | pa.ChunkedArray | str]) -> pa.Array | pa.ChunkedArray:
    """The strings of several arrays one after the other; what has but one string has it for all. Cost: copies bytes."""
    wide, many = pa.large_string(), any(not isinstance(part, str) and len(part) > 1 for part in parts)
    strings = [
        pa.scalar(part if isinstance(part, str) else part[0].as_py(), wide)
        if isinstance(part, str) or (many and len(part) == 1)
        else part.cast(wide)
        for part in parts
    ]
    return pc.binary_join_element_wise(*strings, pa.scalar("", wide))


@dataclass(frozen=True, slots=True)
class Strings:
    """The heap and the places of a dictionary (see `ivm.kernels.texts.dictionary`), which nobody changes under a code
    that was there when they were taken. It keeps the heap alive.
    """

    heap: npt.NDArray[np.uint8]
    places: Ints

    def texts(self, codes: Array) -> Texts:
        """The strings of `codes` int32 (n,), where they lie. Cost: a random access each."""
        begins, ends = np.empty(len(codes), np.int64), np.empty(len(codes), np.int64)
        text_bounds(self.places, readonly(np.ascontiguousarray(codes, np.int32)), begins, ends)
        return Texts(readonly(self.heap), readonly(begins), readonly(ends))

    def packed(self, codes: Array, valid: Bools | None = None) -> tuple[Bytes, Ints]:
        """The strings of `codes` one after the other, and where each begins, int64 (n + 1,); a NULL takes no bytes."""
        wanted, offsets = readonly(np.ascontiguousarray(codes, np.int32)), np.empty(len(codes) + 1, np.int64)
        text_offsets(self.places, wanted, ALL if valid is None else np.ascontiguousarray(valid), offsets)
        data = np.empty(int(offsets[-1]) + PADDING, np.uint8)
        copy_texts(self.heap, self.places, wanted, offsets, data)
        return data, offsets

    def decode(self, codes: Array, valid: Bools | None = None) -> pa.Array | pa.ChunkedArray:
        """The strings of `codes` int32 (n,) as Arrow strings, NULL where `valid` is False.

        Chunked only if one array of strings could not hold them, at 2 GiB. Cost: copies the bytes.
        """
        n = len(codes)
        data, offsets = self.packed(codes, valid)
        if offsets[n] > _MOST_BYTES - PADDING:
            del data
            halves = (slice(0, n // 2), slice(n // 2, n))
            parts = [self.decode(codes[half], None if valid is None else valid[half]) for half in halves]
            return pa.chunked_array([c for p in parts for c in (p.chunks if isinstance(p, pa.ChunkedArray) else [p])])
        validity = validity_buffer(valid)
        buffers = [validity, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data[: int(offsets[n])])]
        return pa.Array.from_buffers(pa.string(), n, buffers)

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

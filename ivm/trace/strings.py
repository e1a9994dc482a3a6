"""The strings that codes stand for, at one moment: what readers keep, so that what they have can be decoded later."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ivm.kernels.texts.dictionary import PADDING, copy_texts, text_bounds, text_offsets
from ivm.trace.column import Array, Bools, Ints
from ivm.trace.readonly import readonly
from ivm.trace.texts import Texts

_MOST_BYTES = 2**31 - 1
_ALL_VALID: Bools = np.empty(0, np.bool_)


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

    def decode(self, codes: Array, valid: Bools | None = None) -> pa.Array | pa.ChunkedArray:
        """The strings of `codes` int32 (n,) as Arrow strings, NULL where `valid` is False.

        Chunked only if one array of strings could not hold them, at 2 GiB. Cost: copies the bytes.
        """
        n = len(codes)
        wanted = readonly(np.ascontiguousarray(codes, np.int32))
        offsets = np.empty(n + 1, np.int64)
        text_offsets(self.places, wanted, _ALL_VALID if valid is None else np.ascontiguousarray(valid), offsets)
        if offsets[n] > _MOST_BYTES - PADDING:
            halves = (slice(0, n // 2), slice(n // 2, n))
            parts = [self.decode(codes[half], None if valid is None else valid[half]) for half in halves]
            return pa.chunked_array([c for p in parts for c in (p.chunks if isinstance(p, pa.ChunkedArray) else [p])])
        data = np.empty(int(offsets[n]) + PADDING, np.uint8)
        copy_texts(self.heap, self.places, wanted, offsets, data)
        validity = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
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

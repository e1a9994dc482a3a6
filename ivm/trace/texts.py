"""Strings where they lie, in an Arrow array or in the text dictionary, for functions that read their bytes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from ivm.kernels.texts.dictionary import PADDING, Bytes, Places
from ivm.kernels.texts.parts import pack_texts
from ivm.trace.column import Bools, Ints
from ivm.trace.readonly import readonly
from ivm.trace.validity import validity_mask

_ALL_VALID: Bools = np.empty(0, np.bool_)
_NO_BYTES: Bytes = readonly(np.empty(0, np.uint8))
_NOWHERE: Places = readonly(np.zeros(1, np.int64))
_OFFSETS: dict[int, np.dtype[Any]] = {
    **dict.fromkeys((pa.string().id, pa.binary().id), np.dtype(np.int32)),
    **dict.fromkeys((pa.large_string().id, pa.large_binary().id), np.dtype(np.int64)),
}


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

    def and_null(self) -> Texts:
        """The strings, and a NULL behind them. Cost: copies the places."""
        starts, ends = np.append(self.starts, self.starts.dtype.type(0)), np.append(self.ends, self.ends.dtype.type(0))
        valid = np.ones(len(starts), np.bool_)
        valid[:-1] = True if self.valid is None else self.valid
        valid[-1] = False
        return Texts(self.data, readonly(starts), readonly(ends), valid)

    def packed(self) -> tuple[Bytes, Ints]:
        """The strings one after the other, and where each begins, int64 (n + 1,). Cost: copies the bytes."""
        valid = _ALL_VALID if self.valid is None else readonly(np.ascontiguousarray(self.valid))
        offsets = np.empty(len(self) + 1, np.int64)
        out = np.empty(int((self.ends - self.starts).sum()) + PADDING, np.uint8)
        pack_texts(self.data, self.starts, self.ends, valid, offsets, out)
        return out, offsets

    def strings(self) -> list[str]:
        """The strings as Python objects; '' for NULL."""
        data, offsets = self.packed()
        whole = data.tobytes()
        bounds = offsets.tolist()
        return [whole[a:b].decode() for a, b in pairwise(bounds)]


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


def arrow_texts(array: pa.Array) -> Texts:
    """The strings of an Arrow array of any encoding of text but a dictionary; see `text_buffers`."""
    data, where, valid = text_buffers(array)
    return Texts(readonly(data), readonly(where[:-1]), readonly(where[1:]), valid)

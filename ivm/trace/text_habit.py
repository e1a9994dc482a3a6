"""How the text of one column is best read, as its batches come: by codes, or by its bytes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ivm.kernels.texts.dictionary import hash_texts
from ivm.trace.readonly import readonly
from ivm.trace.texts import arrow_texts

_PATIENCE = 16
_LOOKED_AT = 256


class TextHabit:
    """What was seen of a column's batches.

    Functions of its text are computed from its bytes, unless

    * somebody else wanted its codes, in one of the last 16 batches, though there was a choice: they cost but once;
    * a string costs more than to look it up in the dictionary, and strings come again and again: more than half of 256
      that are looked at, in one of 16 batches, are there twice. Each distinct one is then computed once in all time.
    """

    __slots__ = ("_encoded", "_looked", "_repeats")

    def __init__(self) -> None:
        self._encoded = 0
        self._looked = 0
        self._repeats = False

    def by_bytes(self, array: pa.ChunkedArray, light: bool) -> bool:
        """Whether functions of the next batch's texts, `light` ones or not, are to be computed from the bytes."""
        if self._encoded:
            self._encoded -= 1
            return False
        if light or pa.types.is_dictionary(array.type):
            return True
        if not self._looked:
            self._looked, self._repeats = _PATIENCE, _repeats(array)
        self._looked -= 1
        return not self._repeats

    def encoded(self) -> None:
        """The last batch got codes although it was to be read by its bytes."""
        self._encoded = _PATIENCE


def _repeats(array: pa.ChunkedArray) -> bool:
    if array.num_chunks == 0:
        return False
    texts = arrow_texts(array.chunk(0))
    step = max(1, len(texts) // _LOOKED_AT)
    starts, ends = texts.starts[::step].copy(), texts.ends[::step].copy()
    hashes = np.empty(len(starts), np.uint64)
    hash_texts(texts.data, readonly(starts), readonly(ends), hashes)
    return 2 * len(np.unique(hashes)) < len(hashes)

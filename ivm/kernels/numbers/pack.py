"""Key words of two integer parts in one pass: numpy writes each part with a stride, three times as slow."""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.types import Ints


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def pack_words(first: Ints, second: Ints, words: Ints) -> None:
    """words[i] = (first[i], second[i]); `words` is int64 (n, 2), the parts integers of any width."""
    for row in range(len(first)):
        i = np.uint64(row)
        words[i, 0] = first[i]
        words[i, 1] = second[i]


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def pack_halves(first: Ints, second: Ints, words: Ints) -> None:
    """The high half of words[i, 0] is first[i], the low half second[i]; `words` is int64 (n, 1), the parts int32."""
    for row in range(len(first)):
        i = np.uint64(row)
        words[i, 0] = (np.int64(first[i]) << np.int64(32)) | (np.int64(second[i]) & np.int64(0xFFFFFFFF))


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def look_up(table: Ints, places: Ints, found: Ints) -> None:
    """found[i] = table[places[i]], codes as int32; the places are known to lie in the table."""
    for row in range(len(places)):
        i = np.uint64(row)
        found[i] = table[np.uint64(places[i])]

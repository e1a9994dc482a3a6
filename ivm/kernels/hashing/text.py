"""Hashes of texts by their bytes, the same in every process: codes of a dictionary are not."""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.hashing.function import mix_last, mix_word
from ivm.kernels.types import Hashes, Ints

_WORD = 8


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def hash_texts(data: Hashes, starts: Ints, ends: Ints, out: Hashes) -> None:
    """Write to `out` uint64 (n,) a hash of the bytes from `starts[i]` to `ends[i]` of `data` uint8, and of their count.

    Bytes count as little-endian words, the last one filled with zeros. Cost: some nanoseconds, and 1 ns a byte.
    """
    for i in range(len(starts)):
        x = mix_word(np.uint64(0), ends[i] - starts[i])
        at = starts[i]
        while at < ends[i]:
            word = np.uint64(0)
            last = min(at + _WORD, ends[i])
            for place in range(at, last):
                word |= np.uint64(data[place]) << np.uint64(_WORD * (place - at))
            x = mix_word(x, word)
            at = last
        out[i] = mix_last(x)

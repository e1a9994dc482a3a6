"""How many different keys there are, about, before they are put into a table."""

from __future__ import annotations

from math import log

import numpy as np

from ivm.kernels.hashing.index import count_bits, hash_rows, mark_hashes
from ivm.trace.column import Bools, Ints

_BITS = 1 << 22
_ALL = np.empty(0, np.bool_)


class DistinctKeys:
    """About how many different keys there are, of many: a bit for each hash (Whang et al., linear counting).

    Within a percent up to 20 million; beyond, too few. Size: half a megabyte.
    """

    def __init__(self) -> None:
        self._seen = np.zeros(_BITS // 64, np.uint64)

    def add(self, words: Ints, dropped: Bools | None) -> None:
        """Count these keys; cost: 3 ns each."""
        hashes = np.empty(len(words), np.uint64)
        hash_rows(words.reshape(len(words), -1), hashes)
        mark_hashes(hashes, _ALL if dropped is None else dropped, self._seen)

    @property
    def count(self) -> float:
        """The estimate."""
        free = max(1, _BITS - count_bits(self._seen))
        return -_BITS * log(free / _BITS)

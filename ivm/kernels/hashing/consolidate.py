"""Consolidation: add up the diffs of equal rows."""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.hashing.function import hash_words
from ivm.kernels.hashing.slots import same_key
from ivm.kernels.memory.move import prefetch
from ivm.kernels.types import Hashes, Ints

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_AHEAD = 16


@njit(cache=True, nogil=True, fastmath=False)
def sum_equal_rows(words: Ints, diffs: Ints, slots: Hashes, rows: Ints, sums: Ints, begin: int, count: int) -> int:
    """For each distinct row of `words` int64 (n, W) its first position and the sum of its `diffs` int64 (n,).

    They are written to `rows` and `sums`, int64 (n,), in the order of first positions; returns how many there are. The
    rows before `begin` have been looked at by earlier calls, which have found `count`. `slots` uint64 is a table, of
    zeros at first, its length a power of two of at least 2n; n is below 2^32. Cost: one random access a row, and one
    more for a row that has been met.
    """
    width = words.shape[1]
    mask = len(slots) - 1
    hashes = np.empty(len(words) - begin, np.uint64)
    for i in range(len(hashes)):
        hashes[i] = hash_words(words, begin + i, width)
    for i in range(begin, len(words)):
        if i + _AHEAD < len(words):
            prefetch(slots, np.int64(hashes[i - begin + _AHEAD] & _LOW) & mask)
        # The slot holds half of the hash, so that a row is compared only with one that is very likely equal.
        tag = hashes[i - begin] >> _HALF
        place = np.int64(hashes[i - begin] & _LOW) & mask
        while True:
            slot = slots[place]
            if slot == 0:
                slots[place] = (tag << _HALF) | np.uint64(count + 1)
                rows[count] = i
                sums[count] = diffs[i]
                count += 1
                break
            if slot >> _HALF == tag:
                found = np.int64(slot & _LOW) - 1
                if same_key(words, rows[found], words, i):
                    sums[found] += diffs[i]
                    break
            place = (place + 1) & mask
    return count

"""Loops over what lies in Arrow's arrays."""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.types import Ints


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def decimals_fit(words: Ints, bound: int) -> bool:
    """Whether all 128-bit integers of `words` int64 (n, 2), low words first, lie between -bound and bound (below
    2^62), both excluded.
    """
    span = np.uint64(2 * bound - 2)
    wrong = np.int64(0)
    for row in range(len(words)):
        i = np.uint64(row)
        low = words[i, 0]
        wrong |= words[i, 1] ^ (low >> np.int64(63))
        wrong |= np.int64(np.uint64(low + np.int64(bound - 1)) > span)
    return wrong == 0


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def all_within(values: Ints, first: int, last: int) -> bool:
    """Whether all values, integers of any width, lie between `first` and `last`, both included."""
    wrong = False
    for row in range(len(values)):
        value = values[np.uint64(row)]
        wrong |= (value < first) | (value > last)
    return not wrong


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def look_up(table: Ints, places: Ints, found: Ints) -> None:
    """found[i] = table[places[i]], codes as int32; the places are known to lie there: three times as fast as numpy."""
    for row in range(len(places)):
        i = np.uint64(row)
        found[i] = table[np.uint64(places[i])]

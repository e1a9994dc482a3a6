"""Key words in ascending order of their leads: proving it, and finding keys among them by their fences.

Words are int64 (n, W). The lead of a key is its first word, shifted right by `shift` bits, so that it is the first
part of a key whose 32-bit parts share a word.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ivm.kernels.types import Ints


@njit(cache=True, nogil=True, fastmath=False)
def is_run(words: Ints, shift: int, distinct: bool, most: int) -> bool:
    """Whether leads never fall; if `distinct`, also whether no two keys are equal, at most `most` having one lead.

    Cost: 1 ns a row where whole keys ascend, else with several keys of a lead a comparison of each two of them.
    """
    return _ascends(words, shift, distinct, most) or _is_run(words, shift, distinct, most)


@njit(cache=True, nogil=True, fastmath=False)
def _ascends(words: Ints, shift: int, distinct: bool, most: int) -> bool:
    """Whether each key is above the one before it, or equal to it unless `distinct`: enough for a run.

    There is no branch in the loops, for which of two keys of a lead comes next cannot be foreseen.
    """
    width, falls = words.shape[1], 0
    if width == 1 and shift == 0:
        for i in range(1, len(words)):
            falls += words[i - 1, 0] > words[i, 0] or (distinct and words[i - 1, 0] == words[i, 0])
        return falls == 0
    if width > 2 or not distinct:
        return False
    alike = longest = 0
    last = np.uint64(width - 1)
    for row in range(1, len(words)):
        here, before = np.uint64(row), np.uint64(row - 1)
        one, other = words[before, 0], words[here, 0]
        falls += (one > other) | ((one == other) & (words[before, last] >= words[here, last]))
        alike = (alike + 1) * ((one >> shift) == (other >> shift))
        longest = max(longest, alike)
    return falls == 0 and longest < most


@njit(cache=True, nogil=True, fastmath=False)
def _is_run(words: Ints, shift: int, distinct: bool, most: int) -> bool:
    """The same of keys that ascend in their leads only."""
    width = words.shape[1]
    begin = 0
    for i in range(1, len(words)):
        before, lead = words[i - 1, 0] >> shift, words[i, 0] >> shift
        if before > lead:
            return False
        if not distinct:
            continue
        if before < lead:
            begin = i
        if i - begin == most:
            return False
        for j in range(begin, i):
            w = 0
            while w < width and words[i, w] == words[j, w]:
                w += 1
            if w == width:
                return False
    return True


@njit(cache=True, nogil=True, fastmath=False)
def fences_below(fences: Ints, leads: Ints, below: Ints, upto: Ints) -> None:
    """For each lead how many of the ascending `fences` are smaller, and how many are no greater.

    Cost: two binary searches, the second one only where some fence is equal.
    """
    for i in range(len(leads)):
        lead = leads[i]
        low = 0
        high = len(fences)
        while low < high:
            middle = (low + high) // 2
            if fences[middle] < lead:
                low = middle + 1
            else:
                high = middle
        below[i] = low
        high = len(fences)
        if low < high and fences[low] > lead:
            high = low
        while low < high:
            middle = (low + high) // 2
            if fences[middle] <= lead:
                low = middle + 1
            else:
                high = middle
        upto[i] = low


@njit(cache=True, nogil=True, fastmath=False)
def count_before(candidates: Ints, sizes: Ints, leads: Ints, after_equal: bool, counts: Ints) -> None:
    """How many of the first sizes[i] of the leads candidates[i], which ascend, are smaller than leads[i].

    With `after_equal` those that are equal count as well.
    """
    for i in range(len(leads)):
        lead = leads[i]
        k = 0
        while k < sizes[i] and (candidates[i, k] < lead or (after_equal and candidates[i, k] == lead)):
            k += 1
        counts[i] = k

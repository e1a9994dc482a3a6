"""Key words in ascending order: proving it, and finding keys among them by their fences. Words are int64 (n, W)."""

from __future__ import annotations

import numpy as np
from numba import njit

from ivm.kernels.types import Bools, Ints


@njit(cache=True, nogil=True, fastmath=False)
def is_ascending(words: Ints) -> bool:
    """Whether each key is greater than the one before it, word by word as signed integers; cost: 1 ns a word."""
    width = words.shape[1]
    violations = 0
    if width == 1:
        for i in range(1, len(words)):
            violations += words[i - 1, 0] >= words[i, 0]
        return violations == 0
    if width == 2:
        high, low = words[0, 0], words[0, 1]
        for k in range(1, len(words)):
            row = np.uint64(k)  # unsigned: numba lets a negative index count from the end, at a cost
            after_high, after_low = words[row, 0], words[row, 1]
            violations += (high > after_high) | ((high == after_high) & (low >= after_low))
            high, low = after_high, after_low
        return violations == 0
    for i in range(1, len(words)):
        w = 0
        while w < width - 1 and words[i - 1, w] == words[i, w]:
            w += 1
        if words[i - 1, w] >= words[i, w]:
            return False
    return True


@njit(cache=True, nogil=True, fastmath=False)
def fence_of(fences: Ints, words: Ints, blocks: Ints) -> None:
    """For each key the last of the ascending `fences` that is not greater, -1 if all are; cost: a binary search a
    key.
    """
    width = words.shape[1]
    for i in range(len(words)):
        low = 0
        high = len(fences)
        while low < high:
            middle = (low + high) // 2
            w = 0
            while w < width - 1 and words[i, w] == fences[middle, w]:
                w += 1
            if words[i, w] < fences[middle, w]:
                high = middle
            else:
                low = middle + 1
        blocks[i] = low - 1


@njit(cache=True, nogil=True, fastmath=False)
def match_blocks(candidates: Ints, present: Bools, words: Ints, size: int, offsets: Ints) -> None:
    """Which of its `size` candidates, candidates[i * size :], equals key i and is present: its offset, -1 if none
    is.
    """
    width = words.shape[1]
    for i in range(len(words)):
        offsets[i] = -1
        for k in range(size):
            j = i * size + k
            w = 0
            while w < width and candidates[j, w] == words[i, w]:
                w += 1
            if w == width and present[j]:
                offsets[i] = k
                break

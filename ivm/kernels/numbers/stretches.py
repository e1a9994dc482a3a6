"""Numbers that ascend, and where they begin to be other ones."""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Ints

_STRETCH = 1 << 10


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def are_ascending(numbers: Ints) -> bool:
    """Whether no number is less than the one before."""
    return ascend(numbers)


@part()
def ascend(numbers: Ints) -> bool:
    """Whether no number is less than the one before. It is looked at stretch by stretch, without a branch in one."""
    for begin in range(1, len(numbers), _STRETCH):
        falls = np.int64(0)
        for i in range(np.uint64(begin), np.uint64(min(begin + _STRETCH, len(numbers)))):
            falls += numbers[i] < numbers[i - np.uint64(1)]
        if falls:
            return False
    return True


@part()
def note_stretches(numbers: Ints, before: Word, first: Word, begun: Ints, places: Ints, count: Word) -> Word:
    """Write each number (n,) that is not the one before it to `begun`, and its place to `places`, behind `count` ones.

    The one before the first is `before`; places count from `first`. There is room for all. Returns how many there are
    then. Cost: 1 ns each.
    """
    for i in range(len(numbers)):
        number = numbers[np.uint64(i)]
        begun[count] = number
        places[count] = first + i
        count += number != before
        before = number
    return count


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def ends_of_stretches(numbers: Ints, begun: Ints, places: Ints, count: Word, end: Word, found: Ints) -> None:
    """For each number (n,), in any order, where the first stretch above it begins, `end` if there is none.

    `begun` and `places` are what `note_stretches` wrote, `count` of them. Cost: a logarithm of how many stretches lie
    between a number and the one before it.
    """
    ends_in(numbers, begun, places, count, end, found)


@part()
def ends_in(numbers: Ints, begun: Ints, places: Ints, count: Word, end: Word, found: Ints) -> None:
    """What `ends_of_stretches` does; `found` may be `numbers`."""
    at = np.int64(0)
    for i in range(len(numbers)):
        number = numbers[i]
        if at > 0 and begun[at - 1] > number:
            low, high = np.int64(0), at - 1
        else:
            low, high, step = at, at, np.int64(1)
            while high < count and begun[high] <= number:
                low = high + 1
                high = min(high + step, count)
                step *= 2
        while low < high:
            middle = (low + high) // 2
            if begun[middle] <= number:
                low = middle + 1
            else:
                high = middle
        at = low
        found[i] = places[at] if at < count else end

"""The run of a table of groups, whose keys ascend, so that a binary search finds them. See `groups.block`."""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.part import part
from ivm.kernels.groups.block import MELTED, RUN
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Ints


@part()
def key_order(state: Ints, slot: Word, words: Ints, i: Word, width: Word) -> Word:
    """-1, 0 or 1 as the key in a slot is below, equal to or above key i of `words`, in the order of the words."""
    for w in range(width):
        if state[slot, w] != words[i, w]:
            return np.int64(-1) if state[slot, w] < words[i, w] else np.int64(1)
    return np.int64(0)


@part()
def is_in_run(words: Ints, i: Word, width: Word, state: Ints, counts: Ints) -> bool:
    """Whether key i lies within the run's borders."""
    low, high = counts[MELTED], min(counts[RUN], np.int64(len(state)))
    return (
        low < high
        and key_order(state, high - 1, words, i, width) >= 0
        and key_order(state, low, words, i, width) <= 0
    )  # fmt: skip


@part()
def find_in_run(words: Ints, i: Word, width: Word, state: Ints, counts: Ints) -> Word:
    """The slot of key i in the run, or -1; a binary search."""
    low, high = counts[MELTED], min(counts[RUN], np.int64(len(state)))
    end = high
    while low < high:
        middle = (low + high) // 2
        if key_order(state, middle, words, i, width) < 0:
            low = middle + 1
        else:
            high = middle
    return low if low < end and key_order(state, low, words, i, width) == 0 else np.int64(-1)

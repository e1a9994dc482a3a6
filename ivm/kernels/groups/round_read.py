"""What groups by round hold at the end of a loop, read of slots whose groups are sealed. See `groups.round_block`."""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.groups.round_block import HEADS, NEXT
from ivm.kernels.groups.treap import go_left
from ivm.kernels.groups.value_block import COUNT, RIGHT, VALUE
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Ints


@njit(cache=True, nogil=True, fastmath=False)
def read_counts(slots: Ints, cells: Ints, width: Word, exists: bool, keys: Ints, counts: Ints) -> Word:
    """The keys of `width` words of those of some slots that are there, and how often; how many these are.

    As `rounds.evaluate_counts` and `settled.evaluate_settled` have it. There is room for all. Cost: all cells of these.
    """
    count, is_ranked = np.int64(0), slots.shape[1] > width + 2
    for i in range(len(slots)):
        if slots[i, width] < 0:
            continue
        times, at = np.int64(0), slots[i, width + 1]
        if is_ranked:
            times, at = np.int64(slots[i, width + 2] != 0), np.int64(0)
        while at != 0:
            times += cells[at - 1, HEADS]
            at = cells[at - 1, NEXT]
        if exists:
            times = np.int64(times != 0)
        if times > 0:
            for w in range(width):
                keys[count, w] = slots[i, w]
            counts[count] = times
            count += 1
    return count


@njit(cache=True, nogil=True, fastmath=False)
def read_values(slots: Ints, values: Ints, width: Word, largest: bool, keys: Ints, least: Ints) -> Word:
    """The keys of those of some slots of which some value is there, and the least of these; how many these are.

    As `round_least.evaluate_values` has it. There is room for all. Cost: the values of each up to its least one.
    """
    count, found = np.int64(0), np.empty(1, np.int64)
    for i in range(len(slots)):
        if slots[i, width] >= 0 and _least(values, slots[i, width + 1], found):
            for w in range(width):
                keys[count, w] = slots[i, w]
            least[count] = ~found[0] if largest else found[0]
            count += 1
    return count


@part(counted=True)
def _least(values: Ints, root: Word, found: Ints) -> bool:
    """Whether a tree has a value that is there in the end; the least of these is `found`."""
    path, times = np.empty(128, np.int64), np.int64(0)
    depth = go_left(values, path, np.int64(0), root)
    while depth > 0:
        depth -= 1
        node = path[depth]
        if values[node - 1, VALUE] != found[0] and times > 0:
            return True
        if values[node - 1, VALUE] != found[0]:
            found[0], times = values[node - 1, VALUE], np.int64(0)
        times += values[node - 1, COUNT]
        depth = go_left(values, path, depth, values[node - 1, RIGHT])
    if times > 0:
        return True
    return False

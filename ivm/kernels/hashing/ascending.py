"""Key words in ascending order of their leads: proving it, and finding keys among them by their fences.

Words are int64 (n, W). The lead of a key is its first word, shifted right by `shift` bits, so that it is the first
part of a key whose 32-bit parts share a word.
"""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.hashing.slots import same_key
from ivm.kernels.types import Ints


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def extend_run(seam: Ints, words: Ints, shift: int, distinct: bool, most: int, fences: Ints, row: int) -> bool:
    """Whether leads go on not falling; if `distinct`, also whether no two keys are equal, `most` having one lead.

    `seam`, where the leads may meet: the last keys before `words`, which are known to be such a run, and the first of
    `words`, `most` of each unless there are fewer. If so, the leads of those of `words`, row numbers from `row` on,
    that are multiples of `most` are put into `fences`, each at its row number / `most`. Cost: 1 ns a row where whole
    keys ascend, else see `_is_run`.
    """
    if not _is_run(seam, shift, distinct, most):
        return False
    if not _ascends(words, shift, distinct, most) and not _is_run(words, shift, distinct, most):
        return False
    for at in range(-(-row // most), -(-(row + len(words)) // most)):
        fences[at] = words[at * most - row, 0] >> shift
    return True


@part()
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


@part()
def _is_run(words: Ints, shift: int, distinct: bool, most: int) -> bool:
    """Whether leads never fall; if `distinct`, also whether no two keys are equal, at most `most` having one lead.

    Cost: with several keys of a lead a comparison of each two of them.
    """
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
            if same_key(words, i, words, j):
                return False
    return True


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def rows_near(fences: Ints, words: Ints, shift: int, block: int, stop: int, rows: Ints, starts: Ints) -> int:
    """The rows among which those of each lead begin and end, at most two blocks; how many rows in all.

    `fences` are the leads of every `block`-th of the rows below `stop`. The rows of lead i are rows[starts[i]:
    starts[i + 1]]: the block that begins with the last smaller lead, then that of the last lead that is not greater.
    Cost: two binary searches, the second one only where some fence is equal.
    """
    at = 0
    for i in range(len(words)):
        lead = words[i, 0] >> shift
        below = _fences_up_to(fences, lead, 0, False)
        upto = _fences_up_to(fences, lead, below, True) if below < len(fences) and fences[below] == lead else below
        starts[i] = at
        first, last = max(below - 1, 0), max(upto - 1, 0)
        for row in range(first * block, min((first + 1) * block, stop)):
            rows[at] = row
            at += 1
        if last != first:
            for row in range(last * block, min((last + 1) * block, stop)):
                rows[at] = row
                at += 1
    starts[len(words)] = at
    return at


@part()
def _fences_up_to(fences: Ints, lead: int, low: int, equal: bool) -> int:
    """How many of the fences, which ascend, are smaller than a lead, or no greater if `equal`; `low` of them are."""
    high = len(fences)
    while low < high:
        middle = (low + high) // 2
        if fences[middle] < lead or (equal and fences[middle] == lead):
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def find_near(
    words: Ints, near: Ints, rows: Ints, starts: Ints, shift: int, block: int, distinct: bool, first: Ints, count: Ints
) -> None:
    """The first row of each key and how many it has, one after the other; `near` are the words of `rows_near`.

    If `distinct` a key has one row at most, that of equal words; else all rows of its lead.
    """
    for i in range(len(words)):
        lead = words[i, 0] >> shift
        begin, end = starts[i], starts[i + 1]
        first[i] = end_row = rows[begin] if begin < end else 0
        count[i] = 0
        for k in range(begin, end):
            if distinct:
                if same_key(near, k, words, i):
                    first[i], count[i] = rows[k], 1
                    break
                continue
            if near[k, 0] >> shift < lead and rows[k] // block == rows[begin] // block:
                first[i] = rows[k] + 1
            if near[k, 0] >> shift <= lead:
                end_row = rows[k] + 1
        if not distinct:
            count[i] = max(end_row - first[i], 0)

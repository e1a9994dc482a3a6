"""Key words in ascending order of their leads: proving it, and finding where among their fences a key belongs.

Words are int64 (n, W). The lead of a key is its first word, shifted right by `shift` bits, so that it is the first
part of a key whose 32-bit parts share a word. `block` is that of an index (see `hashing.block`).
"""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.hashing.block import ALIKE, DISTINCT, EACH, FENCES, IN_ORDER, LAST, LAST_LEAD, SHIFT, STOP, TABLES
from ivm.kernels.hashing.function import hash_word
from ivm.kernels.hashing.slots import EMPTY, OLD, SLOTS, find_head, same_key
from ivm.kernels.memory.at import ints_in, words_in
from ivm.kernels.types import Ints

TAKEN, TAKEN_ON, REFUSED, UNSURE, NO_ROOM, GOES_ON = range(6)
"""What a run says to further rows: it has them; it has them, and its last key goes on in them; it cannot; it has to see
its last keys; it needs more fences; its last key goes on, and the table has to know.
"""
MOST_WORDS = 2
"""Keys of more words are compared one by one."""


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def extend_run(block: Ints, words: Ints) -> int:
    """Let the run of an index take rows of these keys from its end on, if their leads go on not falling; see TAKEN.

    If its keys differ, no two may be equal, and at most as many have one lead as there are rows to a fence. UNSURE:
    where keys of the same lead do not ascend; or the run's last keys are not known, and these do not lie above all.
    Cost: 1 ns a row.
    """
    return take(block, words, False, False)


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def extend_unordered(block: Ints, seam: Ints, words: Ints) -> int:
    """As `extend_run`, where keys of one lead may come in any order.

    `seam`: the last keys before `words`, and the first of `words`, of each those of a fence unless there are fewer.
    Cost: see `_is_run`.
    """
    shift, distinct, most = block[SHIFT], block[DISTINCT] != 0, 1 << block[EACH]
    if not _is_run(seam, shift, distinct, most) or not _is_run(words, shift, distinct, most):
        return REFUSED
    if not has_room(block, len(words)):
        return NO_ROOM
    last = len(words) - 1
    alike, in_order = 0, True
    while alike < last and in_order and words[last - alike - 1, 0] >> shift == words[last, 0] >> shift:
        in_order = _is_below(words, last - alike - 1, words, last - alike)
        alike += 1
    known = len(seam) - min(len(words), most)
    if alike == last and known > 0:
        in_order = in_order and seam[known - 1, 0] >> shift != words[0, 0] >> shift
    _put(block, words, most, alike, in_order)
    return TAKEN


@part()
def take(block: Ints, words: Ints, asked: bool, mortal: bool) -> int:
    """`extend_run`, where there is a row at least.

    If `asked`, where keys need not differ, rows whose key goes on are refused where the table has to know of them:
    rows die (`mortal`), or it has the key.
    """
    shift, distinct, most = block[SHIFT], block[DISTINCT] != 0, 1 << block[EACH]
    alike, said = 0, TAKEN
    if block[STOP] > 0:
        lead = words[0, 0] >> shift
        if block[IN_ORDER] == 0:
            if lead <= block[LAST_LEAD]:
                return UNSURE
        elif lead < block[LAST_LEAD]:
            return REFUSED
        elif lead == block[LAST_LEAD]:
            last = words.shape[1] - 1
            one, other = block[LAST], words[0, 0]
            if distinct and (one > other or (one == other and block[LAST + last] >= words[0, last])):
                return UNSURE
            alike = block[ALIKE] + 1
            if asked and not distinct:
                if mortal or _is_known(block, words):
                    return GOES_ON
                said = TAKEN_ON
    alike = _ascends(words, shift, distinct, most, alike)
    if alike < 0:
        return UNSURE
    if not has_room(block, len(words)):
        return NO_ROOM
    _put(block, words, most, alike, True)
    return said


@part()
def _is_known(block: Ints, words: Ints) -> bool:
    """Whether the table has the first of these keys, of one word."""
    table = ints_in(block, TABLES)
    return find_head(words_in(table, SLOTS), words_in(table, OLD), words, 0, hash_word(words[0, 0])) != EMPTY


@part()
def has_room(block: Ints, rows: int) -> bool:
    """Whether there is room for the fences of so many rows more."""
    most = 1 << block[EACH]
    return -(-(block[STOP] + rows) // most) <= len(ints_in(block, FENCES))


@part()
def _put(block: Ints, words: Ints, most: int, alike: int, in_order: bool) -> None:
    """The run has these keys now, and as many as `alike` before the last one have its lead."""
    row, last, fences = block[STOP], len(words) - 1, ints_in(block, FENCES)
    for at in range(-(-row // most), -(-(row + len(words)) // most)):
        fences[at] = words[at * most - row, 0] >> block[SHIFT]
    for w in range(words.shape[1]):
        block[LAST + w] = words[last, w]
    block[LAST_LEAD] = words[last, 0] >> block[SHIFT]
    block[ALIKE], block[IN_ORDER] = alike, in_order
    block[STOP] = row + len(words)


@part()
def _is_below(words: Ints, row: int, others: Ints, other: int) -> bool:
    """Whether a key is below another by its first and its last word."""
    last = words.shape[1] - 1
    one, two = words[row, 0], others[other, 0]
    return one < two or (one == two and words[row, last] < others[other, last])


@part()
def _ascends(words: Ints, shift: int, distinct: bool, most: int, alike: int) -> int:
    """Whether each key is above the one before it, or equal to it unless `distinct`: enough for a run; -1 if not.

    Else how many rows before the last one have its lead, of as many as `alike` before the first one. There is no
    branch in the loops, for which of two keys of a lead comes next cannot be foreseen.
    """
    width, length = words.shape[1], len(words)
    falls = too_many = np.int64(0)
    if width == 1 and shift == 0:
        for row in range(1, length):
            here, before = np.uint64(row), np.uint64(row - 1)
            falls |= np.int64(words[before, 0] > words[here, 0])
            too_many |= np.int64(words[before, 0] == words[here, 0])
        return -1 if falls or (distinct and too_many) else 0
    if width > MOST_WORDS or not distinct:
        return -1
    last = np.uint64(width - 1)
    for row in range(1, length):
        here, before = np.uint64(row), np.uint64(row - 1)
        one, other = words[before, 0], words[here, 0]
        falls |= np.int64((one > other) | ((one == other) & (words[before, last] >= words[here, last])))
    if falls:
        return -1
    for row in range(most, length):
        too_many |= np.int64(words[np.uint64(row - most), 0] >> shift == words[np.uint64(row), 0] >> shift)
    first, last_lead = words[0, 0] >> shift, words[length - 1, 0] >> shift
    begins = ends = 1
    while begins < min(length, most) and words[begins, 0] >> shift == first:
        begins += 1
    if too_many or alike + begins > most:
        return -1
    while ends < min(length, most) and words[length - 1 - ends, 0] >> shift == last_lead:
        ends += 1
    return alike + ends - 1 if first == last_lead else ends - 1


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


@part()
def fences_up_to(fences: Ints, lead: int, near: int, equal: bool) -> int:
    """How many of the fences, which ascend, are smaller than a lead, or no greater if `equal`.

    Cost: a binary search among those between the answer and `near`, a number of fences from which it begins.
    """
    low, high = 0, len(fences)
    if 0 < near <= high:
        if fences[near - 1] < lead or (equal and fences[near - 1] == lead):
            low, step = near, 1
            while low + step <= high and (fences[low + step - 1] < lead or (equal and fences[low + step - 1] == lead)):
                low += step
                step *= 2
            high = min(low + step - 1, high)
        else:
            high = near - 1
    while low < high:
        middle = (low + high) // 2
        if fences[middle] < lead or (equal and fences[middle] == lead):
            low = middle + 1
        else:
            high = middle
    return low

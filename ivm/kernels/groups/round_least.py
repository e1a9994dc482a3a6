"""What changes in a round of the least values of groups. See `groups.value_block`."""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.groups.block import KEY_WORDS, STATE
from ivm.kernels.groups.round_block import CELL, CURSOR, MADE, MARK, ROUND, SLOT, opened_in
from ivm.kernels.groups.round_due import make_due, next_due, tell_first
from ivm.kernels.groups.round_extremes import matters_to
from ivm.kernels.groups.treap import first_from, go_left
from ivm.kernels.groups.value_block import (
    COUNT,
    EARLIER,
    LEAST,
    NEW,
    OLD,
    RIGHT,
    SAME,
    THERE,
    VALUE,
    WAS,
    WAS_LEAST,
    changed_in,
    values_in,
)
from ivm.kernels.memory.at import words_in
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Bools, Ints

_NEVER = np.int64(2**63 - 1)


@njit(cache=True, nogil=True, fastmath=False)
def evaluate_values(
    table: Ints, block: Ints, number: Word, largest: bool, keys: Ints, least: Ints, diffs: Ints
) -> Word:
    """See `least_in`."""
    return least_in(table, block, number, largest, keys, least, diffs)


@part(counted=True)
def least_in(table: Ints, block: Ints, number: Word, largest: bool, keys: Ints, least: Ints, diffs: Ints) -> Word:
    """What changes in a round of the least values of groups that are due, equal rows added up.

    How many rows were written to `keys` (n, width), `least` and `diffs` (n,), which have room for four each.
    Cost: the values of each group up to the least that was there, and is.
    """
    width, state, opened = table[KEY_WORDS], words_in(table, STATE), opened_in(block)
    found, there = np.empty(4, np.int64), np.empty(4, np.bool_)
    count = np.int64(0)
    while count + 4 <= len(diffs):
        group = next_due(block, number)
        if group < 0:
            break
        slot = opened[group, SLOT]
        for s in range(2):  # as it was in the round that was looked at last, and as it is in that
            found[s], there[s] = opened[group, WAS_LEAST + s], opened[group, THERE] & (OLD << s) != 0
        following = _look(block, state[slot, width + 1], number, opened[group, MADE] != 0, found[2:], there[2:])
        same = there[2] == there[3] and (not there[2] or found[2] == found[3])
        same = same and not _differs(block, state[slot, width + 1], opened[group, CURSOR], number)
        if same:
            following = _next_change(block, opened[group, CURSOR], number)
        if following != _NEVER:
            make_due(block, group, following)
        opened[group, THERE] = np.int64(there[2]) * OLD + np.int64(there[3]) * NEW + np.int64(same) * SAME
        opened[group, WAS_LEAST], opened[group, LEAST] = found[2], found[3]
        for s in range(4):
            weight = _weight(s)
            if not there[s]:
                continue
            for other in range(s + 1, 4):
                if there[other] and found[other] == found[s]:
                    weight += _weight(other)
                    there[other] = False
            if weight != 0:
                for w in range(width):
                    keys[count, w] = state[slot, w]
                least[count], diffs[count] = ~found[s] if largest else found[s], weight
                count += 1
    tell_first(block)
    return count


@part(inline=True)
def _weight(state: Word) -> Word:
    """A round gives what is there now less what was there, less what the rounds before it have given of these."""
    return np.int64(1) if state in (0, 3) else np.int64(-1)


@part(counted=True)
def _look(block: Ints, root: Word, number: Word, made: bool, found: Ints, there: Bools) -> Word:
    """The least values of a tree in a round, as far as there are some: as it was, and as it is.

    Gives the next round that may change one of them. `made`: nothing was there before.
    """
    values, touched = values_in(block), changed_in(block)
    path = np.empty(128, np.int64)
    depth = go_left(values, path, np.int64(0), root)
    there[:] = False
    sums, value, following = np.zeros(2, np.int64), np.int64(0), _NEVER
    while depth > 0:
        depth -= 1
        node = path[depth]
        if values[node - 1, VALUE] != value or values[node - 1, ROUND] > number:
            _found(value, sums, found, there)
        if values[node - 1, VALUE] != value:
            if there[1] and (there[0] or made):
                return following
            value, sums[0], sums[1] = values[node - 1, VALUE], np.int64(0), np.int64(0)
        held, mark = values[node - 1, COUNT], values[node - 1, MARK]
        was = touched[mark - 1, WAS] if mark != 0 else held
        if values[node - 1, ROUND] <= number:
            sums[0] += was
            sums[1] += held
        elif matters_to(there[0], found[0], value, was) or matters_to(there[1], found[1], value, held):
            following = min(following, values[node - 1, ROUND])
        depth = go_left(values, path, depth, values[node - 1, RIGHT])
    _found(value, sums, found, there)
    return following


@part(inline=True)
def _found(value: Word, sums: Ints, found: Ints, there: Bools) -> None:
    """A value is the least one if it is there, and none was before it."""
    for s in range(2):
        if sums[s] > 0 and not there[s]:
            found[s], there[s] = value, True


@part(counted=True)
def _differs(block: Ints, root: Word, last: Word, number: Word) -> bool:
    """Whether some value of a group is there more or less often in a round than it was."""
    values, touched, note = values_in(block), changed_in(block), last
    while note != 0:
        cell = touched[note - 1, CELL]
        if values[cell, ROUND] <= number and values[cell, COUNT] != touched[note - 1, WAS]:
            if _more(values, touched, root, values[cell, VALUE], number) != 0:
                return True
        note = touched[note - 1, EARLIER]
    return False


@part()
def _more(values: Ints, touched: Ints, root: Word, value: Word, number: Word) -> Word:
    """How much more often a value is there in a round than it was."""
    more, node = np.int64(0), first_from(values, root, value, np.int64(0))
    while node != 0 and values[node - 1, VALUE] == value and values[node - 1, ROUND] <= number:
        mark = values[node - 1, MARK]
        if mark != 0:
            more += values[node - 1, COUNT] - touched[mark - 1, WAS]
        node = first_from(values, root, value, values[node - 1, ROUND] + 1)
    return more


@part(counted=True)
def _next_change(block: Ints, last: Word, number: Word) -> Word:
    """The next round in which some value of a group is changed."""
    values, touched, note, following = values_in(block), changed_in(block), last, _NEVER
    while note != 0:
        cell = touched[note - 1, CELL]
        if values[cell, ROUND] > number and values[cell, COUNT] != touched[note - 1, WAS]:
            following = min(following, values[cell, ROUND])
        note = touched[note - 1, EARLIER]
    return following

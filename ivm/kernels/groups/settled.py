"""Distinct rows of a loop in which rows only lead to more rows: one stays in the round in which it came.

There a round need not be the first in which a row can be had; what counts is that something of no later round leads to
it. So a row that has got another support in an earlier round stays where it is, and nothing that follows from it moves.
A group has the round in which its row stands + 1, its *rank*, as a second field of the table; 0 if it is not there. The
third is the cell + 1 that was touched last, from which the next change begins, since most are of rounds behind it; 0 if
none is known.
"""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.groups.block import KEY_WORDS, STATE
from ivm.kernels.groups.round_block import HEADS, NEXT, ROUND, SLOT, cells_in, opened_in
from ivm.kernels.groups.round_due import make_due, next_due, tell_first
from ivm.kernels.memory.at import ints_at, scratch, words_in
from ivm.kernels.memory.move import prefetch
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Ints

_BLOCK = 64
"""So many groups are fetched at once, lest each wait for what the one before it fetches."""
_groups = scratch(_BLOCK)


@njit(cache=True, nogil=True, fastmath=False)
def evaluate_settled(table: Ints, block: Ints, number: Word, keys: Ints, diffs: Ints) -> Word:
    """See `settled_in`."""
    return settled_in(table, block, number, keys, diffs)


@part(counted=True)
def settled_in(table: Ints, block: Ints, number: Word, keys: Ints, diffs: Ints) -> Word:
    """What comes and goes in a round, of groups that are due in it.

    A row comes in the first round in which it has support; it goes, in its own, if it has none of that or an earlier
    one. How many rows were written to `keys` and `diffs`, as many as fit.
    """
    width, state, cells, opened = table[KEY_WORDS], words_in(table, STATE), cells_in(block), opened_in(block)
    groups, count, there, at = ints_at(_groups(), _BLOCK), np.int64(0), np.int64(0), np.int64(0)
    while True:
        if at == there:
            there, at = _next_dues(table, block, number, groups[: len(diffs) - count]), np.int64(0)
            if there == 0:
                break
        slot = opened[groups[at], SLOT]
        rank, first = state[slot, width + 2] - 1, _support(cells, state[slot, width + 1])
        supported = first != 0 and cells[first - 1, ROUND] <= number
        diff = np.int64(0)
        if rank < 0 and supported:
            diff, state[slot, width + 2] = np.int64(1), number + 1
        elif rank == number and not supported:
            diff, rank, state[slot, width + 2] = np.int64(-1), np.int64(-1), np.int64(0)
        if not supported:
            following = cells[first - 1, ROUND] if first != 0 else np.int64(-1)
            if rank > number and (first == 0 or rank < following):
                following = rank
            if following > number:
                make_due(block, groups[at], following)
        if diff != 0:
            for w in range(width):
                keys[count, w] = state[slot, w]
            diffs[count] = diff
            count += 1
        at += 1
    tell_first(block)
    return count


@part(counted=True)
def _next_dues(table: Ints, block: Ints, number: Word, groups: Ints) -> Word:
    """The next groups that are due up to a round, as many as there is room for: how many. They are fetched ahead."""
    width, state, cells, opened = table[KEY_WORDS], words_in(table, STATE), cells_in(block), opened_in(block)
    count = np.int64(0)
    while count < len(groups):
        group = next_due(block, number)
        if group < 0:
            break
        prefetch(state, opened[group, SLOT] * state.shape[1] + width)
        groups[count] = group
        count += 1
    for k in range(count):
        prefetch(cells, (state[opened[groups[k], SLOT], width + 1] - 1) * cells.shape[1])
    return count


@part(inline=True)
def _support(cells: Ints, head: Word) -> Word:
    """The first cell + 1 of a group that adds something."""
    at = head
    while at != 0 and cells[at - 1, HEADS] <= 0:
        at = cells[at - 1, NEXT]
    return at

"""The tree of a group's values by round: a treap, whose priorities are hashes of places. See `groups.value_block`."""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.part import part
from ivm.kernels.groups.round_block import ROUND
from ivm.kernels.groups.value_block import LEFT, RIGHT, VALUE
from ivm.kernels.hashing.function import hash_word
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Ints


@part(inline=True)
def is_before(values: Ints, node: Word, value: Word, number: Word) -> bool:
    """Whether a node + 1 has a lesser value, or the same in an earlier round."""
    own = values[node - 1, VALUE]
    return own < value or (own == value and values[node - 1, ROUND] < number)


@part()
def first_from(values: Ints, root: Word, value: Word, number: Word) -> Word:
    """The first node + 1 of a tree that is of this value in this round, or behind that; 0 if there is none."""
    node, found = root, np.int64(0)
    while node != 0:
        if is_before(values, node, value, number):
            node = values[node - 1, RIGHT]
        else:
            found, node = node, values[node - 1, LEFT]
    return found


@part(inline=True)
def go_left(values: Ints, path: Ints, depth: Word, node: Word) -> Word:
    """Put the way from a node + 1 to the first of what is below it behind a `path`: how long that is then.

    So a tree is gone through: the last of the path is next, and behind it what is to its right.
    """
    while node != 0:
        path[depth] = node
        depth += 1
        node = values[node - 1, LEFT]
    return depth


@part(inline=True)
def _priority(node: Word) -> Word:
    return np.uint64(hash_word(node))


@part()
def insert(values: Ints, root: Word, node: Word) -> Word:
    """The tree with one more node, whose value and round it has not: its root."""
    value, number, priority = values[node - 1, VALUE], values[node - 1, ROUND], _priority(node)
    above, at, left = np.int64(0), root, False
    while at != 0 and _priority(at) >= priority:
        above, left = at, not is_before(values, at, value, number)
        at = values[at - 1, LEFT] if left else values[at - 1, RIGHT]
    # What is below is split: what comes before the node to its left, the rest to its right.
    small, great = node, node
    first_small, first_great = True, True
    while at != 0:
        if is_before(values, at, value, number):
            if first_small:
                values[small - 1, LEFT] = at
            else:
                values[small - 1, RIGHT] = at
            small, first_small, at = at, False, values[at - 1, RIGHT]
        else:
            if first_great:
                values[great - 1, RIGHT] = at
            else:
                values[great - 1, LEFT] = at
            great, first_great, at = at, False, values[at - 1, LEFT]
    if not first_small:
        values[small - 1, RIGHT] = 0
    if not first_great:
        values[great - 1, LEFT] = 0
    if above == 0:
        return node
    if left:
        values[above - 1, LEFT] = node
    else:
        values[above - 1, RIGHT] = node
    return root


@part()
def remove(values: Ints, root: Word, node: Word) -> Word:
    """The tree without one of its nodes: its root."""
    value, number = values[node - 1, VALUE], values[node - 1, ROUND]
    above, at, left = np.int64(0), root, False
    while at != node:
        above, left = at, not is_before(values, at, value, number)
        at = values[at - 1, LEFT] if left else values[at - 1, RIGHT]
    one, other = values[node - 1, LEFT], values[node - 1, RIGHT]
    # Both are joined, the greater priority above; `above` and `left` say where the rest goes.
    first = np.int64(0)
    hangs, hangs_left = above, left
    while one != 0 or other != 0:
        takes_one = other == 0 or (one != 0 and _priority(one) >= _priority(other))
        top = one if takes_one else other
        if first == 0:
            first = top
        if hangs != 0:
            if hangs_left:
                values[hangs - 1, LEFT] = top
            else:
                values[hangs - 1, RIGHT] = top
        hangs, hangs_left = top, not takes_one
        if takes_one:
            one = values[top - 1, RIGHT]
        else:
            other = values[top - 1, LEFT]
        if one == 0 or other == 0:
            rest = one if one != 0 else other
            if hangs_left:
                values[hangs - 1, LEFT] = rest
            else:
                values[hangs - 1, RIGHT] = rest
            break
    if first == 0 and above != 0:
        if left:
            values[above - 1, LEFT] = 0
        else:
            values[above - 1, RIGHT] = 0
    return root if above != 0 else first

"""The tree of the values of a group: a treap, whose priorities are hashes of places. See `groups.value_block`."""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.part import part
from ivm.kernels.groups.value_block import LEFT, RIGHT, VALUE
from ivm.kernels.hashing.function import hash_word
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Ints


@part()
def find(values: Ints, root: Word, value: Word) -> Word:
    """The node + 1 of a value in a tree; 0 if it has none."""
    node = root
    while node != 0 and values[node - 1, VALUE] != value:
        node = values[node - 1, LEFT] if value < values[node - 1, VALUE] else values[node - 1, RIGHT]
    return node


@part(inline=True)
def _priority(node: Word) -> Word:
    return np.uint64(hash_word(node))


@part()
def insert(values: Ints, root: Word, node: Word) -> Word:
    """The tree with one more node, whose value it has not: its root."""
    value, priority = values[node - 1, VALUE], _priority(node)
    above, at, left = np.int64(0), root, False
    while at != 0 and _priority(at) >= priority:
        above, left = at, value < values[at - 1, VALUE]
        at = values[at - 1, LEFT] if left else values[at - 1, RIGHT]
    # What is below is split by the value: the smaller ones to the left of the node, the greater ones to its right.
    small, great = node, node
    first_small, first_great = True, True
    while at != 0:
        if values[at - 1, VALUE] < value:
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
    value = values[node - 1, VALUE]
    above, at, left = np.int64(0), root, False
    while at != node:
        above, left = at, value < values[at - 1, VALUE]
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

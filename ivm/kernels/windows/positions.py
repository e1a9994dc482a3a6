"""Positions in the trees of `windows.tree`: rows by position, positions of keys, stretches of rows."""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.part import part
from ivm.kernels.numbers.wide import Word
from ivm.kernels.ordered.tree import same_words
from ivm.kernels.types import Ints
from ivm.kernels.windows.tree import (
    KEY,
    LEFT,
    OWN,
    PEERS,
    RIGHT,
    TERM,
    TREE,
    VISITED,
    Trees,
    child,
    compare_row,
    parent,
    size,
)


@part()
def bound(trees: Trees, root: Word, width: Word, rows: Ints, i: Word, after: bool) -> Word:
    """How many nodes of a tree come before rows[i] by its first `width` words; `after`: or equal it."""
    nodes, key, count = trees.nodes, len(trees.kinds), np.int64(0)
    node = np.int64(root)
    while node >= 0:
        trees.sizes[VISITED] += 1
        side = compare_row(trees, rows, i, node, width)
        if side > 0 or (after and side == 0):
            count += 1 + size(nodes, key, child(nodes, key, node, LEFT))
            node = child(nodes, key, node, RIGHT)
        else:
            node = child(nodes, key, node, LEFT)
    return count


@part()
def placed(trees: Trees, root: Word, at: Word, rows: Ints, i: Word, to: Word, after: bool) -> Word:
    """How many nodes come before rows[i] by the words of a first term, which a node has from `at` on and the row from
    `to` on; `after`: or equal it. The words at `at` must not fall from node to node, and be numbers.
    """
    nodes, key, words, count = trees.nodes, len(trees.kinds), trees.shape[TERM], np.int64(0)
    node = np.int64(root)
    while node >= 0:
        trees.sizes[VISITED] += 1
        before = after
        for w in range(words):
            x, y = nodes[node, at + w], rows[i, to + w]
            if x != y:
                before = x < y
                break
        if before:
            count += 1 + size(nodes, key, child(nodes, key, node, LEFT))
            node = child(nodes, key, node, RIGHT)
        else:
            node = child(nodes, key, node, LEFT)
    return count


@part()
def behind_groups(trees: Trees, root: Word, position: Word, groups: Word, side: Word) -> Word:
    """The position that so many groups of peers lie before (RIGHT) or behind (LEFT) `position`, which begins a group or
    ends all; the end if there are fewer. Cost: O(log n), and for each of them that has several rows.
    """
    nodes, sizes, key, terms = trees.nodes, trees.sizes, len(trees.kinds), trees.shape[PEERS]
    count, step = size(nodes, key, root), np.int64(1 if side == RIGHT else -1)
    at = position if side == RIGHT else position - 1
    node = select(nodes, root, sizes, key, at) if groups > 0 and 0 <= at < count else np.int64(-1)
    while groups > 0 and node >= 0:
        other = neighbour(nodes, sizes, key, node, side)
        position += step
        if other >= 0 and same_words(nodes, other, nodes, node, 0, terms):
            position = bound(trees, root, terms, nodes, node, side == RIGHT)
            at = position if side == RIGHT else position - 1
            other = select(nodes, root, sizes, key, at) if 0 <= at < count else np.int64(-1)
        node = other
        groups -= 1
    return position


@part()
def select(nodes: Ints, root: Word, sizes: Ints, key: Word, position: Word) -> Word:
    """The node at a position, from 0, which must exist. Cost: O(log n)."""
    node = np.int64(root)
    while True:
        sizes[VISITED] += 1
        low = child(nodes, key, node, LEFT)
        before = size(nodes, key, low)
        if position == before:
            return node
        if position < before:
            node = low
        else:
            position -= before + 1
            node = child(nodes, key, node, RIGHT)


@part()
def neighbour(nodes: Ints, sizes: Ints, key: Word, node: Word, side: Word) -> Word:
    """The next node (RIGHT) or the one before (LEFT); -1 if there is none. Cost: O(log n), constant in a walk."""
    sizes[VISITED] += 1
    below = child(nodes, key, node, side)
    if below >= 0:
        while below >= 0:
            node = below
            below = child(nodes, key, node, RIGHT + LEFT - side)
        return node
    above = parent(nodes, key, node)
    while above >= 0 and child(nodes, key, above, side) == node:
        node = above
        above = parent(nodes, key, node)
    return above


@part()
def pieces(nodes: Ints, root: Word, sizes: Ints, key: Word, low: Word, high: Word, out: Ints) -> Word:
    """Cover the positions [low, high] with nodes and whole subtrees: writes 2 * node + (1 for a subtree), returns how
    many. Cost: O(log n).
    """
    count = 0
    node, start = np.int64(root), np.int64(0)
    end = size(nodes, key, node)
    low, high = max(low, np.int64(0)), min(high, end - 1)
    if low > high:
        return count
    while True:  # down to the node where the ways to both ends part
        sizes[VISITED] += 1
        if low <= start and high >= end - 1:
            out[count] = 2 * node + 1
            return count + 1
        at = start + size(nodes, key, child(nodes, key, node, LEFT))
        if high < at:
            node, end = child(nodes, key, node, LEFT), at
        elif low > at:
            node, start = child(nodes, key, node, RIGHT), at + 1
        else:
            break
    out[count] = 2 * node
    count += 1
    for side in range(2):  # below it those that are nearest
        inner, wanted = child(nodes, key, node, side), high - at if side == RIGHT else at - low
        while wanted > 0:
            sizes[VISITED] += 1
            if wanted >= size(nodes, key, inner):
                out[count] = 2 * inner + 1
                count += 1
                break
            near = child(nodes, key, inner, RIGHT + LEFT - side)
            nearer = size(nodes, key, near)
            if wanted > nearer:
                out[count] = 2 * inner
                count += 1
                if near >= 0:
                    out[count] = 2 * near + 1
                    count += 1
                wanted -= nearer + 1
                inner = child(nodes, key, inner, side)
            else:
                inner = near
    return count


@part()
def counted(nodes: Ints, root: Word, sizes: Ints, shape: Ints, field: Word, position: Word) -> Word:
    """The total of a field that counts, of the nodes before a position. Cost: O(log n)."""
    key, tree, own = shape[KEY], shape[TREE], shape[OWN]
    total = np.int64(0)
    node = np.int64(root)
    while node >= 0 and position > 0:
        sizes[VISITED] += 1
        low = child(nodes, key, node, LEFT)
        before = size(nodes, key, low)
        if position <= before:
            node = low
            continue
        if low >= 0:
            total += nodes[low, tree + field]
        total += nodes[node, own + field]
        position -= before + 1
        node = child(nodes, key, node, RIGHT)
    return total


@part()
def select_counted(nodes: Ints, root: Word, sizes: Ints, shape: Ints, field: Word, number: Word) -> Word:
    """The position of the node that the field counts as number `number`, from 0; the size if it counts fewer, -1 for
    a negative number. Cost: O(log n).
    """
    key, tree, own = shape[KEY], shape[TREE], shape[OWN]
    if number < 0:
        return np.int64(-1)
    node = np.int64(root)
    position = np.int64(0)
    while node >= 0:
        sizes[VISITED] += 1
        low = child(nodes, key, node, LEFT)
        before = nodes[low, tree + field] if low >= 0 else np.int64(0)
        if number < before:
            node = low
            continue
        number -= before
        position += size(nodes, key, low)
        if number < nodes[node, own + field]:
            return position
        number -= nodes[node, own + field]
        position += 1
        node = child(nodes, key, node, RIGHT)
    return position

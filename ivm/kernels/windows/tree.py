"""Ordered rows of each partition, by position too: a treap whose nodes know the size and the totals of their subtree.

`nodes` is int64, a row for each node, which stands for one copy of one row. Its words are, in order:

- the key, `shape[KEY]` words, of which the last is the number of the copy (0, 1, ..);
- both children, as node + 1 in the low half (the smaller keys) and the high half;
- the parent, as node + 1, in the low half, and the number of nodes of the subtree in the high half; a size of 0 says
  that the size and totals are to be computed anew (then so are those of all nodes above);
- a mark, `GONE` where the node is free, else what `windows.functions` last wrote of it;
- from `shape[PAYLOAD]` on the values of arguments, then those up to which frames by RANGE go, each of the form of the
  key's first `shape[TERM]` words; from `shape[OWN]` on what the node adds to sums, a word for each
  of `carries`; from `shape[TREE]` on the sums of its subtree, then the extremes of its subtree;
- from `shape[VALUES]` on `shape[WORDS]` words of the functions' present values.

A node's priority is the hash of its key, so equal sets have equal trees, whatever their history, and depth is
logarithmic whatever the order of arrival. `roots` is int32, node + 1 for each group, 0 for an empty set. `sizes` is
int64 (SIZES,): nodes ever used, the first free node + 1 (the others follow through their words of children), nodes in
use, nodes visited so far, which is the measure of work, changes that were made and not undone, and the number of the
cell that was begun last. `kinds` is int64, how each word of a key compares, `heap` and
`starts` the dictionary's, all as in `ordered.tree`. `carries[f]` is 1 where field f goes on with the carry of the
field before it. `extremes` is int64 (extremes, 5): where the argument stands, its words, whether the largest is
wanted, how its words compare, and where the subtree's extreme stands; the value is preceded by a word that says
whether there is one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ivm.kernels.compiling.part import part
from ivm.kernels.hashing.function import hash_words
from ivm.kernels.numbers.exact_float import add_word
from ivm.kernels.numbers.wide import Word
from ivm.kernels.ordered.tree import compare_keys, same_words
from ivm.kernels.texts.dictionary import Bytes, compare_text
from ivm.kernels.types import Int32s, Ints

USED, FREE, LIVE, VISITED, CHANGES, BEGUN = range(6)
SIZES = 6
LEFT, RIGHT = 0, 1
NOWHERE = -1  # stands for the group's root where a parent is asked for
KEY, PAYLOAD, OWN, TREE, VALUES, WORDS, PEERS, INPUT, TERM = range(9)
SHAPE = 9
GONE = np.int64(-(2**62))
DEEPEST = 1024  # far beyond the depth of any treap that fits memory
_LOW = np.int64(0xFFFFFFFF)
_HIGH = np.int64(32)


class Trees(NamedTuple):
    """The trees as kernels take them, and what is computed of them (see `windows.values`)."""

    nodes: Ints
    roots: Int32s
    sizes: Ints
    kinds: Ints
    heap: Bytes
    starts: Ints
    shape: Ints
    carries: Ints
    extremes: Ints
    functions: Ints
    defaults: Ints


class WindowBatch(NamedTuple):
    """A batch of changes, cell by cell, the rows of each by their keys; see `apply_window` of `windows.functions`."""

    rows: Ints
    diffs: Ints
    order: Ints
    peers: bool


@part(inline=True)
def compare_row(trees: Trees, rows: Ints, i: Word, node: Word, width: Word) -> Word:
    """-1, 0 or 1 as the first `width` words of row i come before, equal or come after those of a node."""
    return compare_keys(rows, i, trees.nodes, node, 0, width, trees.kinds, trees.heap, trees.starts)


@part(inline=True)
def child(nodes: Ints, key: Word, node: Word, side: Word) -> Word:
    """The child of a node on a side, or -1."""
    pair = nodes[node, key]
    return ((pair >> _HIGH) if side == RIGHT else (pair & _LOW)) - 1


@part(inline=True)
def parent(nodes: Ints, key: Word, node: Word) -> Word:
    """The parent of a node, or -1."""
    return (nodes[node, key + 1] & _LOW) - 1


@part(inline=True)
def size(nodes: Ints, key: Word, node: Word) -> Word:
    """The nodes of a subtree, 0 of none (-1)."""
    return nodes[node, key + 1] >> _HIGH if node >= 0 else np.int64(0)


@part()
def hang(nodes: Ints, roots: Int32s, key: Word, group: Word, above: Word, side: Word, node: Word) -> None:
    """Make `node` (-1: none) the child of `above` on a side, or the group's root where that is NOWHERE."""
    if node >= 0:
        nodes[node, key + 1] = (nodes[node, key + 1] & ~_LOW) | np.int64(above + 1)
    if above == NOWHERE:
        roots[group] = node + 1
        return
    pair = nodes[above, key]
    if side == RIGHT:
        nodes[above, key] = (pair & _LOW) | (np.int64(node + 1) << _HIGH)
    else:
        nodes[above, key] = (pair & ~_LOW) | np.int64(node + 1)


@part(inline=True)
def soil(nodes: Ints, key: Word, node: Word) -> None:
    """Say that a node's size and totals are to be computed anew."""
    nodes[node, key + 1] &= _LOW


@part()
def last_copy(trees: Trees, group: Word, rows: Ints, i: Word) -> Word:
    """The node of the last copy of row i, or -1; the row's own number of the copy must be above all there are."""
    nodes, key = trees.nodes, len(trees.kinds)
    node, found = np.int64(trees.roots[group]) - 1, np.int64(-1)
    while node >= 0:
        trees.sizes[VISITED] += 1
        if compare_row(trees, rows, i, node, key) > 0:
            found = node
            node = child(nodes, key, node, RIGHT)
        else:
            node = child(nodes, key, node, LEFT)
    return found if found >= 0 and same_words(nodes, found, rows, i, 0, key - 1) else np.int64(-1)


@part(inline=True)
def insert(trees: Trees, group: Word, rows: Ints, i: Word) -> Word:
    """A new node for row i, whose key is not there yet; there must be room. Cost: O(log n) comparisons.

    `rows` is int64 (n, `shape[INPUT]`): key, arguments, own fields. The values are zero.
    """
    nodes, roots, sizes, shape, key = trees.nodes, trees.roots, trees.sizes, trees.shape, len(trees.kinds)
    new = _take_node(nodes, key, sizes)
    for w in range(key):
        nodes[new, w] = rows[i, w]
    nodes[new, key] = nodes[new, key + 1] = nodes[new, key + 2] = 0
    payload = shape[PAYLOAD]
    for w in range(shape[INPUT] - key):
        nodes[new, payload + w] = rows[i, key + w]
    for w in range(shape[VALUES], shape[VALUES] + shape[WORDS]):
        nodes[new, w] = 0
    rank = np.uint64(hash_words(nodes, new, key))
    above: Word = NOWHERE
    side = LEFT
    node = np.int64(roots[group]) - 1
    while node >= 0 and np.uint64(hash_words(nodes, node, key)) > rank:
        sizes[VISITED] += 1
        soil(nodes, key, node)
        above = node
        side = RIGHT if compare_row(trees, nodes, new, node, key) > 0 else LEFT
        node = child(nodes, key, node, side)
    hang(nodes, roots, key, group, above, side, new)
    low, low_side = np.int64(new), LEFT
    high, high_side = np.int64(new), RIGHT
    while node >= 0:
        sizes[VISITED] += 1
        soil(nodes, key, node)
        if compare_row(trees, nodes, new, node, key) > 0:
            hang(nodes, roots, key, group, low, low_side, node)
            low, low_side = node, RIGHT
            node = child(nodes, key, node, RIGHT)
        else:
            hang(nodes, roots, key, group, high, high_side, node)
            high, high_side = node, LEFT
            node = child(nodes, key, node, LEFT)
    hang(nodes, roots, key, group, low, low_side, -1)
    hang(nodes, roots, key, group, high, high_side, -1)
    return new


@part()
def _take_node(nodes: Ints, key: Word, sizes: Ints) -> Word:
    sizes[LIVE] += 1
    if sizes[FREE] > 0:
        node = sizes[FREE] - 1
        sizes[FREE] = nodes[node, key]
        return node
    sizes[USED] += 1
    return sizes[USED] - 1


@part()
def remove(nodes: Ints, roots: Int32s, sizes: Ints, key: Word, group: Word, gone: Word) -> None:
    """Take a node out of its group's tree and free it. Cost: O(log n) steps, no comparison."""
    above = parent(nodes, key, gone)
    side = LEFT
    if above < 0:
        above = np.int64(NOWHERE)
    elif child(nodes, key, above, RIGHT) == gone:
        side = RIGHT
    node = above
    while node >= 0 and size(nodes, key, node) > 0:
        sizes[VISITED] += 1
        soil(nodes, key, node)
        node = parent(nodes, key, node)
    low, high = child(nodes, key, gone, LEFT), child(nodes, key, gone, RIGHT)
    while low >= 0 and high >= 0:
        sizes[VISITED] += 1
        if np.uint64(hash_words(nodes, low, key)) > np.uint64(hash_words(nodes, high, key)):
            hang(nodes, roots, key, group, above, side, low)
            soil(nodes, key, low)
            above, side = low, RIGHT
            low = child(nodes, key, low, RIGHT)
        else:
            hang(nodes, roots, key, group, above, side, high)
            soil(nodes, key, high)
            above, side = high, LEFT
            high = child(nodes, key, high, LEFT)
    hang(nodes, roots, key, group, above, side, low if low >= 0 else high)
    nodes[gone, key] = sizes[FREE]
    nodes[gone, key + 2] = GONE
    sizes[FREE] = gone + 1
    sizes[LIVE] -= 1


@part(inline=True)
def better(trees: Trees, node: Word, at: Word, b: Ints, j: Word, to: Word, k: Word) -> bool:
    """Whether the value at a node's `at` goes before the one at b[j, to:] as extreme k; one that is not there never."""
    nodes, extremes = trees.nodes, trees.extremes
    if nodes[node, at] == 0 or b[j, to] == 0:
        return bool(nodes[node, at] > b[j, to])
    sign = 1 if extremes[k, 2] else -1
    if extremes[k, 3]:
        x, y = nodes[node, at + 1], b[j, to + 1]
        return x != y and compare_text(trees.heap, trees.starts, x, y) * sign > 0
    for w in range(1, extremes[k, 1] + 1):
        x, y = nodes[node, at + w], b[j, to + w]
        if x != y:
            return bool(x > y) if sign > 0 else bool(x < y)
    return False


@part(inline=True)
def add_fields(a: Ints, i: Word, at: Word, b: Ints, j: Word, to: Word, carries: Ints) -> None:
    """Add the fields at a[i, at:] to those at b[j, to:]."""
    carry = np.uint64(0)
    for f in range(len(carries)):
        if carries[f] == 0:
            carry = np.uint64(0)
        carry = add_word(b, j, to + f, a[i, at + f], carry)


@part(inline=True)
def _sum_up(trees: Trees, node: Word) -> None:
    """The size, totals and extremes of a node whose children have theirs."""
    nodes, extremes, key = trees.nodes, trees.extremes, len(trees.kinds)
    own, tree = trees.shape[OWN], trees.shape[TREE]
    low, high = child(nodes, key, node, LEFT), child(nodes, key, node, RIGHT)
    count = 1 + size(nodes, key, low) + size(nodes, key, high)
    nodes[node, key + 1] = (nodes[node, key + 1] & _LOW) | (np.int64(count) << _HIGH)
    for f in range(len(trees.carries)):
        nodes[node, tree + f] = nodes[node, own + f]
    for k in range(len(extremes)):
        for w in range(extremes[k, 1] + 1):
            nodes[node, extremes[k, 4] + w] = nodes[node, extremes[k, 0] + w]
    for side in range(2):
        below = high if side else low
        if below < 0:
            continue
        add_fields(nodes, below, tree, nodes, node, tree, trees.carries)
        for k in range(len(extremes)):
            at = extremes[k, 4]
            if better(trees, below, at, nodes, node, at, k):
                for w in range(extremes[k, 1] + 1):
                    nodes[node, at + w] = nodes[below, at + w]


@part()
def refresh(trees: Trees, root: Word, stack: Ints) -> None:
    """Bring sizes and totals of a tree up to date. Cost: the nodes that were touched and those above them."""
    nodes, key = trees.nodes, len(trees.kinds)
    if root < 0 or size(nodes, key, root) > 0:
        return
    depth = 1
    stack[0] = root
    while depth > 0:
        node = stack[depth - 1]
        low, high = child(nodes, key, node, LEFT), child(nodes, key, node, RIGHT)
        if low >= 0 and size(nodes, key, low) == 0:
            stack[depth] = low
            depth += 1
        elif high >= 0 and size(nodes, key, high) == 0:
            stack[depth] = high
            depth += 1
        else:
            trees.sizes[VISITED] += 1
            _sum_up(trees, node)
            depth -= 1

"""Ordered multisets of rows, one for each group: a treap whose shape depends on its contents alone.

`nodes` is int64 (capacity, K + 3), a row for each node: K key words; the multiplicity; both children, as node + 1 in
the low half (the smaller keys) and the high half of one word; and a word that is the user's own. A node's priority is
the hash of its key, so equal sets have equal trees, whatever their history, and depth is logarithmic whatever the
order of arrival. `roots` is int32, node + 1 for each group, 0 for an empty set. `sizes` is int64 (4): nodes ever
used, the first free node + 1 (the others follow through their words of children), nodes in use, and nodes visited so
far, which is the measure of work.

`kinds` is int64 (K), how each word compares: 0 as a signed number, 1 as the text whose code it is, -1 as that text,
backwards. `heap` and `starts` are the dictionary's. Keys to look for are rows of an int64 array (n, K).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ivm.kernels.hashing import hash_words
from ivm.kernels.text import Bytes, compare_text
from ivm.kernels.types import Bools, Int32s, Ints
from ivm.kernels.wide import Word

USED, FREE, LIVE, VISITED = 0, 1, 2, 3
LEFT, RIGHT = 0, 1
NOWHERE = -1  # stands for the group's root where a parent is asked for


@njit(cache=True, nogil=True, fastmath=False)
def child(nodes: Ints, width: Word, node: Word, side: Word) -> Word:
    """The child of a node on a side, or -1."""
    pair = nodes[node, width + 1]
    if side == RIGHT:
        return (pair >> np.int64(32)) - 1
    return (pair & np.int64(0xFFFFFFFF)) - 1


@njit(cache=True, nogil=True, fastmath=False)
def hang(nodes: Ints, roots: Int32s, width: Word, group: Word, parent: Word, side: Word, node: Word) -> None:
    """Make `node` (-1: none) the child of `parent` on a side, or the group's root where the parent is NOWHERE."""
    if parent == NOWHERE:
        roots[group] = node + 1
        return
    pair = nodes[parent, width + 1]
    if side == RIGHT:
        nodes[parent, width + 1] = (pair & np.int64(0xFFFFFFFF)) | (np.int64(node + 1) << np.int64(32))
    else:
        nodes[parent, width + 1] = (pair & ~np.int64(0xFFFFFFFF)) | np.int64(node + 1)


@njit(cache=True, nogil=True, fastmath=False)
def order(a: Ints, i: Word, b: Ints, j: Word, kinds: Ints, heap: Bytes, starts: Ints) -> Word:
    """-1, 0 or 1 as the key in a[i] comes before, equals or comes after the one in b[j]."""
    for w in range(len(kinds)):
        x, y = a[i, w], b[j, w]
        if x != y:
            if kinds[w] == 0:
                return -1 if x < y else 1
            return compare_text(heap, starts, x, y) * kinds[w]
    return 0


@njit(cache=True, nogil=True, fastmath=False)
def priority(nodes: Ints, width: Word, node: Word) -> Word:
    """The rank of a node in the heap order; parents have the higher ones."""
    return np.uint64(hash_words(nodes, node, width))


@njit(cache=True, nogil=True, fastmath=False)
def change(
    nodes: Ints,
    roots: Int32s,
    sizes: Ints,
    kinds: Ints,
    heap: Bytes,
    starts: Ints,
    group: Word,
    keys: Ints,
    i: Word,
    diff: Word,
) -> Word:
    """Add `diff` to the multiplicity of key i in a group's set; the node, which may have multiplicity 0 now.

    There must be room for one more node. Cost: O(log n) comparisons.
    """
    width = len(kinds)
    node = np.int64(roots[group]) - 1
    while node >= 0:
        sizes[VISITED] += 1
        side = order(keys, i, nodes, node, kinds, heap, starts)
        if side == 0:
            nodes[node, width] += diff
            return node
        node = child(nodes, width, node, RIGHT if side > 0 else LEFT)
    new = _take_node(nodes, width, sizes)
    for w in range(width):
        nodes[new, w] = keys[i, w]
    nodes[new, width] = diff
    nodes[new, width + 1] = 0
    nodes[new, width + 2] = 0
    _insert(nodes, roots, sizes, kinds, heap, starts, group, new)
    return new


@njit(cache=True, nogil=True, fastmath=False)
def _take_node(nodes: Ints, width: Word, sizes: Ints) -> Word:
    sizes[LIVE] += 1
    if sizes[FREE] > 0:
        node = sizes[FREE] - 1
        sizes[FREE] = nodes[node, width + 1]
        return node
    sizes[USED] += 1
    return sizes[USED] - 1


@njit(cache=True, nogil=True, fastmath=False)
def _insert(
    nodes: Ints, roots: Int32s, sizes: Ints, kinds: Ints, heap: Bytes, starts: Ints, group: Word, new: Word
) -> None:
    """Hang a new node where its priority belongs, and split what was there between its sides."""
    width = len(kinds)
    rank = priority(nodes, width, new)
    parent: Word = NOWHERE
    side = LEFT
    node = np.int64(roots[group]) - 1
    while node >= 0 and priority(nodes, width, node) > rank:
        sizes[VISITED] += 1
        parent = node
        side = RIGHT if order(nodes, new, nodes, node, kinds, heap, starts) > 0 else LEFT
        node = child(nodes, width, node, side)
    hang(nodes, roots, width, group, parent, side, new)
    low, low_side = np.int64(new), LEFT
    high, high_side = np.int64(new), RIGHT
    while node >= 0:
        sizes[VISITED] += 1
        if order(nodes, new, nodes, node, kinds, heap, starts) > 0:
            hang(nodes, roots, width, group, low, low_side, node)
            low, low_side = node, RIGHT
            node = child(nodes, width, node, RIGHT)
        else:
            hang(nodes, roots, width, group, high, high_side, node)
            high, high_side = node, LEFT
            node = child(nodes, width, node, LEFT)
    hang(nodes, roots, width, group, low, low_side, -1)
    hang(nodes, roots, width, group, high, high_side, -1)


@njit(cache=True, nogil=True, fastmath=False)
def remove(
    nodes: Ints, roots: Int32s, sizes: Ints, kinds: Ints, heap: Bytes, starts: Ints, group: Word, gone: Word
) -> None:
    """Take a node out of its group's set. Cost: O(log n) comparisons."""
    width = len(kinds)
    parent: Word = NOWHERE
    side = LEFT
    node = np.int64(roots[group]) - 1
    while node != gone:
        sizes[VISITED] += 1
        parent = node
        side = RIGHT if order(nodes, gone, nodes, node, kinds, heap, starts) > 0 else LEFT
        node = child(nodes, width, node, side)
    low, high = child(nodes, width, gone, LEFT), child(nodes, width, gone, RIGHT)
    while low >= 0 and high >= 0:
        sizes[VISITED] += 1
        if priority(nodes, width, low) > priority(nodes, width, high):
            hang(nodes, roots, width, group, parent, side, low)
            parent, side = low, RIGHT
            low = child(nodes, width, low, RIGHT)
        else:
            hang(nodes, roots, width, group, parent, side, high)
            parent, side = high, LEFT
            high = child(nodes, width, high, LEFT)
    hang(nodes, roots, width, group, parent, side, low if low >= 0 else high)
    nodes[gone, width + 1] = sizes[FREE]
    sizes[FREE] = gone + 1
    sizes[LIVE] -= 1


@njit(cache=True, nogil=True, fastmath=False)
def outermost(nodes: Ints, roots: Int32s, sizes: Ints, width: Word, group: Word, side: Word) -> Word:
    """The first (LEFT) or last (RIGHT) node of a group's set, -1 if it is empty. Cost: O(log n)."""
    node = np.int64(roots[group]) - 1
    if node < 0:
        return node
    sizes[VISITED] += 1
    below = child(nodes, width, node, side)
    while below >= 0:
        sizes[VISITED] += 1
        node = below
        below = child(nodes, width, node, side)
    return node


@njit(cache=True, nogil=True, fastmath=False)
def apply_extremes(
    nodes: Ints,
    roots: Int32s,
    sizes: Ints,
    kinds: Ints,
    heap: Bytes,
    starts: Ints,
    keys: Ints,
    valid: Bools,
    diffs: Ints,
    times: Ints,
    sign: Word,
    row_cell: Int32s,
    cell_slot: Int32s,
    least: Word,
    most: Word,
    cells: Ints,
) -> None:
    """Apply a batch in the order of time, and write each cell's extremes as of its time into its fields.

    `diffs` has length 0 if all are one, `times` length 1 if all are the same, `valid` length 0 if nothing is NULL.
    `sign` -1 takes a batch back. `least` and `most` are the fields of the smallest and the largest, -1 where not
    wanted: a one and the key words, or zeros if there is none. Cost: O(log n) a row and a cell.
    """
    width = len(kinds)
    done = until = np.int64(0)
    for i in range(len(row_cell)):
        cell = np.int64(row_cell[i])
        until = max(until, cell + 1)
        if len(valid) == 0 or valid[i, 0]:
            diff = np.int64(sign) * (diffs[i] if len(diffs) else np.int64(1))
            group = np.int64(cell_slot[cell])
            node = change(nodes, roots, sizes, kinds, heap, starts, group, keys, i, diff)
            if nodes[node, width] == 0:
                remove(nodes, roots, sizes, kinds, heap, starts, group, node)
        last = i + 1 == len(row_cell) or (len(times) > 1 and times[i + 1] != times[i])
        if last and sign > 0:
            # Cells are numbered as their times come, so those of this time are the ones since the last.
            while done < until:
                group = np.int64(cell_slot[done])
                if least >= 0:
                    _put_extreme(nodes, roots, sizes, width, group, LEFT, cells, done, least)
                if most >= 0:
                    _put_extreme(nodes, roots, sizes, width, group, RIGHT, cells, done, most)
                done += 1


@njit(cache=True, nogil=True, fastmath=False)
def _put_extreme(
    nodes: Ints, roots: Int32s, sizes: Ints, width: Word, group: Word, side: Word, cells: Ints, cell: Word, field: Word
) -> None:
    node = outermost(nodes, roots, sizes, width, group, side)
    cells[cell, field] = np.int64(node >= 0)
    for w in range(width):
        cells[cell, field + 1 + w] = nodes[node, w] if node >= 0 else np.int64(0)

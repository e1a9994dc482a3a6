"""Ordered sets that know how many rows stand before each: the user's word of a node is the count of its subtree.

The counts are sums of multiplicities. See `ordered_set` for the nodes and what all arguments mean.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ivm.kernels.hashing import hash_words
from ivm.kernels.ordered_set import (
    FREE,
    LEFT,
    LIVE,
    NOWHERE,
    RIGHT,
    USED,
    VISITED,
    child,
    hang,
    order,
    priority,
)
from ivm.kernels.text import Bytes
from ivm.kernels.types import Bools, Floats, Int32s, Ints
from ivm.kernels.wide import Word

DEEPEST = 1024  # far beyond the depth of any treap that fits memory
EXACT, ROUNDED, BETWEEN = 0, 1, 2


@njit(cache=True, nogil=True, fastmath=False)
def _recount(nodes: Ints, width: Word, node: Word) -> None:
    """Make a node's count that of its copies and its children's counts."""
    total = nodes[node, width]
    low, high = child(nodes, width, node, LEFT), child(nodes, width, node, RIGHT)
    if low >= 0:
        total += nodes[low, width + 2]
    if high >= 0:
        total += nodes[high, width + 2]
    nodes[node, width + 2] = total


@njit(cache=True, nogil=True, fastmath=False)
def change_counted(
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
    path: Ints,
) -> None:
    """Add `diff` to the multiplicity of key i in a group's set; a key that counts nothing leaves it.

    There must be room for one more node; `path` is scratch, int64 (DEEPEST,). Cost: O(log n) comparisons.
    """
    width = len(kinds)
    node = np.int64(roots[group]) - 1
    depth = 0
    while node >= 0:
        sizes[VISITED] += 1
        side = order(keys, i, nodes, node, kinds, heap, starts)
        path[depth] = node
        depth += 1
        if side == 0:
            for d in range(depth):
                nodes[path[d], width + 2] += diff
            nodes[node, width] += diff
            if nodes[node, width] == 0:
                _take_out(nodes, roots, sizes, width, group, path, depth)
            return
        node = child(nodes, width, node, RIGHT if side > 0 else LEFT)
    _put_in(nodes, roots, sizes, kinds, heap, starts, group, keys, i, diff, path, depth)


@njit(cache=True, nogil=True, fastmath=False)
def _put_in(
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
    path: Ints,
    depth: Word,
) -> None:
    """Hang a new node where its priority belongs on the path to its place, and split what hung there."""
    width = len(kinds)
    if sizes[FREE] > 0:
        new = sizes[FREE] - 1
        sizes[FREE] = nodes[new, width + 1]
    else:
        new = np.int64(sizes[USED])
        sizes[USED] += 1
    sizes[LIVE] += 1
    for w in range(width):
        nodes[new, w] = keys[i, w]
    nodes[new, width] = diff
    nodes[new, width + 1] = 0
    rank = np.uint64(hash_words(keys, i, width))
    above = 0
    while above < depth and priority(nodes, width, path[above]) > rank:
        nodes[path[above], width + 2] += diff
        above += 1
    parent: Word = NOWHERE
    side = LEFT
    if above > 0:
        parent = path[above - 1]
        side = RIGHT if order(nodes, new, nodes, parent, kinds, heap, starts) > 0 else LEFT
    hang(nodes, roots, width, group, parent, side, new)
    # What was on the path below falls to the new node's sides, in turn at the inner edge of each.
    low, low_side = np.int64(new), LEFT
    high, high_side = np.int64(new), RIGHT
    for d in range(above, depth):
        sizes[VISITED] += 1
        if order(nodes, new, nodes, path[d], kinds, heap, starts) > 0:
            hang(nodes, roots, width, group, low, low_side, path[d])
            low, low_side = path[d], RIGHT
        else:
            hang(nodes, roots, width, group, high, high_side, path[d])
            high, high_side = path[d], LEFT
    hang(nodes, roots, width, group, low, low_side, -1)
    hang(nodes, roots, width, group, high, high_side, -1)
    for d in range(depth - 1, above - 1, -1):
        _recount(nodes, width, path[d])
    _recount(nodes, width, new)


@njit(cache=True, nogil=True, fastmath=False)
def _take_out(nodes: Ints, roots: Int32s, sizes: Ints, width: Word, group: Word, path: Ints, depth: Word) -> None:
    """Take the last node of the path out, and join what hung below it in its place."""
    gone = path[depth - 1]
    parent: Word = NOWHERE
    side = LEFT
    if depth > 1:
        parent = path[depth - 2]
        side = RIGHT if child(nodes, width, parent, RIGHT) == gone else LEFT
    first = depth - 1
    count = first
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
        path[count] = parent
        count += 1
    hang(nodes, roots, width, group, parent, side, low if low >= 0 else high)
    for d in range(count - 1, first - 1, -1):
        _recount(nodes, width, path[d])
    nodes[gone, width + 1] = sizes[FREE]
    sizes[FREE] = gone + 1
    sizes[LIVE] -= 1


@njit(cache=True, nogil=True, fastmath=False)
def node_at(nodes: Ints, roots: Int32s, sizes: Ints, width: Word, group: Word, position: Word) -> Word:
    """The node of the row at `position`, from 0, in a group's set that has a row. Cost: O(log n).

    A position outside is the nearest inside, as far as all multiplicities are positive.
    """
    node = np.int64(roots[group]) - 1
    left = np.int64(position)
    while True:
        sizes[VISITED] += 1
        low, high = child(nodes, width, node, LEFT), child(nodes, width, node, RIGHT)
        before = nodes[low, width + 2] if low >= 0 else np.int64(0)
        if low >= 0 and left < before:
            node = low
        elif high < 0 or left < before + nodes[node, width]:
            return node
        else:
            left -= before + nodes[node, width]
            node = high


@njit(cache=True, nogil=True, fastmath=False)
def _places(wanted: Ints, fractions: Floats, q: Word, count: Word) -> tuple[Word, Word, float]:
    """The positions that quantile q of `count` rows lies between, and how far from the first to the second."""
    kind, fraction = wanted[q, 0], fractions[q]
    if kind == BETWEEN:
        place = np.float64(count - 1) * fraction
        low = np.int64(np.floor(place))
        return low, np.int64(np.ceil(place)), float(place - np.float64(low))
    if kind == EXACT:
        behind = (count * wanted[q, 2] - count * wanted[q, 1]) // wanted[q, 2]
    else:
        behind = np.int64(np.floor(np.float64(count) - np.float64(count) * fraction))
    at = max(np.int64(1), count - behind) - 1
    return at, at, 0.0


@njit(cache=True, nogil=True, fastmath=False)
def apply_quantiles(
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
    wanted: Ints,
    fractions: Floats,
    present: Bools,
    picked: Ints,
    shares: Floats,
) -> None:
    """Apply a batch in the order of time, and pick each cell's quantiles as of its time.

    `diffs`, `times`, `valid` and `sign` are as in `apply_extremes`. A row of `wanted` (q, 3) is a quantile: EXACT (a
    row's value, at a fraction that is the second number over the third), ROUNDED (the same, at `fractions[q]`) or
    BETWEEN (between two rows, at `fractions[q]`). `present` (cells,) says whether the set has a
    row; `picked[c, q]` (cells, q, 2 K) gets the key words on both sides, `shares` (cells, q) how far the quantile lies
    from the first to the second. Cost: O(log n) a row, and a cell and quantile.
    """
    width = len(kinds)
    path = np.empty(DEEPEST, np.int64)
    done = until = np.int64(0)
    for i in range(len(row_cell)):
        cell = np.int64(row_cell[i])
        until = max(until, cell + 1)
        if len(valid) == 0 or valid[i, 0]:
            diff = np.int64(sign) * (diffs[i] if len(diffs) else np.int64(1))
            group = np.int64(cell_slot[cell])
            change_counted(nodes, roots, sizes, kinds, heap, starts, group, keys, i, diff, path)
        last = i + 1 == len(row_cell) or (len(times) > 1 and times[i + 1] != times[i])
        if last and sign > 0:
            while done < until:
                group = np.int64(cell_slot[done])
                present[done] = roots[group] != 0
                for q in range(len(wanted) if present[done] else 0):
                    count = nodes[np.int64(roots[group]) - 1, width + 2]
                    first, second, share = _places(wanted, fractions, q, count)
                    node = node_at(nodes, roots, sizes, width, group, first)
                    other = node_at(nodes, roots, sizes, width, group, second) if second != first else node
                    for w in range(width):
                        picked[done, q, w] = nodes[node, w]
                        picked[done, q, width + w] = nodes[other, w]
                    shares[done, q] = share
                done += 1

"""An ordered collection of entries of fixed width: a B+tree over plain arrays, with fat nodes.

A tree is a `Tree` (see `ordered.nodes`). An entry is W key words, then its multiplicity, then what its user keeps in
the words that follow; entries have different keys. A key's first word is a group's slot where one tree serves many
groups. `kinds` is int64 (W,), how each word compares: 0 as a signed number, 1 as the text whose code it is, -1 as that
text, backwards. `heap` and `starts` are the dictionary's. Keys to look for are rows of an int64 array (n, W or more).

A position is an index of `rows`, -1 for none; changes of the tree move entries. Cost of everything that looks for a
key: a binary search in one node on each level, 100 ns in a tree that stays in the processor's cache.
"""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.part import part
from ivm.kernels.numbers.wide import Word
from ivm.kernels.ordered.nodes import (
    ENTRIES,
    FANOUT,
    LEAF,
    LENGTH,
    LEVELS,
    NEXT,
    PATH,
    ROOT,
    SPARSE,
    VISITED,
    Tree,
    close_gap,
    make_room,
    mend,
    open_gap,
    take_node,
)
from ivm.kernels.texts.dictionary import Bytes, compare_text
from ivm.kernels.types import Ints

NOWHERE = -1


@part(inline=True)
def compare_keys(
    a: Ints, i: Word, b: Ints, j: Word, at: Word, width: Word, kinds: Ints, heap: Bytes, starts: Ints
) -> Word:
    """-1, 0 or 1 as the first `width` words of a[i] come before, equal or come after those of b[j] from `at` on."""
    for w in range(width):
        x, y = a[np.uint64(i), np.uint64(w)], b[np.uint64(j), np.uint64(at + w)]
        if x != y:
            if kinds[w] == 0:
                return np.int64(-1) if x < y else np.int64(1)
            return np.int64(compare_text(heap, starts, x, y)) * kinds[w]
    return np.int64(0)


@part(inline=True)
def same_words(a: Ints, i: Word, b: Ints, j: Word, first: Word, stop: Word) -> bool:
    """Whether the words from `first` to `stop` of a[i] are those of b[j]."""
    for w in range(first, stop):
        if a[np.uint64(i), np.uint64(w)] != b[np.uint64(j), np.uint64(w)]:
            return False
    return True


@part(inline=True)
def compare_entry(tree: Tree, at: Word, keys: Ints, i: Word, width: Word) -> Word:
    """-1, 0 or 1 as the first `width` words of an entry come before, equal or come after those of key i."""
    return compare_keys(tree.rows, at, keys, i, 0, width, tree.kinds, tree.heap, tree.starts)


@part(inline=True)
def _bound(tree: Tree, low: Word, high: Word, w: Word, x: Word) -> Word:
    """The first position in [low, high), which is not empty, whose word w does not come before x; or `high`."""
    rows, kind = tree.rows, tree.kinds[w]
    count = high - low
    if kind == 0:
        # Without a branch: which way it goes is not to be foreseen.
        column = np.uint64(w)
        while count > 1:
            half = count >> 1
            low += half & -np.int64(rows[np.uint64(low + half - 1), column] < x)
            count -= half
        return low + np.int64(rows[np.uint64(low), column] < x)
    while count > 0:
        half = count >> 1
        if compare_text(tree.heap, tree.starts, rows[low + half, w], x) * kind < 0:
            low += half + 1
            count -= half + 1
        else:
            count = half
    return low


@part(inline=True)
def _search(tree: Tree, low: Word, high: Word, keys: Ints, i: Word, width: Word, equal: bool) -> Word:
    """The first position in [low, high) whose key is greater than key i, or, unless `equal`, as great; else `high`.

    Word by word: among the entries that agree so far, those that agree in one more.
    """
    rows = tree.rows
    for w in range(width):
        if low == high:
            return low
        x, column = keys[np.uint64(i), np.uint64(w)], np.uint64(w)
        if rows[np.uint64(low), column] == x and rows[np.uint64(high - 1), column] == x:
            continue
        first = _bound(tree, low, high, w, x)
        if first == high or rows[np.uint64(first), column] != x:
            return first
        step = np.int64(1)  # few agree as a rule
        while first + step < high and rows[np.uint64(first + step), column] == x:
            step <<= 1
        stop = min(first + step, high)
        low, high = first, first + (step >> 1) + 1
        while high < stop:
            middle = (high + stop) >> 1
            if rows[np.uint64(middle), column] == x:
                high = middle + 1
            else:
                stop = middle
    return high if equal else low


@part(inline=True)
def enter(tree: Tree, keys: Ints, i: Word, width: Word, down: bool, behind: bool) -> Word:
    """Lead the path to the first place that key i could have: a position in a leaf, perhaps its end, -1 if it is empty.

    Keys count as equal if their first `width` words are. `behind`: the place behind all that are equal, else before
    them. `down`: a leaf that begins with an equal key is entered, else the one before it.
    """
    rows, heads, meta = tree.rows, tree.heads, tree.meta
    if meta[ROOT] < 0:
        return np.int64(NOWHERE)
    last = rows.shape[1] - 1
    node = meta[ROOT]
    for level in range(meta[LEVELS] - 1, 0, -1):
        base = node * FANOUT
        at = _search(tree, base + 1, base + heads[node, LENGTH], keys, i, width, down) - 1
        meta[PATH + level] = at
        node = rows[at, last]
    meta[VISITED] += meta[LEVELS]
    base = node * FANOUT
    at = _search(tree, base, base + heads[node, LENGTH], keys, i, width, behind)
    meta[LEAF] = node
    meta[PATH] = at
    return at


@part(inline=True)
def _in_leaf(tree: Tree, keys: Ints, i: Word) -> bool:
    """Whether the path's leaf is where key i belongs; where that takes more than its parent to know, no."""
    heads, meta, width = tree.heads, tree.meta, len(tree.kinds)
    leaf = meta[LEAF]
    if leaf < 0:
        return False
    first, count = leaf * FANOUT, heads[leaf, LENGTH]
    if meta[LEVELS] == 1:
        return True
    if compare_entry(tree, first, keys, i, width) > 0:
        return False
    if compare_entry(tree, first + count - 1, keys, i, width) >= 0:
        return True
    above = meta[PATH + 1] + 1
    parent = meta[PATH + 1] // FANOUT
    if above == parent * FANOUT + heads[parent, LENGTH]:
        return heads[leaf, NEXT] < 0
    return compare_entry(tree, above, keys, i, width) > 0


@part(inline=True)
def find(tree: Tree, keys: Ints, i: Word, near: bool) -> tuple[Word, bool]:
    """The path's position where the entry of key i is or belongs, and whether it is there.

    `near`: look in the path's leaf first, which pays where keys come in order.
    """
    heads, meta, width = tree.heads, tree.meta, len(tree.kinds)
    if near and _in_leaf(tree, keys, i):
        leaf = meta[LEAF]
        meta[VISITED] += 1
        base = leaf * FANOUT
        at = _search(tree, base, base + heads[leaf, LENGTH], keys, i, width, False)
        meta[PATH] = at
    else:
        at = enter(tree, keys, i, width, True, False)
        if at < 0:
            return at, False
    leaf = meta[LEAF]
    there = at < leaf * FANOUT + heads[leaf, LENGTH]
    return at, there and compare_entry(tree, at, keys, i, width) == 0


@part(inline=True)
def add(tree: Tree, keys: Ints, i: Word, diff: Word, near: bool) -> Word:
    """Add `diff` to the multiplicity of key i; its position, -1 if it is 0 now and the entry gone.

    A new entry's other words are zeros. There must be room for new nodes: see `OrderedTree.make_room`. `near`: as
    for `find`.
    """
    rows, meta, words = tree.rows, tree.meta, len(tree.kinds)
    at, there = find(tree, keys, i, near)
    if there:
        rows[at, words] += diff
        _count(tree, diff)
        if rows[at, words] != 0:
            return at
        _take_out(tree)
        return np.int64(NOWHERE)
    if diff == 0:
        return np.int64(NOWHERE)
    if at < 0:
        _plant(tree)
    elif tree.heads[meta[LEAF], LENGTH] == FANOUT:
        make_room(tree)
    at = meta[PATH]
    open_gap(tree, meta[LEAF], at)
    for w in range(words):
        rows[at, w] = keys[i, w]
    rows[at, words] = diff
    for w in range(words + 1, rows.shape[1]):
        rows[at, w] = 0
    meta[ENTRIES] += 1
    _count(tree, diff)
    return at


@part()
def _plant(tree: Tree) -> None:
    """Give an empty tree its first leaf."""
    meta = tree.meta
    root = take_node(tree)
    meta[ROOT] = root
    meta[LEVELS] = 1
    meta[LEAF] = root
    meta[PATH] = root * FANOUT


@part(inline=True)
def _count(tree: Tree, diff: Word) -> None:
    """Add to the sums above the path's leaf, if the tree has them."""
    rows, meta, words = tree.rows, tree.meta, len(tree.kinds)
    if rows.shape[1] > words + 1:
        for level in range(1, meta[LEVELS]):
            rows[meta[PATH + level], words] += diff


@part()
def _take_out(tree: Tree) -> None:
    """Take the entry that the path leads to out of the tree."""
    leaf = tree.meta[LEAF]
    close_gap(tree, leaf, tree.meta[PATH])
    tree.meta[ENTRIES] -= 1
    if tree.heads[leaf, LENGTH] < SPARSE:
        mend(tree)

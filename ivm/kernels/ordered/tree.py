"""An ordered collection of entries of fixed width: a B+tree over plain arrays, with fat nodes.

`rows`, `heads` and `meta` are the tree (see `ordered.nodes`). An entry is W key words, then its multiplicity, then
what its user keeps in the words that follow; entries have different keys. A key's first word is a group's slot where
one tree serves many groups. `kinds` is int64 (W,), how each word compares: 0 as a signed number, 1 as the text whose
code it is, -1 as that text, backwards. `heap` and `starts` are the dictionary's. Keys to look for are rows of an int64
array (n, W or more).

A batch of changes is `keys` (n, W), `valid` (n, 1), a mask of those that count, of length 0 if all do, `diffs` (n,), of
length 0 if all are one, and `order`, in which order the rows are taken, of length 0 if as they come. All four may not
be written to. Who applies a batch adds to `meta[CHANGES]` with each of its rows, the masked ones too: so it is known
how far a batch was applied, whatever ended it, and `undo_rows` takes back so much.

A position is an index of `rows`, -1 for none; changes of the tree move entries. Cost of everything that looks for a
key: a binary search in one node on each level, 100 ns in a tree that stays in the processor's cache.
"""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.numbers.wide import Word
from ivm.kernels.ordered.keys import compare_keys
from ivm.kernels.ordered.nodes import (
    CHANGES,
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
    close_gap,
    make_room,
    mend,
    open_gap,
    take_node,
)
from ivm.kernels.texts.dictionary import Bytes, compare_text
from ivm.kernels.types import Bools, Ints

NOWHERE = -1


@part(inline=True)
def _bound(rows: Ints, low: Word, high: Word, w: Word, x: Word, kind: Word, heap: Bytes, starts: Ints) -> Word:
    """The first position in [low, high), which is not empty, whose word w does not come before x; or `high`."""
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
        if compare_text(heap, starts, rows[low + half, w], x) * kind < 0:
            low += half + 1
            count -= half + 1
        else:
            count = half
    return low


@part(inline=True)
def _search(
    rows: Ints, low: Word, high: Word, keys: Ints, i: Word, width: Word, kinds: Ints, heap: Bytes, starts: Ints,
    equal: bool,
) -> Word:  # fmt: skip
    """The first position in [low, high) whose key is greater than key i, or, unless `equal`, as great; else `high`.

    Word by word: among the entries that agree so far, those that agree in one more.
    """
    for w in range(width):
        if low == high:
            return low
        x, column = keys[np.uint64(i), np.uint64(w)], np.uint64(w)
        if rows[np.uint64(low), column] == x and rows[np.uint64(high - 1), column] == x:
            continue
        first = _bound(rows, low, high, w, x, kinds[w], heap, starts)
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
def enter(
    rows: Ints, heads: Ints, meta: Ints, kinds: Ints, heap: Bytes, starts: Ints, keys: Ints, i: Word, width: Word,
    down: bool, behind: bool,
) -> Word:  # fmt: skip
    """Lead the path to the first place that key i could have: a position in a leaf, perhaps its end, -1 if it is empty.

    Keys count as equal if their first `width` words are. `behind`: the place behind all that are equal, else before
    them. `down`: a leaf that begins with an equal key is entered, else the one before it.
    """
    if meta[ROOT] < 0:
        return np.int64(NOWHERE)
    last = rows.shape[1] - 1
    node = meta[ROOT]
    for level in range(meta[LEVELS] - 1, 0, -1):
        base = node * FANOUT
        at = _search(rows, base + 1, base + heads[node, LENGTH], keys, i, width, kinds, heap, starts, down) - 1
        meta[PATH + level] = at
        node = rows[at, last]
    meta[VISITED] += meta[LEVELS]
    base = node * FANOUT
    at = _search(rows, base, base + heads[node, LENGTH], keys, i, width, kinds, heap, starts, behind)
    meta[LEAF] = node
    meta[PATH] = at
    return at


@part(inline=True)
def _in_leaf(rows: Ints, heads: Ints, meta: Ints, kinds: Ints, heap: Bytes, starts: Ints, keys: Ints, i: Word) -> bool:
    """Whether the path's leaf is where key i belongs; where that takes more than its parent to know, no."""
    leaf = meta[LEAF]
    if leaf < 0:
        return False
    first, count = leaf * FANOUT, heads[leaf, LENGTH]
    width = len(kinds)
    if meta[LEVELS] == 1:
        return True
    if compare_keys(rows, first, keys, i, 0, width, kinds, heap, starts) > 0:
        return False
    if compare_keys(keys, i, rows, first + count - 1, 0, width, kinds, heap, starts) <= 0:
        return True
    above = meta[PATH + 1] + 1
    parent = meta[PATH + 1] // FANOUT
    if above == parent * FANOUT + heads[parent, LENGTH]:
        return heads[leaf, NEXT] < 0
    return compare_keys(keys, i, rows, above, 0, width, kinds, heap, starts) < 0


@part(inline=True)
def find(
    rows: Ints, heads: Ints, meta: Ints, kinds: Ints, heap: Bytes, starts: Ints, keys: Ints, i: Word, near: bool
) -> tuple[Word, bool]:
    """The path's position where the entry of key i is or belongs, and whether it is there.

    `near`: look in the path's leaf first, which pays where keys come in order.
    """
    width = len(kinds)
    if near and _in_leaf(rows, heads, meta, kinds, heap, starts, keys, i):
        leaf = meta[LEAF]
        meta[VISITED] += 1
        base = leaf * FANOUT
        at = _search(rows, base, base + heads[leaf, LENGTH], keys, i, width, kinds, heap, starts, False)
        meta[PATH] = at
    else:
        at = enter(rows, heads, meta, kinds, heap, starts, keys, i, width, True, False)
        if at < 0:
            return at, False
    leaf = meta[LEAF]
    there = at < leaf * FANOUT + heads[leaf, LENGTH]
    return at, there and compare_keys(rows, at, keys, i, 0, width, kinds, heap, starts) == 0


@part(inline=True)
def add(
    rows: Ints, heads: Ints, meta: Ints, kinds: Ints, heap: Bytes, starts: Ints, keys: Ints, i: Word, diff: Word,
    near: bool,
) -> Word:  # fmt: skip
    """Add `diff` to the multiplicity of key i; its position, -1 if it is 0 now and the entry gone.

    A new entry's other words are zeros. There must be room for new nodes: see `OrderedTree.make_room`. `near`: as
    for `find`.
    """
    words = len(kinds)
    at, there = find(rows, heads, meta, kinds, heap, starts, keys, i, near)
    if there:
        rows[at, words] += diff
        _count(rows, meta, words, diff)
        if rows[at, words] != 0:
            return at
        _take_out(rows, heads, meta, words)
        return np.int64(NOWHERE)
    if diff == 0:
        return np.int64(NOWHERE)
    if at < 0:
        _plant(heads, meta)
    elif heads[meta[LEAF], LENGTH] == FANOUT:
        make_room(rows, heads, meta, words)
    at = meta[PATH]
    open_gap(rows, heads, meta[LEAF], at)
    for w in range(words):
        rows[at, w] = keys[i, w]
    rows[at, words] = diff
    for w in range(words + 1, rows.shape[1]):
        rows[at, w] = 0
    meta[ENTRIES] += 1
    _count(rows, meta, words, diff)
    return at


@part()
def _plant(heads: Ints, meta: Ints) -> None:
    """Give an empty tree its first leaf."""
    root = take_node(heads, meta)
    meta[ROOT] = root
    meta[LEVELS] = 1
    meta[LEAF] = root
    meta[PATH] = root * FANOUT


@part(inline=True)
def _count(rows: Ints, meta: Ints, words: Word, diff: Word) -> None:
    """Add to the sums above the path's leaf, if the tree has them."""
    if rows.shape[1] > words + 1:
        for level in range(1, meta[LEVELS]):
            rows[meta[PATH + level], words] += diff


@part()
def _take_out(rows: Ints, heads: Ints, meta: Ints, words: Word) -> None:
    """Take the entry that the path leads to out of the tree."""
    leaf = meta[LEAF]
    close_gap(rows, heads, leaf, meta[PATH])
    meta[ENTRIES] -= 1
    if heads[leaf, LENGTH] < SPARSE:
        mend(rows, heads, meta, words)


@part(inline=True)
def row_at(order: Ints, k: Word) -> Word:
    """Which row of a batch is taken as number k."""
    return order[k] if len(order) else np.int64(k)


@part(inline=True)
def diff_of(valid: Bools, diffs: Ints, i: Word) -> Word:
    """By how much row i of a batch changes its key's multiplicity."""
    if len(valid) and not valid[i, 0]:
        return np.int64(0)
    return diffs[i] if len(diffs) else np.int64(1)


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def add_rows(
    rows: Ints, heads: Ints, meta: Ints, kinds: Ints, heap: Bytes, starts: Ints, keys: Ints, valid: Bools, diffs: Ints,
    order: Ints, sign: Word, near: bool,
) -> None:  # fmt: skip
    """Apply a batch, its diffs times `sign`. `near`: the keys come in order, or nearly."""
    for k in range(len(keys)):
        i = row_at(order, k)
        diff = np.int64(sign) * diff_of(valid, diffs, i)
        if diff != 0:
            add(rows, heads, meta, kinds, heap, starts, keys, i, diff, near)
        meta[CHANGES] += 1


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def undo_rows(
    rows: Ints, heads: Ints, meta: Ints, kinds: Ints, heap: Bytes, starts: Ints, keys: Ints, valid: Bools, diffs: Ints,
    order: Ints, before: Word,
) -> None:  # fmt: skip
    """Take back what was applied of a batch that was the last one; `meta[CHANGES]` was `before` when it began."""
    while meta[CHANGES] > before:
        i = row_at(order, meta[CHANGES] - before - 1)
        diff = diff_of(valid, diffs, i)
        if diff != 0:
            add(rows, heads, meta, kinds, heap, starts, keys, i, -diff, len(order) > 0)
        meta[CHANGES] -= 1


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def drop_rows(
    rows: Ints, heads: Ints, meta: Ints, kinds: Ints, heap: Bytes, starts: Ints, keys: Ints, near: bool
) -> None:
    """Take the entries of these keys out for good; those that are not there are passed over."""
    for i in range(len(keys)):
        at, there = find(rows, heads, meta, kinds, heap, starts, keys, i, near)
        if there:
            add(rows, heads, meta, kinds, heap, starts, keys, i, -rows[at, len(kinds)], True)

"""Reading an ordered tree: the first and last entry of a range, those that follow, and places. See `ordered.tree`.

A place counts copies, in trees with two or more words behind the key (see `ordered.nodes`): an entry of multiplicity 3
takes three. Cost of asking for one: the sums of part of a node on each level, 100 to 200 ns.
"""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.numbers.wide import Word
from ivm.kernels.ordered.nodes import FANOUT, LEAF, LENGTH, LEVELS, NEXT, PATH, PREVIOUS, ROOT, VISITED, Tree, node_at
from ivm.kernels.ordered.tree import NOWHERE, compare_entry, enter
from ivm.kernels.texts.dictionary import Bytes
from ivm.kernels.types import Ints

_NEAR = 16


@part(inline=True)
def first_entry(tree: Tree, keys: Ints, i: Word, width: Word, behind: bool) -> Word:
    """The first entry whose first `width` words are not less than those of key i, or, if `behind`, greater; or -1.

    With the entry before it, `preceding`, that is the end of the entries that are equal so far: see `last_entry`.
    """
    at = enter(tree, keys, i, width, behind, behind)
    return behind_gap(tree) if at >= 0 else at


@part(inline=True)
def last_entry(tree: Tree, keys: Ints, i: Word, width: Word, before: bool) -> Word:
    """The last entry whose first `width` words are not greater than those of key i, or, if `before`, less; or -1."""
    at = enter(tree, keys, i, width, not before, not before)
    return before_gap(tree) if at >= 0 else at


@part(inline=True)
def following(tree: Tree, at: Word) -> Word:
    """The entry behind the one at a position, or -1."""
    return _at_or_behind(tree, at // FANOUT, at + 1)


@part(inline=True)
def preceding(tree: Tree, at: Word) -> Word:
    """The entry before the one at a position, or -1."""
    return _before(tree, at // FANOUT, at)


@part(inline=True)
def behind_gap(tree: Tree) -> Word:
    """The entry behind the place that the path leads to, where it lost one or would find one; -1 if there is none.

    The path must not be broken. Cost: a constant.
    """
    return _at_or_behind(tree, tree.meta[LEAF], tree.meta[PATH])


@part(inline=True)
def before_gap(tree: Tree) -> Word:
    """The entry before the place that the path leads to, as for `behind_gap`; -1 if there is none."""
    return _before(tree, tree.meta[LEAF], tree.meta[PATH])


@part(inline=True)
def _at_or_behind(tree: Tree, leaf: Word, at: Word) -> Word:
    """The entry at a position of a leaf, or, at its end, the first of the next leaf; or -1."""
    if at < leaf * FANOUT + tree.heads[leaf, LENGTH]:
        return at
    behind = tree.heads[leaf, NEXT]
    tree.meta[VISITED] += behind >= 0
    return behind * FANOUT if behind >= 0 else np.int64(NOWHERE)


@part(inline=True)
def _before(tree: Tree, leaf: Word, at: Word) -> Word:
    """The entry before a position of a leaf, or -1."""
    if at > leaf * FANOUT:
        return at - 1
    before = tree.heads[leaf, PREVIOUS]
    tree.meta[VISITED] += before >= 0
    return before * FANOUT + tree.heads[before, LENGTH] - 1 if before >= 0 else np.int64(NOWHERE)


@part(inline=True)
def first_of_group(tree: Tree, slot: Word, probe: Ints) -> Word:
    """The first entry whose first word is `slot`, or of those behind it; or -1. `probe` int64 (1, 1) is scratch.

    Cost: a search, unless it stands a few entries before the path's place.
    """
    at = _first_near(tree, slot)
    if at >= 0:
        return at
    probe[0, 0] = slot
    return first_entry(tree, probe, 0, 1, False)


@part(inline=True)
def _first_near(tree: Tree, slot: Word) -> Word:
    """The first entry whose first word is `slot`, if it stands a few entries before the path's place; else -1."""
    if tree.meta[LEAF] < 0:
        return np.int64(NOWHERE)
    at = before_gap(tree)
    if at < 0 or tree.rows[at, 0] != slot:
        at = behind_gap(tree)
        return at if at >= 0 and tree.rows[at, 0] == slot else np.int64(NOWHERE)
    for _ in range(_NEAR):
        before = preceding(tree, at)
        if before < 0 or tree.rows[before, 0] != slot:
            return at
        at = before
    return np.int64(NOWHERE)


@part()
def copies_before(tree: Tree) -> Word:
    """How many copies stand before the place that the path leads to."""
    rows, meta, words = tree.rows, tree.meta, len(tree.kinds)
    total = np.int64(0)
    for level in range(meta[LEVELS]):
        at = meta[PATH + level]
        for row in range(node_at(tree, level) * FANOUT, at):
            total += rows[row, words]
    meta[VISITED] += meta[LEVELS]
    return total


@part()
def entry_at(tree: Tree, place: Word) -> tuple[Word, Word]:
    """The position of the entry that has the copy at `place`, from 0, and which of its copies that is; -1 if none."""
    rows, meta, words = tree.rows, tree.meta, len(tree.kinds)
    left = np.int64(place)
    node = meta[ROOT]
    if node < 0 or left < 0:
        return np.int64(-1), left
    meta[VISITED] += meta[LEVELS]
    for level in range(meta[LEVELS] - 1, -1, -1):
        at, stop = node * FANOUT, node * FANOUT + tree.heads[node, LENGTH]
        while at < stop and left >= rows[at, words]:
            left -= rows[at, words]
            at += 1
        if at == stop:
            return np.int64(-1), left
        if level == 0:
            return at, left
        node = rows[at, rows.shape[1] - 1]
    return np.int64(-1), left


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def copy_entries(
    rows: Ints, heads: Ints, meta: Ints, kinds: Ints, heap: Bytes, starts: Ints,
    since_rows: Ints, since_heads: Ints, since_meta: Ints, last: Ints, begun: bool, out: Ints,
) -> tuple[Word, bool]:  # fmt: skip
    """Copy entries in order, the changes of another tree, `since`, added to them, behind the key `last` (1, W) if
    `begun`; returns how many rows of `out` (n, W + 1) they are, and whether that were the last.

    The keys of `since` are of the same kinds; an entry whose multiplicities add up to 0 is left out. `last` becomes
    the last key that was met. Both `meta` are copies that nobody else uses. Cost: O(log n) and that of n entries.
    """
    tree = Tree(rows, heads, meta, kinds, heap, starts)
    since = Tree(since_rows, since_heads, since_meta, kinds, heap, starts)
    width = len(kinds)
    one = first_entry(tree, last, 0, width if begun else 0, begun)
    two = first_entry(since, last, 0, width if begun else 0, begun)
    count, met = np.int64(0), np.int64(0)
    while (one >= 0 or two >= 0) and met < len(out):
        side = np.int64(-1) if two < 0 else np.int64(1)
        if one >= 0 and two >= 0:
            side = compare_entry(tree, one, since_rows, two, width)
        for w in range(width):
            last[0, w] = rows[one, w] if side <= 0 else since_rows[two, w]
            out[count, w] = last[0, w]
        out[count, width] = 0
        if side <= 0:
            out[count, width] += rows[one, width]
            one = following(tree, one)
        if side >= 0:
            out[count, width] += since_rows[two, width]
            two = following(since, two)
        count += out[count, width] != 0
        met += 1
    return count, one < 0 and two < 0


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def copy_guides(rows: Ints, heads: Ints, meta: Ints, out: Ints) -> Word:
    """Copy the entries above the leaves to rows of `out`, which has room for one for each node; how many they are."""
    count, first = np.int64(0), meta[ROOT]
    for _ in range(meta[LEVELS] - 1):
        node = first
        first = rows[node * FANOUT, rows.shape[1] - 1]
        while node >= 0:
            for at in range(node * FANOUT, node * FANOUT + heads[node, LENGTH]):
                for w in range(rows.shape[1]):
                    out[count, w] = rows[at, w]
                count += 1
            node = heads[node, NEXT]
    return count

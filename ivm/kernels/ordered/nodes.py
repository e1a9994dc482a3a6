"""The nodes of an ordered tree: how they split, merge and are used again. See `ordered.tree` for what is kept in them.

A tree is three arrays. `rows`, int64 (nodes * FANOUT, W + P), holds the entries, those of node n from n * FANOUT on,
in order. `heads`, int64 (nodes, 3), has each node's number of entries and its neighbours in order on its level, -1 at
the ends; a free node has the next free one, or -1, for a neighbour. `meta`, int64 (META,), is the rest: see the names;
at ROWS and HEADS it tells where the two arrays lie, as `ivm.kernels.memory.at` reads it.

An entry of a leaf, level 0, is W key words and P words of its user's, the first of them its multiplicity. An entry of
a level above stands for a node of the level below: the least key that belongs there (for the first entry of a node
that is what the node's own entry says, and its key words mean nothing), in the last word the node, and, if P is 2 or
more, in word W the sum of word W over all entries below.

The path is where the tree was entered last: `meta[PATH]` a position (an index of `rows`) in the leaf `meta[LEAF]`, and
`meta[PATH + level]` the entry of each level above that leads there. A change of shape breaks it (`meta[LEAF]` is -1).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.memory.at import words_in
from ivm.kernels.memory.move import move_words
from ivm.kernels.numbers.wide import Word
from ivm.kernels.texts.dictionary import Bytes
from ivm.kernels.types import Ints

FANOUT = 64
SPARSE = FANOUT // 2  # a node with fewer entries looks for a neighbour to merge with
MERGED = FANOUT * 7 // 8  # a merged node has no more, so that it does not split again at once

ROOT, LEVELS, USED, FREE, LIVE, ENTRIES, VISITED, CHANGES, LEAF = 0, 1, 2, 3, 4, 5, 6, 7, 8
"""The root, -1 of an empty tree; its levels; nodes ever used; a free one, -1; nodes in use; entries of all leaves;
nodes visited so far, the measure of work; changes that were made and not undone; and the path's leaf."""
PATH = 9
DEEPEST = 16  # levels; far beyond what fits memory
ROWS = PATH + DEEPEST
HEADS = ROWS + 3
META = HEADS + 3
LENGTH, NEXT, PREVIOUS = 0, 1, 2
NONE = -1


class Tree(NamedTuple):
    """A tree as kernels take it: its arrays, how the words of its keys compare, and the dictionary's arrays."""

    rows: Ints
    heads: Ints
    meta: Ints
    kinds: Ints
    heap: Bytes
    starts: Ints


@part(inline=True, counted=True)
def tree_at(meta: Ints, kinds: Ints, heap: Bytes, starts: Ints) -> Tree:
    """The tree that `meta` tells of."""
    return Tree(words_in(meta, ROWS), words_in(meta, HEADS), meta, kinds, heap, starts)


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def nodes_short(meta: Ints, changes: Word) -> Word:
    """For how many nodes there must be room for so many changes, made and undone, in any order; 0 if there is.

    A new entry splits a leaf if it is full, and all leaves that there are may be; each change inserts once, when it is
    made or when it is undone.
    """
    splits = min(changes, meta[LIVE] + 1) + 2 * changes // FANOUT
    nodes = meta[USED] + splits + splits // 8 + DEEPEST
    return np.int64(0) if nodes * FANOUT <= meta[ROWS + 1] and nodes <= meta[HEADS + 1] else nodes


@part(inline=True)
def take_node(tree: Tree) -> Word:
    """An empty node without neighbours; there must be room for one."""
    heads, meta = tree.heads, tree.meta
    meta[LIVE] += 1
    node = meta[FREE]
    if node >= 0:
        meta[FREE] = heads[node, NEXT]
    else:
        node = meta[USED]
        meta[USED] += 1
    heads[node, LENGTH] = 0
    heads[node, NEXT] = NONE
    heads[node, PREVIOUS] = NONE
    return node


@part()
def _free_node(tree: Tree, node: Word) -> None:
    """Take a node out from between its neighbours, to be used again."""
    heads, meta = tree.heads, tree.meta
    before, behind = heads[node, PREVIOUS], heads[node, NEXT]
    if before >= 0:
        heads[before, NEXT] = behind
    if behind >= 0:
        heads[behind, PREVIOUS] = before
    heads[node, LENGTH] = 0
    heads[node, NEXT] = meta[FREE]
    meta[FREE] = node
    meta[LIVE] -= 1


@part(inline=True)
def node_at(tree: Tree, level: Word) -> Word:
    """The node of the path at a level."""
    if level + 1 == tree.meta[LEVELS]:
        return tree.meta[ROOT]
    return tree.rows[tree.meta[PATH + level + 1], tree.rows.shape[1] - 1]


@part(inline=True)
def open_gap(tree: Tree, node: Word, at: Word) -> None:
    """Move a node's entries from position `at` on up by one; it is not full."""
    rows, heads = tree.rows, tree.heads
    words = rows.shape[1]
    end = node * FANOUT + heads[node, LENGTH]
    move_words(rows, (at + 1) * words, at * words, (end - at) * words)
    heads[node, LENGTH] += 1


@part(inline=True)
def close_gap(tree: Tree, node: Word, at: Word) -> None:
    """Take the entry at a position out of its node."""
    rows, heads = tree.rows, tree.heads
    words = rows.shape[1]
    heads[node, LENGTH] -= 1
    end = node * FANOUT + heads[node, LENGTH]
    move_words(rows, at * words, (at + 1) * words, (end - at) * words)


@part()
def make_room(tree: Tree) -> None:
    """Share the path's leaf, which is full, with a neighbour, or split it, and what is full above it.

    The path follows the place to insert at. There must be room for a node on each level and one more. Cost: amortized
    a constant.
    """
    if tree.meta[LEVELS] > 1 and (_share(tree, np.int64(1)) or _share(tree, np.int64(0))):
        return
    top = 1
    while top < tree.meta[LEVELS] and tree.heads[node_at(tree, top), LENGTH] == FANOUT:
        top += 1
    if top == tree.meta[LEVELS]:
        _grow(tree)
    for level in range(top - 1, -1, -1):
        _split(tree, level)


@part()
def _share(tree: Tree, behind: Word) -> bool:
    """Even out the path's leaf, which is full, with the one before it, or `behind` it, under the same parent; whether
    that has enough room, so that it is not done again at once.

    So leaves that were filled together do not all split in halves (B*-trees: Knuth, volume 3, section 6.2.4).
    """
    rows, heads, meta = tree.rows, tree.heads, tree.meta
    leaf, above, last = meta[LEAF], meta[PATH + 1], rows.shape[1] - 1
    parent = above // FANOUT
    entry = above + behind  # that of the right one of the two
    if entry == parent * FANOUT or entry == parent * FANOUT + heads[parent, LENGTH]:
        return False
    left, right = rows[entry - 1, last], rows[entry, last]
    both = heads[left, LENGTH] + heads[right, LENGTH]
    if both > FANOUT + MERGED:
        return False
    place = meta[PATH] - leaf * FANOUT + (0 if behind else heads[left, LENGTH])  # to insert at, counted in both
    keep = both // 2
    _even_out(tree, left, right, keep)
    for w in range(len(tree.kinds)):
        rows[entry, w] = rows[right * FANOUT, w]
    _lead_to(tree, entry - 1, left)
    _lead_to(tree, entry, right)
    is_right = place > keep
    meta[LEAF] = right if is_right else left
    meta[PATH] = (right * FANOUT + place - keep) if is_right else (left * FANOUT + place)
    meta[PATH + 1] = entry if is_right else entry - 1
    return True


@part()
def _even_out(tree: Tree, left: Word, right: Word, keep: Word) -> None:
    """Let a node keep so many entries of its own and those of the one behind it, and this the rest."""
    rows, heads = tree.rows, tree.heads
    width = rows.shape[1]
    before, behind = heads[left, LENGTH], heads[right, LENGTH]
    first, moved = right * FANOUT, before - keep
    if moved > 0:
        move_words(rows, (first + moved) * width, first * width, behind * width)
        move_words(rows, first * width, (left * FANOUT + keep) * width, moved * width)
    else:
        move_words(rows, (left * FANOUT + before) * width, first * width, -moved * width)
        move_words(rows, first * width, (first - moved) * width, (behind + moved) * width)
    heads[left, LENGTH], heads[right, LENGTH] = keep, before + behind - keep


@part()
def _grow(tree: Tree) -> None:
    """Put a new root above the old."""
    rows, heads, meta = tree.rows, tree.heads, tree.meta
    old = meta[ROOT]
    root = take_node(tree)
    at = root * FANOUT
    for w in range(len(tree.kinds)):
        rows[at, w] = 0
    _lead_to(tree, at, old)
    heads[root, LENGTH] = 1
    meta[ROOT] = root
    meta[PATH + meta[LEVELS]] = at
    meta[LEVELS] += 1


@part()
def _lead_to(tree: Tree, at: Word, node: Word) -> None:
    """Let the entry at `at` lead to a node, and count what is below it."""
    rows, words = tree.rows, len(tree.kinds)
    last = rows.shape[1] - 1
    rows[at, last] = node
    if last > words:
        total = np.int64(0)
        for row in range(node * FANOUT, node * FANOUT + tree.heads[node, LENGTH]):
            total += rows[row, words]
        rows[at, words] = total


@part()
def _split(tree: Tree, level: Word) -> None:
    """Move the upper half of the path's node at a level to a new one behind it; the node above has room for its entry.

    At the very end only the last entry moves, since ascending keys fill what they find.
    """
    rows, heads, meta = tree.rows, tree.heads, tree.meta
    node = node_at(tree, level)
    slot = meta[PATH + level] - node * FANOUT
    keep = FANOUT - 1 if heads[node, NEXT] < 0 and slot >= FANOUT - 1 else FANOUT // 2
    new = take_node(tree)
    width = rows.shape[1]
    move_words(rows, new * FANOUT * width, (node * FANOUT + keep) * width, (FANOUT - keep) * width)
    heads[node, LENGTH] = keep
    heads[new, LENGTH] = FANOUT - keep
    behind = heads[node, NEXT]
    heads[new, NEXT], heads[new, PREVIOUS] = behind, node
    heads[node, NEXT] = new
    if behind >= 0:
        heads[behind, PREVIOUS] = new
    above = meta[PATH + level + 1]
    open_gap(tree, above // FANOUT, above + 1)
    for w in range(len(tree.kinds)):
        rows[above + 1, w] = rows[new * FANOUT, w]
    _lead_to(tree, above, node)
    _lead_to(tree, above + 1, new)
    if slot > keep or (level > 0 and slot == keep):
        meta[PATH + level] = new * FANOUT + slot - keep
        meta[PATH + level + 1] += 1
        if level == 0:
            meta[LEAF] = new


@part()
def mend(tree: Tree) -> None:
    """After entries were taken out of the path's leaf: merge what has become sparse, free what is empty.

    Where that changes the shape, the path is broken. Cost: amortized a constant.
    """
    rows, heads, meta = tree.rows, tree.heads, tree.meta
    level = np.int64(0)
    while level + 1 < meta[LEVELS]:
        node = node_at(tree, level)
        if heads[node, LENGTH] >= SPARSE or not _join(tree, level, node):
            break
        level += 1
    if level == 0 and meta[LEVELS] > 1:
        return
    while meta[LEVELS] > 1 and heads[meta[ROOT], LENGTH] == 1:
        root = meta[ROOT]
        meta[ROOT] = rows[root * FANOUT, rows.shape[1] - 1]
        meta[LEVELS] -= 1
        _free_node(tree, root)
    if meta[LEVELS] == 1 and heads[meta[ROOT], LENGTH] == 0:
        _free_node(tree, meta[ROOT])
        meta[ROOT] = NONE
        meta[LEVELS] = 0
    meta[LEAF] = NONE


@part()
def _join(tree: Tree, level: Word, node: Word) -> bool:
    """Merge a sparse node of the path with a neighbour under the same parent, or free it if empty; whether it was."""
    rows, heads = tree.rows, tree.heads
    above = tree.meta[PATH + level + 1]
    parent = above // FANOUT
    last = rows.shape[1] - 1
    for entry in range(above, above + 2):  # of the two nodes, the one behind
        if entry == parent * FANOUT or entry == parent * FANOUT + heads[parent, LENGTH]:
            continue
        left, right = rows[entry - 1, last], rows[entry, last]
        if heads[left, LENGTH] + heads[right, LENGTH] <= MERGED:
            _append(tree, left, right, entry, level > 0)
            close_gap(tree, parent, entry)
            _lead_to(tree, entry - 1, left)
            _free_node(tree, right)
            return True
    if heads[node, LENGTH] == 0:
        close_gap(tree, parent, above)
        _free_node(tree, node)
        return True
    return False


@part()
def _append(tree: Tree, left: Word, right: Word, entry: Word, inner: bool) -> None:
    """Copy the entries of a node behind those of the one before it. `entry` leads to the former."""
    rows, heads = tree.rows, tree.heads
    to = left * FANOUT + heads[left, LENGTH]
    width = rows.shape[1]
    move_words(rows, to * width, right * FANOUT * width, heads[right, LENGTH] * width)
    if inner and heads[right, LENGTH] > 0:
        # What belongs to its first node begins where it began itself.
        for w in range(len(tree.kinds)):
            rows[to, w] = rows[entry, w]
    heads[left, LENGTH] += heads[right, LENGTH]

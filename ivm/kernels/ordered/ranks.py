"""Places in an ordered tree that has sums: how many copies stand before an entry, and which entry stands at a place.

For trees with two or more words behind the key (see `ordered.nodes`). A place counts copies: an entry of
multiplicity 3 takes three. Cost: the sums of part of a node on each level, 100 to 200 ns.
"""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.part import part
from ivm.kernels.numbers.wide import Word
from ivm.kernels.ordered.nodes import FANOUT, LENGTH, LEVELS, PATH, ROOT, VISITED, Tree, node_at


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

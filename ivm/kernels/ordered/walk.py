"""Reading an ordered tree: the first and last entry of a range, and those that follow. See `ordered.tree`."""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.numbers.wide import Word
from ivm.kernels.ordered.keys import compare_keys
from ivm.kernels.ordered.nodes import FANOUT, LEAF, LENGTH, LEVELS, NEXT, PATH, PREVIOUS, ROOT, VISITED
from ivm.kernels.ordered.tree import NOWHERE, enter
from ivm.kernels.texts.dictionary import Bytes
from ivm.kernels.types import Ints

_NEAR = 16


@part()
def first_entry(
    rows: Ints, heads: Ints, meta: Ints, kinds: Ints, heap: Bytes, starts: Ints, keys: Ints, i: Word, width: Word,
    behind: bool,
) -> Word:  # fmt: skip
    """The first entry whose first `width` words are not less than those of key i, or, if `behind`, greater; or -1.

    With the entry before it, `preceding`, that is the end of the entries that are equal so far: see `last_entry`.
    """
    at = enter(rows, heads, meta, kinds, heap, starts, keys, i, width, behind, behind)
    if at < 0:
        return at
    leaf = meta[LEAF]
    if at < leaf * FANOUT + heads[leaf, LENGTH]:
        return at
    return _first_of(meta, heads[leaf, NEXT])


@part()
def last_entry(
    rows: Ints, heads: Ints, meta: Ints, kinds: Ints, heap: Bytes, starts: Ints, keys: Ints, i: Word, width: Word,
    before: bool,
) -> Word:  # fmt: skip
    """The last entry whose first `width` words are not greater than those of key i, or, if `before`, less; or -1."""
    at = enter(rows, heads, meta, kinds, heap, starts, keys, i, width, not before, not before)
    if at < 0:
        return at
    leaf = meta[LEAF]
    if at > leaf * FANOUT:
        return at - 1
    return _last_of(heads, meta, heads[leaf, PREVIOUS])


@part()
def following(heads: Ints, meta: Ints, at: Word) -> Word:
    """The entry behind the one at a position, or -1."""
    leaf = at // FANOUT
    if at + 1 < leaf * FANOUT + heads[leaf, LENGTH]:
        return at + 1
    return _first_of(meta, heads[leaf, NEXT])


@part()
def preceding(heads: Ints, meta: Ints, at: Word) -> Word:
    """The entry before the one at a position, or -1."""
    leaf = at // FANOUT
    if at > leaf * FANOUT:
        return at - 1
    return _last_of(heads, meta, heads[leaf, PREVIOUS])


@part()
def behind_gap(heads: Ints, meta: Ints) -> Word:
    """The entry behind the place that the path leads to, where it lost one or would find one; -1 if there is none.

    The path must not be broken. Cost: a constant.
    """
    at, leaf = meta[PATH], meta[LEAF]
    return at if at < leaf * FANOUT + heads[leaf, LENGTH] else _first_of(meta, heads[leaf, NEXT])


@part()
def before_gap(heads: Ints, meta: Ints) -> Word:
    """The entry before the place that the path leads to, as for `behind_gap`; -1 if there is none."""
    at, leaf = meta[PATH], meta[LEAF]
    return at - 1 if at > leaf * FANOUT else _last_of(heads, meta, heads[leaf, PREVIOUS])


@part()
def first_near(rows: Ints, heads: Ints, meta: Ints, slot: Word) -> Word:
    """The first entry whose first word is `slot`, if it stands a few entries before the path's place; else -1."""
    if meta[LEAF] < 0:
        return np.int64(NOWHERE)
    at = before_gap(heads, meta)
    if at < 0 or rows[at, 0] != slot:
        at = behind_gap(heads, meta)
        return at if at >= 0 and rows[at, 0] == slot else np.int64(NOWHERE)
    for _ in range(_NEAR):
        before = preceding(heads, meta, at)
        if before < 0 or rows[before, 0] != slot:
            return at
        at = before
    return np.int64(NOWHERE)


@part()
def _first_of(meta: Ints, leaf: Word) -> Word:
    meta[VISITED] += leaf >= 0
    return leaf * FANOUT if leaf >= 0 else np.int64(NOWHERE)


@part()
def _last_of(heads: Ints, meta: Ints, leaf: Word) -> Word:
    meta[VISITED] += leaf >= 0
    return leaf * FANOUT + heads[leaf, LENGTH] - 1 if leaf >= 0 else np.int64(NOWHERE)


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
    width = len(kinds)
    one = _behind(rows, heads, meta, kinds, heap, starts, last, begun)
    two = _behind(since_rows, since_heads, since_meta, kinds, heap, starts, last, begun)
    count, met = np.int64(0), np.int64(0)
    while (one >= 0 or two >= 0) and met < len(out):
        side = np.int64(-1) if two < 0 else np.int64(1)
        if one >= 0 and two >= 0:
            side = compare_keys(rows, one, since_rows, two, 0, width, kinds, heap, starts)
        for w in range(width):
            last[0, w] = rows[one, w] if side <= 0 else since_rows[two, w]
            out[count, w] = last[0, w]
        out[count, width] = 0
        if side <= 0:
            out[count, width] += rows[one, width]
            one = following(heads, meta, one)
        if side >= 0:
            out[count, width] += since_rows[two, width]
            two = following(since_heads, since_meta, two)
        count += out[count, width] != 0
        met += 1
    return count, one < 0 and two < 0


@part()
def _behind(
    rows: Ints, heads: Ints, meta: Ints, kinds: Ints, heap: Bytes, starts: Ints, last: Ints, begun: bool
) -> Word:
    """The first entry behind a key, or of all; -1 if there is none."""
    return first_entry(rows, heads, meta, kinds, heap, starts, last, 0, len(kinds) if begun else 0, begun)


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

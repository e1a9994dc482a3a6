"""Reading an ordered tree: the first and last entry of a range, and those that follow. See `ordered.tree`."""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.numbers.wide import Word
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
def copy_entries(rows: Ints, heads: Ints, meta: Ints, at: Word, out: Ints) -> tuple[Word, Word]:
    """Copy entries in order from position `at` (-1: the first) on, to rows of `out`; (how many, the next one or -1)."""
    if at < 0 and meta[ROOT] >= 0:
        at = meta[ROOT] * FANOUT
        for _ in range(meta[LEVELS] - 1):
            at = rows[at, rows.shape[1] - 1] * FANOUT
    count = np.int64(0)
    while at >= 0 and count < len(out):
        for w in range(rows.shape[1]):
            out[count, w] = rows[at, w]
        count += 1
        at = following(heads, meta, at)
    return count, at

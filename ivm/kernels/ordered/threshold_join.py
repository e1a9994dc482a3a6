"""Threshold joins: which ranges of an order a change of bounds concerns, and the rows in them as of a time.

A range is eight words: the bound that it begins at, how many words of it count, and whether it begins behind all that
is equal in these words; then the same for its end; the change that it holds for, and the diff with which rows in it are
met. Bounds are rows of an int64 array (n, A + K + V): A words that the order does not know, those of the key, then
those of the value.
"""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.numbers.wide import Word
from ivm.kernels.ordered.nodes import Tree
from ivm.kernels.ordered.tree import compare_entry, same_words
from ivm.kernels.ordered.walk import first_entry, following
from ivm.kernels.texts.dictionary import Bytes
from ivm.kernels.types import Ints

LT, LE, EQ, GE, GT = 0, 1, 2, 3, 4
FIRST, FIRST_WORDS, IS_BEHIND, LAST, LAST_WORDS, TO_BEHIND, CHANGE, DIFF = range(8)
RANGE = 8
NOWHERE = -1
UNSEEN, OVER = -2, -3
"""Of a change whose window has not begun, or is over."""


@part()
def moved_by_one(
    words: Ints, ahead: Word, key: Word, order: Ints, diffs: Ints, comparison: Word, ranges: Ints
) -> Word:  # fmt: skip
    """The ranges of values that changes of bounds concern, and the sum of diffs that holds in each, which is not 0.

    Change i has the bound words[i], with A = `ahead` and K = `key`: changes cancel where the words before those of the
    value are equal. `order` has the changes by these, those that agree ascending by their values for GE and GT,
    descending for LE and LT. `diffs` has length 0 if all are one. `ranges` int64 (n, RANGE) has room for one a change.
    Returns the number of ranges. Cost: a pass over the changes.
    """
    found = 0
    total = np.int64(0)
    grouped = ahead + key
    for at in range(len(order)):
        i = order[at]
        total += diffs[i] if len(diffs) else np.int64(1)
        follows, same = np.int64(NOWHERE), False
        if at + 1 < len(order):
            j = order[at + 1]
            if same_words(words, i, words, j, 0, grouped):
                follows = j
                same = same_words(words, i, words, j, grouped, words.shape[1])
        if same:
            continue
        if total != 0:
            _write_range(ranges, found, comparison, i, follows, key, words.shape[1] - ahead)
            ranges[found, CHANGE], ranges[found, DIFF] = i, total
            found += 1
        if follows == NOWHERE or comparison == EQ:
            total = np.int64(0)
    return found


@part()
def moved_by_two(
    words: Ints, ahead: Word, key: Word, order: Ints, diffs: Ints, behind: Word, links: Ints, ranges: Ints
) -> Word:  # fmt: skip
    """As `moved_by_one`, of changes with two bounds each, of which rows have to be between.

    words[i] begins the window of change i of n, words[n + i] ends it; bit 0 of `behind` says whether it begins behind
    all that is equal to the bound, bit 1 whether it ends there. `order` has all 2n bounds by the words before those of
    the value, then by this, then by whether they are behind. A window that ends before it begins has no rows.
    `links` int64 (2, n) is scratch, `ranges` int64 (2n, RANGE) has room. Cost: a pass over the bounds.
    """
    n, grouped, stop = links.shape[1], ahead + key, words.shape[1]
    found, total, open_ = 0, np.int64(0), np.int64(NOWHERE)
    links[0, :] = UNSEEN
    for at in range(len(order)):
        bound = order[at]
        change = bound % n
        diff = diffs[change] if len(diffs) else np.int64(1)
        if links[0, change] == OVER:
            pass
        elif bound == change:
            open_ = _opened(links, change, open_)
            total += diff
        elif links[0, change] != UNSEEN:
            open_ = _closed(links, change, open_)
            total -= diff
        else:
            links[0, change] = OVER
        if total == 0 or at + 1 == len(order):
            continue
        follows = order[at + 1]
        here, there = is_behind(behind, bound, n), is_behind(behind, follows, n)
        if here == there and same_words(words, bound, words, follows, grouped, stop):
            continue
        width = stop - ahead
        ranges[found, FIRST], ranges[found, FIRST_WORDS], ranges[found, IS_BEHIND] = bound, width, here
        ranges[found, LAST], ranges[found, LAST_WORDS], ranges[found, TO_BEHIND] = follows, width, there
        ranges[found, CHANGE], ranges[found, DIFF] = open_, total
        found += 1
    return found


@part()
def is_behind(behind: Word, bound: Word, changes: Word) -> Word:
    """Whether a bound is behind all that is equal to it."""
    return np.int64(behind >> (1 if bound >= changes else 0)) & 1


@part()
def _opened(links: Ints, change: Word, first: Word) -> Word:
    """Put a change before the `first` of those whose windows are open: it is the first of them now."""
    links[0, change], links[1, change] = NOWHERE, first
    if first != NOWHERE:
        links[0, first] = change
    return change


@part()
def _closed(links: Ints, change: Word, first: Word) -> Word:
    """Take a change out of those whose windows are open: the first of them now."""
    before, after = links[0, change], links[1, change]
    links[0, change] = OVER
    if after != NOWHERE:
        links[0, after] = before
    if before == NOWHERE:
        return after
    links[1, before] = after
    return first


@part()
def _write_range(ranges: Ints, at: Word, comparison: Word, bound: Word, follows: Word, key: Word, width: Word) -> None:
    """The rows that stand in the comparison to a bound, up to where they do to the one that follows as well."""
    behind, other, words, ends = comparison in (GT, LE), bound, width, True
    if comparison != EQ:
        other, words, ends = follows, width, comparison in (GT, LE)
        if follows == NOWHERE:
            other, words, ends = bound, key, comparison > EQ
    near, far = (LAST, FIRST) if comparison <= LE else (FIRST, LAST)
    ranges[at, near], ranges[at, near + 1], ranges[at, near + 2] = bound, width, behind
    ranges[at, far], ranges[at, far + 1], ranges[at, far + 2] = other, words, ends


@part()
def read_rows(
    tree: Tree, words: Ints, ahead: Word, ranges: Ints, limits: Ints, times: Ints, died: Ints, at: Word, place: Word,
    found: Ints,
) -> tuple[Word, Word, Word, Word]:  # fmt: skip
    """Read ranges from number `at` on (from entry `place` of it, -1: from its beginning) while the output has room.

    The keys of the tree (see `ordered.tree`) end with the number of a row; `words` are the bounds, with A = `ahead`. A
    row r is visible to a range's change c if r < limits[c] and died[r] > times[c]; `limits` and `times` have length 1
    if all are the same, `died` length 0 if nobody ever died. Writes to `found` int64 (3, room) the change, the diff and
    the row of each. Returns (range reached, entry reached, count, entries visited). Cost: a search for each range, and
    what lies in it.
    """
    bounds = words[:, ahead:]
    count, visited = 0, 0
    last = len(tree.kinds) - 1
    while at < len(ranges):
        change = ranges[at, CHANGE]
        limit = limits[change if len(limits) > 1 else 0]
        time = times[change if len(times) > 1 else 0]
        entry = np.int64(place)
        if entry < 0:
            entry = first_entry(tree, bounds, ranges[at, FIRST], ranges[at, FIRST_WORDS], ranges[at, IS_BEHIND] != 0)
        most = np.int64(0) if ranges[at, TO_BEHIND] else np.int64(-1)
        while entry >= 0 and compare_entry(tree, entry, bounds, ranges[at, LAST], ranges[at, LAST_WORDS]) <= most:
            if count == found.shape[1]:
                return at, entry, count, visited
            visited += 1
            row = tree.rows[entry, last]
            if row < limit and (len(died) == 0 or died[row] > time):
                found[0, count], found[1, count], found[2, count] = change, ranges[at, DIFF], row
                count += 1
            entry = following(tree, entry)
        place = np.int64(-1)
        at += 1
    return at, np.int64(-1), count, visited


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def moved_ranges(
    words: Ints, ahead: Word, key: Word, order: Ints, diffs: Ints, comparison: Word, ranges: Ints
) -> Word:  # fmt: skip
    """See `moved_by_one`."""
    return moved_by_one(words, ahead, key, order, diffs, comparison, ranges)


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def moved_windows(
    words: Ints, ahead: Word, key: Word, order: Ints, diffs: Ints, behind: Word, links: Ints, ranges: Ints
) -> Word:  # fmt: skip
    """See `moved_by_two`."""
    return moved_by_two(words, ahead, key, order, diffs, behind, links, ranges)


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def read_ranges(
    rows: Ints, heads: Ints, meta: Ints, kinds: Ints, heap: Bytes, starts: Ints, words: Ints, ahead: Word,
    ranges: Ints, limits: Ints, times: Ints, died: Ints, at: Word, place: Word, found: Ints,
) -> tuple[Word, Word, Word, Word]:  # fmt: skip
    """See `read_rows`, of the tree that `rows`, `heads` and `meta` are."""
    tree = Tree(rows, heads, meta, kinds, heap, starts)
    return read_rows(tree, words, ahead, ranges, limits, times, died, at, place, found)

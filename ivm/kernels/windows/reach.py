"""Which rows of a partition a change may concern, function by function.

A change of a partition gives stretches [start, end) of its positions: the new rows, or nothing where a row went. From
these follow, by the function's reach, the rows that may have another value:

- ``NEAR``: those up to so many rows before (`AFTER`) and behind (`BEFORE`) a stretch, or, where the function skips
  NULLs, so many that are counted;
- ``ONWARD``: those behind a stretch, until one has the value that it had, since from there on all have;
- ``BACKWARD``: the same before a stretch;
- ``RANKED``: the stretch, and onward from the first row that is no peer of it;
- ``NUMBERED``: as ``ONWARD``, but not ending before the n-th row;
- ``SHARED``: one value for all: if the first row's changes, all do;
- ``PARTITION``: all rows are read.

Functions with peers take the peers of a stretch to it, and count groups of them. Where values say how far a frame goes,
those rows are concerned whose values lie on both sides of the stretch, which are found by them. `BEFORE` and `AFTER`
are columns of `functions` (see `windows.values`), START to OF_ROW those of stretches.
"""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.part import part
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Ints
from ivm.kernels.windows.positions import behind_groups, bound, counted, placed, select, select_counted
from ivm.kernels.windows.tree import KEY, LEFT, PEERS, RIGHT, Trees, WindowBatch, size
from ivm.kernels.windows.values import (
    AFTER,
    BEFORE,
    COUNTED,
    FAR,
    FROM,
    GROUP,
    HOLE,
    KIND,
    LAG,
    NUMBER,
    OF_PEERS,
    PEERS_HIGH,
    REACH,
    UP_TO,
    find_peers,
)
from ivm.kernels.windows.values import END as FRAME_END
from ivm.kernels.windows.values import START as FRAME_START

NEAR, ONWARD, BACKWARD, RANKED, NUMBERED, SHARED, PARTITION = range(7)
START, END, FIRST_PEER, BEHIND_PEERS, OF_ROW = range(5)
STRETCH = 5


@part()
def find_stretches(
    trees: Trees, root: Word, batch: WindowBatch, sign: Word, first: Word, stop: Word, found: Ints
) -> None:
    """The stretches (n, 5) that the rows order[first:stop], which stand by their keys, have changed, with their peers.

    They are in order.
    """
    rows, key, terms = batch.rows, len(trees.kinds), trees.shape[PEERS]
    for k in range(stop - first):
        i = batch.order[first + k]
        start = bound(trees, root, key, rows, i, False)
        found[k, OF_ROW] = i
        found[k, START], found[k, END] = start, start + max(sign * batch.diffs[i], np.int64(0))
        if batch.peers:
            found[k, FIRST_PEER] = bound(trees, root, terms, rows, i, False)
            found[k, BEHIND_PEERS] = bound(trees, root, terms, rows, i, True)


@part()
def find_intervals(trees: Trees, root: Word, f: Word, rows: Ints, stretches: Ints, memory: Ints, found: Ints) -> Word:
    """The intervals, of two words, of positions that function f must look at, by start; mirrored if it goes backward.

    `rows` are those of the batch. Returns how many; `found` has room for two a stretch, and one more.
    """
    nodes, sizes, shape, functions = trees.nodes, trees.sizes, trees.shape, trees.functions
    reach, field = functions[f, REACH], functions[f, COUNTED]
    count, n, written = size(nodes, shape[KEY], root), len(stretches), np.int64(0)
    if reach in (PARTITION, SHARED):
        found[0, 0], found[0, 1] = 0, count if reach == PARTITION else np.int64(1)
        written += 1
    if reach == PARTITION:
        return written
    far_end = _behind_number(trees, root, f, stretches, memory) if reach == NUMBERED else np.int64(0)
    for step in range(n):
        k = n - 1 - step if reach == BACKWARD else np.int64(step)
        start, end = _concerned(trees, root, f, rows, stretches, np.int64(k))
        if functions[f, KIND] == LAG and field >= 0:
            back = functions[f, NUMBER]
            before = counted(nodes, root, sizes, shape, field, stretches[k, END] if back > 0 else stretches[k, START])
            other = select_counted(nodes, root, sizes, shape, field, before + (back - 1 if back > 0 else back))
            start, end = (stretches[k, START], other + 1) if back > 0 else (other, stretches[k, END])
        end = max(end, far_end)
        found[written, 0] = count - end if reach == BACKWARD else start
        found[written, 1] = count - start if reach == BACKWARD else end
        written += 1
        if reach == RANKED and (k + 1 == n or stretches[k + 1, BEHIND_PEERS] != stretches[k, BEHIND_PEERS]):
            found[written, 0], found[written, 1] = stretches[k, BEHIND_PEERS], stretches[k, BEHIND_PEERS] + 1
            written += 1
    return written


@part()
def _concerned(trees: Trees, root: Word, f: Word, rows: Ints, stretches: Ints, k: Word) -> tuple[Word, Word]:
    """The positions [start, end) of the rows whose frames a stretch concerns, and it itself."""
    functions = trees.functions
    before, after = functions[f, BEFORE], functions[f, AFTER]
    if not functions[f, OF_PEERS]:
        behind = BEHIND_PEERS if functions[f, HOLE] >= GROUP else END
        return stretches[k, START] - after, stretches[k, behind] + before
    start, end = stretches[k, FIRST_PEER], stretches[k, BEHIND_PEERS]
    if functions[f, FROM] >= 0 or functions[f, UP_TO] >= 0:
        start, end = _by_values(trees, root, f, rows, stretches, k)
        return min(start, stretches[k, FIRST_PEER]), max(end, stretches[k, BEHIND_PEERS])
    start = start - after if after >= FAR else behind_groups(trees, root, start, after, LEFT)
    return start, end + before if before >= FAR else behind_groups(trees, root, end, before, RIGHT)


@part()
def _by_values(trees: Trees, root: Word, f: Word, rows: Ints, stretches: Ints, k: Word) -> tuple[Word, Word]:
    """The positions [start, end) of the rows whose frames go beyond a stretch on both sides, by their values."""
    nodes, functions, reach = trees.nodes, trees.functions, trees.functions[f, REACH]
    lower, upper = functions[f, FROM], functions[f, UP_TO]
    count, i = size(nodes, trees.shape[KEY], root), stretches[k, OF_ROW]
    start, end = stretches[k, FIRST_PEER], stretches[k, BEHIND_PEERS]
    if functions[f, FRAME_START] <= -FAR:
        start = placed(trees, root, upper, rows, i, 0, False)
        if functions[f, BEFORE] >= FAR:
            return start, count
        if reach != NEAR:
            return start, start + 1
        if end == count:  # the last value: of frames that end before the next row
            return start, count
        after = select(nodes, root, trees.sizes, trees.shape[KEY], end)
        return start, placed(trees, root, upper, nodes, after, 0, False)
    if functions[f, FRAME_END] >= FAR:
        end = placed(trees, root, lower, rows, i, 0, True)
        if functions[f, AFTER] >= FAR:
            return np.int64(0), end
        if reach != NEAR:
            return end - 1, end
        if start == 0:  # the first value: of frames that begin behind the row before
            return np.int64(0), end
        before = select(nodes, root, trees.sizes, trees.shape[KEY], start - 1)
        return placed(trees, root, lower, nodes, before, 0, True), end
    if upper >= 0:
        start = placed(trees, root, upper, rows, i, 0, False)
    if lower >= 0:
        end = placed(trees, root, lower, rows, i, 0, True)
    return start, end


@part()
def _behind_number(trees: Trees, root: Word, f: Word, stretches: Ints, memory: Ints) -> Word:
    """A position from which on every frame has the n-th row, and had it before."""
    nodes, shape, functions = trees.nodes, trees.shape, trees.functions
    moved = np.int64(0)
    for k in range(len(stretches)):
        moved += max(stretches[k, END] - stretches[k, START], np.int64(1))
    if not functions[f, OF_PEERS]:
        return min(functions[f, NUMBER] + functions[f, BEFORE] + moved, size(nodes, shape[KEY], root) - 1) + 1
    at = min(functions[f, NUMBER] + moved, size(nodes, shape[KEY], root) - 1)
    node = select(nodes, root, trees.sizes, shape[KEY], at)
    if functions[f, UP_TO] >= 0:
        return placed(trees, root, functions[f, UP_TO], nodes, node, 0, False)
    find_peers(trees, root, node, at, memory)
    return behind_groups(trees, root, memory[PEERS_HIGH] + 1, functions[f, BEFORE], RIGHT)

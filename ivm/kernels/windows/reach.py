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

Functions with peers take the peers of a stretch to it. `BEFORE` and `AFTER` are columns of `functions` (see
`windows.values`), START to BEHIND_PEERS those of stretches.
"""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.part import part
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Ints
from ivm.kernels.windows.positions import bound, counted, select, select_counted
from ivm.kernels.windows.tree import KEY, PEERS, Trees, WindowBatch, size
from ivm.kernels.windows.values import COUNTED, KIND, LAG, NUMBER, OF_PEERS, PEERS_HIGH, REACH, find_peers

BEFORE, AFTER = 10, 11
COLUMNS = 12
NEAR, ONWARD, BACKWARD, RANKED, NUMBERED, SHARED, PARTITION = range(7)
START, END, FIRST_PEER, BEHIND_PEERS = range(4)


@part()
def find_stretches(
    trees: Trees, root: Word, batch: WindowBatch, sign: Word, first: Word, stop: Word, found: Ints
) -> None:
    """The stretches (n, 4) that the rows order[first:stop], which stand by their keys, have changed, with their peers.

    They are in order.
    """
    rows, key, terms = batch.rows, len(trees.kinds), trees.shape[PEERS]
    for k in range(stop - first):
        i = batch.order[first + k]
        start = bound(trees, root, key, rows, i, False)
        found[k, START], found[k, END] = start, start + max(sign * batch.diffs[i], np.int64(0))
        if batch.peers:
            found[k, FIRST_PEER] = bound(trees, root, terms, rows, i, False)
            found[k, BEHIND_PEERS] = bound(trees, root, terms, rows, i, True)


@part()
def find_intervals(trees: Trees, root: Word, f: Word, stretches: Ints, memory: Ints, found: Ints) -> Word:
    """The intervals, of two words, of positions that function f must look at, by start; mirrored if it goes backward.

    Returns how many; `found` has room for two a stretch, and one more.
    """
    nodes, sizes, shape, functions = trees.nodes, trees.sizes, trees.shape, trees.functions
    reach, peers, field = functions[f, REACH], functions[f, OF_PEERS] != 0, functions[f, COUNTED]
    count, n, written = size(nodes, shape[KEY], root), len(stretches), np.int64(0)
    if reach in (PARTITION, SHARED):
        found[0, 0], found[0, 1] = 0, count if reach == PARTITION else np.int64(1)
        written += 1
    if reach == PARTITION:
        return written
    far_end = _behind_number(trees, root, f, stretches, memory) if reach == NUMBERED else np.int64(0)
    for step in range(n):
        k = n - 1 - step if reach == BACKWARD else np.int64(step)
        start = stretches[k, FIRST_PEER if peers else START] - functions[f, AFTER]
        end = stretches[k, BEHIND_PEERS if peers else END] + functions[f, BEFORE]
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
def _behind_number(trees: Trees, root: Word, f: Word, stretches: Ints, memory: Ints) -> Word:
    """A position from which on every frame has the n-th row, and had it before."""
    nodes, shape, functions = trees.nodes, trees.shape, trees.functions
    moved = np.int64(0)
    for k in range(len(stretches)):
        moved += max(stretches[k, END] - stretches[k, START], np.int64(1))
    at = min(functions[f, NUMBER] + functions[f, BEFORE] + moved, size(nodes, shape[KEY], root) - 1)
    if functions[f, OF_PEERS]:
        find_peers(trees, root, select(nodes, root, trees.sizes, shape[KEY], at), at, memory)
        at = memory[PEERS_HIGH]
    return at + 1

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
from ivm.kernels.texts.dictionary import Bytes
from ivm.kernels.types import Ints
from ivm.kernels.windows.positions import bound, counted, select, select_counted
from ivm.kernels.windows.tree import KEY, PEERS, size
from ivm.kernels.windows.values import COUNTED, KIND, LAG, NUMBER, OF_PEERS, PEERS_HIGH, REACH, find_peers

BEFORE, AFTER = 10, 11
COLUMNS = 12
NEAR, ONWARD, BACKWARD, RANKED, NUMBERED, SHARED, PARTITION = range(7)
START, END, FIRST_PEER, BEHIND_PEERS = range(4)


@part(counted=True)
def find_stretches(
    nodes: Ints,
    root: Word,
    sizes: Ints,
    kinds: Ints,
    heap: Bytes,
    starts: Ints,
    shape: Ints,
    rows: Ints,
    diffs: Ints,
    sign: Word,
    order: Ints,
    first: Word,
    stop: Word,
    peers: bool,
    room: Ints,
) -> Ints:
    """The stretches (n, 4) that the rows order[first:stop] have changed, by position, each with its peers.

    They are written to `room`, which has twice as many rows at least.
    """
    found, other = room[: stop - first], room[stop - first : 2 * (stop - first)]
    key = shape[KEY]
    terms = kinds[: shape[PEERS]]
    for k in range(stop - first):
        i = order[first + k]
        diff = sign * (diffs[i] if len(diffs) else np.int64(1))
        start = bound(nodes, root, sizes, key, kinds, heap, starts, rows, i, False)
        found[k, START], found[k, END] = start, start + max(diff, np.int64(0))
        if peers:
            found[k, FIRST_PEER] = bound(nodes, root, sizes, key, terms, heap, starts, rows, i, False)
            found[k, BEHIND_PEERS] = bound(nodes, root, sizes, key, terms, heap, starts, rows, i, True)
    return _sorted_by_start(found, other)


@part(counted=True)
def _sorted_by_start(found: Ints, other: Ints) -> Ints:
    """The rows of `found` in order, there or in `other`."""
    ascending = True
    for k in range(1, len(found)):
        ascending = ascending and found[k - 1, 0] <= found[k, 0]
    run = len(found) if ascending else 1
    while run < len(found):  # runs that are in order are merged two by two
        for low in range(0, len(found), 2 * run):
            middle, high = min(low + run, len(found)), min(low + 2 * run, len(found))
            i, j = low, middle
            for k in range(low, high):
                left = j == high or (i < middle and found[i, 0] <= found[j, 0])
                for w in range(found.shape[1]):
                    other[k, w] = found[i if left else j, w]
                i, j = (i + 1, j) if left else (i, j + 1)
        found, other = other, found
        run *= 2
    return found


@part(counted=True)
def find_intervals(
    nodes: Ints,
    root: Word,
    sizes: Ints,
    kinds: Ints,
    heap: Bytes,
    starts: Ints,
    shape: Ints,
    functions: Ints,
    f: Word,
    stretches: Ints,
    memory: Ints,
    room: Ints,
) -> Ints:
    """The intervals, of two words, of positions that function f must look at, by start; mirrored if it goes backward.

    They are written to `room`, which has four rows a stretch at least, and two more.
    """
    reach, peers = functions[f, REACH], functions[f, OF_PEERS] != 0
    count = size(nodes, shape[KEY], root)
    n = len(stretches)
    most = 2 * n if reach == RANKED else n + 1
    found, spare = room[:most], room[most : 2 * most]
    found[n, 0] = found[n, 1] = 0
    if reach == PARTITION:
        found[0, 0], found[0, 1] = 0, count
        return found[:1]
    far_end = np.int64(0)
    if reach == NUMBERED:
        far_end = _behind_number(nodes, root, sizes, kinds, heap, starts, shape, functions, f, stretches, memory)
    field = functions[f, COUNTED]
    for k in range(n):
        start = stretches[k, FIRST_PEER if peers else START] - functions[f, AFTER]
        end = stretches[k, BEHIND_PEERS if peers else END] + functions[f, BEFORE]
        if functions[f, KIND] == LAG and field >= 0:
            back = functions[f, NUMBER]
            before = counted(nodes, root, sizes, shape, field, stretches[k, END] if back > 0 else stretches[k, START])
            other = select_counted(nodes, root, sizes, shape, field, before + (back - 1 if back > 0 else back))
            start, end = (stretches[k, START], other + 1) if back > 0 else (other, stretches[k, END])
        if reach == RANKED:
            found[n + k, 0] = stretches[k, BEHIND_PEERS]
            found[n + k, 1] = stretches[k, BEHIND_PEERS] + 1
        found[k, 0], found[k, 1] = start, max(end, far_end)
    if reach == SHARED:
        found[n, 1] = 1
    elif reach != RANKED:
        found = found[:n]
    if reach == BACKWARD:
        for k in range(len(found)):
            found[k, 0], found[k, 1] = count - found[k, 1], count - found[k, 0]
    return _sorted_by_start(found, spare[: len(found)])


@part()
def _behind_number(
    nodes: Ints,
    root: Word,
    sizes: Ints,
    kinds: Ints,
    heap: Bytes,
    starts: Ints,
    shape: Ints,
    functions: Ints,
    f: Word,
    stretches: Ints,
    memory: Ints,
) -> Word:
    """A position from which on every frame has the n-th row, and had it before."""
    count = size(nodes, shape[KEY], root)
    moved = np.int64(0)
    for k in range(len(stretches)):
        moved += max(stretches[k, END] - stretches[k, START], np.int64(1))
    at = min(functions[f, NUMBER] + functions[f, BEFORE] + moved, count - 1)
    if functions[f, OF_PEERS]:
        node = select(nodes, root, sizes, shape[KEY], at)
        find_peers(nodes, root, sizes, shape, kinds, heap, starts, node, at, memory)
        at = memory[PEERS_HIGH]
    return at + 1

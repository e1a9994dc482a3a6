"""The value of a window function at a row, from its position in its partition's tree.

`functions` is int64 (functions, 16), a row for each: its kind; where its words begin among the values; how many they
are; its argument, as the place in a node's words, the argument's extreme (see `windows.tree`), or 0; the start and the
end of its frame as offsets, -FAR and FAR where unbounded; whether offsets count groups of peers; the field that counts
the argument's values that are not NULL, -1 where NULLs are not skipped; the number that it is given (the offset of lag,
negative for lead; of ntile and nth_value); its reach, and how far it looks back and ahead (see `windows.reach`); where
in a node the value stands up to which the frame goes at its start and at its end, -1 where the offset says it; what
it leaves out (`NOTHING` to `TIES`); and where in a node the number stands if it is another for each row, else -1: it is
taken as often as the plan's number says. `defaults` is int64 (functions, 3): the words of the default of lag and lead.
Values that may be NULL have a word before them that says whether there is one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ivm.kernels.compiling.part import part
from ivm.kernels.numbers.exact_float import bits_of
from ivm.kernels.numbers.wide import Word
from ivm.kernels.ordered.tree import same_words
from ivm.kernels.types import Ints
from ivm.kernels.windows.positions import (
    behind_groups,
    bound,
    counted,
    neighbour,
    pieces,
    placed,
    select,
    select_counted,
)
from ivm.kernels.windows.tree import KEY, LEFT, OWN, PEERS, RIGHT, TREE, VALUES, Trees, add_fields, better, size

KIND, AT, COUNT, ARGUMENT, START, END, OF_PEERS, COUNTED, NUMBER, REACH, BEFORE, AFTER, FROM, UP_TO, HOLE = range(15)
NUMBERED, COLUMNS = 15, 16
NOTHING, ROW, GROUP, TIES = range(4)
ROW_NUMBER, RANK, DENSE_RANK, PERCENT_RANK, CUME_DIST, NTILE, LAG, NTH, LAST, SUMS, EXTREME = range(11)
FAR = np.int64(2**40)
# What of the walk is remembered from one row to the next: the frame that `result` was computed for, the peers of the
# last row, those of a row whose frame goes by groups, with that frame; and of a frame with a hole what is left of it.
FRAME_LOW, FRAME_HIGH, PEERS_LOW, PEERS_HIGH, GROUPED, GROUPS_LOW, GROUPS_HIGH, PARTS = range(8)
MEMORY = PARTS + 6


class Scratch(NamedTuple):
    """Arrays that are unspecified at first: for paths, covers of frames, what `evaluate` remembers, and intervals."""

    stack: Ints
    cover: Ints
    memory: Ints
    result: Ints
    room: Ints


@part()
def find_peers(trees: Trees, root: Word, node: Word, at: Word, memory: Ints) -> None:
    """Remember the positions of the first and the last peer of a node at a position; O(log n) where they are new.

    What is remembered are the peers of another row, or none: memory[PEERS_LOW] > memory[PEERS_HIGH] + 2.
    """
    if memory[PEERS_LOW] <= at <= memory[PEERS_HIGH]:
        return
    nodes, sizes, shape, words = trees.nodes, trees.sizes, trees.shape, trees.shape[PEERS]
    known_low, known_high = at == memory[PEERS_HIGH] + 1, at == memory[PEERS_LOW] - 1
    memory[PEERS_LOW] = memory[PEERS_HIGH] = at
    if not known_low and _is_peer(nodes, sizes, shape, node, LEFT):
        memory[PEERS_LOW] = bound(trees, root, words, nodes, node, False)
    if not known_high and _is_peer(nodes, sizes, shape, node, RIGHT):
        memory[PEERS_HIGH] = bound(trees, root, words, nodes, node, True) - 1


@part()
def _is_peer(nodes: Ints, sizes: Ints, shape: Ints, node: Word, side: Word) -> bool:
    """Whether the next node on a side is one that ORDER BY does not tell from this one."""
    other = neighbour(nodes, sizes, shape[KEY], node, side)
    return other >= 0 and same_words(nodes, other, nodes, node, 0, shape[PEERS])


@part(inline=True)
def evaluate(trees: Trees, root: Word, f: Word, node: Word, at: Word, scratch: Scratch) -> None:
    """Write the words of function f at a node, whose position is `at`, to scratch.result[0].

    Cost: O(log n) at most. `result` and `memory` must be those of the row computed before, or memory[FRAME_HIGH] must
    be below -FAR and memory[PEERS_HIGH] negative.
    """
    nodes, sizes, shape, functions = trees.nodes, trees.sizes, trees.shape, trees.functions
    memory, result = scratch.memory, scratch.result
    kind, count = functions[f, KIND], size(nodes, shape[KEY], root)
    if kind == ROW_NUMBER:
        result[0, 0] = at + 1
        return
    if kind == NTILE:
        _ntile(trees, f, node, at, count, result)
        return
    if kind == DENSE_RANK:
        result[0, 0] = _dense_rank(nodes, sizes, shape, functions[f, AT], node)
        return
    if kind == LAG:
        _lag(trees, root, f, node, at, count, result)
        return
    if kind in (RANK, PERCENT_RANK, CUME_DIST) or functions[f, OF_PEERS] or functions[f, HOLE] > ROW:
        find_peers(trees, root, node, at, memory)
    if kind == RANK:
        result[0, 0] = memory[PEERS_LOW] + 1
        return
    if kind == PERCENT_RANK:
        result[0, 0] = bits_of(np.float64(memory[PEERS_LOW]) / np.float64(count - 1) if count > 1 else 0.0)
        return
    if kind == CUME_DIST:
        result[0, 0] = bits_of(np.float64(memory[PEERS_HIGH] + 1) / np.float64(count))
        return
    low, high = at + functions[f, START], at + functions[f, END]
    if functions[f, OF_PEERS]:
        low, high = _frame_of_peers(trees, root, f, node, low, high, memory)
    low, high = max(low, np.int64(0)), min(high, count - 1)
    if kind in (NTH, LAST) and not _is_counted(trees, f, node, 1):
        _copy(nodes, -1, 0, functions[f, COUNT], result)
    elif functions[f, HOLE] != NOTHING:
        _with_a_hole(trees, root, f, node, at, low, high, scratch)
    elif kind in (NTH, LAST):
        _nth(trees, root, f, low, high, _number(trees, f, node) - 1, result)
    elif low != memory[FRAME_LOW] or high != memory[FRAME_HIGH]:
        _of_frame(trees, root, f, node, at, low, high, scratch)
        memory[FRAME_LOW], memory[FRAME_HIGH] = low, high


@part()
def _frame_of_peers(
    trees: Trees, root: Word, f: Word, node: Word, low: Word, high: Word, memory: Ints
) -> tuple[Word, Word]:
    """The frame of a row whose peers are remembered, by groups or by values; `low` and `high` where it is unbounded."""
    functions, nodes = trees.functions, trees.nodes
    start, end = functions[f, START], functions[f, END]
    if memory[GROUPED] == memory[PEERS_LOW]:
        return memory[GROUPS_LOW], memory[GROUPS_HIGH]
    first, behind = memory[PEERS_LOW], memory[PEERS_HIGH] + 1
    if functions[f, FROM] >= 0:
        low = placed(trees, root, 0, nodes, node, functions[f, FROM], False)
    elif start == 0:
        low = first
    elif start > -FAR:
        low = behind_groups(
            trees, root, first if start < 0 else behind, max(-start, start - 1), RIGHT if start > 0 else LEFT
        )
    if functions[f, UP_TO] >= 0:
        high = placed(trees, root, 0, nodes, node, functions[f, UP_TO], True) - 1
    elif end == 0:
        high = memory[PEERS_HIGH]
    elif end < FAR:
        high = (
            behind_groups(trees, root, behind if end > 0 else first, max(end, -end - 1), RIGHT if end > 0 else LEFT) - 1
        )
    memory[GROUPED], memory[GROUPS_LOW], memory[GROUPS_HIGH] = memory[PEERS_LOW], low, high
    return low, high


@part(inline=True)
def _number(trees: Trees, f: Word, node: Word) -> Word:
    """The number that a function is given at a node, or one that is as far beyond all rows."""
    place, number = trees.functions[f, NUMBERED], trees.functions[f, NUMBER]
    return number if place < 0 else number * min(max(trees.nodes[node, place + 1], -FAR), FAR)


@part(inline=True)
def _is_counted(trees: Trees, f: Word, node: Word, least: Word) -> bool:
    """Whether a function is given a number at a node, and not one below `least`."""
    place = trees.functions[f, NUMBERED]
    return bool(place < 0 or (trees.nodes[node, place] != 0 and trees.nodes[node, place + 1] >= least))


@part(inline=True)
def _ntile(trees: Trees, f: Word, node: Word, at: Word, count: Word, result: Ints) -> None:
    """The tile of a row; where the number of tiles is another for each row, NULL where that is."""
    if trees.functions[f, NUMBERED] < 0:
        result[0, 0] = _tile(at, count, trees.functions[f, NUMBER])
        return
    there = _is_counted(trees, f, node, 1)
    result[0, 0] = np.int64(there)
    result[0, 1] = _tile(at, count, _number(trees, f, node)) if there else np.int64(0)


@part()
def _tile(at: Word, count: Word, tiles: Word) -> Word:
    """The number of the tile, from 1: the first count % tiles of them have one row more."""
    small = count // tiles
    large = count % tiles
    if at < large * (small + 1):
        return at // (small + 1) + 1
    return large + (at - large * (small + 1)) // small + 1


@part()
def _dense_rank(nodes: Ints, sizes: Ints, shape: Ints, at: Word, node: Word) -> Word:
    """One more than that of the row before, which must be right, unless it is a peer."""
    before = neighbour(nodes, sizes, shape[KEY], node, LEFT)
    if before < 0:
        return np.int64(1)
    rank = nodes[before, shape[VALUES] + at]
    return rank if same_words(nodes, before, nodes, node, 0, shape[PEERS]) else rank + 1


@part()
def _copy(nodes: Ints, node: Word, argument: Word, words: Word, result: Ints) -> None:
    for w in range(words):
        result[0, w] = nodes[node, argument + w] if node >= 0 else np.int64(0)


@part(inline=True)
def _lag(trees: Trees, root: Word, f: Word, node: Word, at: Word, count: Word, result: Ints) -> None:
    """The argument so many rows before, of those that are counted; the default where there is no such row."""
    nodes, sizes, shape, functions = trees.nodes, trees.sizes, trees.shape, trees.functions
    back, field = _number(trees, f, node), functions[f, COUNTED]
    if not _is_counted(trees, f, node, np.int64(-(2**63))):
        _copy(nodes, -1, 0, functions[f, COUNT], result)
        return
    position = at - back
    if field >= 0 and back != 0:
        before = counted(nodes, root, sizes, shape, field, at if back > 0 else at + 1)
        position = select_counted(nodes, root, sizes, shape, field, before - back if back > 0 else before - back - 1)
    if 0 <= position < count:
        other = select(nodes, root, sizes, shape[KEY], position)
        _copy(nodes, other, functions[f, ARGUMENT], functions[f, COUNT], result)
    else:
        for w in range(functions[f, COUNT]):
            result[0, w] = trees.defaults[f, w]


@part(inline=True)
def _nth(trees: Trees, root: Word, f: Word, low: Word, high: Word, number: Word, result: Ints) -> bool:
    """The argument of row `number`, from 0, or the last one of those of [low, high] that are counted; NULL without.

    Returns whether there is one.
    """
    nodes, sizes, shape, functions = trees.nodes, trees.sizes, trees.shape, trees.functions
    field, last = functions[f, COUNTED], functions[f, KIND] == LAST
    position = high if last else low + number
    if field >= 0 and low <= high:
        before = counted(nodes, root, sizes, shape, field, high + 1 if last else low)
        position = select_counted(nodes, root, sizes, shape, field, before - 1 if last else before + number)
    node = np.int64(-1)
    if low <= position <= high:
        node = select(nodes, root, sizes, shape[KEY], position)
    _copy(nodes, node, functions[f, ARGUMENT], functions[f, COUNT], result)
    return bool(node >= 0)


@part()
def _with_a_hole(
    trees: Trees, root: Word, f: Word, node: Word, at: Word, low: Word, high: Word, scratch: Scratch
) -> None:
    """The value of a function over the frame [low, high] without what it leaves out. Cost: O(log n)."""
    functions, memory, result = trees.functions, scratch.memory, scratch.result
    hole = functions[f, HOLE]
    first, last = (at, at) if hole == ROW else (memory[PEERS_LOW], memory[PEERS_HIGH])
    parts = memory[PARTS : PARTS + 6]
    parts[0], parts[1] = low, min(high, first - 1)
    parts[2], parts[3] = (max(low, at), min(high, at)) if hole == TIES else (np.int64(1), np.int64(0))
    parts[4], parts[5] = max(low, last + 1), high
    for w in range(functions[f, COUNT]):
        result[0, w] = 0
    if functions[f, KIND] in (NTH, LAST):
        _nth_part(trees, root, f, _number(trees, f, node) - 1, parts, result)
        return
    for p in range(0, 6, 2):
        if parts[p] <= parts[p + 1]:
            found = pieces(trees.nodes, root, trees.sizes, trees.shape[KEY], parts[p], parts[p + 1], scratch.cover)
            _add_pieces(trees, f, found, scratch)


@part()
def _nth_part(trees: Trees, root: Word, f: Word, number: Word, parts: Ints, result: Ints) -> None:
    """The argument of row `number`, from 0, or of the last row, of those that are counted, of stretches of rows."""
    nodes, sizes, shape, functions = trees.nodes, trees.sizes, trees.shape, trees.functions
    field, last = functions[f, COUNTED], functions[f, KIND] == LAST
    for step in range(0, 6, 2):
        p = 4 - step if last else step
        low, high = parts[p], parts[p + 1]
        if low > high:
            continue
        if _nth(trees, root, f, low, high, number, result):
            return
        if field < 0:
            number -= high + 1 - low
        elif not last:
            number -= counted(nodes, root, sizes, shape, field, high + 1)
            number += counted(nodes, root, sizes, shape, field, low)


@part(inline=True)
def _of_frame(trees: Trees, root: Word, f: Word, node: Word, at: Word, low: Word, high: Word, scratch: Scratch) -> None:
    """The totals or the extreme of the frame [low, high]. Where it has grown by this row alone, so does the result."""
    nodes, shape, functions = trees.nodes, trees.shape, trees.functions
    memory, cover, result = scratch.memory, scratch.cover, scratch.result
    grown = (low == memory[FRAME_LOW] and high == at and memory[FRAME_HIGH] == at - 1) or (
        high == memory[FRAME_HIGH] and low == at and memory[FRAME_LOW] == at + 1
    )
    found = 1
    cover[0] = 2 * node
    if not grown:
        for w in range(functions[f, COUNT]):
            result[0, w] = 0
        found = pieces(nodes, root, trees.sizes, shape[KEY], low, high, cover)
    _add_pieces(trees, f, found, scratch)


@part(inline=True)
def _add_pieces(trees: Trees, f: Word, found: Word, scratch: Scratch) -> None:
    """Take so many pieces of the cover to the totals or the extreme that there are."""
    nodes, shape, functions, extremes = trees.nodes, trees.shape, trees.functions, trees.extremes
    cover, result = scratch.cover, scratch.result
    if functions[f, KIND] == SUMS:
        for p in range(found):
            add_fields(nodes, cover[p] >> 1, shape[TREE] if cover[p] & 1 else shape[OWN], result, 0, 0, trees.carries)
        return
    k = functions[f, ARGUMENT]
    for p in range(found):
        at_ = extremes[k, 4] if cover[p] & 1 else extremes[k, 0]
        if better(trees, cover[p] >> 1, at_, result, 0, 0, k):
            for w in range(functions[f, COUNT]):
                result[0, w] = nodes[cover[p] >> 1, at_ + w]

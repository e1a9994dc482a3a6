"""A leg that is a look-up by bounds: changes of these meet the rows, in the order of a value, on which they do not
cancel. See `ordered.threshold_join`.
"""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.part import part
from ivm.kernels.hashing.keys import DOUBLE, FORM, PAIR, pack_block
from ivm.kernels.memory.at import MANY, address_of, data_of, ints_at, length_of, load, words_at
from ivm.kernels.memory.places import PLACES, REFERENCES, UNREADABLE
from ivm.kernels.numbers.wide import Word
from ivm.kernels.ordered.nodes import META, Tree, tree_at
from ivm.kernels.ordered.threshold_join import (
    LE,
    RANGE,
    is_behind,
    moved_by_one,
    moved_by_two,
    read_rows,
)
from ivm.kernels.ordered.tree import compare_keys
from ivm.kernels.step.arena import take
from ivm.kernels.step.onward import along, bind, gather
from ivm.kernels.step.records import (
    ARENA,
    ARENA_END,
    BOUND_FORMS,
    BOUND_LEG,
    BOUND_PARTS,
    BOUND_WORDS,
    BOUNDS,
    CARRIED,
    CARRIED_FORM,
    CARRIED_PARTS,
    COMPARED,
    DIFFS,
    ELSEWHERE,
    FIRST,
    GROUPS,
    HEAP,
    IN,
    KEYED,
    KINDS,
    LENGTH,
    MET_IN,
    MOST,
    MOST_MET,
    NO_ARENA,
    OUT_EDGE,
    SEEN_DIED,
    SEEN_LIMIT,
    SEEN_STAMP,
    STRINGS,
    TOLD,
    TREE,
    VALUE_KIND,
    VISITS,
)
from ivm.kernels.types import Ints

_WORD = np.int64(0)
_SIGN = np.int64(-(2**63))
_REST = np.int64(2**63 - 1)
_MOST_CHANGES = 64
"""So many changes are put in order one by one; more of them are for Python."""
_LEAST_MET = 64


@part(counted=True)
def meet_rows(route: Ints, leg: Word) -> Word:
    """Let changes of bounds meet the rows on which they do not cancel: how many do; ELSEWHERE if either are many.

    Cost: a search for each step of the bounds, and the rows that it holds for.
    """
    edge, both = route[leg + IN], route[leg + BOUNDS]
    rows, width = route[edge + LENGTH] - route[edge + FIRST], route[leg + CARRIED] + route[leg + BOUND_WORDS]
    if rows > _MOST_CHANGES:
        return np.int64(ELSEWHERE)
    scratch = META + rows * (both * (width + route[leg + BOUND_WORDS] + RANGE + 1) + route[leg + CARRIED] + 6)
    if take(route, _WORD, scratch) == 0:
        return np.int64(NO_ARENA)
    at = route[ARENA_END] - 8 * scratch
    meta, at = ints_at(at, META), at + 8 * META
    meta[:] = ints_at(route[leg + TREE], META)
    strings = ints_at(data_of(route[leg + STRINGS]), length_of(route[leg + STRINGS], 0))
    heap = ints_at(data_of(route[leg + HEAP]), (length_of(route[leg + HEAP], 0) + 7) >> 3).view(np.uint8)
    tree = tree_at(meta, ints_at(route[leg + KINDS], route[leg + BOUND_WORDS] + 1), heap, strings)
    numbers, diffs = ints_at(at, rows), ints_at(at + 8 * rows, rows)
    words, at = words_at(at + 16 * rows, both * rows, width), at + 16 * rows + 8 * both * rows * width
    count = _pack(route, leg, words, numbers, at)
    if count < 0:
        return count
    for change in range(count):
        diffs[change] = 1 if route[edge + DIFFS] == 0 else load(route[edge + DIFFS] + 8 * numbers[change], _WORD)
    words, order, links = words[: both * count], ints_at(at, both * count), words_at(at + 8 * both * rows, 2, count)
    ranges = words_at(at + 8 * (both + 2) * rows, both * count, RANGE)
    ahead, compared = route[leg + CARRIED], route[leg + COMPARED]
    _sort(tree, words, ahead, both > 1, compared, order)
    if both > 1:
        moved = moved_by_two(words, ahead, route[leg + KEYED], order, diffs[:count], compared, links, ranges)
    else:
        moved = moved_by_one(words, ahead, route[leg + KEYED], order, diffs[:count], compared, ranges)
    return _read(route, leg, tree, words, ranges[:moved], numbers, scratch)


@part()
def _pack(route: Ints, leg: Word, words: Ints, numbers: Ints, scratch: Word) -> Word:
    """Make the words of changes: what they carry, then key and bound, of all with the one before those with the other.

    Those with a NULL in key or bounds are left out: `numbers` are those of the rows that are not. How many there are,
    or UNREADABLE.
    """
    edge, carried, width = route[leg + IN], route[leg + CARRIED], route[leg + BOUND_WORDS]
    first, rows, both = route[edge + FIRST], len(numbers), route[leg + BOUNDS]
    sources, parts = address_of(route[edge + GROUPS :]), route[leg + BOUND_PARTS]
    missing, left_out = ints_at(scratch, rows), ints_at(scratch + 8 * rows, rows)
    apart, at = words_at(scratch + 16 * rows, rows, carried), scratch + 8 * rows * (2 + carried)
    if carried > 0:
        form = words_at(route[leg + CARRIED_FORM], route[leg + CARRIED_PARTS], FORM)
        if not pack_block(form, sources, first, apart, missing):
            return np.int64(UNREADABLE)
    left_out[:] = 0
    for bound in range(both):
        form = words_at(route[leg + BOUND_FORMS] + 8 * FORM * parts * bound, parts, FORM)
        packed = words_at(at + 8 * rows * width * bound, rows, width)
        if not pack_block(form, sources, first, packed, missing):
            return np.int64(UNREADABLE)
        _put_in_order(route[leg + VALUE_KIND], route[leg + KEYED], packed)
        for row in range(rows):
            left_out[row] |= missing[row]
    count = _WORD
    for row in range(rows):
        if left_out[row] == 0:
            numbers[count] = first + row
            count += 1
    for bound in range(both):
        packed = words_at(at + 8 * rows * width * bound, rows, width)
        for change in range(count):
            row, to = numbers[change] - first, bound * count + change
            for w in range(carried):
                words[to, w] = apart[row, w]
            for w in range(width):
                words[to, carried + w] = packed[row, w]
    return count


@part()
def _put_in_order(kind: Word, word: Word, rows: Ints) -> None:
    """Let values that are packed, from a word on, be words that compare as they do."""
    if kind == DOUBLE:
        for row in range(len(rows)):
            rows[row, word] ^= (rows[row, word] >> np.int64(63)) & _REST
    elif kind == PAIR:
        for row in range(len(rows)):
            low, high = rows[row, word], rows[row, word + 1]
            rows[row, word], rows[row, word + 1] = high, low ^ _SIGN


@part()
def _sort(tree: Tree, words: Ints, ahead: Word, windows: bool, compared: Word, order: Ints) -> None:
    """Put bounds in the order in which `moved_by_one` and `moved_by_two` take them."""
    sign, changes = np.int64(-1) if not windows and compared <= LE else np.int64(1), len(order) >> 1
    bounds, width = words[:, ahead:], words.shape[1] - ahead
    for number in range(len(order)):
        at = number
        while at > 0:
            other = order[at - 1]
            side = _WORD
            for w in range(ahead):
                if side == 0 and words[other, w] != words[number, w]:
                    side = np.int64(1) if words[other, w] > words[number, w] else np.int64(-1)
            if side == 0:
                side = sign * compare_keys(
                    bounds, other, bounds, number, _WORD, width, tree.kinds, tree.heap, tree.starts
                )
            if side == 0 and windows:
                side = is_behind(compared, other, changes) - is_behind(compared, number, changes)
            if side <= 0:
                break
            order[at] = other
            at -= 1
        order[at] = number


@part()
def _read(route: Ints, leg: Word, tree: Tree, words: Ints, ranges: Ints, numbers: Ints, scratch: Word) -> Word:
    """Read the rows in ranges, and lay the edge behind: how many there are."""
    edge, out = route[leg + IN], route[leg + OUT_EDGE]
    deaths = route[leg + SEEN_DIED]
    limits, stamps = route[leg + SEEN_LIMIT : leg + SEEN_LIMIT + 1], route[leg + SEEN_STAMP : leg + SEEN_STAMP + 1]
    died = ints_at(deaths, MANY if deaths != 0 else _WORD)
    arrays = along(route, leg, leg + BOUND_LEG) - np.int64(route[edge + DIFFS] != 0)
    begin = route[ARENA]
    while True:
        room = route[leg + MOST_MET]
        met = take(route, room * (3 + arrays), scratch)
        if met == 0:
            return np.int64(NO_ARENA)
        found = words_at(met, 3, room)
        at, _, count, visited = read_rows(
            tree, words, route[leg + CARRIED], ranges, limits, stamps, died, _WORD, np.int64(-1), found
        )
        if at == len(ranges):
            break
        route[ARENA], route[leg + MOST_MET] = begin, 4 * room
        if room >= route[MOST]:
            route[leg + MOST_MET] = _LEAST_MET
            return np.int64(ELSEWHERE)
    route[leg + VISITS] += visited
    route[TOLD] = 1
    route[leg + MOST_MET] = max(_LEAST_MET, min(room, 2 * count))
    if count == 0:
        return count
    for row in range(count):
        found[0, row] = numbers[found[0, row]]
    gathered = met + 24 * room
    gather(route[leg + BOUND_LEG : leg + BOUND_LEG + arrays], met, count, gathered, 8 * room)
    group = bind(route, leg, count, met, route[edge + FIRST], False, gathered, 8 * room)
    route[group + PLACES], route[group + REFERENCES] = route[leg + MET_IN], met + 16 * room
    route[out + DIFFS] = met + 8 * room
    return count

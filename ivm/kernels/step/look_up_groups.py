"""A leg that is a look-up of groups: rows find the groups of their keys, and what of these is read becomes columns."""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.part import part
from ivm.kernels.groups.block import BLOCK_WORDS, KEY_WORDS, STATE
from ivm.kernels.groups.finalize import AT as WORD_AT
from ivm.kernels.groups.finalize import WORDS as OUTPUT_WORDS
from ivm.kernels.groups.finalize import OutputRow, finalize
from ivm.kernels.groups.lookup import ABSENT, AT_BLOCK, copy_fields, find_fields
from ivm.kernels.groups.table import BLOCK
from ivm.kernels.hashing.keys import FORM, INTEGER, pack_block
from ivm.kernels.memory.at import address_of, bools_at, data_of, hashes_at, ints_at, load, words_at
from ivm.kernels.memory.places import (
    ADDRESS,
    BIT,
    PLACES,
    REFERENCES,
    SIZE,
    STRIDE,
    UNREADABLE,
    VALIDITY,
    WORDS,
)
from ivm.kernels.numbers.wide import Word
from ivm.kernels.ordered.encode import take_values
from ivm.kernels.step.arena import take
from ivm.kernels.step.onward import along, bind, gather
from ivm.kernels.step.records import (
    AGGREGATE_COUNT,
    AGGREGATE_WORDS,
    AGGREGATES,
    ALWAYS,
    ARENA_END,
    BEGIN,
    BYTES,
    COLUMNS,
    ENCODED,
    FIRST,
    FROM,
    GROUPS,
    GROUPS_LEG,
    GROUPS_SEEN,
    IN,
    INCLUSIVE,
    KEEPS_KEYS,
    KEY_FORM,
    KEY_PARTS,
    LENGTH,
    MADE,
    MADE_COLUMN,
    NO_ARENA,
    NUMBER,
    OUTPUTS,
    ROWS,
    SCRATCH,
    TIME,
    TIMES,
    VALID,
)
from ivm.kernels.types import Bools, Ints

_WORD = np.int64(0)
_AGGREGATE = len(OutputRow._fields)


@part()
def look_up_groups(route: Ints, leg: Word) -> Word:
    """Let rows find the groups of their keys: how many do. Cost: see `find_fields` and `finalize`."""
    edge = route[leg + IN]
    first, rows = route[edge + FIRST], route[edge + LENGTH] - route[edge + FIRST]
    block = ints_at(data_of(route[leg + GROUPS_SEEN + AT_BLOCK]), BLOCK_WORDS)
    width = block[KEY_WORDS]
    fields = block[STATE + 2] - width - 1
    arrays, kept = along(route, leg, leg + GROUPS_LEG), width if route[leg + KEEPS_KEYS] != 0 else _WORD
    valid = (BLOCK * route[leg + AGGREGATE_COUNT] + 7) >> 3
    scratch = BLOCK * (width + 5 + fields + route[leg + AGGREGATE_WORDS]) + valid + route[leg + SCRATCH]
    words = rows * (1 + arrays + kept + route[leg + ROWS]) + WORDS * route[leg + COLUMNS]
    positions = take(route, words, scratch)
    if positions == 0:
        return np.int64(NO_ARENA)
    keys = positions + 8 * rows * (1 + arrays)
    room, places = keys + 8 * rows * kept, positions + 8 * (words - WORDS * route[leg + COLUMNS])
    count = _find(route, leg, width, fields, positions, keys, room, route[ARENA_END] - 8 * scratch)
    if count >= 0:
        every, gathered = count == rows, positions + 8 * rows
        if not every:
            addresses = route[leg + GROUPS_LEG : leg + GROUPS_LEG + arrays]
            gather(addresses, positions, count, gathered, 8 * rows)
        group = bind(route, leg, count, positions, first, every, gathered, 8 * rows)
        if route[leg + COLUMNS] != 0:
            route[group + PLACES], route[group + REFERENCES] = places, 0
            _tell(route, leg, keys, 8 * width, room, rows, places)
    return count


@part()
def _find(
    route: Ints, leg: Word, width: Word, fields: Word, positions: Word, keys: Word, room: Word, scratch: Word
) -> Word:
    """Find the groups of all rows, block by block; how many there are, or UNREADABLE.

    At `positions` come the numbers of the rows that found one, at `keys` the words of their keys if these are kept, and
    in the `room` the columns that are made.
    """
    edge, seen = route[leg + IN], route[leg + GROUPS_SEEN :]
    first, rows = route[edge + FIRST], route[edge + LENGTH] - route[edge + FIRST]
    form, sources = words_at(route[leg + KEY_FORM], route[leg + KEY_PARTS], FORM), address_of(route[edge + GROUPS :])
    words = words_at(scratch, BLOCK, width)
    scratch += 8 * BLOCK * width
    missing, at = ints_at(scratch, BLOCK), ints_at(scratch + 8 * BLOCK, BLOCK)
    tags, slots = hashes_at(scratch + 16 * BLOCK, BLOCK), ints_at(scratch + 24 * BLOCK, BLOCK)
    as_of = ints_at(scratch + 32 * BLOCK, BLOCK if route[edge + TIMES] != 0 else np.int64(1))
    as_of[0] = route[TIME] - 1 + route[leg + INCLUSIVE]
    found = words_at(scratch + 40 * BLOCK, BLOCK, fields)
    scratch += 8 * BLOCK * (5 + fields)
    numbers, kept = ints_at(positions, rows), words_at(keys, rows if route[leg + KEEPS_KEYS] != 0 else _WORD, width)
    count = _WORD
    for begin in range(0, rows, BLOCK):
        length = min(np.int64(BLOCK), rows - begin)
        if not pack_block(form, sources, first + begin, words[:length], missing[:length]):
            return np.int64(UNREADABLE)
        if route[edge + TIMES] != 0:
            for i in range(length):
                as_of[i] = load(route[edge + TIMES] + 8 * (first + begin + i), _WORD) - 1 + route[leg + INCLUSIVE]
        find_fields(seen, words[:length], missing, as_of, route[leg + ALWAYS] != 0, tags, slots, at)
        here = _WORD
        for i in range(length):
            if at[i] == ABSENT:
                continue
            numbers[count + here] = first + begin + i
            if route[leg + OUTPUTS] != 0:
                copy_fields(at[i], found, here)
            if len(kept) > 0:
                for w in range(width):
                    kept[count + here, w] = words[i, w]
            here += 1
        _make(route, leg, found, here, room, rows, count, scratch)
        count += here
    return count


@part()
def _make(route: Ints, leg: Word, found: Ints, count: Word, room: Word, rows: Word, to: Word, scratch: Word) -> None:
    """Make the columns of so many groups that were found, behind what is there already."""
    table = words_at(data_of(route[leg + AGGREGATES]), route[leg + AGGREGATE_COUNT], _AGGREGATE)
    shown = words_at(scratch, route[leg + AGGREGATE_WORDS], BLOCK)
    scratch += 8 * BLOCK * len(shown)
    valid = bools_at(scratch, len(table), BLOCK)
    behind = words_at(scratch + 8 * ((BLOCK * len(table) + 7) >> 3), np.int64(1), route[leg + SCRATCH])
    for number in range(route[leg + OUTPUTS]):
        column = route[leg + MADE] + MADE_COLUMN * number
        aggregate = route[column + FROM]
        if aggregate < 0:
            continue
        finalize(table, aggregate, False, found, 0, 0, count, shown, valid, 0, behind)
        each, at = table[aggregate, OUTPUT_WORDS], table[aggregate, WORD_AT]
        values = ints_at(room + 8 * rows * route[column + BEGIN], each * rows)
        if route[column + ENCODED] == INTEGER:
            for w in range(each):
                for i in range(count):
                    values[np.uint64(each * (to + i) + w)] = shown[at + w, np.uint64(i)]
        else:
            take_values(shown, at, count, route[column + ENCODED], values, to)
        if route[column + VALID] >= 0:
            _mask(valid, aggregate, count, bools_at(room + 8 * rows * route[column + VALID], np.int64(1), rows), to)


@part()
def _mask(valid: Bools, aggregate: Word, count: Word, mask: Bools, to: Word) -> None:
    for i in range(count):
        mask[0, to + i] = valid[aggregate, i]


@part()
def _tell(route: Ints, leg: Word, keys: Word, step: Word, room: Word, rows: Word, places: Word) -> None:
    """Write down where the columns lie that were made; others have no stride. The words of keys are `step` apart."""
    told = words_at(places, route[leg + COLUMNS], WORDS)
    told[:] = 0
    for number in range(route[leg + OUTPUTS]):
        column = route[leg + MADE] + MADE_COLUMN * number
        place, begin = told[route[column + NUMBER]], route[column + BEGIN]
        place[SIZE] = route[column + BYTES]
        if route[column + FROM] < 0:
            place[ADDRESS], place[STRIDE] = keys + begin, step
            continue
        place[ADDRESS], place[STRIDE], place[BIT] = room + 8 * rows * begin, max(np.int64(8), place[SIZE]), -1
        if route[column + VALID] >= 0:
            place[VALIDITY] = room + 8 * rows * route[column + VALID]

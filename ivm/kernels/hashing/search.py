"""The rows that an index has for the rows of a delta: from the columns of its keys, where they lie, to all references.

A *search* is a frame of numbers, all int64, which whoever begins it fills; see their names. What is found goes to OUT,
which has ROOM items for each of: the position of the row in the delta, the row of the index's store, and each array
that goes along, gathered. Where EVERY says that each row found exactly one, nothing is gathered: what goes along is
as it was.
"""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.part import part
from ivm.kernels.hashing.ascending import fences_up_to
from ivm.kernels.hashing.block import (
    DISTINCT,
    EACH,
    FENCED,
    FENCES,
    FOLLOWING,
    LAST_LEAD,
    SHIFT,
    START,
    STOP,
    TABLES,
)
from ivm.kernels.hashing.function import hash_word, hash_words
from ivm.kernels.hashing.keys import BLOCK, pack_block
from ivm.kernels.hashing.keys import FORM as KEY_FORM
from ivm.kernels.hashing.slots import AHEAD, CACHED, EMPTY, OLD, SLOTS, fetch, find_head, same_key
from ivm.kernels.memory.at import MANY, address_of, int32s_in, ints_at, ints_in, load, words_at
from ivm.kernels.memory.move import prefetch
from ivm.kernels.memory.places import UNREADABLE
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Int32s, Ints

(
    AT, COUNT, EVERY, GATHERED, TIRED, SEARCHED, HELD, HELD_LAST,
    LENGTH, OUT, ROOM, FORM, PARTS, WIDTH, UNIQUE, SOURCES, ALONG, ARRAYS, SCRATCH, LONG, LONG_ROOM,
    NEAR_PLACES, NEAR_ROWS, RUN, RUN_PARTS, INDEX, DIED, LIMIT, LIMITS, STAMP, STAMPS, SINCE,
) = range(32)  # fmt: skip
"""How far the search has come in the delta, how much it has found, whether each row found exactly one, how much of it
is gathered, of how many keys it noted that their chains are full of dead rows; how many keys it has looked for in the
run, but for those that were close to the one before, which whoever begins it sets to zero when he has told of them; and
which blocks of the run it holds, one more than the number of the first (0: none), and the number of the last.

Then what it is given, addresses all of what is not a number: the rows of the delta; OUT, ROOM; the form of the key (see
`hashing.keys`), its parts, and the words that they make; whether a key has at most one visible row; the sources of the
delta (see `memory.places`); a list of the arrays that go along, and how many they are; scratch memory of
`SCRATCH_WORDS`, and so much for each word of a key; an array for the keys with long chains, and how many fit.

At last the state that is searched, as it is now: the places of the index's own store, and a word for the search, which
makes a source of both; the form of the key as that store has it, 0 if no key is to be looked for in the run, and its
parts; the block of the index; the rows' deaths, 0 if nobody ever died; the limit of rows that are seen, or an array of
one for each row; in the same way the stamp; since when deaths matter to anybody.
"""
SEARCH, STATE = 32, NEAR_PLACES
"""How many words a search has, and with which what tells of the state begins."""
NO_ROOM, HIDDEN = -1, -4
"""Why the search stopped: no room for what a row finds; the run cannot be read by places."""
MANY_DEAD = 4
"""Chains with at least so many rows that nobody sees any more are worth shortening."""
WORTH_TELLING = 16
"""Of so many keys that were looked for in a run its index is told: to tell it costs more than to look for them."""
_WORD = np.int64(0)
_MISSING = np.int64(-2)
IN_RUN = np.int64(-16)
"""Rows of the run are noted in place of heads below this."""
NEAR = 2 * FENCED
_CLOSE = 16
"""How many fences a key may be from the one before: to find it costs no more than a search of the table."""
_FEW_FENCES = 256
"""A run with fewer fences than this has keys that are close to each other by chance, and soon is in the table."""
_SIEVE = 1 << 11
"""How many words of bits say which hashes there are in a small table and run, where many keys are looked for."""
_BITS, _SIX, _LAST_SIX = np.uint64(64 * _SIEVE - 1), np.uint64(6), np.uint64(63)
_SIEVED_SLOTS, _ROWS_A_SLOT = 1 << 15, 2
"""No more slots, and rows of the run, are worth that, for so many rows a slot."""


SCRATCH_WORDS, SCRATCH_FOR_EACH = 2 * BLOCK + 2 * NEAR + _SIEVE, BLOCK + NEAR


@part()
def search(frame: Ints) -> Word:
    """How many (row of the delta, row of the index) there are, in the order of the former; or why it stopped.

    Then what was found so far is there, and AT is the row to go on with. UNREADABLE: a key's columns have no places. A
    row finds all those of its key that are below its limit and died after its stamp. Cost: about two random accesses a
    row, one a further entry of a chain, and a pass over each array.
    """
    # Of keys of one word the loops have none: it is known when they are compiled.
    said = _find(frame, np.int64(1)) if frame[WIDTH] == 1 else _find(frame, frame[WIDTH])
    if said < 0 or frame[EVERY] == 0:
        frame[EVERY] = 0
        _gather(frame)
    return said


@part(inline=True)
def _find(frame: Ints, width: Word) -> Word:
    length, unique = frame[LENGTH], frame[UNIQUE] != 0
    block = ints_at(frame[INDEX], MANY)
    table = ints_in(block, TABLES)
    slots = words_at(table[SLOTS], table[SLOTS + 1], width + 1)
    old = words_at(table[OLD], table[OLD + 1], width + 1)
    sources, form = frame[SOURCES], words_at(frame[FORM], frame[PARTS], KEY_FORM)
    scratch = frame[SCRATCH]
    words, heads = words_at(scratch, BLOCK, width), ints_at(scratch + 8 * BLOCK * width, BLOCK)
    missing = ints_at(scratch + 8 * BLOCK * (width + 1), BLOCK)
    near = scratch + 8 * BLOCK * (width + 2)
    sieve = ints_at(near + 8 * NEAR * (width + 2), _SIEVE)
    run = block[STOP] - block[START] if frame[RUN] != 0 else _WORD
    sieved = len(old) == 0 and len(slots) + run <= min(_SIEVED_SLOTS, (length - frame[AT]) // _ROWS_A_SLOT)
    if sieved:
        _fill_sieve(slots, sieve)
        if run > 0 and not _sieve_run(frame, block, sieve, near, width):
            return np.int64(HIDDEN)
    while frame[AT] < length:
        first = frame[AT]
        stop = min(first + BLOCK, length)
        if unique:
            stop = min(stop, first + frame[ROOM] - frame[COUNT])
            if stop == first:
                return np.int64(NO_ROOM)
        if not pack_block(form, sources, first, words[: stop - first], missing[: stop - first]):
            return np.int64(UNREADABLE)
        if not find_heads(frame, block, slots, old, stop - first, words, missing, heads, near, sieve, sieved):
            return np.int64(HIDDEN)
        if unique:
            _take_newest(frame, int32s_in(block, FOLLOWING), first, stop, heads)
        elif not _take_all(frame, int32s_in(block, FOLLOWING), first, stop, heads, missing, words):
            return np.int64(NO_ROOM)
        if frame[EVERY] == 0:
            _gather(frame)
    return frame[COUNT]


@part(inline=True)
def find_heads(
    frame: Ints, block: Ints, slots: Ints, old: Ints, count: Word, words: Ints, missing: Ints, heads: Ints,
    near: Word, sieve: Ints, sieved: bool,
) -> bool:  # fmt: skip
    """heads[i] = the head of the chain of key i, EMPTY, GONE or _MISSING if there is none; False if a run may have it
    that cannot be read.

    Of a key that is in the run it is IN_RUN less its first row there, and missing[i] how many rows it has. `sieved`:
    `sieve` has the hashes of all keys.
    """
    width, far = words.shape[1], len(slots) > CACHED
    for row in range(count):
        i = np.uint64(row)
        code = hash_word(words[i, 0]) if width == 1 else hash_words(words, row, width)
        heads[i] = np.int64(code)
        if far and row < AHEAD:
            fetch(slots, old, code)
    there, shift, most = frame[RUN] != 0 and block[START] != block[STOP], block[SHIFT], block[LAST_LEAD]
    following = int32s_in(block, FOLLOWING)
    mortal, chained = frame[DIED] != 0, frame[UNIQUE] == 0
    died = ints_at(frame[DIED], MANY)
    for row in range(count):
        i = np.uint64(row)
        if far and row + AHEAD < count:
            fetch(slots, old, np.uint64(heads[np.uint64(row + AHEAD)]))
        # Rows of one key often come together.
        if missing[i] != 0:
            heads[i] = _MISSING
        elif row > 0 and heads[np.uint64(row - 1)] != _MISSING and same_key(words, row - 1, words, row):
            heads[i], missing[i] = heads[np.uint64(row - 1)], missing[np.uint64(row - 1)]
        else:
            code, head = np.uint64(heads[i]), np.int64(EMPTY)
            is_near = not sieved or _is_in(sieve, code)
            if is_near:
                head = find_head(slots, old, words, row, code)
            heads[i] = head
            if head == EMPTY and is_near and there and words[i, 0] >> shift <= most:
                if not find_rows(frame, block, words, row, heads, missing, near):
                    return False
            if far and chained:
                prefetch(following, head - 1)
            if far and mortal:
                prefetch(died, head - 1)
    return True


@part()
def _fill_sieve(slots: Ints, sieve: Ints) -> None:
    """Note the hashes of a table's keys, so that most of those that it does not have are told by one bit."""
    width = slots.shape[1] - 1
    for word in range(len(sieve)):
        sieve[word] = 0
    for slot in range(len(slots)):
        if slots[slot, width] != EMPTY:
            bit = hash_words(slots, slot, width) & _BITS
            sieve[bit >> _SIX] |= np.int64(1) << np.int64(bit & _LAST_SIX)


@part()
def _sieve_run(frame: Ints, block: Ints, sieve: Ints, scratch: Word, width: Word) -> bool:
    """Note the hashes of the run's keys as well; False if it cannot be read."""
    rows, nulls = ints_at(scratch, NEAR), ints_at(scratch + 8 * NEAR, NEAR)
    near, first = words_at(scratch + 16 * NEAR, NEAR, width), block[START]
    source, form = address_of(frame) + 8 * NEAR_PLACES, words_at(frame[RUN], frame[RUN_PARTS], KEY_FORM)
    frame[NEAR_ROWS] = address_of(rows)
    while first < block[STOP]:
        count = min(NEAR, block[STOP] - first)
        for k in range(count):
            rows[k] = first + k
        if not pack_block(form, source, np.int64(0), near[:count], nulls[:count]):
            return False
        for k in range(count):
            bit = hash_words(near, k, width) & _BITS
            sieve[bit >> _SIX] |= np.int64(1) << np.int64(bit & _LAST_SIX)
        first += count
    return True


@part(inline=True)
def _is_in(sieve: Ints, code: np.uint64) -> bool:
    """Whether there may be a key of this hash."""
    bit = code & _BITS
    return (sieve[bit >> _SIX] >> np.int64(bit & _LAST_SIX)) & 1 != 0


@part()
def find_rows(frame: Ints, block: Ints, words: Ints, row: Word, heads: Ints, missing: Ints, scratch: Word) -> bool:
    """Look for a key in the run, among the rows near the fences between which it belongs: where keys in order find each
    other.

    False if the run cannot be read.
    """
    stop, shift, each, width = block[STOP], block[SHIFT], block[EACH], words.shape[1]
    fences = ints_at(address_of(ints_in(block, FENCES)), (stop + (1 << each) - 1) >> each)
    rows, nulls = ints_at(scratch, NEAR), ints_at(scratch + 8 * NEAR, NEAR)
    near = words_at(scratch + 16 * NEAR, NEAR, width)
    lead, held = words[row, 0] >> shift, frame[HELD]
    below = fences_up_to(fences, lead, held, False)
    upto = fences_up_to(fences, lead, below + 1, True) if below < len(fences) and fences[below] == lead else below
    first, last = max(below - 1, 0), max(upto - 1, 0)
    if len(fences) < _FEW_FENCES or held == 0 or below > held + _CLOSE or below < held - _CLOSE:
        frame[SEARCHED] += 1
    border = min((first + 1) << each, stop) - (first << each)
    count = border if last == first else border + min((last + 1) << each, stop) - (last << each)
    if held != first + 1 or frame[HELD_LAST] != last:
        for k in range(count):
            rows[k] = (first << each) + k if k < border else (last << each) + k - border
        source = address_of(frame) + 8 * NEAR_PLACES
        form = words_at(frame[RUN], frame[RUN_PARTS], KEY_FORM)
        frame[NEAR_ROWS] = address_of(rows)
        if not pack_block(form, source, np.int64(0), near[:count], nulls[:count]):
            return False
        frame[HELD], frame[HELD_LAST] = first + 1, last
    if block[DISTINCT] != 0:
        for k in range(count):
            if same_key(near, k, words, row):
                heads[row], missing[row] = IN_RUN - rows[k], 1
                break
        return True
    begin = end = rows[0]
    for k in range(count):
        found = near[k, 0] >> shift
        if k < border and found < lead:
            begin = rows[k] + 1
        if found <= lead:
            end = rows[k] + 1
    if begin < end:
        heads[row], missing[row] = IN_RUN - begin, end - begin
    return True


@part()
def _take_newest(frame: Ints, following: Int32s, first: Word, stop: Word, heads: Ints) -> None:
    """Note the one row of each key that is visible, if there is one: the newest below the limit."""
    count = frame[COUNT]
    positions, rows = ints_at(_out(frame, 0), frame[ROOM]), ints_at(_out(frame, 1), frame[ROOM])
    mortal, limits, stamps = frame[DIED] != 0, frame[LIMITS], frame[STAMPS]
    died = ints_at(frame[DIED], MANY)
    limit, stamp = frame[LIMIT], frame[STAMP]
    for position in range(first, stop):
        row = heads[np.uint64(position - first)] - 1
        if limits != 0:
            limit = load(limits + 8 * position, _WORD)
        while row >= limit:
            row = np.int64(following[np.uint64(row)])
        if row < IN_RUN:
            row = IN_RUN - row - 1
            if row >= limit:
                continue
        if row < 0:
            continue
        if mortal:
            if stamps != 0:
                stamp = load(stamps + 8 * position, _WORD)
            if died[np.uint64(row)] <= stamp:
                continue
        positions[np.uint64(count)] = position
        rows[np.uint64(count)] = row
        count += 1
    if count - frame[COUNT] != stop - first:
        frame[EVERY] = 0
    frame[AT], frame[COUNT] = stop, count


@part()
def _take_all(frame: Ints, following: Int32s, first: Word, stop: Word, heads: Ints, missing: Ints, words: Ints) -> bool:
    """Note all visible rows of each key; False if those of one do not fit."""
    room, count = frame[ROOM], frame[COUNT]
    positions, rows = ints_at(_out(frame, 0), frame[ROOM]), ints_at(_out(frame, 1), frame[ROOM])
    mortal, limits, stamps = frame[DIED] != 0, frame[LIMITS], frame[STAMPS]
    died = ints_at(frame[DIED], MANY)
    limit, stamp, since = frame[LIMIT], frame[STAMP], frame[SINCE]
    for position in range(first, stop):
        row = heads[np.uint64(position - first)] - 1
        if row < 0 and row >= IN_RUN:
            frame[EVERY] = 0
            continue
        if limits != 0:
            limit = load(limits + 8 * position, _WORD)
        if stamps != 0:
            stamp = load(stamps + 8 * position, _WORD)
        begin, dead, end = count, 0, _WORD
        if row < IN_RUN:
            row = IN_RUN - row - 1
            end = row + missing[np.uint64(position - first)]
        while row >= 0:
            if row < limit:
                if not mortal or died[np.uint64(row)] > stamp:
                    if count == room:
                        frame[AT], frame[COUNT] = position, begin
                        return False
                    positions[np.uint64(count)] = position
                    rows[np.uint64(count)] = row
                    count += 1
                elif died[np.uint64(row)] <= since:
                    dead += 1
            if end == 0:
                row = np.int64(following[np.uint64(row)])
            else:
                row = row + 1 if row + 1 < end else np.int64(-1)
        if count - begin != 1:
            frame[EVERY] = 0
        if dead >= MANY_DEAD and end == 0 and frame[TIRED] < frame[LONG_ROOM]:
            long = ints_at(frame[LONG], frame[LONG_ROOM] * words.shape[1])
            for w in range(words.shape[1]):
                long[frame[TIRED] * words.shape[1] + w] = words[position - first, w]
            frame[TIRED] += 1
    frame[AT], frame[COUNT] = stop, count
    return True


@part(inline=True)
def _out(frame: Ints, number: Word) -> Word:
    """Where one of the arrays that are filled lies."""
    return frame[OUT] + 8 * frame[ROOM] * number


@part()
def _gather(frame: Ints) -> None:
    """Let the arrays of the delta go along with what was found last."""
    positions, begin, end = ints_at(_out(frame, 0), frame[ROOM]), frame[GATHERED], frame[COUNT]
    along = ints_at(frame[ALONG], frame[ARRAYS])
    for number in range(frame[ARRAYS]):
        address, out = along[number], ints_at(_out(frame, 2 + number), frame[ROOM])
        for place in range(begin, end):
            i = np.uint64(place)
            out[i] = load(address + 8 * positions[i], _WORD)
    frame[GATHERED] = end

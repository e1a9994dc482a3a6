"""A store's step: rows come to all that there is of it, in one call.

These are the store's words (see `ivm.kernels.step.state`), the columns that are kept apart (`memory.places`), the
pieces in which batches lie (`memory.in_place`), and the runs of its arrangements (`hashing.block`).
"""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.hashing.ascending import REFUSED, TAKEN, TAKEN_ON
from ivm.kernels.hashing.block import LAST as LAST_KEY
from ivm.kernels.hashing.block import ROWS as ROWS_INDEXED
from ivm.kernels.hashing.keys import FORM as KEY_FORM
from ivm.kernels.hashing.link import link_by, link_new
from ivm.kernels.hashing.packed import extend_by
from ivm.kernels.memory.append import DONE, GIVEN, LENGTH, ROWS, TIME, TIMES, append_all, lacking, laid, store
from ivm.kernels.memory.at import address_of, data_if, int32s_at, ints_at, load, scratch, words_at
from ivm.kernels.memory.in_place import COUNT, PAGE_BITS, PAGES, PAGES_ROOM, STARTS, STARTS_ROOM
from ivm.kernels.memory.places import (
    ADDRESS,
    PLACES,
    REFERENCES,
    ROOM,
    SOURCE,
    STRIDE,
    UNREADABLE,
    VALID_ROOM,
    VALIDITY,
)
from ivm.kernels.numbers.stretches import note_stretches
from ivm.kernels.numbers.wide import Word
from ivm.kernels.step import state
from ivm.kernels.types import Ints

BLOCK, FORM, PARTS, WIDTH, IS_KEPT = range(5)
KEY = 5
"""The words of a key by which rows are to be taken: where the block of its index stands, 0 if it is to be left alone,
and its form; how many parts and words it has; whether its columns are kept apart."""
APART, WANTING, TIMELESS, KEYED = 0, 1, 2, 4
"""What `append_rows` says in place of DONE: it is done, but a piece lies otherwise than those before it. Or nothing is
done: columns or pieces have no room; the store has none for another time; or what a run has said, if KEYED is taken off
that: `hashing.ascending` has it, or INCOMPLETE.
"""

_WORD = np.int64(0)
_source = scratch(SOURCE)


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def append_rows(
    words: Ints,
    keys: Ints,
    columns: Ints,
    reads: Ints,
    given: Ints,
    pieces: Ints,
    told: Ints,
    lying: Ints,
) -> Word:
    """Let rows come, see `given` and `reads` in `memory.append`, and say DONE; or do nothing, and say what is wrong.

    `words`: the store's; none, if there are columns alone. `keys`: where the words of keys stand by which indexes take
    the rows, read in the first source, or in the columns where these are kept apart. The first one is to prove them
    new, unless that is 0, by their order or since its chains know none of them that lives; of the others those take
    them, or the first of them, that have all rows so far, and can: their runs do, or else their chains. `pieces`: those
    of which the rows are the next one; none, if they lie in none. The piece's columns lie at `lying`, and become pieces
    of those columns that are `told`.
    """
    if not laid(reads, given, _least(keys)):
        return np.int64(UNREADABLE)
    sources = address_of(given) + 8 * GIVEN
    first, rows, time, times = given[LENGTH], given[ROWS], given[TIME], data_if(given[TIMES])
    return come(words, keys, columns, reads, sources, first, rows, time, times, pieces, told, lying)


@part()
def come(
    words: Ints, keys: Ints, columns: Ints, reads: Ints, sources: Word, first: Word, rows: Word, time: Word,
    times: Word, pieces: Ints, told: Ints, lying: Ints,
) -> Word:  # fmt: skip
    """What `append_rows` does, of sources that stand at an address: `rows` behind the `first` ones.

    They come at a time, or if `times` is not 0, at those at this address, which ascend.
    """
    wrong = lacking(columns, reads, sources)
    if wrong != DONE:
        return wrong
    end, is_like = first + rows, True
    if not _have_room(columns, reads, end):
        return np.int64(WANTING)
    each = ints_at(times, rows if times != 0 else np.int64(0))
    if len(words) and not _has_room_for(words, time, each):
        return np.int64(TIMELESS)
    if len(pieces) and rows > 0:
        is_like = _are_like(columns, told, lying)
        if not _is_room_for(columns, told if is_like else told[:0], pieces, end):
            return np.int64(WANTING)
    if len(keys) and keys[0] != 0 and rows > 0:
        said = _prove(keys[0], sources, rows, words)
        if said not in (TAKEN, TAKEN_ON):
            return np.int64(KEYED + said)
    append_all(columns, reads, sources, first, rows)
    if len(pieces) and rows > 0:
        _put_piece(columns, told if is_like else told[:0], lying, pieces, end)
    if len(words):
        _come(words, first, end, time, each)
    for key in keys[1:]:
        if load(key, _WORD) != 0 and rows > 0 and ints_at(load(key, _WORD), LAST_KEY)[ROWS_INDEXED] == first:
            _index(key, sources, rows, columns, words, first)
    return np.int64(DONE if is_like else APART)


@part()
def _least(keys: Ints) -> Word:
    """How many sources there are at least: the first one, if some key is read there."""
    for number in range(len(keys)):
        key = keys[number]
        if key != 0 and (number == 0 or ints_at(key, KEY)[IS_KEPT] == 0):
            return np.int64(1)
    return np.int64(0)


@part()
def _prove(key: Word, sources: Word, rows: Word, words: Ints) -> Word:
    """Let an index take rows if they are new, by the key that is told of at an address; see `extend_by`."""
    told = ints_at(key, KEY)
    block, form = ints_at(told[BLOCK], LAST_KEY + told[WIDTH]), words_at(told[FORM], told[PARTS], KEY_FORM)
    said = extend_by(block, form, sources, np.int64(0), rows, told[WIDTH], False)
    died = ints_at(words[state.DIED], words[state.ROOM] if words[state.MORTAL] != 0 else 0)
    if said == REFUSED and link_new(block, form, sources, rows, told[WIDTH], died):
        said = TAKEN
    return said


@part()
def _index(key: Word, sources: Word, rows: Word, columns: Ints, words: Ints, first: Word) -> None:
    """Let an index that has all rows before `first` take those that have come, as far as it can be done here."""
    told, source = ints_at(key, KEY), ints_at(_source(), SOURCE)
    block, form = ints_at(told[BLOCK], LAST_KEY + told[WIDTH]), words_at(told[FORM], told[PARTS], KEY_FORM)
    begin, width = np.int64(0), told[WIDTH]
    if told[IS_KEPT] != 0:
        source[PLACES], source[REFERENCES] = address_of(columns), 0
        sources, begin = address_of(source), first
    is_mortal = words[state.MORTAL] != 0
    if extend_by(block, form, sources, begin, rows, width, is_mortal) == REFUSED:
        died = ints_at(words[state.DIED], words[state.ROOM] if is_mortal else 0)
        link_by(block, form, sources, begin, rows, width, died)


@part()
def _have_room(columns: Ints, reads: Ints, end: Word) -> bool:
    """Whether columns have room for so many rows."""
    for c in range(len(reads)):
        if reads[c, 0] >= 0 and (
            columns[c, STRIDE] == 0  # somebody was interrupted before he told of it
            or columns[c, ROOM] < end
            or (columns[c, VALIDITY] != 0 and columns[c, VALID_ROOM] < end)
        ):
            return False
    return True


@part()
def _has_room_for(words: Ints, time: Word, times: Ints) -> bool:
    """Whether a store has room for a time, if it is another one, or for these."""
    room = min(words[state.TIMES_ROOM], words[state.FIRSTS_ROOM]) - words[state.KNOWN]
    return room >= (len(times) if len(times) else np.int64(time != words[state.LAST]))


@part()
def _come(words: Ints, first: Word, end: Word, time: Word, times: Ints) -> None:
    """The rows from `first` up to `end` have come at a time, or at `times`, none of which is before the last one."""
    known, last = words[state.KNOWN], words[state.LAST]
    room = known + max(len(times), np.int64(1))
    begun, firsts = ints_at(words[state.TIMES], room), ints_at(words[state.FIRSTS], room)
    words[state.ROWS] = end
    if len(times):
        words[state.KNOWN] = note_stretches(times, last, first, begun, firsts, known)
        words[state.LAST] = times[len(times) - 1]
    elif time > last:
        begun[known], firsts[known] = time, first
        words[state.LAST], words[state.KNOWN] = time, known + 1


@part()
def _are_like(columns: Ints, told: Ints, lying: Ints) -> bool:
    """Whether columns lie as pieces of theirs did so far, and none is NULL."""
    for column in told:
        if lying[column, STRIDE] != columns[column, STRIDE] or lying[column, VALIDITY] != 0:
            return False
    return True


@part()
def _is_room_for(columns: Ints, told: Ints, pieces: Ints, end: Word) -> bool:
    """Whether there is room for a piece that goes up to row `end`."""
    piece = pieces[COUNT]
    for column in told:
        place = columns[column]
        if place[ROOM] <= piece or (place[VALIDITY] != 0 and place[VALID_ROOM] <= piece):
            return False
    return pieces[STARTS_ROOM] > piece + 1 and pieces[PAGES_ROOM] >= _pages_before(end)


@part()
def _put_piece(columns: Ints, told: Ints, lying: Ints, pieces: Ints, end: Word) -> None:
    """Rows up to `end` are a piece, of columns that lie somewhere."""
    piece = pieces[COUNT]
    starts = ints_at(pieces[STARTS], piece + 2)
    start = starts[piece]
    starts[piece + 1] = end
    pages = int32s_at(pieces[PAGES], _pages_before(end))
    for page in range(_pages_before(start), _pages_before(end)):
        pages[page] = piece
    for column in told:
        place = columns[column]
        store(place[ADDRESS] + 8 * piece, lying[column, ADDRESS] - start * place[STRIDE])
        if place[VALIDITY] != 0:
            store(place[VALIDITY] + 16 * piece, np.int64(0))
            store(place[VALIDITY] + 16 * piece + 8, np.int64(0))
    pieces[COUNT] = piece + 1


@part()
def _pages_before(row: Word) -> Word:
    """How many pages begin before a row."""
    return (row + (1 << PAGE_BITS) - 1) >> PAGE_BITS

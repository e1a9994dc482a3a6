"""Keys that are made here of columns where they lie, and rows that a run takes by such keys.

`form` as in `hashing.keys`, of one source, whose `places` these are (see `memory.places`); `block` as in
`hashing.block`. Where there are `words` (n, W), they are filled with the keys of the rows from `first` on.
"""

from __future__ import annotations

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.hashing.ascending import MOST_WORDS, NO_ROOM, REFUSED, TAKEN, TAKEN_ON, UNSURE, has_room, take
from ivm.kernels.hashing.block import ASCENDING, LAST, ROWS, STOP
from ivm.kernels.hashing.keys import BLOCK, COMPLETE, are_any, pack_all, pack_block
from ivm.kernels.memory.at import address_of, ints_at, scratch, words_at
from ivm.kernels.memory.places import PLACES, REFERENCES, SOURCE
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Ints

INCOMPLETE = -1
"""The answer where some value is NULL, or cannot be read by its place: nothing was done."""
_source, _before = scratch(SOURCE), scratch(LAST + MOST_WORDS)
_missing, _words = scratch(BLOCK), scratch(BLOCK * MOST_WORDS)


@part()
def are_packed(form: Ints, places: Ints, first: Word, words: Ints) -> bool:
    """Make the words of rows; whether no value is NULL, and all are to be read."""
    source = ints_at(_source(), SOURCE)
    source[PLACES], source[REFERENCES] = address_of(places), 0
    return pack_all(form, address_of(source), first, words) == COMPLETE


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def pack_complete(form: Ints, places: Ints, first: int, words: Ints) -> bool:
    """Make the words; False if some value is NULL, or cannot be read."""
    return are_packed(form, places, first, words)


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def extend_packed(block: Ints, form: Ints, places: Ints, first: int, rows: int, width: int, mortal: bool) -> int:
    """Let the run take so many rows, at least one, of keys of `width` words; see `extend_by`."""
    source = ints_at(_source(), SOURCE)
    source[PLACES], source[REFERENCES] = address_of(places), 0
    return extend_by(block, form, address_of(source), first, rows, width, mortal)


@part()
def extend_by(block: Ints, form: Ints, sources: Word, first: Word, rows: Word, width: Word, mortal: bool) -> Word:
    """Let the run of an index, if it has all rows so far, take so many more, a block at a time, so that no key is kept.

    What `hashing.ascending.take` says, or INCOMPLETE if some value is NULL, or cannot be read. Then nothing was done.
    """
    if block[ASCENDING] == 0 or block[STOP] != block[ROWS]:
        return REFUSED
    if width > MOST_WORDS:
        return UNSURE
    if not has_room(block, rows):
        return NO_ROOM
    before = ints_at(_before(), LAST + MOST_WORDS)
    missing, room, said = ints_at(_missing(), BLOCK), _words(), TAKEN
    for word in range(LAST + width):
        before[word] = block[word]
    for begin in range(0, rows, BLOCK):
        words = words_at(room, min(BLOCK, rows - begin), width)
        found = INCOMPLETE
        if pack_block(form, sources, first + begin, words, missing) and not are_any(missing, len(words)):
            found = take(block, words, begin == 0, mortal)
        if found not in (TAKEN, TAKEN_ON):
            for word in range(LAST + width):
                block[word] = before[word]
            return found
        said = max(said, found)
    block[ROWS] += rows
    return said

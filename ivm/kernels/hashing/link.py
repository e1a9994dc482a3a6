"""Rows that chains take by keys that are made here of columns where they lie, and noted, for whoever undoes that.

`form` as in `hashing.keys`, of one source, `block` as in `hashing.block`.
"""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.part import part
from ivm.kernels.hashing.block import (
    ASCENDING,
    CAME,
    FOLLOWED,
    FOLLOWING,
    LINKED,
    LOOK_FROM,
    NONE,
    NOTED,
    NOTES,
    NOTES_ROOM,
    OWES,
    ROWS,
    START,
    STOP,
    TABLES,
)
from ivm.kernels.hashing.changes import ALIVE
from ivm.kernels.hashing.function import hash_words
from ivm.kernels.hashing.index import cut_chain, hash_each, link_rows
from ivm.kernels.hashing.keys import BLOCK, are_any, pack_block
from ivm.kernels.hashing.slots import OLD, SLOTS, USED, find_head, find_slot, most_used
from ivm.kernels.memory.at import hashes_at, int32s_in, ints_at, ints_in, scratch, words_at, words_in
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Ints

_missing, _hashes = scratch(BLOCK), scratch(BLOCK)


@part()
def link_by(block: Ints, form: Ints, sources: Word, begin: Word, rows: Word, width: Word, died: Ints) -> None:
    """Let the chains of an index take the next `rows` rows, whose keys lie from row `begin` of the source on.

    ROWS says how many it has then: it stops where the table is full, and at a block in which some value is NULL, or
    cannot be read. It takes none where `_noted` says so. Cost: 17-19 ns a row.
    """
    first, noted = block[ROWS], _noted(block, rows)
    missing, hashes, done = ints_at(_missing(), BLOCK), hashes_at(_hashes(), BLOCK), 0
    while noted >= 0 and done < rows:
        count = min(BLOCK, rows - done)
        words = words_at(block[NOTES] + 8 * width * (noted + done), count, width)
        if not pack_block(form, sources, begin + done, words, missing) or are_any(missing, count):
            return
        hash_each(words, hashes)
        block[LINKED], block[NOTED] = min(block[LINKED], first), noted + done + count
        linked = link_rows(block, died, words, hashes, hashes[:0], 0, first + done)
        done += linked
        block[ROWS] = block[FOLLOWED] = first + done
        block[NOTED] = noted + done
        block[CAME] += linked
        if block[CAME] >= block[LOOK_FROM]:
            block[OWES] = 1
        if linked < count:
            return


@part()
def link_new(block: Ints, form: Ints, sources: Word, rows: Word, width: Word, died: Ints) -> bool:
    """The same for all of the rows, where none of their keys has a row that lives; else nothing is done, and False."""
    first, noted, table = block[ROWS], _noted(block, rows), ints_in(block, TABLES)
    if noted < 0 or table[USED] + rows > most_used(table):
        return False
    slots, old, missing = words_in(table, SLOTS), words_in(table, OLD), ints_at(_missing(), BLOCK)
    for done in range(0, rows, BLOCK):
        words = words_at(block[NOTES] + 8 * width * (noted + done), min(BLOCK, rows - done), width)
        if not pack_block(form, sources, np.int64(done), words, missing) or are_any(missing, len(words)):
            return False
        for i in range(len(words)):
            head = find_head(slots, old, words, i, hash_words(words, i, width))
            if head > 0 and (len(died) == 0 or died[head - 1] == ALIVE):
                return False
    link_by(block, form, sources, np.int64(0), rows, width, died)
    following, is_new = int32s_in(block, FOLLOWING), True
    for row in range(first, first + rows):
        is_new = is_new and following[row] < first
    if not is_new:
        _take_back(block, width, first)
    return is_new


@part()
def _noted(block: Ints, rows: Word) -> Word:
    """Of how many rows keys are noted, before those of so many more that come next; below 0 if these cannot be.

    They cannot where rows wait in a run, where chains lack room, or memory for notes does, and where others have come
    in between: there are the keys of all rows from LINKED on.
    """
    first, noted = block[ROWS], block[NOTED] if block[LINKED] != NONE else np.int64(0)
    is_next = noted == 0 or block[LINKED] + noted == first
    has_room = first + rows <= len(int32s_in(block, FOLLOWING)) and noted + rows <= block[NOTES_ROOM]
    return noted if block[START] == block[STOP] and is_next and has_room else np.int64(-1)


@part()
def _take_back(block: Ints, width: Word, first: Word) -> None:
    """Take the rows from `first` on out of their chains again. Order alone proves no key new any more."""
    table, following, kept = ints_in(block, TABLES), int32s_in(block, FOLLOWING), first - block[LINKED]
    slots, words = words_in(table, SLOTS), words_at(block[NOTES] + 8 * width * kept, block[ROWS] - first, width)
    for i in range(len(words)):
        cut_chain(slots, following, find_slot(slots, words, i, hash_words(words, i, width)), first)
    block[CAME] -= block[ROWS] - first
    block[ROWS], block[NOTED], block[ASCENDING] = first, kept, 0
    block[FOLLOWED] = min(block[FOLLOWED], first)
    if kept == 0:
        block[LINKED] = NONE

"""Rows that chains take by keys that are made here of columns where they lie, and let go of again by the same keys.

`form` as in `hashing.keys`, of one source, `block` as in `hashing.block`.
"""

from __future__ import annotations

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.hashing.ascending import MOST_WORDS
from ivm.kernels.hashing.block import CAME, FEW, FOLLOWED, FOLLOWING, LINKED, OWES, ROWS, START, STOP
from ivm.kernels.hashing.function import hash_words
from ivm.kernels.hashing.index import cut_chain, hash_each, link_rows
from ivm.kernels.hashing.keys import BLOCK, are_any, pack_block
from ivm.kernels.hashing.keys import FORM as KEY_FORM
from ivm.kernels.hashing.slots import find_slot
from ivm.kernels.memory.at import address_of, hashes_at, int32s_in, ints_at, scratch, words_at
from ivm.kernels.memory.places import PLACES, REFERENCES, SOURCE
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Int32s, Ints

_source = scratch(SOURCE)
_missing, _hashes, _words = scratch(BLOCK), scratch(BLOCK), scratch(BLOCK * MOST_WORDS)


@part()
def link_by(block: Ints, form: Ints, sources: Word, rows: Word, width: Word, died: Ints) -> None:
    """Let the chains of an index take the next `rows` rows, which lie where their numbers say, a block at a time.

    ROWS says how many it has then: it stops where the table is full, and at a block in which some value is NULL. It
    takes none where keys are of more than MOST_WORDS words, rows wait in a run, or chains lack room. Cost: 17-19 ns a
    row.
    """
    first = block[ROWS]
    if width > MOST_WORDS or block[START] != block[STOP] or first + rows > len(int32s_in(block, FOLLOWING)):
        return
    missing = ints_at(_missing(), BLOCK)
    block[LINKED] = min(block[LINKED], first)
    for begin in range(0, rows, BLOCK):
        count = min(BLOCK, rows - begin)
        words, hashes = words_at(_words(), count, width), hashes_at(_hashes(), count)
        if not pack_block(form, sources, first + begin, words, missing) or are_any(missing, count):
            return
        hash_each(words, hashes)
        linked = link_rows(block, died, words, hashes, hashes[:0], 0, first + begin)
        block[ROWS] = block[FOLLOWED] = first + begin + linked
        block[CAME] += linked
        if block[CAME] >= FEW:
            block[OWES] = 1
        if linked < count:
            return


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def cut_packed(slots: Ints, following: Int32s, places: int, form: int, parts: int, first_row: int, rows: int) -> int:
    """Take the rows from `first_row` on out of the chains of their keys, up to that of row `rows`; see `cut_chains`.

    `places` and the form of the keys, of so many parts, stand at addresses.
    """
    source, cut = ints_at(_source(), SOURCE), 0
    missing, width = ints_at(_missing(), BLOCK), slots.shape[1] - 1
    source[PLACES], source[REFERENCES] = places, 0
    for first in range(first_row, rows, BLOCK):
        words = words_at(_words(), min(BLOCK, rows - first), width)
        if pack_block(words_at(form, parts, KEY_FORM), address_of(source), first, words, missing):
            for i in range(len(words)):
                cut += cut_chain(slots, following, find_slot(slots, words, i, hash_words(words, i, width)), first_row)
    return cut

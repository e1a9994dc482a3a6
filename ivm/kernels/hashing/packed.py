"""Indexing rows by keys that are made here of columns where they lie.

`form` as in `hashing.keys`, of one source, whose `places` these are (see `memory.places`); `block` as in
`hashing.block`. All fill `words` (n, W) with the keys of the rows from `first` on, for who undoes the change, and those
who have to look further.
"""

from __future__ import annotations

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.hashing.ascending import take
from ivm.kernels.hashing.index import hash_each, link_rows
from ivm.kernels.hashing.keys import COMPLETE, pack_all
from ivm.kernels.memory.at import address_of, ints_at, scratch
from ivm.kernels.memory.places import PLACES, REFERENCES, SOURCE
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Hashes, Ints

INCOMPLETE = -1
"""The answer where some value is NULL, or cannot be read by its place: nothing was done."""
_source = scratch(SOURCE)


@part()
def _are_complete(form: Ints, places: Ints, first: Word, words: Ints) -> bool:
    """Make the words of rows; whether no value is NULL, and all are to be read."""
    source = ints_at(_source(), SOURCE)
    source[PLACES], source[REFERENCES] = address_of(places), 0
    return pack_all(form, address_of(source), first, words) == COMPLETE


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def pack_complete(form: Ints, places: Ints, first: int, words: Ints) -> bool:
    """Make the words; False if some value is NULL, or cannot be read."""
    return _are_complete(form, places, first, words)


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def extend_packed(block: Ints, form: Ints, places: Ints, first: int, words: Ints, mortal: bool) -> int:
    """Let the run take rows of these keys, at least one; see `hashing.ascending.take`. INCOMPLETE if there are none."""
    if not _are_complete(form, places, first, words):
        return INCOMPLETE
    return take(block, words, True, mortal)


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def insert_packed(
    block: Ints,
    died: Ints,
    form: Ints,
    places: Ints,
    first: int,
    words: Ints,
    hashes: Hashes,
    first_row: int,
    since: int,
) -> int:
    """Link rows of these keys, first_row + i for key i; see `hashing.index.insert_rows`. INCOMPLETE if there are none.

    Fills `hashes` too.
    """
    if not _are_complete(form, places, first, words):
        return INCOMPLETE
    hash_each(words, hashes)
    return link_rows(block, died, words, hashes, hashes[:0], 0, first_row, since)

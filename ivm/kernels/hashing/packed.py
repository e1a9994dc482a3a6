"""Indexing rows by keys that are made here of columns where they lie: what two kernels and an array did before.

`form`, `sources` and `first` as in `hashing.packing`, `block` as in `hashing.block`. All fill `words` (n, W) first, for
who undoes the change, and those who have to look further.
"""

from __future__ import annotations

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.hashing.ascending import take
from ivm.kernels.hashing.index import hash_each, link_rows
from ivm.kernels.hashing.packing import pack_rows
from ivm.kernels.types import Hashes, Ints

UNREADABLE = -1
"""The answer where some value is NULL, or cannot be read: nothing was done."""


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def pack_keys(form: Ints, sources: Ints, first: int, words: Ints) -> bool:
    """Make the words of the rows from `first` on; False if some value is NULL, or cannot be read."""
    return pack_rows(form, sources, first, words)


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def extend_packed(block: Ints, form: Ints, sources: Ints, first: int, words: Ints, most: int, mortal: bool) -> int:
    """Let the run take rows of these keys, at least one; see `hashing.ascending.take`. UNREADABLE if there are none."""
    if not pack_rows(form, sources, first, words):
        return UNREADABLE
    return take(block, words, most, True, mortal)


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def insert_packed(
    block: Ints,
    died: Ints,
    form: Ints,
    sources: Ints,
    first: int,
    words: Ints,
    hashes: Hashes,
    first_row: int,
    since: int,
) -> int:
    """Link rows of these keys, first_row + i for key i; see `hashing.index.insert_rows`. UNREADABLE if there are none.

    Fills `hashes` too.
    """
    if not pack_rows(form, sources, first, words):
        return UNREADABLE
    hash_each(words, hashes)
    return link_rows(block, died, words, hashes, hashes[:0], 0, first_row, since)

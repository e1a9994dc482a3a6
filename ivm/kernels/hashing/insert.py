"""Indexing rows one after the other, by keys that are given, or made here of columns where they lie.

`block` as in `hashing.block`, `frame` as in `hashing.settle`. `words` (n, W) are the keys of rows first_row + i,
`hashes`, uint64 (2 n,), are filled with theirs, and with what `settle` notes.
"""

from __future__ import annotations

from typing import Any

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.hashing.index import hash_each, link_rows
from ivm.kernels.hashing.packed import INCOMPLETE, are_packed
from ivm.kernels.hashing.settle import SETTLED, settle
from ivm.kernels.memory.at import address_of, ints_at
from ivm.kernels.types import Bools, Hashes, Ints


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def insert_rows(
    block: Ints, frame: Ints, died: Ints, words: Ints, hashes: Hashes, dropped: Bools, start: int, first_row: int
) -> int:
    """Link the rows of the keys from position `start` on; see `hashing.index.link_rows`. Or what `settle` asks for."""
    return _insert(block, frame, died, words, hashes, dropped, start, first_row)


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def insert_packed(
    block: Ints,
    frame: Ints,
    died: Ints,
    form: Ints,
    places: Ints,
    first: int,
    words: Ints,
    hashes: Hashes,
    first_row: int,
) -> int:
    """The same of rows whose keys lie somewhere from row `first` on, see `hashing.packed`, and are written to `words`.

    INCOMPLETE, and nothing was done, if they do not, or some value is NULL.
    """
    if not are_packed(form, places, first, words):
        return INCOMPLETE
    return _insert(block, frame, died, words, hashes, hashes[:0], 0, first_row)


@part()
def _insert(
    block: Ints, frame: Ints, died: Ints, words: Ints, hashes: Hashes, dropped: Bools, start: int, first_row: int
) -> Any:
    count = len(words)
    if start == 0:
        hash_each(words, hashes)
        said = settle(block, frame, words, hashes, dropped, ints_at(address_of(hashes[count:]), count))
        if said != SETTLED:
            return said
    return link_rows(block, died, words, hashes, dropped, start, first_row)

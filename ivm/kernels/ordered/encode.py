"""Rows as words that compare, word by word, as SQL orders the values: see `ivm.trace.ordered.row_order`.

`terms` int64 (terms, TERM) says of each term what its values are and with which word it begins; whether that says where
NULL stands, and whether NULLs come first; whether the value's words are inverted; which column of a row it is, and how
many bytes an item of that has.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.hashing.keys import DOUBLE, PAIR
from ivm.kernels.memory.at import address_of, double_bits, ints_at, load, scratch
from ivm.kernels.memory.places import (
    ADDRESS,
    BIT,
    PIECES,
    SIZE,
    STRIDE,
    VALIDITY,
    integer_at,
    lay_updates,
    locate,
    place_of,
    references_of,
    told,
)
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Ints

TERM = 7
_KIND, _AT, _NULLABLE, _NULLS_FIRST, _FLIPPED, _COLUMN, _ITEM = range(TERM)
_SIGN = np.int64(-(2**63))
_REST = np.int64(2**63 - 1)
_BLOCK = 256
_scratch: Any = scratch(2 * _BLOCK)


@part()
def encode_rows(sources: Word, reads: Ints, terms: Ints, ahead: Word, rows: Ints) -> None:
    """Write the words of each term to `rows` int64 (n, at least as many), from word `ahead` on.

    `sources` stand at an address; `reads` int64 (terms, 2) has of each term the source and the number there of a column
    that can be read. Cost: 1 to 2 ns a row and word.
    """
    for first in range(0, len(rows), _BLOCK):
        part = rows[first : min(first + _BLOCK, len(rows))]
        at, missing = ints_at(_scratch(), len(part)), ints_at(_scratch() + 8 * _BLOCK, len(part))
        for t in range(len(terms)):
            place, references = place_of(sources, reads[t, 0], reads[t, 1]), references_of(sources, reads[t, 0])
            for row in range(len(part)):
                missing[row] = 0
            size = locate(place, references, np.int64(first), at, missing)
            kind, word = terms[t, _KIND], ahead + terms[t, _AT] + terms[t, _NULLABLE]
            _put_values(at, size, kind, np.int64(-1) if terms[t, _FLIPPED] else np.int64(0), np.uint64(word), part)
            if terms[t, _NULLABLE] == 0:
                continue
            for row in range(len(part)):
                part[np.uint64(row), np.uint64(word - 1)] = terms[t, _NULLS_FIRST]
            if told(place, VALIDITY) != 0:
                _put_nulls(missing, 1 - terms[t, _NULLS_FIRST], kind, word, part)


@part()
def _put_values(at: Ints, size: Word, kind: Word, flip: Word, word: Any, rows: Ints) -> None:
    """The words of values, which lie at these addresses."""
    if kind == DOUBLE:
        for row in range(len(rows)):
            bits = double_bits(at[np.uint64(row)])
            rows[np.uint64(row), word] = bits ^ ((bits >> np.int64(63)) & _REST) ^ flip
    elif kind == PAIR:
        for row in range(len(rows)):
            i = np.uint64(row)
            rows[i, word] = load(at[i] + 8, np.int64(0)) ^ flip
            rows[i, word + np.uint64(1)] = load(at[i], np.int64(0)) ^ _SIGN ^ flip
    elif size == 8:
        for row in range(len(rows)):
            rows[np.uint64(row), word] = load(at[np.uint64(row)], np.int64(0)) ^ flip
    else:
        for row in range(len(rows)):
            rows[np.uint64(row), word] = integer_at(at[np.uint64(row)], size) ^ flip


@part()
def _put_nulls(missing: Ints, null: Word, kind: Word, at: Word, rows: Ints) -> None:
    """Let the words of NULLs say so, and nothing else."""
    for row in range(len(rows)):
        if missing[row] != 0:
            rows[row, at - 1] = null
            rows[row, at] = 0
            if kind == PAIR:
                rows[row, at + 1] = 0


@part()
def take_values(words: Ints, at: Word, count: Word, kind: Word, values: Ints, to: Word) -> None:
    """values[to + i] = the value of the words at words[at, i], of a PAIR also in the row behind, or of a DOUBLE."""
    if kind == PAIR:
        for row in range(count):
            pair = np.uint64(2 * (to + row))
            values[pair], values[pair + np.uint64(1)] = words[at + 1, row] ^ _SIGN, words[at, row]
    elif kind == DOUBLE:
        for row in range(count):
            word = words[at, row]
            values[np.uint64(to + row)] = word ^ ((word >> np.int64(63)) & _REST)


@part()
def decode_rows(terms: Ints, rows: Ints, places: Ints) -> None:
    """Make values of the words of each term, where they are: from then on `places` says where the columns lie.

    Zeros stand for NULL. Cost: a pass over the words that are not the value's own.
    """
    for t in range(len(terms)):
        kind, at, column = terms[t, _KIND], terms[t, _AT] + terms[t, _NULLABLE], terms[t, _COLUMN]
        _decode_values(kind, np.int64(-1) if terms[t, _FLIPPED] else np.int64(0), np.uint64(at), rows)
        place = places[column]
        place[ADDRESS], place[STRIDE], place[SIZE] = address_of(rows) + 8 * at, 8 * rows.shape[1], terms[t, _ITEM]
        place[PIECES] = place[VALIDITY] = 0
        if terms[t, _NULLABLE] != 0 and _decode_nulls(terms[t, _NULLS_FIRST], kind, at, rows):
            place[VALIDITY], place[BIT] = address_of(rows) + 8 * (at - 1), -8 * rows.shape[1]


@part()
def _decode_values(kind: Word, flip: Word, word: Any, rows: Ints) -> None:
    if kind == DOUBLE:
        for row in range(len(rows)):
            bits = rows[np.uint64(row), word] ^ flip
            rows[np.uint64(row), word] = bits ^ ((bits >> np.int64(63)) & _REST)
    elif kind == PAIR:
        for row in range(len(rows)):
            i = np.uint64(row)
            high, low = rows[i, word] ^ flip, rows[i, word + np.uint64(1)] ^ _SIGN ^ flip
            rows[i, word], rows[i, word + np.uint64(1)] = low, high
    elif flip != 0:
        for row in range(len(rows)):
            rows[np.uint64(row), word] ^= flip


@part()
def _decode_nulls(there: Word, kind: Word, at: Word, rows: Ints) -> bool:
    """Let the word ahead of a value be one where it is not NULL, which `there` has said, else zero; whether some is."""
    found = False
    for row in range(len(rows)):
        valid = rows[row, at - 1] == there
        rows[row, at - 1] = np.int64(valid)
        if not valid:
            found = True
            rows[row, at] = 0
            if kind == PAIR:
                rows[row, at + 1] = 0
    return found


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def encode_columns(
    listed: Word, none: Word, reads: Ints, sources: Ints, terms: Ints, ahead: Word, rows: Ints
) -> bool:  # fmt: skip
    """As `encode_rows`, of sources that are listed and written down, see `memory.places`; whether they can be read."""
    if not lay_updates(listed, none, np.int64(0), reads, sources):
        return False
    encode_rows(address_of(sources), reads, terms, ahead, rows)
    return True


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def decode_columns(terms: Ints, rows: Ints, places: Ints) -> None:
    """See `decode_rows`."""
    decode_rows(terms, rows, places)

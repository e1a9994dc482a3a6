"""Rows as words that compare, word by word, as SQL orders the values: see `ivm.trace.ordered.row_order`."""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.hashing.keys import DOUBLE, PAIR
from ivm.kernels.memory.at import double_bits, load
from ivm.kernels.memory.places import ADDRESS, BIT, SIZE, STRIDE, VALIDITY, integer_at, is_missing
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Ints

TERM = 5
_KIND, _AT, _NULLABLE, _NULLS_FIRST, _FLIPPED = range(TERM)
_SIGN = np.int64(-(2**63))
_REST = np.int64(2**63 - 1)


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def encode_rows(places: Ints, terms: Ints, ahead: Word, rows: Ints) -> None:
    """Write the words of each term to `rows` int64 (n, at least as many), from word `ahead` on.

    `places` has for each term where its column lies, in one piece. `terms` int64 (terms, TERM) says of each what its
    values are and with which word it begins; whether that says where NULL stands, and whether NULLs come first; whether
    the value's words are inverted. Cost: 1 ns a row and word.
    """
    for t in range(len(terms)):
        kind, at = terms[t, _KIND], ahead + terms[t, _AT] + terms[t, _NULLABLE]
        _put_values(places[t], kind, np.int64(-1) if terms[t, _FLIPPED] else np.int64(0), np.uint64(at), rows)
        if terms[t, _NULLABLE] == 0:
            continue
        for row in range(len(rows)):
            rows[np.uint64(row), np.uint64(at - 1)] = terms[t, _NULLS_FIRST]
        if places[t, VALIDITY] != 0:
            _put_nulls(places[t], 1 - terms[t, _NULLS_FIRST], kind, at, rows)


@part()
def _put_values(place: Ints, kind: Word, flip: Word, at: Word, rows: Ints) -> None:
    address, stride, size = place[ADDRESS], place[STRIDE], place[SIZE]
    if kind == DOUBLE:
        for row in range(len(rows)):
            bits = double_bits(address + stride * row)
            rows[np.uint64(row), at] = bits ^ ((bits >> np.int64(63)) & _REST) ^ flip
    elif kind == PAIR:
        for row in range(len(rows)):
            rows[np.uint64(row), at] = load(address + stride * row + 8, np.int64(0)) ^ flip
            rows[np.uint64(row), at + np.uint64(1)] = load(address + stride * row, np.int64(0)) ^ _SIGN ^ flip
    elif size == 8:
        for row in range(len(rows)):
            rows[np.uint64(row), at] = load(address + stride * row, np.int64(0)) ^ flip
    else:
        for row in range(len(rows)):
            rows[np.uint64(row), at] = integer_at(address + stride * row, size) ^ flip


@part()
def _put_nulls(place: Ints, null: Word, kind: Word, at: Word, rows: Ints) -> None:
    """Let the words of NULLs say so, and nothing else."""
    for row in range(len(rows)):
        if is_missing(place[VALIDITY], place[BIT], row):
            rows[row, at - 1] = null
            rows[row, at] = 0
            if kind == PAIR:
                rows[row, at + 1] = 0


@part()
def take_values(words: Ints, at: Word, count: Word, kind: Word, values: Ints, to: Word) -> None:
    """values[to + i] = the values of `kind` whose words stand in words[at, i], and of a PAIR also in the row behind."""
    if kind == PAIR:
        for row in range(count):
            pair = np.uint64(2 * (to + row))
            values[pair], values[pair + np.uint64(1)] = words[at + 1, row] ^ _SIGN, words[at, row]
    elif kind == DOUBLE:
        for row in range(count):
            word = words[at, row]
            values[np.uint64(to + row)] = word ^ ((word >> np.int64(63)) & _REST)

"""The one hash function of the engine, for keys of one or more int64 words."""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.part import part
from ivm.kernels.types import Ints

# Odd multipliers with well mixed bits; the values have no other meaning.
_FIRST = np.uint64(0xD6E8FEB86659FD93)
_SECOND = np.uint64(0xCF3BCCDCE7A3C36D)
_HALF = np.uint64(32)


@part(inline=True)
def hash_word(word: int | np.int64) -> np.uint64:
    """Hash of an int64 word as uint64: a bijection in which every bit depends on every bit of the word.

    Any bits of the result may serve as a slot number, low or high alike. Cost: two multiplications.
    """
    x = np.uint64(word)
    x = (x ^ (x >> _HALF)) * _FIRST
    x = (x ^ (x >> _HALF)) * _SECOND
    return x ^ (x >> _HALF)


@part(inline=True)
def hash_words(rows: Ints, row: int | np.int64, width: int) -> np.uint64:
    """Hash of the int64 words `rows[row, :width]` as uint64; equal to `hash_word` for a width of one.

    `rows` has shape (n, at least `width`). Cost: one multiplication a word, and one.
    """
    x = np.uint64(0)
    for i in range(width):
        x ^= np.uint64(rows[row, i])
        x = (x ^ (x >> _HALF)) * _FIRST
    x = (x ^ (x >> _HALF)) * _SECOND
    return x ^ (x >> _HALF)

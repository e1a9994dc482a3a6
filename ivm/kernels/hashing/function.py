"""The one hash function of the engine, for keys of one or more int64 words; and digests, two words for a row of many.

A digest is a multilinear hash (Lemire and Kaser, "Strongly universal string hashing is fast"): the sum modulo 2^128 of
the row's words, each times a random factor of 128 bits, and of a random start, of which the upper half is taken. For
any two different rows, whatever they hold, that half is equal with a chance of 2^-64 over the choice of the factors,
and both words of a digest are with a chance of 2^-128.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.numbers.wide import mul_unsigned
from ivm.kernels.types import Hashes, Ints

WORDS = 2
"""How many words a digest has."""

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
def mix_word(x: Any, word: Any) -> Any:
    """What `hash_words` has made of the words so far, uint64, 0 at first, with one more."""
    x ^= np.uint64(word)
    return (x ^ (x >> _HALF)) * _FIRST


@part(inline=True)
def mix_last(x: Any) -> Any:
    """The hash of the words that `mix_word` has taken."""
    x = (x ^ (x >> _HALF)) * _SECOND
    return x ^ (x >> _HALF)


@part(inline=True)
def hash_words(rows: Ints, row: int | np.int64, width: int) -> np.uint64:
    """Hash of the int64 words `rows[row, :width]` as uint64; equal to `hash_word` for a width of one.

    `rows` has shape (n, at least `width`). Cost: one multiplication a word, and one.
    """
    x = np.uint64(0)
    for i in range(width):
        x = mix_word(x, rows[row, i])
    return mix_last(x)


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def digest_rows(words: Ints, factors: Hashes, digests: Ints) -> None:
    """Write the digest of each row of `words` (n, W) to `digests` (n, 2).

    `factors`, uint64 (W + 1, 2, 2), are for each word and, at the end, for the start: for both words of the digest the
    low and the high half. Cost: 2 to 3 ns a word.
    """
    width = words.shape[1]
    for i in range(len(words)):
        for d in range(WORDS):
            low = factors[width, d, 0]
            high = factors[width, d, 1]
            for w in range(width):
                word = np.uint64(words[i, w])
                product_low, product_high = mul_unsigned(factors[w, d, 0], word)
                low += product_low
                high += product_high + factors[w, d, 1] * word + np.uint64(low < product_low)
            digests[i, d] = np.int64(high)

"""Digests: two words that stand for a row of many.

Each is a multilinear hash (Lemire and Kaser, "Strongly universal string hashing is fast"): the sum modulo 2^128 of the
row's words, each times a random factor of 128 bits, and of a random start, of which the upper half is taken. For any
two different rows, whatever they hold, that half is equal with a chance of 2^-64 over the choice of the factors, and
both words of a digest are with a chance of 2^-128.
"""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.numbers.wide import mul_unsigned
from ivm.kernels.types import Hashes, Ints

WORDS = 2
"""How many words a digest has."""


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

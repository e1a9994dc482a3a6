"""How keys compare, word by word: `kinds` says for each word whether it is a number or a text (see `ordered.tree`)."""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.part import part
from ivm.kernels.numbers.wide import Word
from ivm.kernels.texts.dictionary import Bytes, compare_text
from ivm.kernels.types import Ints


@part(inline=True)
def compare_keys(
    a: Ints, i: Word, b: Ints, j: Word, at: Word, width: Word, kinds: Ints, heap: Bytes, starts: Ints
) -> Word:
    """-1, 0 or 1 as the first `width` words of a[i] come before, equal or come after those of b[j] from `at` on."""
    for w in range(width):
        x, y = a[np.uint64(i), np.uint64(w)], b[np.uint64(j), np.uint64(at + w)]
        if x != y:
            if kinds[w] == 0:
                return np.int64(-1) if x < y else np.int64(1)
            return np.int64(compare_text(heap, starts, x, y)) * kinds[w]
    return np.int64(0)


@part(inline=True)
def same_words(a: Ints, i: Word, b: Ints, j: Word, first: Word, stop: Word) -> bool:
    """Whether the words from `first` to `stop` of a[i] are those of b[j]."""
    for w in range(first, stop):
        if a[np.uint64(i), np.uint64(w)] != b[np.uint64(j), np.uint64(w)]:
            return False
    return True

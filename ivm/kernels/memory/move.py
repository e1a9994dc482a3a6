"""Moving stretches of an array at the speed of memory: loops over items are not seen through where they may overlap."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils

from ivm.kernels.compiling.operation import operation
from ivm.kernels.compiling.part import part
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Ints

_memmove: Any = cgutils.raw_memmove


@operation(types.void, None, types.intp, types.intp, types.intp)
def move_words(builder: Any, words: Any, to: Any, source: Any, count: Any) -> None:
    """Copy `count` items of the contiguous int64 array `words`, counted flat, from `source` on to `to` on.

    The stretches may overlap. The caller knows that all lie in the array.
    """
    _memmove(builder, builder.gep(words, [to]), builder.gep(words, [source]), count, 8)


@part(counted=True)
def grown(out: Ints, count: Word, least: Word) -> Ints:
    """An array of at least so many rows that begins with the first `count` of `out`: itself, if it has them."""
    if least <= len(out):
        return out
    more = np.empty((2 * least + 16, out.shape[1]), np.int64)
    for row in range(count):
        for w in range(out.shape[1]):
            more[row, w] = out[row, w]
    return more

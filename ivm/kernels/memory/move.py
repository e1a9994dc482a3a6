"""Memory asked for ahead of its use, so that random accesses overlap, and stretches of arrays moved at its full speed.

Loops over items are not seen through where the stretches may overlap.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from ivm.kernels.compiling.part import operation, part
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Ints

_memmove: Any = cgutils.raw_memmove
_insert: Any = cgutils.get_or_insert_function
_INT32: Any = ir.IntType(32)


@operation(types.void, None, types.intp)
def prefetch(builder: Any, array: Any, item: Any) -> None:
    """Fetch the cache line of item number `item` of the contiguous `array` (counted flat); the item need not exist."""
    address = builder.bitcast(builder.gep(array, [item]), cgutils.voidptr_t)
    kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, _INT32, _INT32, _INT32])
    function = _insert(builder.module, kind, "llvm.prefetch.p0")
    builder.call(function, [address, _INT32(0), _INT32(3), _INT32(1)])


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

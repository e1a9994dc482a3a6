"""Moving stretches of an array at the speed of memory: loops over items are not seen through where they may overlap."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from ivm.kernels.compiling.part import part
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Ints


def _move_words(typing_context: Any, words: Any, to: Any, source: Any, count: Any) -> Any:
    """Copy `count` items of the contiguous int64 array `words`, counted flat, from `source` on to `to` on.

    The stretches may overlap. The caller knows that all lie in the array.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        places = [context.cast(builder, arguments[k], signature.args[k], types.intp) for k in (1, 2, 3)]
        target, origin = (builder.gep(data, [place]) for place in places[:2])
        _memmove(builder, target, origin, places[2], 8)
        return context.get_dummy_value()

    return types.void(words, to, source, count), generate


_memmove: Any = cgutils.raw_memmove
_intrinsic: Any = intrinsic  # its stub takes the typing context for an argument of the call
move_words: Any = _intrinsic(_move_words)


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

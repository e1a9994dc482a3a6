"""Moving stretches of an array at the speed of memory: loops over items are not seen through where they may overlap."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


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

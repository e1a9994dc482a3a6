"""How machine code enters a loop: by its address."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import intrinsic

from ivm.kernels.compiling.checking import BEYOND, CHECKS
from ivm.kernels.memory.at import _made

_intrinsic: Any = intrinsic  # its stub takes the typing context for an argument of the call
_FRAME: Any = types.Array(types.int64, 1, "C")


@_intrinsic
def entered(typing_context: Any, address: Any, frame: Any, words: Any) -> Any:
    """What the loop at an address says of a frame, of so many words, at another; it raises nothing."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        convention = context.call_conv
        kind = convention.get_function_type(types.int64, (_FRAME,))
        loop = builder.inttoptr(arguments[0], kind.as_pointer())
        array = _made(context, builder, _FRAME, *arguments[1:])
        status, said = convention.call_function(builder, loop, types.int64, (_FRAME,), [array])
        return builder.select(status.is_ok, said, said.type(BEYOND)) if CHECKS else said

    return types.int64(types.int64, types.int64, types.int64), generate

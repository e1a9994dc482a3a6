"""Operations of compiled loops that are written for LLVM, where Python has none."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from numba import types
from numba.extending import intrinsic

_intrinsic: Any = intrinsic  # its stub takes the typing context for an argument of the call
_Array: Any = types.Array


def operation(result: Any, *takes: Any) -> Callable[[Callable[..., Any]], Any]:
    """A decorator that makes an operation of a function of LLVM's builder and the operands.

    Args:
        result: what it gives, a type of numba; None for the type of the last operand. A tuple is given as its items.
        takes: what its operands are cast to; None for whatever is given. Of an array the function gets the address.
    """

    def decorate(build: Callable[..., Any]) -> Any:
        @wraps(build)
        def typed(typing_context: Any, *given: Any) -> Any:
            operands = [each or own for each, own in zip(takes, given, strict=True)]

            def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                values = [
                    context.make_array(kind)(context, builder, value).data if isinstance(kind, _Array) else value
                    for kind, value in zip(signature.args, arguments, strict=True)
                ]
                made = build(builder, *values)
                if isinstance(made, tuple):
                    return context.make_tuple(builder, signature.return_type, made)
                return context.get_dummy_value() if made is None else made

            return (result or operands[-1])(*operands), generate

        return _intrinsic(typed)

    return decorate

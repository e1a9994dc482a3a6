"""What kernels are made of: functions that are compiled into each kernel that calls them, and operations of LLVM.

numba compiles every function by itself, down to machine code that Python can call, and then once more into each of its
callers. Of all that a part only gets what its callers need: its types, and code that is ready to be linked. A kernel
links its parts, theirs included, and only then is anything optimized or made machine code. So a part is no unit at run
time, and costs a fraction of what a kernel costs to compile. Python cannot call it; a test makes a kernel of its
`py_func`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import numba
from numba import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.registry import CPUDispatcher
from numba.extending import intrinsic

from ivm.kernels.compiling.checking import CHECKS

Function = TypeVar("Function", bound=Callable[..., Any])

_JitLibrary: Any = JITCodeLibrary
_Compiler: Any = Compiler
_Dispatcher: Any = CPUDispatcher
_plain: Any = types.unliteral
_settings: Any = numba.config
_intrinsic: Any = intrinsic  # its stub takes the typing context for an argument of the call
_Array: Any = types.Array


class _KernelLibrary(_JitLibrary):  # type: ignore[misc]
    """The code of a kernel, linked from its own, and that of all functions it is made of, each once."""

    def add_linking_library(self, library: Any) -> None:
        super().add_linking_library(library)
        if isinstance(library, _PartLibrary):
            for each in library._linking_libraries:
                super().add_linking_library(each)


class _PartLibrary(_KernelLibrary):
    """The code of a part, to be linked into that of kernels."""

    def finalize(self) -> None:
        self._raise_if_finalized()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        return 0

    @property
    def codegen(self) -> Any:
        return _Nowhere


class _Nowhere:
    """Where the machine code of parts is."""

    @staticmethod
    def set_env(name: str, environment: Any) -> None:
        """A part has no constants that are Python's objects."""


class KernelCompiler(_Compiler):  # type: ignore[misc]
    """numba's, for kernels and whatever else is made of parts."""

    library: Any = _KernelLibrary

    def __init__(self, typing: Any, target: Any, library: Any, *others: Any) -> None:
        super().__init__(typing, target, library or self.library(target.codegen(), "kernel"), *others)
        self.state.library.enable_object_caching()


class _PartCompiler(KernelCompiler):
    library = _PartLibrary


class _Part(_Dispatcher):  # type: ignore[misc]
    """What numba takes a part for: a function with types, which Python finds nothing to call in."""

    def add_overload(self, result: Any) -> None:
        self.overloads[tuple(result.signature.args)] = result

    def get_call_template(self, given: Any, named: Any) -> Any:
        """As for every function, but equal types are enough: constants are not worth code of their own."""
        return super().get_call_template([_plain(each) for each in given], named)

    def _compile_for_args(self, *arguments: Any, **named: Any) -> None:
        raise TypeError(f"{self.py_func.__qualname__} is a part of kernels, which Python cannot call; see its py_func")


def part(*, inline: bool = False, counted: bool = False) -> Callable[[Function], Function]:
    """A decorator that makes a function a part of kernels.

    Args:
        inline: put into every caller whatever its length, where a call with a dozen arrays would cost more than it.
        counted: it allocates arrays, or returns them. Others count no references, which costs time and code.
    """
    options = {"nopython": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True, "forceinline": inline}
    options["boundscheck"] = CHECKS

    def decorate(function: Function) -> Function:
        if _settings.DISABLE_JIT:
            return function
        made = _Part(function, targetoptions={**options, "_nrt": counted}, pipeline_class=_PartCompiler)
        return cast(Function, made)

    return decorate


def operation(result: Any, *takes: Any) -> Callable[[Callable[..., Any]], Any]:
    """A decorator that makes an operation, which Python has not, of a function of LLVM's builder and the operands.

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

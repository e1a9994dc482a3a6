"""Notes with which types compiled kernels are called from Python, which is when numba looks for machine code."""

from __future__ import annotations

import sys
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from typing import Any

from numba.core.dispatcher import Dispatcher

from ivm.kernels.compiling import calling
from ivm.kernels.compiling.notation import as_text

_dispatcher: Any = Dispatcher


@contextmanager
def noted_calls(listed: Container[str]) -> Iterator[set[tuple[str, str]]]:
    """The set that calls are added to, as (kernel, types): those by the engine, and by anybody of kernels in `listed`.

    The latter since a test that calls a kernel before the engine does would hide that it does.
    """
    called: set[tuple[str, str]] = set()
    plain: Callable[..., Any] = _dispatcher._compile_for_args

    def noting(self: Any, *args: Any, **kwargs: Any) -> Any:
        module = self.py_func.__module__
        kernel = f"{module.removeprefix('ivm.kernels.')}.{self.py_func.__name__}"
        caller = _caller()
        if module.startswith("ivm.kernels.") and (caller.startswith("ivm.") or kernel in listed):
            types = as_text([self.typeof_pyval(argument) for argument in args])
            if types is not None:
                called.add((kernel, types))
        return plain(self, *args, **kwargs)

    _dispatcher._compile_for_args = noting
    try:
        yield called
    finally:
        _dispatcher._compile_for_args = plain


def _caller() -> str:
    """The module that calls a kernel, whether by numba's dispatcher or by what stands before it."""
    frame = sys._getframe(2)
    if frame.f_globals.get("__name__") == calling.__name__ and frame.f_back is not None:
        frame = frame.f_back
    return str(frame.f_globals.get("__name__", ""))

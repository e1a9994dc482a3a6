"""`njit` with numba's option `_nrt`, which is not documented: False compiles without reference counts.

For functions that neither allocate nor return arrays. Small ones that pass arrays on to each other count every one of
them up and down, atomically, and that takes most of their time: a search in a tree of 10,000 entries 16 ns without,
63 with.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar, cast

from ivm.kernels import compiled

Function = TypeVar("Function", bound=Callable[..., Any])


class _Compiler(Protocol):
    """The options that kernels name."""

    def __call__(
        self, *, cache: bool, nogil: bool, fastmath: bool, _nrt: bool, forceinline: bool = False
    ) -> Callable[[Function], Function]: ...


njit = cast(_Compiler, compiled.njit)

"""Parts of kernels as tests call them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ivm.kernels.compiling.compiled import njit


def callable_part(part: Any) -> Callable[..., Any]:
    """A kernel that is nothing but a part, which Python cannot call by itself."""
    kernel: Callable[..., Any] = njit(cache=False, nogil=True, fastmath=False)(part.py_func)
    return kernel

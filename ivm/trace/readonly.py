"""One kind of array for kernels: numba compiles anew for arrays that may not be written to."""

from __future__ import annotations

from typing import Any

from ivm.trace.column import Array


def readonly(array: Array) -> Any:
    """A view without the right to write. Arrays from outside differ in it, and kernels are compiled for this kind."""
    view = array[:]
    view.setflags(write=False)
    return view

"""One kind of array for kernels: numba compiles anew for arrays that may not be written to."""

from __future__ import annotations

from typing import Any

import numpy as np

from ivm.trace.column import Array, Bools, Ints


def readonly(array: Array) -> Any:
    """The array, or a view of it, not to be written to. Arrays from outside are, or are not; kernels take one kind."""
    if array.flags.writeable:
        array = array.view()
        array.flags.writeable = False
    return array


NO_MASK: Bools = readonly(np.empty(0, np.bool_))
_ONE_TIME: Ints = readonly(np.zeros(1, np.int64))
_ALL_ONE: Ints = readonly(np.empty(0, np.int64))


def readonly_times(times: Ints | int) -> Ints:
    """Times as kernels take them: of length one if all are the same."""
    return _ONE_TIME if isinstance(times, int) else readonly(np.ascontiguousarray(times))


def readonly_diffs(diffs: Ints | None) -> Ints:
    """Diffs as kernels take them: of length zero if all are one."""
    return _ALL_ONE if diffs is None else readonly(np.ascontiguousarray(diffs))

"""Loops between Arrow's layouts and ours."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit


@njit(cache=True, nogil=True, fastmath=False)
def unpack_bits(bits: npt.NDArray[np.uint8], first: int, length: int) -> npt.NDArray[np.bool_]:
    """Bits `first` to `first + length` of `bits`, the lowest of each byte first, as bool (length,)."""
    out = np.empty(length, np.bool_)
    for i in range(length):
        at = first + i
        out[i] = (bits[at >> 3] >> (at & 7)) & 1 != 0
    return out

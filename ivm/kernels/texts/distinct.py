"""Distinct dictionary codes, found by marking what was seen."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.types import Bools, Int32s


@njit(cache=True, nogil=True, fastmath=False)
def take_unmarked(codes: Int32s, wanted: Bools, marks: npt.NDArray[np.int8], mark: int) -> Int32s:
    """The distinct codes whose entry of `marks` is 0, in order of appearance; their entries become `mark`.

    `wanted` bool says which rows count, all if it is empty. Cost: a byte looked up for each row.
    """
    found = np.empty(len(codes), np.int32)
    count = 0
    for i in range(len(codes)):
        code = codes[i]
        if marks[code] == 0 and (len(wanted) == 0 or wanted[i]):
            marks[code] = mark
            found[count] = code
            count += 1
    return found[:count].copy()

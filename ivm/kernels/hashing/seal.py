"""Saying of many indexes that their rows are final."""

from __future__ import annotations

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.hashing.block import FINAL, LAST, LINKED, NONE, OWES, SINCE, STOP
from ivm.kernels.memory.at import ints_at
from ivm.kernels.types import Ints


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def seal_runs(blocks: Ints, since: int) -> int:
    """Seal the indexes whose blocks stand at these addresses, but for those that owe work; how many do.

    Nobody reads as of a time whose stamp is before `since` any more.
    """
    owing = 0
    for address in blocks:
        block = ints_at(address, LAST)
        if block[OWES] != 0:
            owing += 1
        else:
            block[SINCE], block[FINAL], block[LINKED] = since, block[STOP], NONE
    return owing

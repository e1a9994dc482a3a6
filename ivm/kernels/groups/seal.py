"""Sealing many groups by one call, where all that was stepped is what kernels have begun by themselves."""

from __future__ import annotations

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.groups.block import BLOCK_WORDS, CELLS, EMPTIED, LIVE, PHASE, PUT, ROWS, cells_at
from ivm.kernels.groups.offer import (
    AFTER,
    IS_OFFERED,
    MEMORY,
    OFFER,
    OPEN,
    OWES,
    SEALS,
    TABLE,
    be_changing,
    be_whole,
)
from ivm.kernels.groups.table import fold, release
from ivm.kernels.memory.at import data_of, int32s_at, ints_at, length_of, words_at
from ivm.kernels.types import Ints


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def seal_offered(offers: Ints) -> int:
    """Seal the groups whose offers stand at these addresses, where a step of a kernel's is open, and nothing is owed.

    They get their new fields, those that are empty are forgotten, and what the step has used is offered to the next
    one. How many have had such a step. Cost: two random accesses a cell.
    """
    sealed = 0
    for address in offers:
        offer = ints_at(address, OFFER)
        if offer[OPEN] == 0 or offer[OWES] != 0:
            continue
        block = ints_at(data_of(offer[TABLE]), BLOCK_WORDS)
        memory = ints_at(data_of(offer[MEMORY]), length_of(offer[MEMORY], 0))
        if memory[PHASE] != PUT:
            continue
        be_changing(offer)
        fold(block, memory, words_at(data_of(offer[AFTER]), memory[CELLS], length_of(offer[AFTER], 1)))
        if memory[EMPTIED] != 0:
            release(int32s_at(cells_at(memory, 1), memory[ROWS])[: memory[CELLS]], block)
        offer[OPEN], offer[IS_OFFERED], offer[OWES] = 0, 1, block[LIVE] == 0
        offer[SEALS] += 1
        be_whole(offer)
        sealed += 1
    return sealed

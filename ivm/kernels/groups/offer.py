"""What groups offer to the next step, so that a kernel begins it without asking Python: words of int64.

VERSION is odd while the groups are written to: who reads without a lock reads again if it was, or has changed. OPEN:
the address of the request with which a kernel has begun a step, at the time TIME, with what was offered, and which is
no step like others so far; KNOWN_OPEN if somebody has seen that it has ended; 0 if there is none. IS_OFFERED: whether
what follows is there for a step, where no other one is open: TABLE, MEMORY, AFTER and ROOM are the `id` of arrays as
`groups.step` takes them, the first being the BLOCK of the groups; CAPACITY is for how many cells there is room. OWES:
whether sealing takes more than `groups.seal` does: there are readers, or groups to be forgotten that they kept, or
there is no group any more. SEALS: how often groups were sealed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from ivm.kernels.compiling.part import operation, part
from ivm.kernels.groups.block import CELLS, EMPTIED, META, PHASE, ROWS, TIMES, UNTOUCHED
from ivm.kernels.groups.step import AFTER as REQUEST_AFTER
from ivm.kernels.groups.step import AT, BLOCK, OPENING, STAGE
from ivm.kernels.groups.step import CAPACITY as REQUEST_CAPACITY
from ivm.kernels.groups.step import MEMORY as REQUEST_MEMORY
from ivm.kernels.groups.step import ROOM as REQUEST_ROOM
from ivm.kernels.memory.at import address_of, data_of, ints_at, length_of
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Ints

VERSION, OPEN, IS_OFFERED, TABLE, MEMORY, AFTER, CAPACITY, ROOM, TIME, OWES, SEALS = range(11)
OFFER = 11
KNOWN_OPEN = 1


@operation(types.void, types.int64, types.int64)
def _store_between(builder: Any, address: Any, value: Any) -> None:
    """Write a word behind all that was written before, and before all that is written later, for other threads too."""
    builder.fence("acq_rel")
    builder.store(value, builder.inttoptr(address, value.type.as_pointer()))
    builder.fence("acq_rel")


@part()
def begin_offered(offer: Ints, request: Ints, rows: Word, time: Word, many: Word) -> bool:
    """Begin a step of so many rows with what is offered; False, and nothing is done, if that does not do.

    They are all of one time, or `many` of them, which is all, have times of their own.
    """
    if offer[IS_OFFERED] == 0:
        return False
    length = length_of(offer[MEMORY], 0)
    if META + many + 3 * ((rows + 1) >> 1) > length:
        return False
    memory = ints_at(data_of(offer[MEMORY]), length)
    memory[PHASE], memory[CELLS], memory[EMPTIED], memory[ROWS], memory[TIMES] = UNTOUCHED, 0, 0, rows, many
    offer[TIME], offer[OPEN], offer[IS_OFFERED] = time, address_of(request), 0
    be_changing(offer)
    request[BLOCK], request[REQUEST_MEMORY], request[STAGE], request[AT] = offer[TABLE], offer[MEMORY], OPENING, 0
    request[REQUEST_AFTER], request[REQUEST_CAPACITY] = offer[AFTER], offer[CAPACITY]
    request[REQUEST_ROOM] = offer[ROOM]
    return True


@part()
def be_changing(offer: Ints) -> None:
    """Something is about to be written."""
    _store_between(address_of(offer), offer[VERSION] | 1)


@part()
def be_whole(offer: Ints) -> None:
    """What was written is whole: readers need not read once more."""
    _store_between(address_of(offer), (offer[VERSION] | 1) + np.int64(1))

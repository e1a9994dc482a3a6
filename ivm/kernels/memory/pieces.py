"""Pieces that come to columns which lie in pieces; see `ivm.kernels.memory.places`."""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.memory.append import store
from ivm.kernels.memory.places import ADDRESS, ROOM, STRIDE, VALID_ROOM, VALIDITY
from ivm.kernels.types import Ints

ADDED, WANTING, UNLIKE = range(3)
"""What `add_piece` says: it is done; or nothing is, since some column has no room for another piece, or the items of a
piece lie otherwise than those before, or some is NULL.
"""


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def add_piece(told: Ints, columns: Ints, places: Ints, number: int, start: int) -> int:
    """Let rows from `start` on, which lie at `places`, be piece `number` of these columns, whose places are `told`."""
    wanting = False
    for column in columns:
        place, coming = told[column], places[column]
        if coming[STRIDE] != place[STRIDE] or coming[VALIDITY] != 0:
            return UNLIKE
        wanting |= place[ROOM] <= number or (place[VALIDITY] != 0 and place[VALID_ROOM] <= number)
    if wanting:
        return WANTING
    for column in columns:
        place = told[column]
        store(place[ADDRESS] + 8 * number, places[column, ADDRESS] - start * place[STRIDE])
        if place[VALIDITY] != 0:
            store(place[VALIDITY] + 16 * number, np.int64(0))
            store(place[VALIDITY] + 16 * number + 8, np.int64(0))
    return ADDED

"""Pieces that come to all columns of a store that are read where they lie, by one call."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from ivm.kernels.memory.pieces import ADDED, UNLIKE, add_piece
from ivm.trace.columns.column import Ints
from ivm.trace.columns.in_place import InPlace

Told = tuple[Collection[int], Ints, int]
"""The columns of which was told, to which more come; in which places; and which edition of that it is."""


class Comers:
    """Columns in place, by their numbers, which have all pieces so far, and of which `places` are told."""

    def __init__(self, columns: Mapping[int, InPlace], places: Ints) -> None:
        self.columns = columns
        self._numbers: Ints = np.array([*columns], np.int64)
        self._growing = [each for column in columns.values() for each in column.growing]
        self._places = places

    def add(self, places: Ints, number: int, start: int) -> bool:
        """The next piece, which lies at places, of the rows from `start` on; False, and nothing is done, if it lies
        otherwise than those before, or one of these is missing.
        """
        growing = self._growing
        for each in growing:
            if each.length != number:
                return False
        while (said := add_piece(self._places, self._numbers, places, number, start)) != ADDED:
            if said == UNLIKE:
                return False
            for each in growing:
                each.reserve(number + 1)
        for each in growing:
            each.length = number + 1
        return True

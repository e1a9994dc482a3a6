"""Memory for what is made on the way."""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.part import part
from ivm.kernels.numbers.wide import Word
from ivm.kernels.step.records import ARENA, ARENA_END, REACHED, WANTED
from ivm.kernels.types import Ints

_WORD = np.int64(0)


@part()
def take(route: Ints, words: Word, spare: Word) -> Word:
    """The address of so many words of the arena; 0 if there are not so many, and some to spare."""
    begin = route[ARENA]
    reached = begin + 8 * (words + spare)
    if route[ARENA_END] < reached:
        route[WANTED] = words + spare
        return _WORD
    route[REACHED] = max(route[REACHED], reached)
    route[ARENA] = begin + 8 * words
    return begin

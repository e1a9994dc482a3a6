"""What functions of one string answered, by dictionary code, so that each distinct string is computed once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ivm.catalog.types import Physical
from ivm.kernels.texts.lying import FALSE, KNOWN, MEMO_WORDS, NULL, STATES, TRUE, VALUES
from ivm.kernels.texts.sweep import take_unmarked
from ivm.render.scalars.columns import both
from ivm.trace.columns.column import DTYPES, NO_MASK, Array, Column, Ints, readonly

UNKNOWN, LEARNING = 0, 4
"""States of a code in a memo. UNKNOWN is zero, so that a memo's growth touches no memory; a value that is there
and is not BOOLEAN has state TRUE, and the value itself lies beside."""

_PART = 1 << 15

States = npt.NDArray[np.int8]
Compute = Callable[[Array], Column]
"""From codes (int32, distinct) to their values; NumericError if one has none."""


class TextMemo:
    """`states` int8 and `values` (None for a BOOLEAN function), both indexed by code.

    They are as long as `cover` made them. The owner of a fused loop may read both directly; what it finds
    UNKNOWN it must have looked up here. `words` tell kernels where they lie; see `ivm.kernels.texts.lying`.
    """

    def __init__(self, dictionary: Any, compute: Compute, physical: Physical) -> None:
        self.dictionary = dictionary
        self.compute = compute
        self.physical = physical
        dictionary.memos.add(self)
        self.words: Ints = np.zeros(MEMO_WORDS, np.int64)
        self.states: States = np.zeros(0, np.int8)
        self.values: Array | None = None
        if physical is not Physical.BOOL:
            self.values = np.zeros((0, 2) if physical is Physical.WIDE else 0, DTYPES[physical])

    @property
    def nbytes(self) -> int:
        """Bytes reserved (pages that were never touched included)."""
        return self.states.nbytes + (0 if self.values is None else self.values.nbytes)

    def cover(self) -> None:
        """Make room for every code of the dictionary; amortized by doubling."""
        needed = self.dictionary.count
        if needed <= self.words.item(KNOWN):
            return
        capacity, words = max(needed, 2 * len(self.states), 64), self.words
        states, values = _grown(self.states, capacity), self.values
        if values is not None:
            values = _grown(values, capacity)
        words[KNOWN] = 0  # whoever is interrupted here has a memo of which kernels know nothing
        self.states, self.values = states, values
        words[STATES], words[VALUES] = states.ctypes.data, 0 if values is None else values.ctypes.data
        words[KNOWN] = capacity

    def codes(self) -> Iterator[npt.NDArray[np.int32]]:
        """The texts that it answers with."""
        if self.physical is Physical.CODE and self.values is not None:
            begin = 0
            while begin < len(self.states):
                values, states = self.values[begin : begin + _PART], self.states[begin : begin + _PART]
                yield values[states == TRUE].astype(np.int32)
                begin += _PART

    def forget(self, marks: npt.NDArray[np.uint8], begin: int, end: int) -> None:
        """Forget the codes from `begin` to `end` whose entry in `marks`, each 0 or 1, is 0. Cost: half a ns a code."""
        states = self.states[begin:end]
        np.multiply(states, marks[begin : begin + len(states)].view(np.int8), out=states)  # UNKNOWN is zero

    def lookup(self, column: Column) -> Column:
        """The function of a text column; cost: a gather, and the function for each string not seen before."""
        self.cover()
        codes = column.values
        self._learn_missing(column)
        states = self.states[codes]
        valid = column.valid
        if (states == NULL).any():
            valid = both(valid, states != NULL)
        return Column(states == TRUE if self.values is None else self.values[codes], valid)

    def _learn_missing(self, column: Column) -> None:
        wanted = NO_MASK if column.valid is None else readonly(np.ascontiguousarray(column.valid))
        new = take_unmarked(readonly(np.ascontiguousarray(column.values)), wanted, self.states, LEARNING)
        if len(new) == 0:
            return
        self.states[new] = UNKNOWN  # should the function fail
        found = self.compute(new)
        self.cover()
        states: Any = np.int8(TRUE)
        if self.values is None:
            states = np.where(found.values, states, np.int8(FALSE))
        else:
            self.values[new] = found.values
        self.states[new] = states if found.valid is None else np.where(found.valid, states, np.int8(NULL))


def _grown(array: Any, capacity: int) -> Any:
    bigger = np.zeros((capacity, *array.shape[1:]), array.dtype)
    bigger[: len(array)] = array
    return bigger

"""What functions of one string answered, by dictionary code, so that each distinct string is computed once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from catalog.errors import NumericError
from catalog.types import Physical
from ivm.kernels.texts.sweep import take_unmarked
from ivm.render.scalars.columns import both, stored
from ivm.trace.column import DTYPES, NO_MASK, Array, Column, readonly

UNKNOWN, NULL, FALSE, TRUE, ERROR, LEARNING = 0, 1, 2, 3, 4, 5
"""States of a code in a memo. UNKNOWN is zero, so that a memo's growth touches no memory; a value that is there
and is not BOOLEAN has state TRUE, and the value itself lies beside."""

NOTHING: dict[Physical, Any] = {Physical.BOOL: False, Physical.CODE: "", Physical.FLOAT64: 0.0}
"""What stands under NULL in a list of values; 0 of integers."""

_PART = 1 << 15

States = npt.NDArray[np.int8]
Compute = Callable[[Array], tuple[States, Array | None]]
"""From codes (int32, distinct) to their states and, unless BOOLEAN, their values."""

Failure = Callable[[str], str]
"""The message for a string in state ERROR."""


class TextMemo:
    """`states` int8 and `values` (None for a BOOLEAN function), both indexed by code.

    They are as long as `cover` made them. The owner of a fused loop may read both directly; what it finds
    UNKNOWN it must have looked up here. `failure` is None for a function that cannot fail.
    """

    def __init__(self, dictionary: Any, compute: Compute, physical: Physical, failure: Failure | None = None) -> None:
        self.dictionary = dictionary
        self.compute = compute
        self.physical = physical
        self.failure = failure
        dictionary.memos.add(self)
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
        if needed <= len(self.states):
            return
        capacity = max(needed, 2 * len(self.states), 64)
        self.states = _grown(self.states, capacity)
        if self.values is not None:
            self.values = _grown(self.values, capacity)

    def codes(self) -> Iterator[npt.NDArray[np.int32]]:
        """The texts that it answers with."""
        if self.physical is Physical.CODE and self.values is not None:
            begin = 0
            while begin < len(self.states):
                values, states = self.values[begin : begin + _PART], self.states[begin : begin + _PART]
                yield values[states == TRUE].astype(np.int32)
                begin += _PART

    def forget(self, marks: npt.NDArray[np.uint8], begin: int, end: int) -> None:
        """Forget the codes from `begin` to `end` whose entry in `marks` is 0."""
        states = self.states[begin:end]
        states[marks[begin : begin + len(states)] == 0] = UNKNOWN

    def lookup(self, column: Column) -> Column:
        """The function of a text column; cost: a gather, and the function for each string not seen before."""
        self.cover()
        codes = column.values
        self._learn_missing(column)
        states = self.states[codes]
        valid = column.valid
        if (states == NULL).any():
            valid = both(valid, states != NULL)
        if self.failure is not None:
            self._fail_on_error(codes, states == ERROR, column)
        return Column(states == TRUE if self.values is None else self.values[codes], valid)

    def _learn_missing(self, column: Column) -> None:
        wanted = NO_MASK if column.valid is None else readonly(np.ascontiguousarray(column.valid))
        new = take_unmarked(readonly(column.values), wanted, self.states, LEARNING)
        if len(new) == 0:
            return
        self.states[new] = UNKNOWN  # should the function fail
        states, values = self.compute(new)
        self.cover()
        self.states[new] = states
        if self.values is not None and values is not None:
            self.values[new] = values

    def _fail_on_error(self, codes: Array, wrong: Any, column: Column) -> None:
        if column.valid is not None:
            wrong = wrong & column.valid
        if wrong.any() and self.failure is not None:
            code = codes[int(np.argmax(wrong)) if len(codes) > 1 else 0]
            raise NumericError(self.failure(self.dictionary.now().strings(np.array([code], np.int32))[0]))


def known(values: Array) -> tuple[States, Array | None]:
    """What a memo is told of strings of which all have a value: BOOLEAN, or in the form that it keeps."""
    if values.dtype == np.bool_:
        return np.where(values, np.int8(TRUE), np.int8(FALSE)), None
    return np.full(len(values), TRUE, np.int8), values


def one_by_one(function: Callable[[str], Any], physical: Physical, dictionary: Any, failed: int = ERROR) -> Compute:
    """What a memo needs to learn a function of single strings; None is NULL, and a ValueError leaves it `failed`."""
    nothing = NOTHING.get(physical, 0)

    def compute(codes: Array) -> tuple[States, Array | None]:
        results: list[Any] = []
        states = np.full(len(codes), TRUE, np.int8)
        for i, text in enumerate(dictionary.now().strings(codes)):
            try:
                result = function(text)
            except ValueError:
                states[i], result = failed, nothing
            if result is None:
                states[i], result = NULL, nothing
            results.append(result)
        if physical is Physical.BOOL:
            states[(states == TRUE) & ~np.array(results, np.bool_)] = FALSE
            return states, None
        if physical is Physical.CODE:
            return states, dictionary.codes(results)
        wide = physical is Physical.WIDE
        return states, stored(np.array(results, object if wide else DTYPES[physical]), physical)

    return compute


def _grown(array: Any, capacity: int) -> Any:
    bigger = np.zeros((capacity, *array.shape[1:]), array.dtype)
    bigger[: len(array)] = array
    return bigger

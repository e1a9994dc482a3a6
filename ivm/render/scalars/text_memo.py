"""What functions of one string answered, by dictionary code, so that each distinct string is computed once."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt

from catalog.errors import NumericError
from catalog.types import Physical
from ivm.kernels.texts.distinct import take_unmarked
from ivm.render.scalars.columns import both
from ivm.trace.column import DTYPES, Array, Column
from ivm.trace.readonly import readonly

UNKNOWN, NULL, FALSE, TRUE, ERROR, LEARNING = 0, 1, 2, 3, 4, 5
"""States of a code in a memo. UNKNOWN is zero, so that a memo's growth touches no memory; a value that is there
and is not BOOLEAN has state TRUE, and the value itself lies beside."""

Each = TypeVar("Each")

_ALL = readonly(np.empty(0, np.bool_))
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
        self.states: States = np.zeros(0, np.int8)
        self.values: Array | None = None if physical is Physical.BOOL else np.zeros(0, DTYPES[physical])

    @property
    def nbytes(self) -> int:
        """Bytes reserved (pages that were never touched included)."""
        return self.states.nbytes + (0 if self.values is None else self.values.nbytes)

    def cover(self) -> None:
        """Make room for every code of the dictionary; amortized by doubling."""
        needed = len(self.dictionary)
        if needed <= len(self.states):
            return
        capacity = max(needed, 2 * len(self.states), 64)
        self.states = _grown(self.states, capacity)
        if self.values is None:
            return
        if self.physical is Physical.WIDE and self.values.ndim == 1:
            self.values = self.values.reshape(0, 2)
        self.values = _grown(self.values, capacity)

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
        wanted = _ALL if column.valid is None else readonly(np.ascontiguousarray(column.valid))
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
            raise NumericError(self.failure(self.dictionary.strings(np.array([code], np.int32))[0]))


def _grown(array: Any, capacity: int) -> Any:
    bigger = np.zeros((capacity, *array.shape[1:]), array.dtype)
    bigger[: len(array)] = array
    return bigger


class Memos:
    """The memos of one dictionary, by function and constant arguments; shared by all expressions over it.

    And the functions of bytes, while anybody has them.
    """

    def __init__(self) -> None:
        self._memos: dict[Hashable, TextMemo] = {}
        self._functions: WeakValueDictionary[Hashable, Any] = WeakValueDictionary()

    def function(self, key: Hashable, make: Callable[[], Each]) -> Each:
        """The function of `key`, made now if nobody has it."""
        known: Each | None = self._functions.get(key)
        if known is None:
            known = self._functions[key] = make()
        return known

    def get(self, key: Hashable, make: Callable[[], TextMemo]) -> TextMemo:
        """The memo of `key`, made now if it is new."""
        memo = self._memos.get(key)
        if memo is None:
            memo = self._memos[key] = make()
        return memo

    @property
    def nbytes(self) -> int:
        """Bytes of all memos."""
        return sum(memo.nbytes for memo in self._memos.values())


def memos_of(dictionary: Any) -> Memos:
    """The memos of a dictionary. They hang on it, so that both go together: memos refer to their dictionary."""
    attributes = vars(dictionary)
    memos = attributes.get("_memos")
    if not isinstance(memos, Memos):
        memos = attributes["_memos"] = Memos()
    return memos

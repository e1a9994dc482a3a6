"""A stored column that nobody computes with: the Arrow arrays as they came, not copied."""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa

from catalog.types import Kind, SqlType
from ivm.trace.arrow import arrow_type, to_column
from ivm.trace.column import Column, Ints, concat, empty_column
from ivm.trace.dictionary import TextDictionary

_FAN = 16
_SEALED = 9
_SMALL = 512
_LARGE = 1 << 16
_SHARED = (Kind.INTEGER, Kind.BIGINT, Kind.HUGEINT, Kind.DECIMAL, Kind.DOUBLE, Kind.DATE, Kind.TIMESTAMP)
"""Types whose physical form is a view of their Arrow array, if no value is NULL."""


def is_view(type: SqlType) -> bool:
    """Whether the physical form of a column of this type is a view of its Arrow arrays, where nothing is NULL."""
    return type.kind in _SHARED


class ColdColumn:
    """Arrow arrays one after the other.

    Small ones are put together by the sixteen in `tidy`, so that their number grows with the logarithm of the number of
    small batches, and a value is copied four times at most.
    """

    __slots__ = ("_arrays", "_dictionary", "_levels", "_plain_type", "_starts", "_type", "_views")

    def __init__(self, type: SqlType, dictionary: TextDictionary) -> None:
        self._type = type
        self._plain_type = arrow_type(type)
        self._dictionary = dictionary
        self._arrays: list[pa.Array] = []
        self._starts: list[int] = [0]
        self._levels: list[int] = []
        self._views: dict[int, Column] = {}

    def __len__(self) -> int:
        return self._starts[-1]

    @property
    def nbytes(self) -> int:
        """Bytes of the values of the arrays, whoever else may hold them."""
        return sum(array.nbytes for array in self._arrays)

    def append(self, values: pa.ChunkedArray) -> None:
        """Add `values` (of any encoding that fits the column) at the end; nothing is copied."""
        for array in values.chunks:
            if len(array):
                self._push(array, 0 if len(array) < _SMALL else _SEALED)

    def truncate(self, rows: int) -> None:
        """Cut off the rows from `rows` on; cost: at most one slice."""
        while self._starts[-1] > rows:
            array, level = self._pop()
            left = rows - self._starts[-1]
            if left > 0:
                self._push(array.slice(0, left), level)

    def tidy(self) -> None:
        """Put small arrays together, amortized."""
        levels = self._levels
        while len(levels) >= _FAN and levels[-1] != _SEALED and levels[-_FAN] == levels[-1]:
            level = levels[-1] + 1
            small = [self._pop()[0] for _ in range(_FAN)]
            whole = pa.concat_arrays([self._plain(array) for array in reversed(small)])
            self._push(whole, level if len(whole) < _LARGE else _SEALED)

    def parts(self) -> Iterator[pa.Array]:
        """The arrays in order, each in the encoding that it came in."""
        return iter(self._arrays)

    def gather(self, rows: Ints | slice) -> Column:
        """The values of `rows` in physical form. Cost: a gather for each array that they lie in; text is encoded."""
        if isinstance(rows, slice):
            return self._converted(self._sliced(rows.start, rows.stop))
        if len(rows) and not bool((rows[1:] >= rows[:-1]).all()):
            order = np.argsort(rows)
            places = np.empty(len(rows), np.int64)
            places[order] = np.arange(len(rows))
            return self.gather(rows[order]).take(places)
        if not is_view(self._type):
            return self._converted(self._taken(rows))
        columns = [self._view(number).take(inside) for number, inside in self._by_array(rows)]
        return concat(columns) if columns else empty_column(self._type.physical)

    def arrow(self, rows: Ints | slice) -> pa.ChunkedArray:
        """The values of `rows`, ascending, as Arrow has the type; a slice of arrays of that type is not copied."""
        arrays = self._sliced(rows.start, rows.stop) if isinstance(rows, slice) else self._taken(rows)
        return pa.chunked_array([self._plain(array) for array in arrays], type=self._plain_type)

    def keep(self, rows: Ints) -> ColdColumn:
        """A column of the rows `rows` of this one, ascending."""
        kept = ColdColumn(self._type, self._dictionary)
        kept.append(self.arrow(rows))
        return kept

    def _push(self, array: pa.Array, level: int) -> None:
        self._arrays.append(array)
        self._starts.append(self._starts[-1] + len(array))
        self._levels.append(level)

    def _pop(self) -> tuple[pa.Array, int]:
        self._views.pop(len(self._arrays) - 1, None)
        self._starts.pop()
        return self._arrays.pop(), self._levels.pop()

    def _plain(self, array: pa.Array) -> pa.Array:
        return array if array.type == self._plain_type else array.cast(self._plain_type)

    def _view(self, number: int) -> Column:
        """An array in physical form, kept if that costs no memory."""
        view = self._views.get(number)
        if view is None:
            array = self._arrays[number]
            view = to_column(array, self._type, self._dictionary)
            if array.type == self._plain_type and array.null_count == 0:
                self._views[number] = view
        return view

    def _converted(self, arrays: list[pa.Array]) -> Column:
        if not arrays:
            return empty_column(self._type.physical)
        if len(arrays) > 1 and all(array.type == arrays[0].type for array in arrays):
            arrays = [pa.concat_arrays(arrays)]
        return concat([to_column(array, self._type, self._dictionary) for array in arrays])

    def _taken(self, rows: Ints) -> list[pa.Array]:
        return [self._arrays[number].take(pa.array(inside)) for number, inside in self._by_array(rows)]

    def _by_array(self, rows: Ints) -> Iterator[tuple[int, Ints]]:
        """Ascending rows as (number of their array, positions in it)."""
        owner = np.searchsorted(self._starts, rows, side="right") - 1
        bounds = [0, *(np.flatnonzero(owner[1:] != owner[:-1]) + 1).tolist(), len(rows)]
        for begin, end in pairwise(bounds):
            if begin < end:
                number = int(owner[begin])
                yield number, rows[begin:end] - self._starts[number]

    def _sliced(self, begin: int, end: int) -> list[pa.Array]:
        arrays: list[pa.Array] = []
        number = bisect.bisect_right(self._starts, begin) - 1
        while number < len(self._arrays) and self._starts[number] < end:
            offset = max(begin - self._starts[number], 0)
            arrays.append(self._arrays[number].slice(offset, end - self._starts[number] - offset))
            number += 1
        return arrays

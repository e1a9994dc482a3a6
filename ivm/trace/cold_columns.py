"""The stored columns that nobody computes with: the Arrow batches as they came, not copied."""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence
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


class ColdColumns:
    """Columns of `types` in record batches one after the other; those at `indexes` of them, the others have left.

    Small batches are put together by the sixteen in `tidy`, so that their number grows with the logarithm of the number
    of small commits, and a value is copied four times at most.
    """

    def __init__(self, types: Sequence[SqlType], dictionary: TextDictionary, indexes: Sequence[int]) -> None:
        self._types = tuple(types)
        self._dictionary = dictionary
        self._places = {index: place for place, index in enumerate(indexes)}
        self._batches: list[pa.RecordBatch] = []
        self._starts: list[int] = [0]
        self._levels: list[int] = []
        self._views: dict[tuple[int, int], Column] = {}

    def __contains__(self, index: int) -> bool:
        return index in self._places

    @property
    def nbytes(self) -> int:
        """Bytes of the values of the batches, whoever else may hold them."""
        return sum(batch.nbytes for batch in self._batches)

    def append(self, table: pa.Table) -> None:
        """Add the rows of a table of all columns (of any encoding that fits) at the end; nothing is copied."""
        if not self._places:
            return
        if len(self._places) < table.num_columns:
            table = table.select(list(self._places))
        for batch in table.to_batches():
            if batch.num_rows:
                self._push(batch, 0 if batch.num_rows < _SMALL else _SEALED)

    def leave(self, index: int) -> Iterator[pa.Array]:
        """Give up a column: its arrays in order, each in the encoding that it came in."""
        place = self._places[index]
        arrays = [batch.column(place) for batch in self._batches]
        rest = [i for i in self._places if i != index]
        kept = [self._places[i] for i in rest]
        self._batches = [batch.select(kept) for batch in self._batches] if kept else []
        self._starts, self._levels = (self._starts, self._levels) if kept else ([0], [])
        self._places = {i: p for p, i in enumerate(rest)}
        self._views = {(number, i): view for (number, i), view in self._views.items() if i != index}
        yield from arrays

    def truncate(self, rows: int) -> None:
        """Cut off the rows from `rows` on; cost: at most one slice."""
        while self._starts[-1] > rows:
            batch, level = self._pop()
            left = rows - self._starts[-1]
            if left > 0:
                self._push(batch.slice(0, left), level)

    def tidy(self) -> None:
        """Put small batches together, amortized."""
        levels = self._levels
        while len(levels) >= _FAN and levels[-1] != _SEALED and levels[-_FAN] == levels[-1]:
            level = levels[-1] + 1
            small = [self._pop()[0] for _ in range(_FAN)]
            small.reverse()
            whole = self._together([[self._plain(b.column(p), i) for b in small] for i, p in self._places.items()])
            self._push(whole, level if whole.num_rows < _LARGE else _SEALED)

    def gather(self, index: int, rows: Ints | slice) -> Column:
        """A column's values of `rows` in physical form. Cost: a gather for each batch that they lie in; text is
        encoded.
        """
        if isinstance(rows, slice):
            return self._converted(index, self._sliced(index, rows.start, rows.stop))
        if len(rows) and not bool((rows[1:] >= rows[:-1]).all()):
            order = np.argsort(rows)
            places = np.empty(len(rows), np.int64)
            places[order] = np.arange(len(rows))
            return self.gather(index, rows[order]).take(places)
        if not is_view(self._types[index]):
            return self._converted(index, self._taken(index, rows))
        columns = [self._view(number, index).take(inside) for number, inside in self._by_batch(rows)]
        return concat(columns) if columns else empty_column(self._types[index].physical)

    def arrow(self, index: int, rows: Ints | slice) -> pa.ChunkedArray:
        """A column's values of `rows`, ascending, as Arrow has the type; a slice of that type is not copied."""
        if isinstance(rows, slice):
            arrays = self._sliced(index, rows.start, rows.stop)
        else:
            arrays = self._taken(index, rows)
        return pa.chunked_array([self._plain(a, index) for a in arrays], type=arrow_type(self._types[index]))

    def keep(self, rows: Ints) -> ColdColumns:
        """The same columns of the rows `rows` of these, ascending."""
        kept = ColdColumns(self._types, self._dictionary, list(self._places))
        if self._places:
            kept._push(self._together([self.arrow(index, rows).chunks for index in self._places]), _SEALED)
        return kept

    def _together(self, columns: Sequence[Sequence[pa.Array]]) -> pa.RecordBatch:
        indexes = list(self._places)
        whole = [
            pa.concat_arrays(arrays) if arrays else pa.array([], arrow_type(self._types[index]))
            for index, arrays in zip(indexes, columns, strict=True)
        ]
        return pa.RecordBatch.from_arrays(whole, names=[str(index) for index in indexes])

    def _push(self, batch: pa.RecordBatch, level: int) -> None:
        self._batches.append(batch)
        self._starts.append(self._starts[-1] + batch.num_rows)
        self._levels.append(level)

    def _pop(self) -> tuple[pa.RecordBatch, int]:
        last = len(self._batches) - 1
        if self._views:
            for index in self._places:
                self._views.pop((last, index), None)
        self._starts.pop()
        return self._batches.pop(), self._levels.pop()

    def _plain(self, array: pa.Array, index: int) -> pa.Array:
        plain = arrow_type(self._types[index])
        return array if array.type == plain else array.cast(plain)

    def _view(self, number: int, index: int) -> Column:
        """An array in physical form, kept if that costs no memory."""
        view = self._views.get((number, index))
        if view is None:
            array = self._array(number, index)
            view = to_column(array, self._types[index], self._dictionary)
            if array.type == arrow_type(self._types[index]) and array.null_count == 0:
                self._views[number, index] = view
        return view

    def _array(self, number: int, index: int) -> pa.Array:
        return self._batches[number].column(self._places[index])

    def _converted(self, index: int, arrays: list[pa.Array]) -> Column:
        wanted = self._types[index]
        if not arrays:
            return empty_column(wanted.physical)
        if len(arrays) > 1 and all(array.type == arrays[0].type for array in arrays):
            arrays = [pa.concat_arrays(arrays)]
        return concat([to_column(array, wanted, self._dictionary) for array in arrays])

    def _taken(self, index: int, rows: Ints) -> list[pa.Array]:
        return [self._array(number, index).take(pa.array(inside)) for number, inside in self._by_batch(rows)]

    def _by_batch(self, rows: Ints) -> Iterator[tuple[int, Ints]]:
        """Ascending rows as (number of their batch, positions in it)."""
        owner = np.searchsorted(self._starts, rows, side="right") - 1
        bounds = [0, *(np.flatnonzero(owner[1:] != owner[:-1]) + 1).tolist(), len(rows)]
        for begin, end in pairwise(bounds):
            if begin < end:
                number = int(owner[begin])
                yield number, rows[begin:end] - self._starts[number]

    def _sliced(self, index: int, begin: int, end: int) -> list[pa.Array]:
        arrays: list[pa.Array] = []
        number = bisect.bisect_right(self._starts, begin) - 1
        while number < len(self._batches) and self._starts[number] < end:
            offset = max(begin - self._starts[number], 0)
            arrays.append(self._array(number, index).slice(offset, end - self._starts[number] - offset))
            number += 1
        return arrays

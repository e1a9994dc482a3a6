"""The stored columns that stay as they came: Arrow batches, not copied, whose numbers and dates are read in place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa

from catalog.types import SqlType
from ivm.trace.arrow import arrow_type, to_column
from ivm.trace.column import Array, Column, Ints, ascending, concat, empty_column
from ivm.trace.dictionary import TextDictionary
from ivm.trace.in_place import InPlace, Pieces, is_readable
from ivm.trace.sequences import numbers_from

_FAN = 16
_SEALED = 9
_SMALL = 512
_LARGE = 1 << 16


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
        self._pieces = Pieces()
        self._levels: list[int] = []
        self._in_place: dict[int, InPlace] = {}

    def __contains__(self, index: int) -> bool:
        return index in self._places

    @property
    def nbytes(self) -> int:
        """Bytes of the values of the batches, whoever else may hold them."""
        return sum(batch.nbytes for batch in self._batches)

    def fixed(self) -> ColdColumns:
        """The same columns, of the rows that there are now, which do not change when these do. Cost: lists batches."""
        fixed = ColdColumns(self._types, self._dictionary, list(self._places))
        fixed._batches, fixed._pieces = self._batches.copy(), self._pieces.copy()
        return fixed

    def append(self, table: pa.Table) -> None:
        """Add the rows of a table of all columns (of any encoding that fits) at the end; nothing is copied."""
        if not self._places:
            return
        if len(self._places) < table.num_columns:
            table = table.select(list(self._places))
        for batch in table.to_batches():
            if batch.num_rows:
                self._push(batch, 0 if batch.num_rows < _SMALL else _SEALED)

    def leave(self, index: int) -> None:
        """Give up a column, which is not read in place."""
        rest = [i for i in self._places if i != index]
        kept = [self._places[i] for i in rest]
        self._places = {i: p for p, i in enumerate(rest)}
        if kept:
            self._batches = [batch.select(kept) for batch in self._batches]
        else:
            self._batches, self._pieces, self._levels = [], Pieces(), []

    def truncate(self, rows: int) -> None:
        """Cut off the rows from `rows` on; cost: at most one slice."""
        while self._pieces.rows > rows:
            batch, level = self._pop()
            left = rows - self._pieces.rows
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

    def gather(self, index: int, rows: Array | slice) -> Column:
        """A column's values of `rows` in physical form. Cost: a random access a row for what is read in place, a slice
        of one batch of it is not copied; else a gather for each batch that the rows lie in, and text is encoded.
        """
        if is_readable(self._types[index]):
            return self._read(index, rows)
        if isinstance(rows, slice):
            return self._converted(index, self._sliced(index, rows.start, rows.stop))
        distinct, places = ascending(rows)
        found = self._converted(index, self._taken(index, distinct))
        return found if places is None else found.take(places)

    def arrow(self, index: int, rows: Ints | slice) -> pa.ChunkedArray:
        """A column's values of `rows`, ascending, as Arrow has the type; a slice of that type is not copied."""
        arrays = self.arrays(index, rows)
        return pa.chunked_array([self._plain(a, index) for a in arrays], type=arrow_type(self._types[index]))

    def arrays(self, index: int, rows: Ints | slice) -> list[pa.Array]:
        """A column's values of `rows`, ascending, in the encodings that they came in; slices are not copied."""
        return self._sliced(index, rows.start, rows.stop) if isinstance(rows, slice) else self._taken(index, rows)

    def keep(self, rows: Ints) -> ColdColumns:
        """The same columns of the rows `rows` of these, ascending."""
        kept = ColdColumns(self._types, self._dictionary, list(self._places))
        if self._places:
            kept._push(self._together([self.arrow(index, rows).chunks for index in self._places]), _SEALED)
        return kept

    def _together(self, columns: Sequence[Sequence[pa.Array]]) -> pa.RecordBatch:
        indexes = list(self._places)
        whole = [
            pa.concat_arrays(arrays) if arrays else pa.nulls(0, arrow_type(self._types[index]))
            for index, arrays in zip(indexes, columns, strict=True)
        ]
        return pa.RecordBatch.from_arrays(whole, names=[str(index) for index in indexes])

    def _push(self, batch: pa.RecordBatch, level: int) -> None:
        self._batches.append(batch)
        self._pieces.push(batch.num_rows)
        self._levels.append(level)

    def _pop(self) -> tuple[pa.RecordBatch, int]:
        self._pieces.pop()
        for column in self._in_place.values():
            column.truncate(len(self._pieces))
        return self._batches.pop(), self._levels.pop()

    def _plain(self, array: pa.Array, index: int) -> pa.Array:
        plain = arrow_type(self._types[index])
        return array if array.type == plain else array.cast(plain)

    def _array(self, number: int, index: int) -> pa.Array:
        return self._batches[number].column(self._places[index])

    def _read(self, index: int, rows: Array | slice) -> Column:
        column = self._readable(index)
        if not isinstance(rows, slice):
            return column.gather(rows)
        begin, end = rows.start, min(rows.stop, self._pieces.rows)
        if begin >= end:
            return empty_column(self._types[index].physical)
        found = column.slice(begin, end, self._batches[self._pieces.piece_of(begin)])
        return column.gather(np.arange(begin, end)) if found is None else found

    def _readable(self, index: int) -> InPlace:
        """A column over all batches; those in a form that cannot be read in place are made anew."""
        column = self._in_place.get(index)
        if column is None:
            column = self._in_place[index] = InPlace(self._types[index], self._pieces)
        for number in range(len(column), len(self._batches)):
            array = self._array(number, index)
            read = column.add(array)
            if read is not array:
                self._replace(number, index, read)
        return column

    def _replace(self, number: int, index: int, array: pa.Array) -> None:
        batch, place = self._batches[number], self._places[index]
        self._batches[number] = batch.set_column(place, batch.schema.field(place).name, array)

    def _converted(self, index: int, arrays: list[pa.Array]) -> Column:
        wanted = self._types[index]
        if not arrays:
            return empty_column(wanted.physical)
        if len(arrays) > 1 and all(array.type == arrays[0].type for array in arrays):
            arrays = [pa.concat_arrays(arrays)]
        return concat([to_column(array, wanted, self._dictionary) for array in arrays])

    def _taken(self, index: int, rows: Ints) -> list[pa.Array]:
        return [self._array(number, index).take(numbers_from(inside)) for number, inside in self._by_batch(rows)]

    def _by_batch(self, rows: Ints) -> Iterator[tuple[int, Ints]]:
        """Ascending rows as (number of their batch, positions in it)."""
        owner = np.searchsorted(self._pieces.starts, rows, side="right") - 1
        bounds = [0, *(np.flatnonzero(owner[1:] != owner[:-1]) + 1).tolist(), len(rows)]
        for begin, end in pairwise(bounds):
            if begin < end:
                number = int(owner[begin])
                yield number, rows[begin:end] - self._pieces.start(number)

    def _sliced(self, index: int, begin: int, end: int) -> list[pa.Array]:
        arrays: list[pa.Array] = []
        end = min(end, self._pieces.rows)
        while begin < end:
            number = self._pieces.piece_of(begin)
            start, stop = self._pieces.start(number), min(self._pieces.start(number + 1), end)
            arrays.append(self._array(number, index).slice(begin - start, stop - begin))
            begin = stop
        return arrays

"""A batch of rows as it came, an Arrow table: the source of what a commit changes, and how its columns are read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from catalog.types import Physical, SqlType
from ivm.trace.arrow import is_direct, item_of, numbers_from, to_column, view_of
from ivm.trace.column import DTYPES, Array, Column, Ints
from ivm.trace.computed import Read, TextFunction, compute
from ivm.trace.delta import Source
from ivm.trace.dictionary import TextDictionary

_REMEMBERED_BYTES = 1 << 20
_NUMBERS = (Physical.INT32, Physical.INT64, Physical.FLOAT64)
_PATIENCE = 16
_LOOKED_AT = 256


class TextHabit:
    """What was seen of a column's batches.

    Functions of its text are computed from its bytes, unless

    * somebody else wanted its codes, in one of the last 16 batches, though there was a choice: they cost but once;
    * a string costs more than to look it up in the dictionary, and strings come again and again: more than half of 256
      that are looked at, in one of 16 batches, are there twice. Each distinct one is then computed once in all time.
    """

    __slots__ = ("_encoded", "_looked", "_repeats")

    def __init__(self) -> None:
        self._encoded = 0
        self._looked = 0
        self._repeats = False

    def by_bytes(self, array: pa.ChunkedArray, light: bool) -> bool:
        """Whether functions of the next batch's texts, `light` ones or not, are to be computed from the bytes."""
        if self._encoded:
            self._encoded -= 1
            return False
        if light or pa.types.is_dictionary(array.type):
            return True
        if not self._looked:
            self._looked, self._repeats = _PATIENCE, _repeats(array)
        self._looked -= 1
        return not self._repeats

    def encoded(self) -> None:
        """The last batch got codes although it was to be read by its bytes."""
        self._encoded = _PATIENCE


class Reader:
    """`to_column` for one column, array after array: it remembers how arrays of the last type are read.

    Small batches are often cut from a larger one. So it remembers also the memory that the last array was a part of,
    as long as that is not much. `habit`: what is known of its text, if that is what it holds.
    """

    def __init__(self, type: SqlType, dictionary: TextDictionary) -> None:
        self.type = type
        self._dictionary = dictionary
        self.habit = TextHabit()
        self._given: pa.DataType | None = None
        self._item: str | None = None
        self._stride = 0
        self._seen = (0, 0)
        self._values: Any = None

    def read(self, array: pa.ChunkedArray) -> Column:
        """The array as a column; see `to_column`."""
        if array.num_chunks != 1 or array.null_count:
            return to_column(array, self.type, self._dictionary)
        if array.type != self._given:
            self._learn(array.type)
        if self._item is None:
            return to_column(array, self.type, self._dictionary)
        only = array.chunk(0)
        data, begin, end = only.buffers()[1], only.offset, only.offset + len(only)
        if self._seen == (data.address, data.size):
            return Column(self._values[begin:end])
        if data.size > _REMEMBERED_BYTES:
            return Column(view_of(data, self._item, begin * self._stride, (end - begin,), (self._stride,)))
        self._values = view_of(data, self._item, 0, (data.size // self._stride,), (self._stride,))
        self._seen = data.address, data.size
        return Column(self._values[begin:end])

    def _learn(self, given: pa.DataType) -> None:
        """Numbers, dates and timestamps that have the size of their physical form are read where they lie."""
        self._given, self._item, self._seen = given, None, (0, 0)
        if not is_direct(given, self.type) or self.type.physical not in _NUMBERS:
            return
        if pa.types.is_decimal128(given):
            self._item, self._stride = "<i8", 16
        elif (item := np.dtype(item_of(given))) == DTYPES[self.type.physical]:
            self._item, self._stride = item.str, item.itemsize


class Batch(Source):
    """A source over an Arrow table of one batch; a column is made when it is first read, then kept."""

    def __init__(self, table: pa.Table, readers: Sequence[Reader]) -> None:
        self.table = table
        self._readers = readers
        self._made: dict[Read, Column] = {}
        self._by_bytes: dict[int, bool] = {}

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def column(self, index: Read) -> Column:
        """Column `index` in physical form, or a function of one, computed in the better of both ways."""
        column = self._made.get(index)
        if column is None:
            column = self._made[index] = self._computed(*index) if isinstance(index, tuple) else self._converted(index)
        return column

    def gather(self, index: Read, rows: Array) -> Column:
        """Column `index` of `rows`; texts that a function makes are made for these alone."""
        if isinstance(index, int) or index in self._made or index[1].type.physical is not Physical.CODE:
            return Source.gather(self, index, rows)
        column, function = index
        if not self.computes(column, (function,)):
            return Source.gather(self, index, rows)
        return compute(self.table.column(column).take(numbers_from(rows)).chunks, function)

    def computes(self, index: int, functions: Sequence[TextFunction]) -> bool:
        """Whether they are computed already, or the column's bytes are to be read (see `TextHabit`)."""
        if index in self._made:
            return False
        if all((index, function) in self._made for function in functions):
            return True
        return self._reads_bytes(index, all(function.light for function in functions))

    def _converted(self, index: int) -> Column:
        column = self._readers[index].read(self.table.column(index))
        if self._by_bytes.get(index):
            self._readers[index].habit.encoded()
        return column

    def _computed(self, index: int, function: TextFunction) -> Column:
        if index not in self._made and self._reads_bytes(index, function.light):
            return compute(self.table.column(index).chunks, function)
        return function.of_codes(self.column(index))

    def _reads_bytes(self, index: int, light: bool) -> bool:
        known = self._by_bytes.get(index)
        if known is None:
            known = self._by_bytes[index] = self._readers[index].habit.by_bytes(self.table.column(index), light)
        return known

    def take(self, rows: Ints) -> Batch:
        """The batch of the rows at `rows`."""
        taken = Batch(self.table.take(numbers_from(rows)), self._readers)
        taken._made = {index: column.take(rows) for index, column in self._made.items()}
        taken._by_bytes = dict(self._by_bytes)
        return taken


def _repeats(array: pa.ChunkedArray) -> bool:
    if array.num_chunks == 0:
        return False
    texts = array.chunk(0)
    sample = texts[:: max(1, len(texts) // _LOOKED_AT)]
    return 2 * len(sample.unique()) < len(sample)

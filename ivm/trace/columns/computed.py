"""Functions of text columns, computed from the bytes that Arrow holds: the text itself gets no code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol
from weakref import ref

import pyarrow as pa

from ivm.catalog.types import SqlType
from ivm.trace.columns.column import Column, Ints, concat, empty_column
from ivm.trace.columns.growable import HotColumn
from ivm.trace.text.texts import Texts, arrow_texts, places_in

MOST_KEPT = 4
"""For how many functions of one column a store keeps values; codes serve any number."""


class TextFunction(Protocol):
    """A function of one text, known by its identity; it has a value, of the `type`, of every string."""

    type: SqlType

    @property
    def memo(self) -> Ints | None:
        """The words of what is remembered by code, as `ivm.kernels.texts.lying` has them; None if nothing is."""
        ...

    def of_texts(self, texts: Texts) -> Column:
        """Its values of strings where they lie."""
        ...

    def of_codes(self, column: Column) -> Column:
        """Its values of strings that have codes; remembered by code."""
        ...


Computed = Sequence[tuple[int, Sequence[TextFunction]]]
"""Columns, and functions of each."""
Read = int | tuple[int, TextFunction]
"""What is read of a source: a column, or a function of a text column."""


def compute(arrays: Sequence[pa.Array], function: TextFunction) -> Column:
    """A function of the texts of Arrow arrays, one after the other. Cost: of an Arrow dictionary, its values only."""
    if len(arrays) > 1 and all(array.type == arrays[0].type for array in arrays):
        arrays = [pa.concat_arrays(arrays)]
    return concat([_computed(array, function) for array in arrays] or [empty_column(function.type.physical)])


def _computed(array: pa.Array, function: TextFunction) -> Column:
    if not pa.types.is_dictionary(array.type):
        return function.of_texts(arrow_texts(array))
    if len(array.dictionary) >= 2 * len(array):
        return function.of_texts(arrow_texts(array.dictionary_decode()))
    texts, indices = arrow_texts(array.dictionary), array.indices
    if indices.null_count == 0:
        return function.of_texts(texts).take(places_in(indices.buffers()[1], indices))
    # What the function says of NULL is its own affair.
    known = concat([function.of_texts(texts), function.of_texts(arrow_texts(pa.nulls(1, pa.string())))])
    return known.take(indices.cast(pa.int64()).fill_null(len(texts)).to_numpy())


_Key = tuple[int, int]
"""A column, and the `id` of a function."""


class ComputedColumns:
    """What a store keeps of functions of its text columns: a value for each row, while anybody has the function.

    Size: the values; a byte a row of a condition, four of a text.
    """

    def __init__(self) -> None:
        self._kept: dict[_Key, tuple[ref[TextFunction], HotColumn]] = {}
        self.version = 0
        """Another one once there are others."""
        self.is_used = False
        """Whether anything was ever kept."""

    @property
    def nbytes(self) -> int:
        """Bytes of the values."""
        return sum(column.nbytes for column in self.columns())

    def get(self, index: int, function: TextFunction) -> HotColumn | None:
        """The values of a function of a column, if they are kept."""
        kept = self._kept.get((index, id(function)))
        return None if kept is None else kept[1]

    def columns(self) -> list[HotColumn]:
        """All values that are kept."""
        return [column for _, column in self.each()]

    def count(self, index: int) -> int:
        """How many functions of a column are kept."""
        return sum(column == index for (column, _), _ in self.each())

    def put(self, index: int, function: TextFunction, column: HotColumn) -> None:
        """Keep the values of a function of all rows."""
        self.is_used = True
        key = index, id(function)
        self._kept[key] = ref(function, partial(_forget, ref(self), key)), column
        self.version += 1

    def drop(self, key: _Key) -> None:
        """Keep the values of a function no longer."""
        self._kept.pop(key, None)
        self.version += 1

    def append(self, read: Callable[[Read], Column]) -> None:
        """Add the values of further rows, as this gives them."""
        for read_of, column in self.each():
            column.append(read(read_of))

    def append_from(self, others: ComputedColumns, rows: Ints) -> None:
        """Add the values that `others`, which are of the same functions, have of `rows`."""
        for read_of, column in self.each():
            kept = others.get(*read_of)
            if kept is not None:
                column.append(kept.part(0, len(kept)).take(rows))

    def empty(self) -> ComputedColumns:
        """No values yet, of the same functions."""
        made = ComputedColumns()
        for read_of, column in self.each():
            made.put(*read_of, column.empty())
        return made

    def is_like(self, others: ComputedColumns) -> bool:
        """Whether they are of the same functions."""
        return {read_of for read_of, _ in self.each()} == {read_of for read_of, _ in others.each()}

    def truncate(self, rows: int) -> None:
        """Cut off the rows from `rows` on."""
        for column in self.columns():
            column.truncate(rows)

    def each(self) -> list[tuple[tuple[int, TextFunction], HotColumn]]:
        """Functions of which columns are kept, and their values."""
        kept = list(self._kept.items())  # others may forget some meanwhile
        return [((i, function), column) for (i, _), (of, column) in kept if (function := of()) is not None]


def _forget(kept_in: ref[ComputedColumns], key: _Key, function: ref[TextFunction]) -> None:
    """Nobody has a function any more: its values go, before another one may have its `id`."""
    computed = kept_in()
    if computed is not None:
        computed.drop(key)

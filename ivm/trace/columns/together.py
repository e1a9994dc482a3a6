"""Small batches that are put together: a few at a time, then a few of their columns, so that no commit waits."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

import pyarrow as pa

from ivm.catalog.types import Kind, SqlType
from ivm.trace.columns.arrow import arrow_type
from ivm.trace.columns.batches import FAN, SEALED, Batches
from ivm.trace.columns.in_place import is_readable_in, plain
from ivm.trace.columns.segment import in_one

_FEW, _AT_ONCE = 1 << 13, 8
"""Rows of which whole batches are put together, so many at once: a call for each column would take longer than what it
copies.
"""
_LARGE = 1 << 13
_PARTS = 8
"""In how many steps the columns of what is put together are made."""


class Together:
    """`FAN` batches from number `first` on, of columns of `types`, by what they are called then, as they become one."""

    def __init__(self, first: int, types: Mapping[str, SqlType]) -> None:
        self.first = first
        self.made: Batches | None = None
        """All batches, with those in one, once they are."""
        self.columns: list[pa.Array] = []
        self._types = types
        self._parts: list[pa.RecordBatch] = []
        self._table: pa.Table | None = None

    def go_on(self, rows: Batches) -> bool:
        """Do a little of it; whether it is `made`. It may be interrupted, and called again."""
        if self._table is None:
            self._table = self._one_table(rows)
        elif further := list(self._types.values())[len(self.columns) :]:
            for type_ in further[: -(-len(self._types) // _PARTS)]:
                self.columns.append(_whole(self._table.column(len(self.columns)), type_))
        else:
            whole = pa.RecordBatch.from_arrays(self.columns, names=list(self._types))
            level = rows.levels[self.first] + 1 if whole.num_rows < _LARGE else SEALED
            self.made = rows.with_together(self.first, whole, level)
        return self.made is not None

    def _one_table(self, rows: Batches) -> pa.Table | None:
        """The batches one after the other: not copied if they are many rows, unless types differ; else once all have
        come to the parts, a few at a time.
        """
        first, done = self.first, len(self._parts) * _AT_ONCE
        batches = rows.batches[first : first + FAN]
        with suppress(pa.ArrowInvalid):
            if rows.pieces.start(first + FAN) - rows.pieces.start(first) > _FEW:
                return pa.Table.from_batches(batches)
            if done < FAN:
                self._parts.append(pa.concat_batches(batches[done : done + _AT_ONCE]))
            return pa.Table.from_batches(self._parts) if done + _AT_ONCE >= FAN else None
        names, types = list(self._types), list(self._types.values())
        return pa.concat_tables(pa.table([*map(as_declared, batch.columns, types)], names) for batch in batches)


def as_declared(array: pa.Array, type: SqlType) -> pa.Array:
    """The same values as Arrow has the type; the array itself where that is so."""
    if array.type == arrow_type(type):
        return array
    is_narrow = pa.types.is_decimal64(array.type) or pa.types.is_decimal32(array.type)
    return plain(array, type) if is_narrow else array.cast(arrow_type(type))


def _whole(column: pa.ChunkedArray, type: SqlType) -> pa.Array:
    """A column in one piece. It is cast as such: for each of its pieces that would cost more than their rows."""
    with suppress(pa.ArrowInvalid):  # dictionaries that have no place in one of their type
        whole = column.chunk(0) if column.num_chunks == 1 else in_one(column)
        return whole if _is_kept(whole, type) else as_declared(whole, type)
    return pa.concat_arrays([as_declared(array, type) for array in column.chunks])


def _is_kept(whole: pa.Array, type: SqlType) -> bool:
    """Whether a column stays in the form in which its pieces came: texts as codes if few differ."""
    if pa.types.is_dictionary(whole.type):
        return type.kind is Kind.VARCHAR and 2 * len(whole.dictionary) <= len(whole)
    return is_readable_in(whole.type, type) or whole.type == arrow_type(type)

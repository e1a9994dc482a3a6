"""Small batches that are put together, a few columns at a time, so that no commit waits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

import pyarrow as pa

from ivm.catalog.types import Kind, SqlType
from ivm.trace.columns.arrow import arrow_type
from ivm.trace.columns.batches import FAN, SEALED, Batches
from ivm.trace.columns.in_place import is_readable_in, plain
from ivm.trace.columns.segment import in_one

_FEW = 1 << 13
"""So many rows are few: of more of them a step does one column."""
_AT_ONCE = 4
"""How many columns of few rows a step does."""
_STEPS = FAN // 2
"""After about so many steps all columns are done, so that those that are next do not wait."""


class Together:
    """`FAN` batches of `rows` from number `first` on, of columns of `types`, by their numbers, as they become one."""

    def __init__(self, rows: Batches, first: int, types: Mapping[int, SqlType]) -> None:
        self.first = first
        self.made: Batches | None = None
        """All batches, with those in one, once they are."""
        self.columns: dict[int, pa.Array] = {}
        self.batches = rows.batches[first : first + FAN]
        """Those that become one, of which some are let go of at a time once it is there."""
        self._types = types
        self._table: pa.Table | None = None
        self._whole: pa.RecordBatch | None = None

    def go_on(self, rows: Batches) -> Batches | None:
        """Do a little of it; what is `made`, at last. It may be interrupted, and called again."""
        if len(self.columns) < len(self._types):
            self._put_columns()
        elif self._whole is None:
            names = [str(index) for index in self._types]
            self._whole = pa.RecordBatch.from_arrays([self.columns[index] for index in self._types], names=names)
        else:
            level = rows.levels[self.first] + 1 if self._whole.num_rows < _FEW else SEALED
            self.made = rows.with_together(self.first, self._whole, level)
        return self.made

    def _put_columns(self) -> None:
        """Make some more of the columns."""
        if self._table is None:
            with suppress(pa.ArrowInvalid):  # of batches that differ in form
                self._table = pa.Table.from_batches(self.batches)
        table, done = self._table, len(self.columns)
        few = table is not None and table.num_rows <= _FEW
        end = done + max(_AT_ONCE if few else 1, -(-len(self._types) // _STEPS))
        for at, (index, type_) in enumerate(self._types.items()):
            if done <= at < end:
                column = [each.column(at) for each in self.batches] if table is None else table.column(at)
                self.columns[index] = _whole(column, type_)


def as_declared(array: pa.Array, type: SqlType) -> pa.Array:
    """The same values as Arrow has the type; the array itself where that is so."""
    if array.type == arrow_type(type):
        return array
    is_narrow = pa.types.is_decimal64(array.type) or pa.types.is_decimal32(array.type)
    return plain(array, type) if is_narrow else array.cast(arrow_type(type))


def _whole(column: pa.ChunkedArray | Sequence[pa.Array], type: SqlType) -> pa.Array:
    """A column in one piece. It is cast as such: for each of its pieces that would cost more than their rows."""
    with suppress(
        pa.ArrowInvalid, pa.ArrowTypeError
    ):  # types differ, or dictionaries have no place in one of their type
        whole = in_one(column if isinstance(column, pa.ChunkedArray) else pa.chunked_array(column))
        return whole if _is_kept(whole, type) else as_declared(whole, type)
    arrays = column.chunks if isinstance(column, pa.ChunkedArray) else column
    return pa.concat_arrays([as_declared(array, type) for array in arrays])


def _is_kept(whole: pa.Array, type: SqlType) -> bool:
    """Whether a column stays in the form in which its pieces came: texts as codes if few differ."""
    if pa.types.is_dictionary(whole.type):
        return type.kind is Kind.VARCHAR and 2 * len(whole.dictionary) <= len(whole)
    return is_readable_in(whole.type, type) or whole.type == arrow_type(type)

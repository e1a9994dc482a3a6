"""What a maintained view holds at one moment, as Arrow: all of it, or its first rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from catalog.schema import View as Definition
from ivm.sorting import first_by, sort_table
from ivm.trace.arrow import arrow_type, to_arrow
from ivm.trace.column import Column, Ints
from ivm.trace.huge import with_huge
from ivm.trace.strings import Strings


def schema_of(definition: Definition) -> pa.Schema:
    """Names and Arrow types of a view's columns."""
    fields = definition.schema
    names = [field.name for field in fields]
    empty = pa.Table.from_arrays([pa.nulls(0, arrow_type(field.type)) for field in fields], names=names)
    return with_huge(empty, [field.type for field in fields]).schema


@dataclass(frozen=True, slots=True)
class Contents:
    """The distinct rows and how often each counts; nobody writes to them any more. `len` is the number of rows.

    `columns` are those of the definition, the hidden ones too, which sort the rows and are not given away.
    """

    definition: Definition
    columns: Sequence[Column]
    diffs: Ints
    strings: Strings

    def __len__(self) -> int:
        return int(self.diffs.sum())

    def arrow(self) -> pa.Table:
        """Each row as often as it counts, in the definition's order. Cost: all rows, and their sort."""
        columns = self.columns
        if len(self.diffs) and bool((self.diffs != 1).any()):
            repeated = np.repeat(np.arange(len(self.diffs)), self.diffs)
            columns = [column.take(repeated) for column in columns]
        fields = self.definition.columns
        arrays = [to_arrow(c, f.type, self.strings) for c, f in zip(columns, fields, strict=True)]
        table = pa.Table.from_arrays(arrays, names=[f.name for f in fields])
        rows = sort_table(with_huge(table, [f.type for f in fields]), self.definition.order)
        return rows.select(range(len(self.definition.schema))) if self.definition.hidden else rows

    def head(self, rows: int) -> pa.Table:
        """The first rows of `arrow()`.

        Cost: a pass over the columns that decide which they are, and none where the view has no order.
        """
        if len(self.diffs) > rows:
            first = first_by(self.definition.order, len(self.columns), len(self.diffs), rows, self._values)
            few = Contents(self.definition, [c.take(first) for c in self.columns], self.diffs[first], self.strings)
            return few.arrow().slice(0, rows)
        return self.arrow().slice(0, rows)

    def _values(self, column: int, rows: Ints) -> pa.Array | pa.ChunkedArray:
        return to_arrow(self.columns[column].take(rows), self.definition.columns[column].type, self.strings)

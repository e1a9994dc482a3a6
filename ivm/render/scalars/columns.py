"""Columns that are being computed, and the rows that they are computed of.

While an expression runs, a column of length one stands for any number of rows (a literal, or what was computed
from literals alone), so that numpy broadcasts it and nothing is repeated; `dense` makes such a column as long
as it must be. The mask may be of length one on its own account.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from ivm.catalog.types import Physical, SqlType
from ivm.sql.ir.scalar import Literal
from ivm.trace.columns.column import DTYPES, Array, Bools, Column, concat, empty_column
from ivm.trace.columns.computed import TextFunction
from ivm.trace.delta import Delta
from ivm.trace.text.dictionary import Literals

_LOW = (1 << 64) - 1


def both(a: Bools | None, b: Bools | None) -> Bools | None:
    """The mask of rows that are valid in both."""
    if a is None:
        return b
    return a if b is None else a & b


def all_valid(columns: tuple[Column, ...]) -> Bools | None:
    """The mask of rows that are valid in every column."""
    return reduce(both, (column.valid for column in columns), None)


def constant(value: Any, physical: Physical) -> Column:
    """A literal in engine form as a column of length one; None is NULL."""
    valid = None if value is not None else np.zeros(1, np.bool_)
    known = 0 if value is None else value
    if physical is Physical.WIDE:
        return Column(from_objects(np.array([known], object)), valid)
    return Column(np.array([known], DTYPES[physical]), valid)


def column_of_literals(values: Sequence[Literal], type_: SqlType, texts: Literals) -> Column:
    """Literals of a type as a column; `texts` keeps their codes."""
    codes = type_.physical is Physical.CODE
    columns = [
        constant(texts.code(str(each.value)) if codes and each.value is not None else each.value, type_.physical)
        for each in values
    ]
    return concat(columns) if columns else empty_column(type_.physical)


def dense(column: Column, length: int) -> Column:
    """The column with `length` values of its own."""
    values, valid = column.values, column.valid
    if len(values) != length:
        values = np.repeat(values, length, axis=0)
    if valid is not None and len(valid) != length:
        valid = np.repeat(valid, length)
    return Column(values, valid)


def pick(column: Column, rows: Array) -> Column:
    """The column at `rows`; a column of length one stays as it is."""
    values, valid = column.values, column.valid
    return Column(
        values if len(values) == 1 else values[rows],
        valid if valid is None or len(valid) == 1 else valid[rows],
    )


def spread(column: Column | None, rows: Array, length: int, physical: Physical) -> Column:
    """A column of so many rows that has these values at `rows`; on all others it is NULL."""
    values = np.zeros((length, 2) if physical is Physical.WIDE else length, DTYPES[physical])
    valid = np.zeros(length, np.bool_)
    if column is not None:
        values[rows] = column.values
        valid[rows] = True if column.valid is None else column.valid
    return Column(values, valid)


def truth(column: Column) -> Bools:
    """Where a BOOLEAN column is TRUE, as opposed to FALSE or NULL."""
    values: Any = column.values
    return values if column.valid is None else values & column.valid


def objects(values: Array) -> Array:
    """Integer values of any physical form as Python integers (dtype object), for exact arithmetic without bounds."""
    if values.ndim == 1:
        return values.astype(object)
    high = values[:, 1].astype(object)
    low = np.ascontiguousarray(values[:, 0]).view(np.uint64).astype(object)
    joined: Array = high * (1 << 64) + low
    return joined


def from_objects(values: Any) -> Array:
    """Python integers that fit 128 bits as WIDE values, shape (n, 2)."""
    out = np.empty((len(values), 2), np.int64)
    out[:, 0] = (values & _LOW).astype(np.uint64).view(np.int64)
    out[:, 1] = (values >> 64).astype(np.int64)
    return out


def stored(values: Array, physical: Physical) -> Array:
    """Integers (int64 or Python's) in the physical form; they are known to fit."""
    if physical is Physical.WIDE:
        return from_objects(values if values.dtype == object else values.astype(object))
    return values if values.dtype == DTYPES[physical] else values.astype(DTYPES[physical])


Passed = tuple[Array | None, list[Column | None]]
"""Positions of the rows that pass (None: all do), and each map's column over them (None: nobody reads it)."""


class Rows:
    """Columns by position for `length` rows; a column is gathered when it is first read and then kept.

    `take` gives some of the rows: columns already here are narrowed from here, others come straight from the
    source.
    """

    __slots__ = ("_function", "_texts", "columns", "delta", "length", "positions")

    def __init__(self, delta: Delta) -> None:
        self.delta = delta
        self.length = len(delta)
        self.columns: dict[int, Column] = {}
        self.positions: Array | None = None
        self._function: TextFunction | None = None
        self._texts: frozenset[int] = frozenset()

    def column(self, index: int) -> Column:
        """Column `index`, of length `self.length` (or one, see `columns`)."""
        column = self.columns.get(index)
        if column is None:
            column = self._fetch(index)
            self.columns[index] = column
        return column

    def _fetch(self, index: int) -> Column:
        if self._function is None or index not in self._texts:
            return self._read(index)
        found = self.computed(index, self._function)
        return self._function.of_codes(self._read(index)) if found is None else found

    def computed(self, index: int, function: TextFunction) -> Column | None:
        """A function of text column `index` as the source has it, None where that is better computed of codes."""
        if index < len(self.delta.layout) and self.delta.computes(index, (function,)):
            return self._read(index, function)
        return None

    def _read(self, index: int, function: TextFunction | None = None) -> Column:
        if self.positions is None:
            return self.delta.column(index if function is None else (index, function))
        place = self.delta.layout.places[index]
        assert place is not None, f"column {index} is not bound"
        group, read = self.delta.groups[place[0]], place[1]
        if function is not None:
            assert not isinstance(read, tuple), "of a function's values no function is computed at its source"
            read = read, function
        return group.source.gather(read, self.positions if group.refs is None else group.refs[self.positions])

    def append(self, index: int, column: Column) -> None:
        """Give the rows another column, computed here."""
        self.columns[index] = column

    def take(self, rows: Array) -> Rows:
        """The rows at positions `rows` (distinct integers)."""
        taken = Rows(self.delta)
        taken.length = len(rows)
        taken.positions = rows if self.positions is None else self.positions[rows]
        taken.columns = {i: pick(c, rows) for i, c in self.columns.items()} if self.columns else {}
        taken._function, taken._texts = self._function, self._texts
        return taken

    def over(self, function: TextFunction, texts: frozenset[int]) -> Rows:
        """The same rows with this function of the columns `texts` in place of these."""
        rows = Rows(self.delta)
        rows.length, rows.positions = self.length, self.positions
        rows.columns = {i: function.of_codes(c) if i in texts else c for i, c in self.columns.items()}
        rows._function, rows._texts = function, texts
        return rows

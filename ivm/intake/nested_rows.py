"""Rows of plain values of Python some of which are nested: lists of lists, and dicts with the fields of a struct.

What is within must be of the one class that Python has for its type; all else goes the general way.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from ivm.catalog.schema import Field
from ivm.catalog.types import Kind, SqlType
from ivm.intake.plain_values import moment, single
from ivm.intake.python_rows import PlainRows, plain_rows
from ivm.kernels.memory.places import WORDS
from ivm.trace.columns.arrow import arrow_type
from ivm.trace.columns.column import Ints
from ivm.trace.columns.exported import Located

_CLASSES: dict[Kind, type] = {
    **{kind: int for kind in Kind if kind.bits and kind is not Kind.HUGEINT},
    Kind.DECIMAL: Decimal,
    Kind.FLOAT: float,
    Kind.DOUBLE: float,
    Kind.BOOLEAN: bool,
    Kind.VARCHAR: str,
    Kind.BLOB: bytes,
    Kind.DATE: date,
    Kind.TIMESTAMP: datetime,
}
_CHECKS: dict[Kind, Callable[[Any], object]] = {Kind.FLOAT: single, Kind.TIMESTAMP: moment}
"""What raises ValueError for values that Arrow would change."""


class NestedRows:
    """What makes record batches of `fields`, in their order, some of which are nested; see `PlainRows`.

    Cost: that of `PlainRows` for the other columns, some 5 microseconds a column, and less than one for each value
    within.
    """

    def __init__(self, fields: Sequence[Field]) -> None:
        self._schema = pa.schema([(field.name, arrow_type(field.type)) for field in fields])
        self._nested = {place: field for place, field in enumerate(fields) if field.type.is_nested}
        self._others = [place for place in range(len(fields)) if place not in self._nested]
        self._plain = plain_rows([fields[place] for place in self._others])

    @property
    def is_whole(self) -> bool:
        """Whether all of the columns are written here."""
        return (self._plain is not None or not self._others) and all(_is_known(f.type) for f in self._nested.values())

    def batch(self, count: int, columns: Sequence[Sequence[Any]], stored: Container[int] = ()) -> Located | None:
        """See `PlainRows.batch`. Nested values have no other form in which they are `stored`."""
        places: Ints = np.zeros((len(columns), WORDS), np.int64)
        arrays: dict[int, pa.Array] = {}
        try:
            for place, field in self._nested.items():
                arrays[place] = _array(columns[place], field)
        except (ValueError, OverflowError):
            return None
        if self._plain is not None:
            given = {number for number, place in enumerate(self._others) if place in stored}
            found = self._plain.batch(count, [columns[place] for place in self._others], given)
            if found is None:
                return None
            places[self._others] = found[1]
            arrays.update(zip(self._others, found[0].columns, strict=True))
        return pa.RecordBatch.from_arrays([arrays[place] for place in range(len(columns))], schema=self._schema), places

    def row(self, values: Sequence[Any], stored: Container[int] = ()) -> Located | None:
        """See `PlainRows.row`."""
        return self.batch(1, [(value,) for value in values], stored)


def rows_of(fields: Sequence[Field]) -> PlainRows | NestedRows | None:
    """What makes batches of these fields; None if values of one of their types are not written here."""
    if not any(field.type.is_nested for field in fields):
        return plain_rows(fields)
    made = NestedRows(fields)
    return made if made.is_whole else None


def _array(values: Sequence[Any], field: Field) -> pa.Array:
    """Nested values as Arrow has them; ValueError or OverflowError where one is not plain, or does not fit."""
    for value in values:
        if not (field.nullable if value is None else _is_plain(value, field.type)):
            raise ValueError(value)
    return pa.array(values, arrow_type(field.type))


def _is_plain(value: Any, type_: SqlType) -> bool:
    """Whether it is; ValueError where only its class is right."""
    if value is None:
        return True
    if type_.element is not None:
        element = type_.element
        return type(value) is list and all(_is_plain(each, element) for each in value)
    if type_.kind is Kind.STRUCT:
        fields = dict(type_.fields)
        return (
            type(value) is dict
            and value.keys() == fields.keys()
            and all(_is_plain(value[n], t) for n, t in fields.items())
        )
    if type(value) is not _CLASSES[type_.kind]:
        return False
    check = _CHECKS.get(type_.kind)
    if check is not None:
        check(value)
    return True


def _is_known(type_: SqlType) -> bool:
    """Whether values of a type may be plain. Maps may not: a key may be there twice."""
    if type_.kind is Kind.LIST:
        return type_.element is not None and _is_known(type_.element)
    if type_.kind is Kind.STRUCT:
        return len({name.lower() for name in type_.names}) == len(type_.names) > 0 and all(
            _is_known(t) for _, t in type_.fields
        )
    return type_.kind in _CLASSES

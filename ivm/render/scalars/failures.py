"""The NumericError that a computation on some row ends in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ivm.catalog.errors import NumericError
from ivm.catalog.types import BLOB, Kind, SqlType
from ivm.render.scalars.columns import all_valid, objects, stored
from ivm.render.scalars.single_text import single_text
from ivm.sql.ir.blobs import ANY_BYTES, blob_text
from ivm.sql.ir.functions import function_of
from ivm.sql.ir.limits import limits
from ivm.sql.ir.scalar import Call, Literal
from ivm.sql.types.texts import writer
from ivm.trace.columns.column import Bools, Column


def formatter(type_: SqlType) -> Callable[[Any], str]:
    """The function that prints one value in engine form, as DuckDB does."""
    if type_.kind is Kind.DOUBLE:
        return lambda value: repr(float(value))
    if type_.kind is Kind.FLOAT:
        return single_text
    return writer(type_) or str


def literal_text(literal: Literal) -> str | None:
    """What DuckDB reads as the literal's value where it is cast to its type; None for NULL."""
    value: Any = literal.value
    if value is None:
        return None
    if literal.type == BLOB:
        return blob_text(value.encode(errors=ANY_BYTES))
    return formatter(literal.type)(value)


@dataclass(frozen=True, slots=True)
class Attempt:
    """A call at a row on which it has no value; `str` writes it as a person would.

    `columns` are those of its arguments, without the literals that the function reads from the call.
    """

    call: Call
    columns: dict[int, Column]
    row: int

    def __str__(self) -> str:
        args = [self.shown(place) for place in range(len(self.call.args))]
        symbol = function_of(self.call.function).symbol
        return f"{args[0]} {symbol} {args[1]}" if symbol else f"{self.call.function}({', '.join(args)})"

    def shown(self, place: int) -> str:
        """An argument, as SQL would print it."""
        argument, column = self.call.args[place], self.columns.get(place)
        if column is None:
            return f"'{argument.value if isinstance(argument, Literal) else argument}'"
        row = self.row if len(column.values) > 1 else 0
        value: Any = objects(column.values[row : row + 1])[0]
        text = formatter(argument.type)(value)
        return f"'{text}'" if argument.type.is_moment or argument.type.kind in (Kind.TIME, Kind.ENUM) else text


Problem = Callable[[Attempt], NumericError]
"""The error of an attempt."""


def attempted(call: Call, columns: tuple[Column, ...], row: int) -> Attempt:
    """A call at a row, of whose arguments all have columns."""
    return Attempt(call, dict(enumerate(columns)), row)


def overflow(attempt: Attempt) -> NumericError:
    """The result does not fit its type."""
    type_ = attempt.call.type
    return NumericError(f"cannot compute {attempt}: the result does not fit {type_}; cast to a wider type first")


def division_by_zero(attempt: Attempt) -> NumericError:
    """The divisor is zero."""
    return NumericError(f"cannot compute {attempt}: division by zero; guard the divisor with NULLIF(divisor, 0)")


def over_integers(call: Call, compute: Callable[..., Any]) -> Callable[..., Column]:
    """A function of Python's integers, which are exact whatever their length; what its type does not hold overflows."""
    low, high = limits(call.type)

    def apply(*columns: Column) -> Column:
        valid, values = all_valid(columns), compute(*(objects(column.values) for column in columns))
        outside = ((values < low) | (values > high)).astype(np.bool_)
        row = first_bad(outside, valid)
        if row is not None:
            raise overflow(attempted(call, columns, row))
        return Column(stored(np.where(outside, 0, values), call.type.physical), valid)

    return apply


def first_bad(bad: Any, valid: Bools | None) -> int | None:
    """The first row that is bad and valid."""
    if valid is not None:
        bad = bad & valid
    return int(np.argmax(bad)) if bad.any() else None

"""The NumericError that a computation on some row ends in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from catalog.errors import NumericError
from catalog.types import Kind, SqlType
from ivm.render.scalars.columns import objects
from ivm.render.scalars.text_format import to_text
from ivm.trace.column import Bools, Column
from sql.ir.functions import function_of
from sql.ir.limits import Range
from sql.ir.scalar import Call, Literal

Describe = Callable[[int], str]

Problem = Callable[[str, SqlType], NumericError]
"""The error of an attempt, which is described, to compute a value of a type."""


def describe(call: Call, columns: tuple[Column, ...]) -> Describe:
    """What a call computes at a row, as a person would write it; `columns` are those of its last arguments."""
    first = max(len(call.args) - len(columns), 0)
    literals = [f"'{a.value}'" for a in call.args[:first] if isinstance(a, Literal)]
    symbol = function_of(call.function).symbol

    def text(row: int) -> str:
        args = [shown(c, row, a.type) for c, a in zip(columns, call.args[first:], strict=False)]
        return f"{args[0]} {symbol} {args[1]}" if symbol else f"{call.function}({', '.join([*literals, *args])})"

    return text


def shown(column: Column, row: int, type_: SqlType) -> str:
    """The value of a column at a row, as SQL would print it."""
    row = row if len(column.values) > 1 else 0
    value: Any = objects(column.values[row : row + 1])[0]
    text = to_text(value, type_)
    return f"'{text}'" if type_.is_moment or type_.kind in (Kind.TIME, Kind.ENUM) else text


def overflow(what: str, type_: SqlType) -> NumericError:
    """`what` was attempted and its result does not fit `type_`."""
    return NumericError(f"cannot compute {what}: the result does not fit {type_}; cast to a wider type first")


def division_by_zero(what: str, type_: SqlType) -> NumericError:
    """`what` was attempted and divides by zero."""
    return NumericError(f"cannot compute {what}: division by zero; guard the divisor with NULLIF(divisor, 0)")


def check(values: Any, valid: Bools | None, allowed: Range, describe: Describe, type_: SqlType) -> None:
    """Raise if a value on a valid row lies outside `allowed`; cost: two reductions unless one does."""
    if values.size == 0 or (values.max() <= allowed[1] and values.min() >= allowed[0]):
        return
    row = first_bad((values > allowed[1]) | (values < allowed[0]), valid)
    if row is not None:
        raise overflow(describe(row), type_)


def first_bad(bad: Any, valid: Bools | None) -> int | None:
    """The first row that is bad and valid."""
    if valid is not None:
        bad = bad & valid
    return int(np.argmax(bad)) if bad.any() else None

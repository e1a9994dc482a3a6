"""Values of the model: engine form (see `ivm.sql.ir.scalar`), how they compare, and what Python objects they stand for."""

from __future__ import annotations

import ctypes
import math
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from ivm.catalog.errors import NumericError
from ivm.catalog.types import Kind, SqlType, integer_range
from ivm.sql.ir.scalar import Value
from tests.model.intervals import from_text, to_text

DAY = 86_400_000_000
EPOCH = date(1970, 1, 1)


def checked(value: Value, type_: SqlType) -> Value:
    """The value, in the one form in which the model holds it; NumericError if it is out of the type's range."""
    if value is None:
        return None
    if type_.is_float:
        return canonical(float(value) if type_.kind is Kind.DOUBLE else nearest_single(float(value)))
    if type_.is_integer:
        least, greatest = integer_range(type_.kind)
        if not least <= int(value) <= greatest:
            raise NumericError(f"{value} is out of range for {type_}")
        return value
    if type_.kind is Kind.INTERVAL:
        return value
    if type_.kind is Kind.DECIMAL and abs(int(value)) >= 10**type_.precision:
        raise NumericError(f"{value} (unscaled) is out of range for {type_}")
    bits = 32 if type_.kind is Kind.DATE else 64
    if isinstance(value, int) and not -(2 ** (bits - 1)) <= value < 2 ** (bits - 1) and type_.kind is not Kind.DECIMAL:
        raise NumericError(f"{value} is out of range for {type_}")
    return value


def nearest_single(value: float) -> float:
    """The nearest number of 32 bits."""
    return ctypes.c_float(value).value


def canonical(value: float) -> float:
    """One NaN object, so that rows with NaN are equal to themselves, and no negative zero."""
    return math.nan if math.isnan(value) else value + 0.0


def sort_key(value: Value) -> Any:
    """A key by which values of one type that are not NULL sort as SQL orders them."""
    if isinstance(value, float):
        return (math.isnan(value), 0.0 if math.isnan(value) else value)
    return value.encode() if isinstance(value, str) else value


def same(left: Value, right: Value) -> bool:
    """Equality of two values that are not NULL; NaN equals NaN."""
    return bool(sort_key(left) == sort_key(right))


def to_engine(value: Any, type_: SqlType) -> Value:
    """Engine form of a Python object as DuckDB or Arrow give it (Decimal, date, datetime, int, float, str, bool); intervals as texts."""
    if value is None:
        return None
    match type_.kind:
        case Kind.DECIMAL:
            return int(Decimal(value).scaleb(type_.scale).to_integral_exact())
        case Kind.DATE:
            return int((value - EPOCH).days)
        case Kind.TIME:
            return ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + int(value.microsecond)
        case Kind.TIMESTAMP | Kind.TIMESTAMPTZ:
            return int((value - datetime(1970, 1, 1)) // timedelta(microseconds=1))
        case Kind.FLOAT | Kind.DOUBLE:
            return canonical(float(value))
        case Kind.INTERVAL:
            return from_text(value)
    return value


def from_engine(value: Value, type_: SqlType) -> Any:
    """The Python object that an engine value stands for: the inverse of `to_engine`."""
    if value is None:
        return None
    match type_.kind:
        case Kind.DECIMAL:
            return Decimal(int(value)).scaleb(-type_.scale)
        case Kind.DATE:
            return EPOCH + timedelta(days=int(value))
        case Kind.TIME:
            return (datetime(1970, 1, 1) + timedelta(microseconds=int(value))).time()
        case Kind.TIMESTAMP | Kind.TIMESTAMPTZ:
            return datetime(1970, 1, 1) + timedelta(microseconds=int(value))
        case Kind.INTERVAL:
            return to_text(int(value))
    return value

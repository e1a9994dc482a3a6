"""Casts of the model, as DuckDB rounds and refuses them."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time
from decimal import Decimal, InvalidOperation
from fractions import Fraction

import numpy as np

from ivm.catalog.errors import NumericError
from ivm.catalog.types import Kind, SqlType
from ivm.sql.ir.scalar import Value
from tests.model.numbers import divide_away, round_away
from tests.model.values import DAY, from_engine, to_engine

_BOOLEANS = {"true": True, "t": True, "yes": True, "1": True, "false": False, "f": False, "no": False, "0": False}


def cast(value: Value, source: SqlType, target: SqlType) -> Value:
    """A value that is not NULL in another type, before the check against that type's range."""
    assert value is not None
    if source == target:
        return value
    if target.kind is Kind.VARCHAR:
        return _to_text(value, source)
    if source.kind is Kind.VARCHAR:
        return _from_text(str(value), target)
    if target.kind is Kind.BOOLEAN:
        return value != 0
    if source.is_moment and target.kind is Kind.TIME:
        return int(value) % DAY
    if source.kind is Kind.DATE and target.is_moment:
        return int(value) * DAY
    if source.is_moment and target.kind is Kind.DATE:
        return int(value) // DAY
    if source.is_float:
        return _from_double(float(value), target)
    if target.is_float:
        return float(Fraction(int(value), 10**source.scale))
    return _rescaled(int(value), source.scale, target.scale)


def _rescaled(value: int, before: int, after: int) -> int:
    return value * 10 ** (after - before) if after >= before else divide_away(value, 10 ** (before - after))


def _from_double(value: float, target: SqlType) -> Value:
    if target.is_float:
        return value
    if not math.isfinite(value):
        raise NumericError(f"{value} cannot be cast to {target}")
    if target.kind is Kind.DECIMAL:
        return int(round_away(value * 10.0**target.scale))
    return round(value)


def _to_text(value: Value, source: SqlType) -> str:
    if source.kind is Kind.BOOLEAN:
        return "true" if value else "false"
    if source.is_float:
        return str(np.float32(value)) if source.kind is Kind.FLOAT else repr(float(value))  # type: ignore[arg-type]
    if source.kind is Kind.DECIMAL:
        return f"{from_engine(value, source):f}"
    if source.kind in (Kind.TIMESTAMP, Kind.TIMESTAMPTZ, Kind.TIME):
        text = str(from_engine(value, source))
        text = text.rstrip("0") if "." in text else text
        return f"{text}+00" if source.kind is Kind.TIMESTAMPTZ else text
    return str(from_engine(value, source))


def _from_text(text: str, target: SqlType) -> Value:
    try:
        match target.kind:
            case Kind.INTERVAL:
                return to_engine(text, target)
            case Kind.BOOLEAN:
                return _BOOLEANS[text.lower()]
            case Kind.DATE:
                return to_engine(date.fromisoformat(text.strip()), target)
            case Kind.TIMESTAMP:
                return to_engine(datetime.fromisoformat(text.strip()), target)
            case Kind.TIMESTAMPTZ:
                moment = datetime.fromisoformat(text.strip())
                return to_engine(moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment, target)
            case Kind.TIME:
                return to_engine(time.fromisoformat(text.strip()), target)
            case Kind.FLOAT | Kind.DOUBLE:
                return float(text)
        exact = Fraction(Decimal(text.strip())) * 10**target.scale
        return divide_away(exact.numerator, exact.denominator)
    except (KeyError, ValueError, InvalidOperation) as reason:
        raise NumericError(f"{text!r} cannot be cast to {target}") from reason

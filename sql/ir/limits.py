"""The least and greatest values of exact types."""

from __future__ import annotations

from ivm.catalog.calendar import DAY
from ivm.catalog.types import TIMESTAMP, TIMESTAMP_MS, TIMESTAMP_S, Kind, SqlType, integer_range

Range = tuple[int, int]

# What DuckDB's checks let arithmetic return. Its infinities, which a column may hold, lie just outside.
DATE_RANGE: Range = (-(2**31) + 2, 2**31 - 2)
TIMESTAMP_RANGE: Range = (-9223372022400000000, 2**63 - 2)
_NANOS_RANGE: Range = (-(2**63) + 2, 2**63 - 2)


def _in_units(type_: SqlType) -> Range:
    """Those that a TIMESTAMP holds, too."""
    (low, high), unit = TIMESTAMP_RANGE, DAY // type_.per_day
    return -(-low // unit), high // unit


_LIMITS = {
    **{kind: integer_range(kind) for kind in Kind if kind.bits},
    Kind.DATE: DATE_RANGE,
    Kind.TIMESTAMP: TIMESTAMP_RANGE,
    Kind.TIMESTAMPTZ: TIMESTAMP_RANGE,
    Kind.TIMESTAMP_S: _in_units(TIMESTAMP_S),
    Kind.TIMESTAMP_MS: _in_units(TIMESTAMP_MS),
    Kind.TIMESTAMP_NS: _NANOS_RANGE,
    Kind.TIME: (0, DAY),  # 24:00:00
    Kind.BOOLEAN: (0, 1),
}


def is_exact(type_: SqlType) -> bool:
    """Whether values of the type are integers in engine form, so that `limits` applies."""
    return type_.kind is Kind.DECIMAL or type_.kind in _LIMITS


def limits(type_: SqlType) -> Range:
    """Least and greatest engine value of an exact type; KeyError for the others."""
    if type_.kind is Kind.DECIMAL:
        bound = 10**type_.precision - 1
        return -bound, bound
    return _LIMITS[type_.kind]


def rescale(value: int, digits: int) -> int:
    """`value * 10^digits`, rounded half away from zero where digits are lost."""
    if digits >= 0:
        return int(value * 10**digits)
    return _divided(value, 10**-digits)


def moment_as(value: int, source: SqlType, target: SqlType) -> int:
    """A moment of one type in the units of another, or as a TIME, rounded half away from 1970 where these are larger.

    A day is the one it lies in; as in DuckDB, nanoseconds are rounded to microseconds before.
    """
    if target.kind not in (Kind.DATE, Kind.TIME):
        factor, divisor = max(target.per_day // source.per_day, 1), max(source.per_day // target.per_day, 1)
        return value * factor if divisor == 1 else _divided(value, divisor)
    if source.per_day > DAY:
        return moment_as(moment_as(value, source, TIMESTAMP), TIMESTAMP, target)
    days, clock = divmod(value, source.per_day)
    return days if target.kind is Kind.DATE else clock * (DAY // source.per_day)


def _divided(value: int, divisor: int) -> int:
    rounded = (abs(value) + divisor // 2) // divisor
    return rounded if value >= 0 else -rounded

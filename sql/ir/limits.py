"""The least and greatest values of exact types."""

from __future__ import annotations

from catalog.calendar import DAY
from catalog.types import Kind, SqlType, integer_range

Range = tuple[int, int]

# What DuckDB's checks let arithmetic return. Its infinities, which a column may hold, lie just outside.
DATE_RANGE: Range = (-(2**31) + 2, 2**31 - 2)
TIMESTAMP_RANGE: Range = (-9223372022400000000, 2**63 - 2)

_LIMITS = {
    **{kind: integer_range(kind) for kind in Kind if kind.bits},
    Kind.DATE: DATE_RANGE,
    Kind.TIMESTAMP: TIMESTAMP_RANGE,
    Kind.TIMESTAMPTZ: TIMESTAMP_RANGE,
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
    power: int = 10**-digits
    rounded = (abs(value) + power // 2) // power
    return rounded if value >= 0 else -rounded

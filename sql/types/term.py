"""What the typing rules need to know of an operand."""

from __future__ import annotations

from dataclasses import dataclass

from catalog.types import BIGINT, HUGEINT, INTEGER, NULL, SMALLINT, TINYINT, Kind, SqlType, decimal


@dataclass(frozen=True, slots=True)
class Term:
    """An operand's type. A literal adapts to what it meets: `integer` is its value, `text` says that it is text."""

    type: SqlType
    integer: int | None = None
    text: bool = False

    @property
    def is_null(self) -> bool:
        """Whether this is the untyped NULL."""
        return self.type == NULL


INTEGERS = (TINYINT, SMALLINT, INTEGER, BIGINT, HUGEINT)
"""The integer types, each within the next."""

BITS = {Kind.TINYINT: 8, Kind.SMALLINT: 16, Kind.INTEGER: 32, Kind.BIGINT: 64, Kind.HUGEINT: 128}
_DIGITS = {Kind.TINYINT: 3, Kind.SMALLINT: 5, Kind.INTEGER: 10, Kind.BIGINT: 19, Kind.HUGEINT: 38}


def fits(value: int, type_: SqlType) -> bool:
    """Whether integer type `type_` holds `value`."""
    limit = 1 << (BITS[type_.kind] - 1)
    return -limit <= value < limit


def as_decimal(type_: SqlType) -> SqlType:
    """The DECIMAL that holds a DECIMAL or integer type; HUGEINT's largest values do not fit, as in DuckDB."""
    return type_ if type_.kind is Kind.DECIMAL else decimal(_DIGITS[type_.kind], 0)

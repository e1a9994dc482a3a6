"""What the typing rules need to know of an operand."""

from __future__ import annotations

from dataclasses import dataclass

from catalog.types import (
    BIGINT,
    HUGEINT,
    INTEGER,
    NULL,
    SMALLINT,
    TINYINT,
    TRAITS,
    Kind,
    SqlType,
    decimal,
    integer_range,
)


@dataclass(frozen=True, slots=True)
class OperandType:
    """An operand's type. A literal adapts to what it meets: `integer` is its value, `text` says that it is text."""

    type: SqlType
    integer: int | None = None
    text: bool = False

    @property
    def is_null(self) -> bool:
        """Whether this is the untyped NULL."""
        return self.type == NULL


SIGNED = (TINYINT, SMALLINT, INTEGER, BIGINT, HUGEINT)
"""The integer types with a sign, each within the next."""


def fits(value: int, type_: SqlType) -> bool:
    """Whether integer type `type_` holds `value`."""
    least, greatest = integer_range(type_.kind)
    return least <= value <= greatest


def holds(wide: SqlType, narrow: SqlType) -> bool:
    """Whether integer type `wide` holds all values of integer type `narrow`."""
    return all(fits(end, wide) for end in integer_range(narrow.kind))


def as_decimal(type_: SqlType) -> SqlType:
    """The DECIMAL that holds a DECIMAL or integer type; HUGEINT's largest values do not fit, as in DuckDB."""
    return type_ if type_.kind is Kind.DECIMAL else decimal(TRAITS[type_.kind].digits, 0)

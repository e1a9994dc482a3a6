"""SQL types and the physical form that their values take in memory."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Kind(enum.Enum):
    """The SQL types that the engine knows, by their DuckDB name."""

    NULL = "NULL"
    BOOLEAN = "BOOLEAN"
    TINYINT = "TINYINT"
    SMALLINT = "SMALLINT"
    INTEGER = "INTEGER"
    BIGINT = "BIGINT"
    HUGEINT = "HUGEINT"
    DECIMAL = "DECIMAL"
    DOUBLE = "DOUBLE"
    DATE = "DATE"
    TIMESTAMP = "TIMESTAMP"
    VARCHAR = "VARCHAR"
    INTERVAL = "INTERVAL"
    LIST = "LIST"

    __hash__ = object.__hash__  # Python's own hashes the name at each call


class Physical(enum.Enum):
    """How the values of a column lie in memory.

    BOOL: numpy bool. INT32: int32 (TINYINT, SMALLINT, INTEGER; DATE as days since 1970-01-01).
    INT64: int64 (BIGINT; TIMESTAMP as microseconds; DECIMAL of at most 18 digits, scaled).
    WIDE: int64 of shape (n, 2), the low word then the high word of a 128-bit two's-complement
    integer, as Arrow's decimal128 lays it out (HUGEINT; DECIMAL of more than 18 digits, scaled).
    FLOAT64: float64. CODE: int32 codes of the database's text dictionary (VARCHAR; LIST, see `ivm.trace.lists`).
    """

    BOOL = "bool"
    INT32 = "int32"
    INT64 = "int64"
    WIDE = "wide"
    FLOAT64 = "float64"
    CODE = "code"

    __hash__ = object.__hash__


_PHYSICAL = {
    Kind.NULL: Physical.INT32,
    Kind.BOOLEAN: Physical.BOOL,
    Kind.TINYINT: Physical.INT32,
    Kind.SMALLINT: Physical.INT32,
    Kind.INTEGER: Physical.INT32,
    Kind.BIGINT: Physical.INT64,
    Kind.HUGEINT: Physical.WIDE,
    Kind.DOUBLE: Physical.FLOAT64,
    Kind.DATE: Physical.INT32,
    Kind.TIMESTAMP: Physical.INT64,
    Kind.VARCHAR: Physical.CODE,
    Kind.LIST: Physical.CODE,
}

MAX_NARROW_DIGITS = 18
MAX_DIGITS = 38


@dataclass(frozen=True, slots=True)
class SqlType:
    """A SQL type; `precision` and `scale` mean something for DECIMAL only, `element` for LIST."""

    kind: Kind
    precision: int = 0
    scale: int = 0
    element: SqlType | None = None

    def __str__(self) -> str:
        if self.kind is Kind.DECIMAL:
            return f"DECIMAL({self.precision},{self.scale})"
        if self.kind is Kind.LIST:
            return f"{self.element}[]"
        return self.kind.value

    @property
    def physical(self) -> Physical:
        """The physical form of a column of this type; INTERVAL has none (it occurs in literals only)."""
        if self.kind is Kind.DECIMAL:
            return Physical.INT64 if self.precision <= MAX_NARROW_DIGITS else Physical.WIDE
        return _PHYSICAL[self.kind]

    @property
    def is_integer(self) -> bool:
        """Whether this is one of the exact integer types."""
        return self.kind in _INTEGERS

    @property
    def is_numeric(self) -> bool:
        """Whether arithmetic is defined on this type."""
        return self.is_integer or self.kind in (Kind.DECIMAL, Kind.DOUBLE)


_INTEGERS = (Kind.TINYINT, Kind.SMALLINT, Kind.INTEGER, Kind.BIGINT, Kind.HUGEINT)

NULL = SqlType(Kind.NULL)
BOOLEAN = SqlType(Kind.BOOLEAN)
TINYINT = SqlType(Kind.TINYINT)
SMALLINT = SqlType(Kind.SMALLINT)
INTEGER = SqlType(Kind.INTEGER)
BIGINT = SqlType(Kind.BIGINT)
HUGEINT = SqlType(Kind.HUGEINT)
DOUBLE = SqlType(Kind.DOUBLE)
DATE = SqlType(Kind.DATE)
TIMESTAMP = SqlType(Kind.TIMESTAMP)
VARCHAR = SqlType(Kind.VARCHAR)
INTERVAL = SqlType(Kind.INTERVAL)


def decimal(precision: int, scale: int) -> SqlType:
    """DECIMAL(precision, scale)."""
    return SqlType(Kind.DECIMAL, precision, scale)


def list_of(element: SqlType) -> SqlType:
    """The type of lists of `element`."""
    return SqlType(Kind.LIST, element=element)

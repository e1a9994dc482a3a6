"""SQL types and the physical form that their values take in memory."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache

from ivm.catalog.errors import UnsupportedError
from ivm.catalog.keywords import quoted_if_needed
from ivm.catalog.names import as_literal


class Physical(enum.Enum):
    """How the values of a column lie in memory.

    BOOL: numpy bool. INT32: int32 (integers of at most 32 bits with their sign; DATE as days since 1970-01-01;
    ENUM as the position of its label).
    INT64: int64 (BIGINT, UINTEGER; TIMESTAMP, with time zone in UTC, as microseconds since 1970, others in their
    units, TIME as microseconds since midnight; DECIMAL of at most 18 digits, scaled).
    WIDE: int64 of shape (n, 2), the low word then the high word of a 128-bit two's-complement
    integer, as Arrow's decimal128 lays it out (HUGEINT, UBIGINT; DECIMAL of more than 18 digits, scaled), or the parts
    of an INTERVAL, see `ivm.catalog.intervals`.
    FLOAT64: float64 (DOUBLE; FLOAT, whose values are those that 32 bits hold).
    CODE: int32 codes of the database's text dictionary (VARCHAR; JSON, as it was written; BLOB, any bytes; UUID, in
    lower case;
    LIST, ARRAY, STRUCT and MAP, see `ivm.trace.columns.nested`).
    """

    BOOL = "bool"
    INT32 = "int32"
    INT64 = "int64"
    WIDE = "wide"
    FLOAT64 = "float64"
    CODE = "code"

    __hash__ = object.__hash__


class Kind(enum.Enum):
    """The SQL types that the engine knows, by their DuckDB name, and what all types of a kind have in common.

    That is the physical form (of DECIMAL it follows the digits), and of integers their bits, sign and digits.
    """

    physical: Physical | None
    bits: int
    signed: bool
    digits: int

    def __new__(
        cls, name: str, physical: Physical | None = None, bits: int = 0, digits: int = 0, signed: bool = True
    ) -> Kind:
        """A member, whose value is its name alone."""
        kind = object.__new__(cls)
        kind._value_ = name
        kind.physical, kind.bits, kind.digits, kind.signed = physical, bits, digits, signed
        return kind

    NULL = "NULL", Physical.INT32
    BOOLEAN = "BOOLEAN", Physical.BOOL
    TINYINT = "TINYINT", Physical.INT32, 8, 3
    SMALLINT = "SMALLINT", Physical.INT32, 16, 5
    INTEGER = "INTEGER", Physical.INT32, 32, 10
    BIGINT = "BIGINT", Physical.INT64, 64, 19
    HUGEINT = "HUGEINT", Physical.WIDE, 128, 38
    UTINYINT = "UTINYINT", Physical.INT32, 8, 3, False
    USMALLINT = "USMALLINT", Physical.INT32, 16, 5, False
    UINTEGER = "UINTEGER", Physical.INT64, 32, 10, False
    UBIGINT = "UBIGINT", Physical.WIDE, 64, 20, False
    DECIMAL = "DECIMAL"
    FLOAT = "FLOAT", Physical.FLOAT64
    DOUBLE = "DOUBLE", Physical.FLOAT64
    DATE = "DATE", Physical.INT32
    TIMESTAMP = "TIMESTAMP", Physical.INT64
    TIMESTAMPTZ = "TIMESTAMP WITH TIME ZONE", Physical.INT64
    TIMESTAMP_S = "TIMESTAMP_S", Physical.INT64
    TIMESTAMP_MS = "TIMESTAMP_MS", Physical.INT64
    TIMESTAMP_NS = "TIMESTAMP_NS", Physical.INT64
    TIME = "TIME", Physical.INT64
    VARCHAR = "VARCHAR", Physical.CODE
    BLOB = "BLOB", Physical.CODE
    UUID = "UUID", Physical.CODE
    JSON = "JSON", Physical.CODE
    ENUM = "ENUM", Physical.INT32
    INTERVAL = "INTERVAL", Physical.WIDE
    LIST = "LIST", Physical.CODE
    ARRAY = "ARRAY", Physical.CODE
    STRUCT = "STRUCT", Physical.CODE
    MAP = "MAP", Physical.CODE

    __hash__ = object.__hash__  # Python's own hashes the name at each call


MAX_NARROW_DIGITS = 18
MAX_DIGITS = 38


@dataclass(frozen=True, slots=True)
class SqlType:
    """A SQL type; `precision` and `scale` mean something for DECIMAL only, `labels` for ENUM.

    `element` is that of a LIST, and of an ARRAY, whose values have `size` of them; of a MAP the STRUCT of a key and its
    value. `fields` are those of a STRUCT, each with its name, which is "" for each if they have none, as ROW(1, 2)
    makes it. `collation` says of a VARCHAR which texts SQL takes for equal, and in which order they come: names such as
    nocase joined by dots, or "" for the texts themselves. Values are the same with any, so that types which differ in
    it alone are equal.
    """

    kind: Kind
    precision: int = 0
    scale: int = 0
    element: SqlType | None = None
    labels: tuple[str, ...] = ()
    fields: tuple[tuple[str, SqlType], ...] = ()
    size: int = 0
    collation: str = field(default="", compare=False)

    def __str__(self) -> str:
        if self.kind is Kind.DECIMAL:
            return f"DECIMAL({self.precision},{self.scale})"
        if self.is_nested:
            return _nested_text(self)
        if self.kind is Kind.ENUM:
            return f"ENUM({', '.join(map(as_literal, self.labels))})"
        return self.kind.value

    @property
    def physical(self) -> Physical:
        """The physical form of a column of this type."""
        if self.kind is Kind.DECIMAL:
            return Physical.INT64 if self.precision <= MAX_NARROW_DIGITS else Physical.WIDE
        assert self.kind.physical is not None, "it has columns"
        return self.kind.physical

    @property
    def is_text(self) -> bool:
        """Whether values are texts as they were written: VARCHAR and JSON."""
        return self.kind is Kind.VARCHAR or self.kind is Kind.JSON

    @property
    def is_nested(self) -> bool:
        """Whether this is a LIST, ARRAY, STRUCT or MAP, whose values are made of others."""
        return self.kind in _NESTED

    @property
    def is_collated(self) -> bool:
        """Whether this is a text with a collation, or made of such."""
        return bool(self.collation) or any(part.is_collated for part in self.parts)

    @property
    def parts(self) -> list[SqlType]:
        """The types that a LIST, STRUCT or MAP is made of; none of any other type."""
        return [part for _, part in self.fields] + ([self.element] if self.element is not None else [])

    @property
    def names(self) -> tuple[str, ...]:
        """The names of a STRUCT's fields as Arrow has them: element1, .. where they have none."""
        return tuple(name or f"element{number}" for number, (name, _) in enumerate(self.fields, 1))

    @property
    def is_integer(self) -> bool:
        """Whether this is one of the exact integer types."""
        return self.kind in _INTEGERS

    @property
    def is_float(self) -> bool:
        """Whether this is FLOAT or DOUBLE, whose values are not exact."""
        return self.kind is Kind.DOUBLE or self.kind is Kind.FLOAT

    @property
    def is_numeric(self) -> bool:
        """Whether arithmetic is defined on this type."""
        return self.is_integer or self.is_float or self.kind is Kind.DECIMAL

    @property
    def is_moment(self) -> bool:
        """Whether this is a DATE or TIMESTAMP, with time zone or without, of any unit."""
        return self.kind in _PER_DAY

    @property
    def per_day(self) -> int:
        """So many of the units in which its values are counted a day has, of a DATE or TIMESTAMP; 0 of all others."""
        return _PER_DAY.get(self.kind, 0)

    @property
    def is_unsigned(self) -> bool:
        """Whether this is an integer type without a sign."""
        return self.is_integer and not self.kind.signed


_NESTED = (Kind.LIST, Kind.ARRAY, Kind.STRUCT, Kind.MAP)
_INTEGERS = frozenset(kind for kind in Kind if kind.bits)
_PER_DAY = {
    Kind.DATE: 1,
    Kind.TIMESTAMP_S: 86_400,
    Kind.TIMESTAMP_MS: 86_400_000,
    **dict.fromkeys((Kind.TIMESTAMP, Kind.TIMESTAMPTZ), 86_400_000_000),
    Kind.TIMESTAMP_NS: 86_400_000_000_000,
}

NULL = SqlType(Kind.NULL)
BOOLEAN = SqlType(Kind.BOOLEAN)
TINYINT = SqlType(Kind.TINYINT)
SMALLINT = SqlType(Kind.SMALLINT)
INTEGER = SqlType(Kind.INTEGER)
BIGINT = SqlType(Kind.BIGINT)
HUGEINT = SqlType(Kind.HUGEINT)
UTINYINT = SqlType(Kind.UTINYINT)
USMALLINT = SqlType(Kind.USMALLINT)
UINTEGER = SqlType(Kind.UINTEGER)
UBIGINT = SqlType(Kind.UBIGINT)
FLOAT = SqlType(Kind.FLOAT)
DOUBLE = SqlType(Kind.DOUBLE)
DATE = SqlType(Kind.DATE)
TIMESTAMP = SqlType(Kind.TIMESTAMP)
TIMESTAMPTZ = SqlType(Kind.TIMESTAMPTZ)
TIMESTAMP_S = SqlType(Kind.TIMESTAMP_S)
TIMESTAMP_MS = SqlType(Kind.TIMESTAMP_MS)
TIMESTAMP_NS = SqlType(Kind.TIMESTAMP_NS)
TIMESTAMPS = (TIMESTAMP_S, TIMESTAMP_MS, TIMESTAMP, TIMESTAMP_NS)
"""Those without a time zone, the finer the later."""
TIME = SqlType(Kind.TIME)
VARCHAR = SqlType(Kind.VARCHAR)
BLOB = SqlType(Kind.BLOB)
UUID = SqlType(Kind.UUID)
JSON = SqlType(Kind.JSON)
INTERVAL = SqlType(Kind.INTERVAL)


def collated(type_: SqlType, collation: str) -> SqlType:
    """The same type of texts, compared by a collation."""
    return replace(type_, collation=collation)


def decimal(precision: int, scale: int) -> SqlType:
    """DECIMAL(precision, scale)."""
    return SqlType(Kind.DECIMAL, precision, scale)


@cache
def integer_range(kind: Kind) -> tuple[int, int]:
    """The least and the greatest value of an integer type."""
    bits = kind.bits - kind.signed
    return -(1 << bits) if kind.signed else 0, (1 << bits) - 1


MOST_LEVELS = 60
"""So many levels of lists, structs and maps a type may have: Arrow's interface, by which DuckDB reads them, has 64."""


def list_of(element: SqlType) -> SqlType:
    """The type of lists of `element`; UnsupportedError beyond `MOST_LEVELS`."""
    return _checked(SqlType(Kind.LIST, element=element))


MOST_IN_ARRAY = 100_000
"""So many elements an ARRAY has at most, as in DuckDB."""


def array_of(element: SqlType, size: int) -> SqlType:
    """The type of arrays of so many elements; UnsupportedError beyond `MOST_LEVELS`."""
    return _checked(SqlType(Kind.ARRAY, element=element, size=size))


def struct_of(fields: Iterable[tuple[str, SqlType]]) -> SqlType:
    """The type of structs of these fields; UnsupportedError beyond `MOST_LEVELS`."""
    return _checked(SqlType(Kind.STRUCT, fields=tuple(fields)))


def _checked(type_: SqlType) -> SqlType:
    if _levels(type_) > MOST_LEVELS:
        what = f"a type of more than {MOST_LEVELS} levels of lists, structs and maps is not supported"
        raise UnsupportedError(f"{what}; put what is deep within into a table of its own, or keep it as JSON")
    return type_


@lru_cache(1 << 12)
def _levels(type_: SqlType) -> int:
    return 1 + max(map(_levels, type_.parts), default=-1)


def map_of(key: SqlType, value: SqlType) -> SqlType:
    """The type of maps from keys to values."""
    return SqlType(Kind.MAP, element=struct_of((("key", key), ("value", value))))


def _nested_text(type_: SqlType) -> str:
    if type_.element is None and not all(name for name, _ in type_.fields):
        return f"TUPLE({', '.join(_within(field) for _, field in type_.fields)})"
    if type_.element is None:
        return f"STRUCT({', '.join(f'{quoted_if_needed(name)} {_within(field)}' for name, field in type_.fields)})"
    if type_.kind is Kind.MAP:
        return f"MAP({', '.join(_within(field) for _, field in type_.element.fields)})"
    return f"{_within(type_.element)}[{type_.size or ''}]"


def _within(type_: SqlType) -> str:
    return '"NULL"' if type_.kind is Kind.NULL else str(type_)


def holds(type_: SqlType, other: SqlType) -> bool:
    """Whether a type is another, or is made of it."""
    return type_ == other or any(holds(part, other) for part in type_.parts)

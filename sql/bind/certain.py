"""Expressions of plain statements whose every value is certain to be DuckDB's, to the last bit and in its type."""

from __future__ import annotations

from collections.abc import Iterable

from ivm.catalog.types import MAX_DIGITS, TIMESTAMPTZ, Kind, SqlType
from ivm.catalog.zones import UTC
from ivm.sql.folded import folded
from ivm.sql.ir.clock import NOW, reads_clock
from ivm.sql.ir.scalar import Call, Column, Literal, Scalar, rewrite, walk

CLAUSE = "this statement"
"""What binders of such expressions call the clause that they stand in."""

_LOGIC = ("eq", "ne", "lt", "le", "gt", "ge", "is_null", "is_distinct", "in", "not", "and", "or", "case", "coalesce")
_ARITHMETIC = ("add", "sub", "mul", "neg", "div", "idiv", "mod", "abs", "cast")
_CHOSEN = ("greatest", "least", "nullif")
_TEXTS = ("concat", "lower", "upper", "length")
_MOVED = ("add_days", "add_months", "add_micros")
_EXACT = frozenset((*_LOGIC, *_ARITHMETIC, *_CHOSEN, *_TEXTS, *_MOVED))
_NUMBERS = frozenset(kind for kind in Kind if kind.bits) | {Kind.DECIMAL, Kind.DOUBLE, Kind.FLOAT, Kind.BOOLEAN}
_MOMENTS = frozenset(kind for kind in Kind if SqlType(kind).is_moment)
_TOLD = {Kind.TIMESTAMP, Kind.TIMESTAMPTZ, Kind.DATE}
_KINDS = _NUMBERS | _MOMENTS | {Kind.TIME, Kind.VARCHAR, Kind.BLOB, Kind.UUID, Kind.ENUM}


def are_certain(scalars: Iterable[Scalar], zone: str) -> bool:
    """Whether every value of these, in a text of this zone, is certain to be DuckDB's. Columns as they are, are."""
    computed = (scalar for scalar in scalars if not isinstance(scalar, Column))
    return all(_is_certain(part, zone) for scalar in computed for part in walk(scalar))


def at_time(scalar: Scalar, now: int, zone: str) -> Scalar:
    """The expression, of a text of this zone, when it is `now`, in microseconds since 1970."""
    if not reads_clock(scalar):
        return scalar
    present = Literal(now, TIMESTAMPTZ)
    told = rewrite(scalar, lambda part: present if part == NOW else part)
    return folded(told) if zone == UTC else told  # which tells moments by UTC


def _is_certain(part: Scalar, zone: str) -> bool:
    if part.type.kind not in _KINDS:
        return False
    if not isinstance(part, Call):
        return True
    if part.type.kind is Kind.DECIMAL and part.type.precision == MAX_DIGITS:
        return False  # where digits are cut off, DuckDB has rules of its own for how many
    if part.function == "cast":
        kinds = {part.type.kind, part.args[0].type.kind}
        return kinds <= _NUMBERS or (kinds <= _TOLD and zone == UTC)
    return part.function in _EXACT

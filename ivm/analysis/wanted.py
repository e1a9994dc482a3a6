"""What predicates can want: for each column the values without which they do not all hold.

A superset will do: a row with a value that is not wanted is sure to be dropped, one whose value is wanted may be.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from math import inf, isnan
from struct import pack, unpack

from ivm.analysis.ranges import can_raise
from ivm.catalog.types import Kind, SqlType
from ivm.sql.ir.limits import is_exact
from ivm.sql.ir.scalar import Call, Column, Literal, Scalar, Value, columns_of

Range = tuple[int | float | str, int | float | str]
"""The least and the greatest value, both among them: integers, or without end; of texts twice the same."""

_MIRRORED = {"eq": "eq", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
_TEXTS = (Kind.VARCHAR, Kind.JSON, Kind.BLOB, Kind.UUID)
_MOST = 1 << 12
_REST = (1 << 63) - 1
_NAN = 0x7FF8 << 48
_Found = dict[Column, list[Range]]


@dataclass(frozen=True, slots=True)
class Wanted:
    """The values of one column that are wanted; none if there are no ranges. NULL never is.

    Ranges are in engine form, those of FLOAT and DOUBLE by `place_of`; they may overlap.
    """

    column: int
    type: SqlType
    ranges: tuple[Range, ...]


def wanted(predicates: Iterable[Scalar], width: int) -> tuple[Wanted, ...]:
    """What predicates that are to hold together want of columns below `width`, a column each.

    Left out are those that read other columns or can raise: they are asked after all others. Cost: linear in the size
    of the predicates, but for columns of which several want many values.
    """
    asked = (p for p in predicates if not can_raise(p) and all(c < width for c in columns_of(p)))
    nothing: _Found = {}
    found = reduce(_both, map(_found, asked), nothing)
    return tuple(Wanted(c.index, c.type, tuple(ranges)) for c, ranges in found.items() if len(ranges) <= _MOST)


def place_of(value: float) -> int:
    """Where a double stands among all: in their order, NaN last, the two zeros and all NaNs at one place."""
    bits: int = _NAN if isnan(value) else unpack("<q", pack("<d", value + 0.0))[0]
    return bits ^ ((bits >> 63) & _REST)


def _found(predicate: Scalar) -> _Found:
    match predicate:
        case Call("and", args):
            return reduce(_both, map(_found, args))
        case Call("or", args):
            return reduce(_either, map(_found, args))
        case Call("in", (subject, *values)):
            return _compared("eq", subject, values)
        case Call("eq" | "lt" | "le" | "gt" | "ge" as function, (subject, Literal() as value)):
            return _compared(function, subject, (value,))
        case Call("eq" | "lt" | "le" | "gt" | "ge" as function, (Literal() as value, subject)):
            return _compared(_MIRRORED[function], subject, (value,))
    return {}


def _both(one: _Found, other: _Found) -> _Found:
    """What is wanted where both hold: of a column that both know, what they have in common."""
    found = {**one, **other}
    for column in one.keys() & other.keys():
        few, many = sorted((one[column], other[column]), key=len)
        found[column] = few
        if len(few) * len(many) <= _MOST:
            common = [(max(a, c), min(b, d)) for a, b in few for c, d in many]
            found[column] = [(low, high) for low, high in common if low <= high]  # type: ignore[operator]
    return found


def _either(one: _Found, other: _Found) -> _Found:
    """What is wanted where one of both holds."""
    return {column: one[column] + other[column] for column in one if column in other}


def _compared(function: str, subject: Scalar, values: Iterable[Scalar]) -> _Found:
    """Where a comparison with one of `values` is true, which are of the type of `subject`."""
    ranges: list[Range] = []
    for value in values:
        found = _range(function, subject.type, value.value) if isinstance(value, Literal) else None
        if found is None:
            return {}
        ranges += found
    match subject:
        case Column():
            return {subject: ranges}
        case Call("cast", (Column() as column,)):
            before = _before_cast(column.type, subject.type, ranges)
            return {} if before is None else {column: before}
    return {}


def _range(function: str, type_: SqlType, value: Value) -> list[Range] | None:
    """The values of which a comparison with `value` is true; None if that is not known."""
    if value is None:
        return []
    if type_.kind in _TEXTS:
        return [(str(value), str(value))] if function == "eq" else None
    if not is_exact(type_) and not type_.is_float:
        return None
    at = place_of(float(value)) if type_.is_float else int(value)
    match function:
        case "lt":
            return [(-inf, at - 1)]
        case "le":
            return [(-inf, at)]
        case "gt":
            return [(at + 1, inf)]
        case "ge":
            return [(at, inf)]
    return [(at, at)]


def _before_cast(source: SqlType, target: SqlType, ranges: list[Range]) -> list[Range] | None:
    """The values that a cast, which does not raise, brings into the ranges; None if that is not known."""
    if source.kind is Kind.ENUM and target.kind is Kind.VARCHAR:
        texts = {low for low, _ in ranges}
        return [(place, place) for place, label in enumerate(source.labels) if label in texts]
    if any(not type_.is_integer and type_.kind is not Kind.DECIMAL for type_ in (source, target)):
        return None
    if target.scale < source.scale:
        return None
    factor = 10 ** (target.scale - source.scale)
    divided = [(_up(low, factor), _down(high, factor)) for low, high in ranges]
    return [(low, high) for low, high in divided if low <= high]


def _down(value: int | float | str, factor: int) -> int | float:
    """The greatest integer that is not above a bound once it is multiplied."""
    return value // factor if isinstance(value, int) else inf


def _up(value: int | float | str, factor: int) -> int | float:
    """The least that is not below it."""
    return -(-value // factor) if isinstance(value, int) else -inf

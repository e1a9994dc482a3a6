"""Literals: the type of a number as written, and conversions of literals from type to type."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from contextlib import suppress
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction

from ivm.catalog.json_texts import is_json
from ivm.catalog.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    HUGEINT,
    INTEGER,
    JSON,
    MAX_DIGITS,
    NULL,
    TIMESTAMP,
    TIMESTAMPTZ,
    VARCHAR,
    Kind,
    SqlType,
    decimal,
)
from ivm.catalog.zones import is_zoned
from ivm.sql.ir.limits import limits, moment_as
from ivm.sql.ir.scalar import Literal, Value
from ivm.sql.types.casts import castable
from ivm.sql.types.texts import instant, nearest_single, reader, single, writer
from ivm.sql.types.unify import SIGNED, common_type, fits
from ivm.sql.types.zones import ahead, shown_in

_WIDE = Context(prec=100)
_NUMBER = re.compile(r"(\d*)(?:\.(\d*))?([eE][+-]?\d+)?", re.ASCII)


def number(text: str) -> Literal:
    """The literal that digits write: the smallest of INTEGER, BIGINT, HUGEINT; DECIMAL with a point; else DOUBLE.

    ValueError if `text` is not a number, or an integer that no type holds.
    """
    text = text.replace("_", "")
    match = _NUMBER.fullmatch(text)
    if match is None or not (match[1] or match[2]):
        raise ValueError(f"{text!r} is not a number")
    whole, fraction, exponent = match.groups()
    if exponent is None and fraction is None:
        value = int(whole)
        for type_ in (INTEGER, BIGINT, HUGEINT):
            if fits(value, type_):
                return Literal(value, type_)
        raise ValueError(f"{text} is out of the range of HUGEINT; write {text}e0 for a DOUBLE")
    elif exponent is None and fraction is not None and len(whole) + len(fraction) <= MAX_DIGITS:
        return Literal(int(whole + fraction), decimal(len(whole) + len(fraction), len(fraction)))
    return Literal(float(text), DOUBLE)


def negated(literal: Literal, written: bool = True) -> Literal:
    """Minus the literal; -2147483648 is an INTEGER although its digits alone are a BIGINT.

    One that is not `written` as digits keeps its type, or takes the next in which minus its value fits. ValueError
    where no type holds it.
    """
    value = literal.value
    assert isinstance(value, int | float), "a number"
    if not literal.type.is_integer:
        return Literal(-value, literal.type)
    types: tuple[SqlType, ...] = (INTEGER, BIGINT, HUGEINT)
    if not written:
        types = (literal.type,) if literal.type.is_unsigned else SIGNED[SIGNED.index(literal.type) :]
    found = next((t for t in types if fits(int(-value), t)), None)
    if found is None:
        raise ValueError(f"{-value} is out of the range of {types[-1]}")
    return Literal(-value, found)


def convert(literal: Literal, target: SqlType) -> Literal | None:
    """The literal as a `target`; None if that is to be left to run time. ValueError if it has no such value."""
    if literal.type == target:
        return literal
    if literal.value is None:
        return Literal(None, target)
    if literal.type == VARCHAR and target == JSON:
        return _as_json(str(literal.value))
    if literal.type == VARCHAR:
        read = reader(target)
        return None if read is None else Literal(read(str(literal.value)), target)
    make = _TO.get(target.kind)
    value = make(literal, target) if make else None
    return None if value is None else Literal(value, target)


def convert_in(literal: Literal, target: SqlType, zone: str) -> Literal | None:
    """As `convert`, where the clocks of a zone tell moments; what Python does not know of it is left to run time."""
    value, type_ = literal.value, literal.type
    if value is None or type_ == target or not is_zoned(type_, target):
        return convert(literal, target)
    if type_ == VARCHAR and target == TIMESTAMPTZ:
        return Literal(instant(str(value), zone), TIMESTAMPTZ)
    with suppress(ValueError):
        if target in (DATE, TIMESTAMP) and isinstance(value, int):
            return convert(Literal(shown_in(zone, value), TIMESTAMP), target)
        shown = convert(literal, TIMESTAMP) if type_ in (DATE, TIMESTAMP) else None
        if shown is not None and isinstance(shown.value, int):
            return Literal(shown.value - ahead(zone, shown.value), TIMESTAMPTZ)
    return None


def _as_json(text: str) -> Literal | None:
    is_so = is_json(text)
    if is_so is False:
        raise ValueError(f"{text!r} is no JSON")
    return Literal(text, JSON) if is_so else None


def exactly(literal: Literal, target: SqlType) -> Literal | None:
    """The literal as a `target` if that is the same value, so that comparing with either is the same; else None."""
    numbers = all(type_.is_numeric and not type_.is_float for type_ in (literal.type, target))
    moments = _keeps_moments(target, literal.type)
    if literal.value is None or not (numbers or moments):
        return None
    if literal.type == target:
        return literal
    try:
        converted = convert(literal, target)
        back = convert(converted, literal.type) if converted else None
    except ValueError:
        return None
    return converted if back == literal else None


def _keeps_moments(target: SqlType, type_: SqlType) -> bool:
    """Whether a moment of `target`, cast to a type that both have in common, is compared as one of `type_`."""
    return type_.is_moment and target.is_moment and common_type(target, type_) == type_


def _exact(literal: Literal) -> Decimal | None:
    """The number that the literal stands for; None if it is none."""
    value, type_ = literal.value, literal.type
    if type_ == BOOLEAN:
        return Decimal(bool(value))
    if type_.is_integer and isinstance(value, int):
        return Decimal(value)
    if type_.kind is Kind.DECIMAL and isinstance(value, int):
        return Decimal(value).scaleb(-type_.scale, _WIDE)
    return None


def _to_integer(literal: Literal, target: SqlType) -> Value:
    if literal.type.is_float and isinstance(literal.value, float) and math.isfinite(literal.value):
        value = round(literal.value)  # half to even, as DuckDB rounds a DOUBLE
    else:
        exact = _exact(literal)
        if exact is None:
            return None
        value = int(exact.to_integral_value(ROUND_HALF_UP, _WIDE))
    if not fits(value, target):
        raise ValueError(f"{value} is out of the range of {target}")
    return value


def _to_decimal(literal: Literal, target: SqlType) -> Value:
    exact = _exact(literal)
    if exact is None:
        return None
    value = int(exact.scaleb(target.scale, _WIDE).to_integral_value(ROUND_HALF_UP, _WIDE))
    if abs(value) >= 10**target.precision:
        raise ValueError(f"{exact} is out of the range of {target}")
    return value


def _to_double(literal: Literal, target: SqlType) -> Value:
    if literal.type.is_float:
        return literal.value
    exact = _fraction(literal)
    return None if exact is None else float(exact)


def _to_single(literal: Literal, target: SqlType) -> Value:
    value = _to_double(literal, target)
    if not isinstance(value, float):
        return None
    exact = _fraction(literal)
    if exact is not None and literal.type != HUGEINT:  # which DuckDB makes a DOUBLE first
        return nearest_single(value, exact) if value else value
    nearest = single(value)
    if math.isinf(nearest) and not math.isinf(value):
        raise ValueError(f"{value} is out of the range of {target}")
    return nearest


def _fraction(literal: Literal) -> Fraction | None:
    exact = _exact(literal)
    return None if exact is None else Fraction(exact)


def _to_moment(literal: Literal, target: SqlType) -> Value:
    if not literal.type.is_moment or not castable(literal.type, target) or not isinstance(literal.value, int):
        return None
    value = moment_as(literal.value, literal.type, target)
    least, greatest = limits(target)
    if not least <= value <= greatest:
        raise ValueError(f"{_to_text(literal, VARCHAR)} is out of the range of {target}")
    return value


def _to_text(literal: Literal, target: SqlType) -> Value:
    write = writer(literal.type)
    return None if write is None else write(literal.value)


_TO: dict[Kind, Callable[[Literal, SqlType], Value]] = {
    **{kind: _to_integer for kind in Kind if kind.bits},
    Kind.DECIMAL: _to_decimal,
    Kind.FLOAT: _to_single,
    Kind.DOUBLE: _to_double,
    Kind.BOOLEAN: lambda literal, _: None if (exact := _exact(literal)) is None else bool(exact),
    **{kind: _to_moment for kind in Kind if SqlType(kind).is_moment or kind is Kind.TIME},
    Kind.VARCHAR: _to_text,
}

NULL_LITERAL = Literal(None, NULL)

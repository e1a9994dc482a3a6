"""The common type of the operands of comparisons, CASE, COALESCE, GREATEST and their like."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ivm.catalog.names import by_key, key
from ivm.catalog.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    HUGEINT,
    INTEGER,
    JSON,
    MAX_DIGITS,
    MAX_NARROW_DIGITS,
    NULL,
    SMALLINT,
    TIMESTAMP_NS,
    TIMESTAMPTZ,
    TINYINT,
    VARCHAR,
    Kind,
    SqlType,
    decimal,
    integer_range,
    struct_of,
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
    return type_ if type_.kind is Kind.DECIMAL else decimal(type_.kind.digits, 0)


def unify(terms: Sequence[OperandType]) -> SqlType | None:
    """The type that all `terms` are cast to, or None if they have none in common.

    Literals come last: an integer literal takes the type of what it meets where that holds it, a text literal takes
    any but an ENUM, which becomes text. Stricter than DuckDB in one thing: text that is not a literal meets text and
    ENUMs only.
    """
    common = NULL
    for term in terms:
        if term.integer is None and not term.text:
            joined = common_type(common, term.type)
            if joined is None:
                return None
            common = joined
    for term in terms:
        if term.integer is not None:
            held = common.is_integer and fits(term.integer, common)
            joined = common if held else common_type(common, term.type)
            if joined is None:
                return None
            common = joined
    if common == NULL or common.kind is Kind.ENUM:
        return VARCHAR if any(term.text for term in terms) else common
    return common


def common_type(left: SqlType, right: SqlType) -> SqlType | None:
    """The common type of two types, or None."""
    if right in (left, NULL):
        return right if right.is_collated else left
    if left == NULL:
        return right
    if JSON in (left, right):
        return JSON
    if all(type_ == VARCHAR or type_.kind is Kind.ENUM for type_ in (left, right)):
        return VARCHAR
    if left.is_integer and right.is_integer:
        # The one that holds the other, or the least with a sign that holds both.
        return next(t for t in (left, right, *SIGNED) if holds(t, left) and holds(t, right))
    if left.is_moment and right.is_moment:
        return _common_moment(left, right)
    if {left.kind, right.kind} == {Kind.LIST, Kind.ARRAY}:
        array, other = (left, right) if left.kind is Kind.ARRAY else (right, left)
        return common_nested(array, replace(other, kind=Kind.ARRAY, size=array.size))
    if left.is_nested and left.kind is right.kind and left.size == right.size:
        return common_nested(left, right)
    if left == BOOLEAN and right.is_integer:
        return right
    if right == BOOLEAN and left.is_integer:
        return left
    if left.is_numeric and right.is_numeric:
        return _common_number(left, right)
    return None


def common_nested(left: SqlType, right: SqlType) -> SqlType | None:
    """The common type of two lists, structs or maps: that of what they are made of; structs have the fields of both."""
    if left.element is not None and right.element is not None:
        element = common_type(left.element, right.element)
        return None if element is None else replace(left, element=element)
    others = by_key(right.fields)
    if "" in others or not all(name for name, _ in left.fields):
        return _by_place(left, right)
    fields = list[tuple[str, SqlType]]()
    for name, type_ in left.fields:
        found = common_type(type_, others.pop(key(name), NULL))
        if found is None:
            return None
        fields.append((name, found))
    return struct_of((*fields, *((name, type_) for name, type_ in right.fields if key(name) in others)))


def _by_place(left: SqlType, right: SqlType) -> SqlType | None:
    """Of structs of which one has fields without names: the other's are those of both."""
    if len(left.fields) != len(right.fields):
        return None
    types = [common_type(one, other) for (_, one), (_, other) in zip(left.fields, right.fields, strict=True)]
    names = [one or other for (one, _), (other, _) in zip(left.fields, right.fields, strict=True)]
    return None if None in types else struct_of((n, t) for n, t in zip(names, types, strict=True) if t is not None)


def _common_moment(left: SqlType, right: SqlType) -> SqlType | None:
    """The finer of two; one with a time zone, which nanoseconds do not meet."""
    if TIMESTAMPTZ in (left, right):
        return None if TIMESTAMP_NS in (left, right) else TIMESTAMPTZ
    return left if left.per_day >= right.per_day else right


def _common_number(left: SqlType, right: SqlType) -> SqlType:
    if left.is_float or right.is_float:
        return DOUBLE if DOUBLE in (left, right) else FLOAT
    one, other = as_decimal(left), as_decimal(right)
    scale = max(one.scale, other.scale)
    whole = max(one.precision - one.scale, other.precision - other.scale)
    return decimal(min(whole + scale, MAX_DIGITS), scale)


def arithmetic_type(function: str, left: OperandType, right: OperandType) -> SqlType | None:
    """The type of add, sub, mul or mod of two numbers; None if one is not a number or the result has over 38 decimals.

    NULL with a DECIMAL is NULL, as in DuckDB; with another number it has that number's type.
    """
    types = [term.type for term in (left, right) if not term.is_null]
    if not all(type_.is_numeric for type_ in types):
        return None
    if not types:
        return BIGINT
    if any(type_.is_float for type_ in types):
        return DOUBLE if DOUBLE in types else FLOAT
    if all(type_.is_integer for type_ in types):
        return integer_type((left, right))
    if len(types) == 1:
        return NULL
    return _decimal_type(function, as_decimal(types[0]), as_decimal(types[1]))


def integer_type(terms: Sequence[OperandType]) -> SqlType | None:
    """The type in which operators on integers compute, and that they result in; None if there is none.

    If one type has a sign and the other has not, and neither holds the other, it is BIGINT or, with UBIGINT, HUGEINT.
    """
    type_ = unify(terms)
    mixed = type_ is not None and type_.is_integer and any(term.type.is_unsigned for term in terms)
    if not mixed or type_ in [term.type for term in terms] or type_ is None or type_.is_unsigned:
        return type_
    return HUGEINT if type_ == HUGEINT else BIGINT


def _decimal_type(function: str, left: SqlType, right: SqlType) -> SqlType | None:
    if function == "mul":
        return _product_type(left, right)
    scale = max(left.scale, right.scale)
    whole = max(left.precision - left.scale, right.precision - right.scale)
    if function == "mod":
        return decimal(whole + scale, scale) if whole + scale <= MAX_DIGITS else DOUBLE
    return decimal(min(whole + scale + 1, MAX_DIGITS), scale)


def _product_type(left: SqlType, right: SqlType) -> SqlType | None:
    digits, scale = left.precision + right.precision, left.scale + right.scale
    if scale > MAX_DIGITS:
        return None
    narrow = max(left.precision, right.precision) <= MAX_NARROW_DIGITS
    if digits > MAX_NARROW_DIGITS and narrow and scale < MAX_NARROW_DIGITS:
        digits = MAX_NARROW_DIGITS
    return decimal(min(digits, MAX_DIGITS), scale)

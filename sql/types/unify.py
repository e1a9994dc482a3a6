"""The common type of the operands of comparisons, CASE, COALESCE, GREATEST and their like."""

from __future__ import annotations

from collections.abc import Sequence

from catalog.types import (
    BOOLEAN,
    DOUBLE,
    FLOAT,
    MAX_DIGITS,
    NULL,
    TIMESTAMP,
    TIMESTAMPTZ,
    VARCHAR,
    Kind,
    SqlType,
    decimal,
)
from sql.types.operand_type import SIGNED, OperandType, as_decimal, fits, holds


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
            joined = _with_integer(common, term)
            if joined is None:
                return None
            common = joined
    if common == NULL or common.kind is Kind.ENUM:
        return VARCHAR if any(term.text for term in terms) else common
    return common


def common_type(left: SqlType, right: SqlType) -> SqlType | None:
    """The common type of two types, or None."""
    if right in (left, NULL):
        return left
    if left == NULL:
        return right
    if all(type_ == VARCHAR or type_.kind is Kind.ENUM for type_ in (left, right)):
        return VARCHAR
    if left.is_integer and right.is_integer:
        return _common_integer(left, right)
    if left.is_moment and right.is_moment:
        return TIMESTAMPTZ if TIMESTAMPTZ in (left, right) else TIMESTAMP
    if left == BOOLEAN and right.is_integer:
        return right
    if right == BOOLEAN and left.is_integer:
        return left
    if left.is_numeric and right.is_numeric:
        return _common_number(left, right)
    return None


def _common_integer(left: SqlType, right: SqlType) -> SqlType:
    """The one that holds the other, or the least with a sign that holds both."""
    return next(t for t in (left, right, *SIGNED) if holds(t, left) and holds(t, right))


def _common_number(left: SqlType, right: SqlType) -> SqlType:
    if left.is_float or right.is_float:
        return DOUBLE if DOUBLE in (left, right) else FLOAT
    one, other = as_decimal(left), as_decimal(right)
    scale = max(one.scale, other.scale)
    whole = max(one.precision - one.scale, other.precision - other.scale)
    return decimal(min(whole + scale, MAX_DIGITS), scale)


def _with_integer(common: SqlType, term: OperandType) -> SqlType | None:
    if common.is_integer and term.integer is not None and fits(term.integer, common):
        return common
    return common_type(common, term.type)

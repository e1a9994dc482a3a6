"""Result types of arithmetic on numbers.

In each rule below, p and s are digits and decimals, w = p - s the digits before the point, and an integer counts as the
DECIMAL that holds it. A width over 38 becomes 38, and then a result may overflow.

=========  =====================================================================================================
add, sub   DECIMAL(max(w) + max(s) + 1, max(s))
mul        DECIMAL(p1 + p2, s1 + s2); 18 digits where that is more, while both sides have at most 18 and s < 18
mod        DECIMAL(max(w) + max(s), max(s)); DOUBLE where that is over 38
=========  =====================================================================================================

A FLOAT with another number is a FLOAT, with a DOUBLE a DOUBLE.
"""

from __future__ import annotations

from collections.abc import Sequence

from catalog.types import BIGINT, DOUBLE, FLOAT, HUGEINT, MAX_DIGITS, MAX_NARROW_DIGITS, NULL, SqlType, decimal
from sql.types.operand_type import OperandType, as_decimal
from sql.types.unify import unify


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

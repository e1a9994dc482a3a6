"""Functions of numbers whose type follows their argument's: rounding, signs, bits, divisors."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sqlglot import exp

from ivm.catalog.types import (
    BIGINT,
    DOUBLE,
    FLOAT,
    HUGEINT,
    INTEGER,
    NULL,
    TINYINT,
    Kind,
    SqlType,
    decimal,
    integer_range,
)
from ivm.sql.bind.expressions.binder import Binder, Handler
from ivm.sql.bind.expressions.operand import Operand
from ivm.sql.bind.functions.computed import computed
from ivm.sql.bind.functions.signatures import apply, double, number_operand
from ivm.sql.ir.scalar import Call, Literal
from ivm.sql.signs import OPERATORS, Plus
from ivm.sql.types.unify import fits, holds, integer_type


def bind_abs(binder: Binder, node: exp.Expr) -> Operand:
    """ABS(x) and @x, of the type of x; @x + 1 is abs(x + 1), and stands behind no operator, as in DuckDB."""
    if "start" not in node.meta and _is_behind(node):
        binder.refuse(node, "@x behind an operator is not supported; write (@x)")
    operand = number_operand(binder, node.this)
    if operand.type.is_unsigned:
        return Operand(node, operand.scalar)
    return binder.call(node, "abs", (operand.scalar,), operand.type)


def _is_behind(node: exp.Expr) -> bool:
    """Whether an operator stands before this, or before the signs in front of this; no comparison and no condition."""
    while isinstance(node.parent, exp.Neg | Plus):
        node = node.parent
    around = node.parent
    is_operator = isinstance(around, OPERATORS) and "start" not in around.meta  # mod(x, y) is none
    return isinstance(around, exp.BitwiseNot) or (is_operator and node.arg_key == "expression")


_MOST_DIGITS = 1000
"""No number has as many digits: with that many all is kept, or nothing is left."""
MAKES_ZERO_OF_NULL = "makes_zero_of_null"
"""Marks a rounding that leaves no digit of a DECIMAL: DuckDB says 0 without a look at the value, and so of NULL too."""


def bind_rounding(binder: Binder, node: exp.Expr) -> Operand:
    """ROUND(x [, digits]), TRUNC(x [, digits])."""
    return _rounded(binder, node, node.key, node.this, node.args.get("decimals"))


def _rounded(binder: Binder, node: exp.Expr, function: str, of: exp.Expr, places: exp.Expr | None) -> Operand:
    """A DECIMAL keeps its digits and at most `places` decimals."""
    operand, digits = number_operand(binder, of), 0
    if places is not None:
        written = binder.bind(places)
        if written.integer is None:
            return _rounded_by(binder, node, function, operand, written)
        if not fits(written.integer, INTEGER):
            binder.mismatch(node, f"{function.upper()} counts digits in an INTEGER, and this is none; write fewer")
        digits = max(min(written.integer, _MOST_DIGITS), -_MOST_DIGITS)
    type_ = operand.type
    if type_.is_unsigned and function != "trunc":
        type_ = _signed(type_)
        operand = Operand(node, binder.cast(operand, type_))
    if type_.kind is Kind.DECIMAL:
        if -digits >= type_.precision - type_.scale:
            node.meta[MAKES_ZERO_OF_NULL] = True
        type_ = decimal(type_.precision, min(max(digits, 0), type_.scale))
    return binder.call(node, function, (operand.scalar, Literal(digits, INTEGER)), type_)


def _rounded_by(binder: Binder, node: exp.Expr, function: str, operand: Operand, places: Operand) -> Operand:
    """By a number of digits that varies, by DuckDB, which rounds no DECIMAL so."""
    if operand.type.kind is Kind.DECIMAL or not (places.type.is_integer and holds(INTEGER, places.type)):
        what = f"{function}() needs its number of digits as an INTEGER, and of a DECIMAL as a literal"
        binder.refuse(node, f"{what}; cast to DOUBLE and INTEGER")
    type_ = _signed(operand.type) if operand.type.is_unsigned and function != "trunc" else operand.type
    args = binder.cast(operand, type_), binder.cast(places, INTEGER)
    return computed(node, function, args, type_)


def bind_whole(binder: Binder, node: exp.Expr) -> Operand:
    """FLOOR(x), CEIL(x)."""
    operand = number_operand(binder, node.this)
    if operand.type.kind is Kind.DECIMAL:
        return binder.call(node, node.key, (operand.scalar,), decimal(operand.type.precision, 0))
    type_ = FLOAT if operand.type == FLOAT else DOUBLE
    return binder.call(node, node.key, (binder.cast(operand, type_),), type_)


def bind_log(binder: Binder, node: exp.Expr) -> Operand:
    """LOG(x), to base 10; LOG(base, x); LOG2(x) and LOG10(x), which sqlglot reads as LOG(2, x)."""
    first, second = node.this, node.args.get("expression")
    if second is None:
        return apply(binder, node, "log10", [first])
    if isinstance(first, exp.Literal) and "start" not in first.meta and first.name in ("2", "10"):
        return apply(binder, node, f"log{first.name}", [second])
    return binder.call(node, "log", (double(binder, first), double(binder, second)), DOUBLE)


_BITS: dict[type[exp.Expr], tuple[str, str]] = {
    exp.BitwiseAnd: ("bit_and", "&"),
    exp.BitwiseOr: ("bit_or", "|"),
    exp.BitwiseXor: ("xor", "xor()"),
    exp.BitwiseLeftShift: ("shift_left", "<<"),
    exp.BitwiseRightShift: ("shift_right", ">>"),
}


def _of_bits(function: str, symbol: str) -> Handler:
    """Bits of two integers, which get their common type."""
    return lambda binder, node: _of_integers(binder, node, function, symbol, (node.this, node.expression))


def _of_integers(
    binder: Binder, node: exp.Expr, function: str, symbol: str, args: Sequence[exp.Expr], *, signed: bool = False
) -> Operand:
    operands = [binder.bind(arg) for arg in args]
    type_ = _integer_type(binder, node, symbol, operands)
    type_ = _signed(type_) if signed else type_
    return binder.call(node, function, tuple(binder.cast(operand, type_) for operand in operands), type_)


def _integer_type(binder: Binder, node: exp.Expr, symbol: str, operands: Sequence[Operand]) -> SqlType:
    type_ = integer_type([operand.term for operand in operands])
    if type_ == NULL:
        return BIGINT
    if type_ is None or not type_.is_integer or not all(o.type.is_integer or o.type == NULL for o in operands):
        types = " and ".join(dict.fromkeys(str(operand.type) for operand in operands))
        binder.mismatch(node, f"{symbol} works on the bits of integers, not of {types}; cast to BIGINT")
    return type_


def bind_bit_not(binder: Binder, node: exp.Expr) -> Operand:
    """~x, of the type of x."""
    if isinstance(node.parent, exp.Neg | Plus) and _is_behind(node):
        binder.refuse(node, "~x behind a sign behind an operator is not supported; write (~x)")
    operand = binder.bind(node.this)
    type_ = _integer_type(binder, node, "~", (operand,))
    if type_.is_unsigned:
        ones = Literal(integer_range(type_.kind)[1], type_)
        return binder.call(node, "xor", (binder.cast(operand, type_), ones), type_)
    return binder.call(node, "bit_not", (binder.cast(operand, type_),), type_)


def _signed(type_: SqlType) -> SqlType:
    """The BIGINT or HUGEINT that holds an integer type."""
    return BIGINT if holds(BIGINT, type_) else HUGEINT


_DIVISORS = {"gcd": "gcd", "greatest_common_divisor": "gcd", "lcm": "lcm", "least_common_multiple": "lcm"}


def by_name(binder: Binder, node: exp.Expr, name: str, args: Sequence[exp.Expr]) -> Operand | None:
    """The functions of numbers that sqlglot knows by their name only; None if this is none of them."""
    if name in _DIVISORS and len(args) == 2:
        return _of_integers(binder, node, _DIVISORS[name], _DIVISORS[name], args, signed=True)
    if name in ("round_even", "roundbankers") and len(args) == 2:
        return _rounded(binder, node, "round_even", *args)
    if name == "bit_count" and len(args) == 1:
        operand = binder.bind(args[0])
        type_ = _integer_type(binder, node, "bit_count()", (operand,))
        return Operand(node, Call("bit_count", (binder.cast(operand, type_),), TINYINT, operand.scalar.nullable))
    return None


NAMES = (*_DIVISORS, "bit_count", "round_even", "roundbankers")
"""The functions that `by_name` knows."""

HANDLERS: dict[type[exp.Expr], Handler] = {
    exp.Abs: bind_abs,
    exp.Sign: lambda binder, node: binder.call(node, "sign", (number_operand(binder, node.this).scalar,), TINYINT),
    **dict.fromkeys((exp.Round, exp.Trunc), bind_rounding),
    **dict.fromkeys((exp.Floor, exp.Ceil), bind_whole),
    exp.Log: bind_log,
    exp.Pi: lambda binder, node: Operand(node, Literal(math.pi, DOUBLE)),
    **{kind: _of_bits(*names) for kind, names in _BITS.items()},
    exp.BitwiseNot: bind_bit_not,
}

"""Expressions whose value does not depend on the row are computed once, here."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ivm.catalog.types import Kind, SqlType
from ivm.sql.ir.conditions import is_null, negation
from ivm.sql.ir.functions import NotFoldableError, Nulls, function_of
from ivm.sql.ir.limits import is_exact, limits
from ivm.sql.ir.scalar import FALSE, TRUE, Call, Literal, Scalar, Value, rewrite
from ivm.sql.types.literals import convert
from ivm.sql.types.texts import single


def folded(scalar: Scalar) -> Scalar:
    """An equal expression in which calls over literals, and what follows from a literal argument, are computed.

    What would raise is left as it is, to raise if a row asks for it. What a literal makes irrelevant is dropped even
    if it could raise: `FALSE AND 1 // 0 = 1` is FALSE.
    """
    return rewrite(scalar, _fold)


def _fold(scalar: Scalar) -> Scalar:
    if not isinstance(scalar, Call):
        return scalar
    nulls = function_of(scalar.function).nulls
    decisive = scalar.args if nulls is Nulls.ANY else scalar.args[:1] if nulls is Nulls.FIRST else ()
    if any(map(_is_null, decisive)):
        return Literal(None, scalar.type)
    special = _SPECIAL.get(scalar.function)
    if special is not None:
        scalar = special(scalar)
    if not isinstance(scalar, Call):
        return scalar
    return _evaluated(scalar) or scalar


def _is_null(scalar: Scalar) -> bool:
    return isinstance(scalar, Literal) and scalar.value is None


def _of(call: Call, args: tuple[Scalar, ...], none: Literal) -> Scalar:
    """The same function of fewer arguments: one is itself, and `none` is what it is of none."""
    if len(args) < 2:
        return args[0] if args else none
    return replace(call, args=args) if args != call.args else call


def _connective(neutral: Literal, absorbing: Literal) -> Callable[[Call], Scalar]:
    def fold(call: Call) -> Scalar:
        args = tuple(arg for arg in dict.fromkeys(call.args) if arg != neutral)
        if absorbing in args:
            return absorbing
        return _of(call, args, neutral)

    return fold


def _case(call: Call) -> Scalar:
    arms: list[Scalar] = []
    last = call.args[-1]
    for condition, value in zip(call.args[:-1:2], call.args[1::2], strict=True):
        if condition == TRUE:
            last = value
            break
        if not isinstance(condition, Literal):
            arms += [condition, value]
    return replace(call, args=(*arms, last)) if arms else last


def _coalesce(call: Call) -> Scalar:
    certain = next((i for i, arg in enumerate(call.args, 1) if not arg.nullable), None)
    return _without_nulls(replace(call, args=call.args[:certain]))


def _null_test(call: Call) -> Scalar:
    (arg,) = call.args
    if isinstance(arg, Literal):
        return TRUE if arg.value is None else FALSE
    return call if arg.nullable else FALSE


def _is_distinct(call: Call) -> Scalar:
    left, right = call.args
    if _is_null(left) or _is_null(right):
        other = left if _is_null(right) else right
        return _fold(negation(_null_test(is_null(other))))
    return call


def _without_nulls(call: Call) -> Scalar:
    return _of(call, tuple(arg for arg in call.args if not _is_null(arg)), Literal(None, call.type))


def _nullif(call: Call) -> Scalar:
    return call.args[0] if _is_null(call.args[1]) else call


def _cast(call: Call) -> Scalar:
    (arg,) = call.args
    return arg if arg.type == call.type else call


def _raise_if(call: Call) -> Scalar:
    condition, _, value = call.args
    return value if condition == FALSE or _is_null(condition) else call


_SPECIAL: dict[str, Callable[[Call], Scalar]] = {
    "and": _connective(TRUE, FALSE),
    "or": _connective(FALSE, TRUE),
    "case": _case,
    "coalesce": _coalesce,
    "is_null": _null_test,
    "is_distinct": _is_distinct,
    "greatest": _without_nulls,
    "least": _without_nulls,
    "nullif": _nullif,
    "cast": _cast,
    "raise_if": _raise_if,
    "collate": lambda call: call.args[0],
}


def _evaluated(call: Call) -> Literal | None:
    """The value of a call whose arguments are literals; None if it cannot or must not be computed ahead of time.

    Only of functions and types whose results are the same wherever they are computed. What would raise is left to the
    runtime, which knows whether a row ever asks for it.
    """
    values = [arg.value for arg in call.args if isinstance(arg, Literal)]
    rule = _cast_literal if call.function == "cast" else function_of(call.function).value
    if rule is None or len(values) < len(call.args) or None in values:
        return None
    try:
        return Literal(_in_range(rule(call, values), call.type), call.type)
    except (NotFoldableError, OverflowError, ValueError):
        return None


def _in_range(value: Value, type_: SqlType) -> Value:
    if is_exact(type_):
        least, greatest = limits(type_)
        if not least <= int(value) <= greatest:  # type: ignore[arg-type]
            raise NotFoldableError
    if type_.is_float:
        value = float(value) if type_.kind is Kind.DOUBLE else single(float(value))  # type: ignore[arg-type]
        if not math.isfinite(value):
            raise NotFoldableError
    return value


def _cast_literal(call: Call, values: Sequence[Any]) -> Value:
    """As the binder casts a literal."""
    (literal,) = call.args
    assert isinstance(literal, Literal), "all arguments are literals"
    found = convert(literal, call.type)
    if found is None:
        raise NotFoldableError
    return found.value

"""Exact evaluation of a call over literals in plain Python: what `fold_constants` may compute ahead of the runtime.

Only the functions and types whose results are the same wherever they are computed. Anything else, and anything that
would raise, is left to the runtime, which knows whether a row ever asks for it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from catalog.types import Kind, SqlType
from sql.ir.functions import NotFoldableError, function_of
from sql.ir.limits import is_exact, limits
from sql.ir.scalar import Call, Literal, Value
from sql.types.literals import convert
from sql.types.texts import single


def evaluated(call: Call) -> Literal | None:
    """The value of a call whose arguments are literals; None if it cannot or must not be computed ahead of time."""
    values = [arg.value for arg in call.args if isinstance(arg, Literal)]
    rule = _cast if call.function == "cast" else function_of(call.function).value
    if rule is None or len(values) < len(call.args) or None in values:
        return None
    try:
        return Literal(_checked(rule(call, values), call.type), call.type)
    except (NotFoldableError, OverflowError, ValueError):
        return None


def _checked(value: Value, type_: SqlType) -> Value:
    if is_exact(type_):
        least, greatest = limits(type_)
        if not least <= int(value) <= greatest:  # type: ignore[arg-type]
            raise NotFoldableError
    if type_.is_float:
        value = float(value) if type_.kind is Kind.DOUBLE else single(float(value))  # type: ignore[arg-type]
        if not math.isfinite(value):
            raise NotFoldableError
    return value


def _cast(call: Call, values: Sequence[Any]) -> Value:
    """As the binder casts a literal."""
    (literal,) = call.args
    assert isinstance(literal, Literal), "all arguments are literals"
    found = convert(literal, call.type)
    if found is None:
        raise NotFoldableError
    return found.value

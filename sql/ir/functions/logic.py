"""Comparisons, three-valued logic, choices, and casts."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from ivm.catalog.types import BOOLEAN, Kind
from ivm.sql.ir.functions.function import Function, NotFoldableError, Nulls, Raises, ValueRule, of_values
from ivm.sql.ir.limits import Range, limits, moment_as, rescale
from ivm.sql.ir.scalar import Call, Value


def _chosen(call: Call, args: list[Range]) -> Range:
    values = [*args[1::2], args[-1]] if call.function == "case" else args
    return min(low for low, _ in values), max(high for _, high in values)


def _cast_range(call: Call, args: list[Range]) -> Range:
    source, target = call.args[0].type, call.type
    low, high = args[0]
    if target.kind is Kind.BOOLEAN:
        return limits(target)
    if source.is_moment and target.kind is Kind.TIME:
        return limits(target)
    if source.is_moment and target.is_moment:
        return moment_as(low, source, target), moment_as(high, source, target)
    digits = target.scale - source.scale
    return rescale(low, digits), rescale(high, digits)


def _cast_raises(call: Call) -> Raises:
    source, target = call.args[0].type, call.type
    if source == target or source.kind is Kind.NULL or target.kind is Kind.VARCHAR:
        return Raises.NEVER
    if source.kind is Kind.VARCHAR:  # also to BLOB
        return Raises.SOMETIMES
    if target.is_float:  # a DOUBLE may be greater than any FLOAT
        return Raises.SOMETIMES if target.kind is Kind.FLOAT and source.kind is Kind.DOUBLE else Raises.NEVER
    return Raises.NEVER if target.kind is Kind.BOOLEAN else Raises.OUT_OF_RANGE


def _comparison(function: Callable[[Any, Any], bool]) -> ValueRule:
    return lambda call, values: function(*map(_ordered, values))


def _ordered(value: Value) -> Any:
    """Text compares by its bytes; NaN has an order that Python's floats do not know."""
    if isinstance(value, float) and math.isnan(value):
        raise NotFoldableError
    return value.encode() if isinstance(value, str) else value


def _in(call: Call, values: Sequence[Any]) -> Value:
    return _ordered(values[0]) in [_ordered(v) for v in values[1:]]


def _extreme(chosen: Callable[..., Value]) -> ValueRule:
    """What is the greatest, or the least, of the values."""
    return lambda call, values: chosen(values, key=_ordered)


_PAIR = ("T", "T")

FUNCTIONS = (
    # Text compares by its bytes; NaN equals NaN and is greater than all others. What is asked for by a value is mostly
    # of a kind, and of kinds there are from two to a hundred.
    Function("eq", _PAIR, BOOLEAN, value=_comparison(operator.eq), symbol="=", mirrored="eq", negated="ne", holds=0.07),
    Function("ne", _PAIR, BOOLEAN, value=_comparison(operator.ne), symbol="<>", mirrored="ne", negated="eq", holds=0.9),
    Function("lt", _PAIR, BOOLEAN, value=_comparison(operator.lt), symbol="<", mirrored="gt", negated="ge", holds=0.3),
    Function("le", _PAIR, BOOLEAN, value=_comparison(operator.le), symbol="<=", mirrored="ge", negated="gt", holds=0.3),
    Function("gt", _PAIR, BOOLEAN, value=_comparison(operator.gt), symbol=">", mirrored="lt", negated="le", holds=0.3),
    Function("ge", _PAIR, BOOLEAN, value=_comparison(operator.ge), symbol=">=", mirrored="le", negated="lt", holds=0.3),
    Function("is_null", ("T",), BOOLEAN, nulls=Nulls.NEVER, holds=0.2),
    Function(
        "is_distinct", _PAIR, BOOLEAN,
        nulls=Nulls.NEVER, value=_comparison(operator.ne), symbol="IS DISTINCT FROM", holds=0.9,
    ),
    # The list holds literals.
    Function("in", ("T", "literal", "..."), BOOLEAN, nulls=Nulls.FIRST, value=_in),
    Function("not", (BOOLEAN,), BOOLEAN, value=of_values(operator.not_)),
    Function("and", (BOOLEAN, "..."), BOOLEAN, nulls=Nulls.LOGIC, symbol="AND"),
    Function("or", (BOOLEAN, "..."), BOOLEAN, nulls=Nulls.LOGIC, symbol="OR"),
    # case (c1, v1, ..., else): only the branch that is taken may raise; so of coalesce, and of the terms of and, or.
    Function("case", (BOOLEAN, "T", "...", "T"), "T", nulls=Nulls.DEPENDS, range=_chosen, lazy=True),
    Function("coalesce", ("T", "..."), "T", nulls=Nulls.ALL, range=_chosen, lazy=True),
    Function("nullif", _PAIR, "T", nulls=Nulls.FIRST, makes_null=True, range=lambda call, a: a[0]),
    Function("greatest", ("T", "..."), "T", nulls=Nulls.ALL, value=_extreme(max), range=_chosen),
    Function("least", ("T", "..."), "T", nulls=Nulls.ALL, value=_extreme(min), range=_chosen),
    # Exact, or an error; from text and to text too. DOUBLE is rounded to DECIMAL and integers as DuckDB does, DECIMAL
    # to fewer digits half away from zero. What reads text is folded by `ivm.sql.folded`.
    Function("cast", ("A",), "R", raises=_cast_raises, range=_cast_range),
    Function("try_cast", ("A",), "R", makes_null=True),
    # The value, or an error with the message where the condition is TRUE.
    Function("raise_if", (BOOLEAN, "literal", "T"), "T", nulls=Nulls.DEPENDS, raises=Raises.SOMETIMES),
)  # fmt: skip

"""Rounding and the transcendental functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from catalog.types import Kind, Physical, SqlType
from ivm.analysis.ranges import limits
from ivm.render.scalars.columns import both, objects, stored
from ivm.render.scalars.failures import check
from ivm.render.scalars.functions import Apply, Build, Context, Evaluate
from ivm.render.scalars.numeric import describe
from ivm.render.scalars.rows import Rows
from ivm.trace.column import Column
from sql.ir.scalar import Call, Literal


def digits_of(call: Call) -> int:
    """How many digits after the point `round` keeps."""
    if len(call.args) < 2:
        return 0
    literal = call.args[1]
    assert isinstance(literal, Literal)
    return int(literal.value or 0)


def half_away(values: Any) -> Any:
    """DOUBLE rounded to integers, halves away from zero."""
    whole = np.trunc(values)
    return np.where(np.abs(values - whole) >= 0.5, whole + np.sign(values), whole)


def _round_double(values: Any, digits: int) -> Any:
    """As DuckDB: scaled, rounded, scaled back; what overflows on the way stays as it was, or is zero."""
    power = np.float64(10.0) ** abs(digits)
    if digits < 0:
        rounded = half_away(values / power) * power
        return np.where(np.isfinite(rounded), rounded, np.where(np.isfinite(values), 0.0, values))
    rounded = half_away(values * power) / power
    return np.where(np.isfinite(rounded), rounded, values)


def divide_rounding(values: Any, power: Any, mode: str) -> Any:
    """Integers (int64 or Python's) divided by a power of ten; mode: round (half away from zero), floor, ceil."""
    if mode == "floor":
        return values // power
    if mode == "ceil":
        return -(-values // power)
    magnitude = np.abs(values)
    # (|v| + p/2) / p, without the sum that could leave 64 bits.
    quotient = magnitude // power
    quotient = quotient + (magnitude - quotient * power >= power - power // 2) if power > 1 else quotient
    return np.where(values < 0, -quotient, quotient)


def _plan(call: Call) -> tuple[int, int]:
    """(digits to cut at the argument's scale, digits that the result's scale then gives back)."""
    source, target = call.args[0].type, call.type
    keep = 0 if call.function != "round" else digits_of(call)
    cut = max(source.scale - keep, 0)
    return cut, target.scale - (source.scale - cut)


def rounding(call: Call, context: Context, build: Build) -> Evaluate:
    """round(a, digits), floor(a), ceil(a)."""
    argument = build(call.args[0])
    source, target = call.args[0].type, call.type
    if target.kind is not Kind.DOUBLE:
        apply = _of_exact(call)
    else:
        apply = _of_double(call) if source.kind is Kind.DOUBLE else _widened(_of_double(call), source)

    def evaluate(rows: Rows) -> Column:
        return apply(argument(rows))

    return evaluate


def _widened(apply: Apply, source: SqlType) -> Apply:
    scale = 10.0**source.scale
    return lambda a: apply(Column(objects(a.values).astype(np.float64) / scale, a.valid))


def _of_double(call: Call) -> Apply:
    if call.function == "floor":
        return lambda a: Column(np.floor(a.values), a.valid)
    if call.function == "ceil":
        return lambda a: Column(np.ceil(a.values), a.valid)
    digits = digits_of(call)
    return lambda a: Column(_round_double(a.values, digits), a.valid)


def _of_exact(call: Call) -> Apply:
    mode, target = call.function, call.type
    cut, back = _plan(call)
    if cut == 0 and back == 0 and target.physical is call.args[0].type.physical:
        return lambda a: a
    wide = target.physical is Physical.WIDE or call.args[0].type.physical is Physical.WIDE or cut > 18 or back > 0
    allowed = limits(target)

    def apply(a: Column) -> Column:
        values: Any = objects(a.values) if wide else a.values.astype(np.int64)
        values = divide_rounding(values, 10**cut, mode)
        values = values * 10**back if back >= 0 else values // 10**-back
        if wide and a.valid is not None:
            values = np.where(a.valid, values, 0)
        check(values, a.valid, allowed, describe(call, (a,)), target)
        return Column(stored(values, target.physical), a.valid)

    return apply


def _one(operation: Callable[..., Any]) -> Callable[[Call, Context], Apply]:
    return lambda call, context: lambda a: Column(operation(a.values), a.valid)


def _power(call: Call, context: Context) -> Apply:
    return lambda a, b: Column(np.power(a.values, b.values), both(a.valid, b.valid))


STRICT = {"sqrt": _one(np.sqrt), "ln": _one(np.log), "exp": _one(np.exp), "power": _power}
LAZY = {"round": rounding, "floor": rounding, "ceil": rounding}

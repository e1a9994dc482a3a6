"""Rounding and the transcendental functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from catalog.types import Kind, Physical, SqlType
from ivm.render.scalars.columns import all_valid, objects, stored
from ivm.render.scalars.failures import check
from ivm.render.scalars.functions import Apply, Build, Context, Evaluate
from ivm.render.scalars.numeric import describe
from ivm.render.scalars.rows import Rows
from ivm.trace.column import Column
from sql.ir.limits import limits
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


def _round_double(values: Any, digits: int, mode: str) -> Any:
    """As DuckDB: scaled, rounded, scaled back; what overflows on the way stays as it was, or is zero."""
    power = values.dtype.type(10.0) ** abs(digits)
    towards = np.trunc if mode == "trunc" else half_away
    if digits < 0:
        rounded = towards(values / power) * power
        return np.where(np.isfinite(rounded), rounded, np.where(np.isfinite(values), 0.0, values))
    rounded = towards(values * power) / power
    return np.where(np.isfinite(rounded), rounded, values)


def divide_rounding(values: Any, power: Any, mode: str) -> Any:
    """Integers (int64 or Python's) divided by a power of ten; mode: round (half away from zero), floor, ceil, trunc."""
    if mode == "floor":
        return values // power
    if mode == "ceil":
        return -(-values // power)
    magnitude = np.abs(values)
    if mode == "trunc":
        quotient = magnitude // power
        return np.where(values < 0, -quotient, quotient)
    # (|v| + p/2) / p, without the sum that could leave 64 bits.
    quotient = magnitude // power
    quotient = quotient + (magnitude - quotient * power >= power - power // 2) if power > 1 else quotient
    return np.where(values < 0, -quotient, quotient)


def _plan(call: Call) -> tuple[int, int]:
    """(digits to cut at the argument's scale, digits that the result's scale then gives back)."""
    source, target = call.args[0].type, call.type
    keep = digits_of(call) if call.function in ("round", "trunc") else 0
    cut = max(source.scale - keep, 0)
    return cut, target.scale - (source.scale - cut)


def rounding(call: Call, context: Context, build: Build) -> Evaluate:
    """round(a, digits), trunc(a, digits), floor(a), ceil(a)."""
    argument = build(call.args[0])
    source, target = call.args[0].type, call.type
    if not target.is_float:
        apply = _of_exact(call)
    else:
        apply = _of_double(call) if source.is_float else _widened(_of_double(call), source)

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
    digits, form = digits_of(call), np.float32 if call.type.kind is Kind.FLOAT else np.float64

    def apply(a: Column) -> Column:
        with np.errstate(over="ignore", invalid="ignore"):
            rounded = _round_double(a.values.astype(form, copy=False), digits, call.function)
        return Column(rounded.astype(np.float64, copy=False), a.valid)

    return apply


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


def _even(values: Any) -> Any:
    """The next even number away from zero."""
    return np.sign(values) * np.ceil(np.abs(values) / 2) * 2


OF_DOUBLE: dict[str, Callable[..., Any]] = {
    "sqrt": np.sqrt, "cbrt": np.cbrt, "ln": np.log, "log2": np.log2, "log10": np.log10, "exp": np.exp,
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "cot": lambda x: 1.0 / np.tan(x), "degrees": np.degrees, "radians": np.radians, "even": _even,
    "is_nan": np.isnan, "is_inf": np.isinf, "is_finite": np.isfinite,
    "power": np.power, "atan2": np.arctan2, "log": lambda base, x: np.log10(x) / np.log10(base),
}  # fmt: skip
"""The functions of DOUBLE that have no error, over arrays."""


def _of_doubles(call: Call, context: Context) -> Apply:
    operation = OF_DOUBLE[call.function]
    return lambda *columns: Column(operation(*[c.values for c in columns]), all_valid(columns))


def sign(call: Call, context: Context) -> Apply:
    """sign(a)."""
    wide = call.args[0].type.physical is Physical.WIDE

    def apply(a: Column) -> Column:
        values: Any = objects(a.values) if wide else a.values
        return Column((values > 0).astype(np.int32) - (values < 0).astype(np.int32), a.valid)

    return apply


STRICT = {**dict.fromkeys(OF_DOUBLE, _of_doubles), "sign": sign}
LAZY = {"round": rounding, "trunc": rounding, "floor": rounding, "ceil": rounding}

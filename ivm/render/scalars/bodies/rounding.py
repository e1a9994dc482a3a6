"""Rounding, and signs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from catalog.types import Kind, Physical, SqlType
from ivm.kernels.numbers import elementwise
from ivm.render.scalars.bodies.arithmetic import check_word
from ivm.render.scalars.bodies.body import Body, EmitScalar
from ivm.render.scalars.columns import objects, stored
from ivm.render.scalars.failures import check, describe
from ivm.render.scalars.functions import Apply, Build, Context, Evaluate
from ivm.render.scalars.rows import Rows
from ivm.render.scalars.writer import NotCompiledError, Script, Value, Writer
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


_DIVISIONS: dict[str, Callable[[Any, Any], Any]] = {
    "round": elementwise.round_off, "trunc": elementwise.truncated, "floor": np.floor_divide,
    "ceil": elementwise.ceiling,
}  # fmt: skip


def divide_rounding(values: Any, power: int, mode: str) -> Any:
    """Integers (int64 or Python's) divided by a power of ten; mode: round (half away from zero), floor, ceil, trunc."""
    return _DIVISIONS[mode](values, power)


def _plan(call: Call) -> tuple[int, int]:
    """(digits to cut at the argument's scale, digits that the result's scale then gives back)."""
    source, target = call.args[0].type, call.type
    keep = digits_of(call) if call.function in ("round", "trunc") else 0
    cut = max(source.scale - keep, 0)
    return cut, target.scale - (source.scale - cut)


_AT = {"round": elementwise.round_double, "trunc": elementwise.trunc_double}


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
    if call.function in ("floor", "ceil"):
        whole: Any = getattr(np, call.function)
        return lambda a: Column(whole(a.values), a.valid)
    digits, form = digits_of(call), np.float32 if call.type.kind is Kind.FLOAT else np.float64
    at: Any = _AT[call.function]
    power = form(10.0) ** abs(digits)

    def apply(a: Column) -> Column:
        found = at(a.values.astype(form, copy=False), power, digits < 0)
        return Column(found.astype(np.float64, copy=False), a.valid)

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


_CUTS = {
    "round": "round_off({}, {})", "trunc": "truncated({}, {})", "floor": "{} // {}", "ceil": "ceiling({}, {})",
}  # fmt: skip


def _in_loop(writer: Writer, call: Call, emit: EmitScalar) -> Value:
    a, source, target = emit(writer, call.args[0]), call.args[0].type, call.type
    if source.kind is Kind.FLOAT and digits_of(call):
        raise NotCompiledError(call.function)
    if source.is_float:
        return Value((writer.let(_double_in_loop(writer, call, a)),), a.valid)
    cut, back = _plan(call)
    narrow = Physical.WIDE not in (source.physical, target.physical)
    if not narrow or target.is_float or cut > 18 or back != 0:
        raise NotCompiledError(call.function)
    if cut == 0:
        return a
    result = Value((writer.let(_CUTS[call.function].format(a.word, 10**cut)),), a.valid)
    check_word(writer, result, target)
    return result


def _double_in_loop(writer: Writer, call: Call, a: Value) -> str:
    if call.function in ("floor", "ceil"):
        return f"np.{call.function}({a.word})"
    digits = digits_of(call)
    return f"{_AT[call.function].__name__}({a.word}, {writer.double(10.0 ** abs(digits))}, {digits < 0})"


def _sign(writer: Script, call: Call, args: list[Value]) -> Value:
    (a,) = args
    word = a.words[-1]
    positive = f"{word} > 0" if len(a.words) == 1 else f"({word} > 0) | (({word} == 0) & ({a.words[0]} != 0))"
    return Value((writer.let(f"int64({positive}) - int64({word} < 0)"),), a.valid)


BODIES = (
    *(Body(name, lazy=rounding, lazy_loop=_in_loop) for name in ("round", "trunc", "floor", "ceil")),
    Body("sign", _sign),
)

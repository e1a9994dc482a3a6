"""Rounding, and signs."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ivm.catalog.types import Kind, Physical
from ivm.kernels.numbers import elementwise
from ivm.render.scalars.bodies.arithmetic import check_word
from ivm.render.scalars.bodies.body import Body
from ivm.render.scalars.columns import objects
from ivm.render.scalars.failures import over_integers
from ivm.render.scalars.functions import Apply, Context
from ivm.render.scalars.writer import NotCompiledError, Script, Value
from ivm.sql.ir.scalar import Call, Literal
from ivm.trace.columns.column import Column


def digits_of(call: Call) -> int:
    """How many digits after the point `round` keeps."""
    if len(call.args) < 2:
        return 0
    literal = call.args[1]
    assert isinstance(literal, Literal)
    return int(literal.value or 0)


_CUTS = {
    "round": "round_off({}, {})", "trunc": "truncated({}, {})", "floor": "{} // {}", "ceil": "ceiling({}, {})",
}  # fmt: skip
_DIVISIONS: dict[str, Callable[[Any, Any], Any]] = {
    "round": elementwise.round_off, "trunc": elementwise.truncated, "floor": np.floor_divide,
    "ceil": elementwise.ceiling,
}  # fmt: skip
_AT = {"round": elementwise.round_double, "trunc": elementwise.trunc_double}


def _power(digits: int) -> float:
    """10 to that many digits, whatever their sign; infinite beyond the range of a DOUBLE."""
    return 10.0 ** abs(digits) if abs(digits) <= sys.float_info.max_10_exp else math.inf


def _plan(call: Call) -> tuple[int, int]:
    """(digits to cut at the argument's scale, digits that the result's scale then gives back)."""
    source, target = call.args[0].type, call.type
    keep = digits_of(call) if call.function in ("round", "trunc") else 0
    cut = max(source.scale - keep, 0)
    return cut, target.scale - (source.scale - cut)


def rounding(script: Script, call: Call, args: list[Value]) -> Value:
    """round(a, digits), trunc(a, digits), floor(a), ceil(a)."""
    (a,), source, target = args, call.args[0].type, call.type
    digits = digits_of(call)
    if _keeps(call):
        return a
    if _is_apart(call):
        raise NotCompiledError(call.function)
    if source.is_float:
        form = f"np.{call.function}({a.word})"
        if call.function in _AT:
            form = f"{_AT[call.function].__name__}({a.word}, {script.double(_power(digits))}, {digits < 0})"
        return Value((script.let(form),), a.valid)
    cut, _ = _plan(call)
    if cut == 0:
        return a
    result = Value((script.let(_CUTS[call.function].format(a.word, 10**cut)),), a.valid)
    check_word(script, result, target)
    return result


def _keeps(call: Call) -> bool:
    """Whether it is a number cut off at a power of ten beyond the range of a DOUBLE, which DuckDB leaves as it is."""
    return call.function == "trunc" and call.args[0].type.is_float and math.isinf(_power(digits_of(call)))


def _is_apart(call: Call) -> bool:
    """Whether a call is of what no loop computes: 128 bits, a DOUBLE of exact numbers, FLOATs cut at a digit."""
    source, target = call.args[0].type, call.type
    if source.is_float:
        return source.kind is Kind.FLOAT and digits_of(call) != 0 and not _keeps(call)
    cut, back = _plan(call)
    return target.is_float or cut > 18 or back != 0 or Physical.WIDE in (source.physical, target.physical)


def _apart(call: Call, context: Context) -> Apply | None:
    source, target = call.args[0].type, call.type
    if not _is_apart(call):
        return None
    if not target.is_float:
        cut, back = _plan(call)
        divide = _DIVISIONS[call.function]
        return over_integers(call, lambda a: divide(a, 10**cut) * 10 ** max(back, 0) // 10 ** max(-back, 0))
    scale, form = 10.0**source.scale, np.float32 if target.kind is Kind.FLOAT else np.float64
    digits = digits_of(call)
    at: Any = _AT.get(call.function)

    def apply(a: Column) -> Column:
        values: Any = a.values if source.is_float else objects(a.values).astype(np.float64) / scale
        if at is None:
            return Column(getattr(np, call.function)(values), a.valid)
        with np.errstate(over="ignore"):
            power = form(_power(digits))
        found = at(values.astype(form, copy=False), power, digits < 0)
        return Column(found.astype(np.float64, copy=False), a.valid)

    return apply


def _sign(writer: Script, call: Call, args: list[Value]) -> Value:
    (a,) = args
    word = a.words[-1]
    positive = f"{word} > 0" if len(a.words) == 1 else f"({word} > 0) | (({word} == 0) & ({a.words[0]} != 0))"
    return Value((writer.let(f"int64({positive}) - int64({word} < 0)"),), a.valid)


BODIES = (
    *(Body(name, rounding, values=(0,), strict=_apart) for name in ("round", "trunc", "floor", "ceil")),
    Body("sign", _sign),
)

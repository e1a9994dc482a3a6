"""Arithmetic: exact and checked on integers and DECIMAL, IEEE on DOUBLE and FLOAT."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from catalog.types import Kind, Physical
from ivm.analysis.ranges import fits, unchecked_range
from ivm.render.scalars.columns import all_valid, both, objects, single, stored
from ivm.render.scalars.failures import check, division_by_zero, first_bad, overflow, shown
from ivm.render.scalars.functions import Apply, Context
from ivm.trace.column import DTYPES, Array, Column
from sql.ir.limits import Range, is_exact, limits
from sql.ir.scalar import Call

WORD_RANGE: Range = (-(2**63), 2**63 - 1)
SYMBOLS = {"add": "+", "sub": "-", "mul": "*", "idiv": "//", "mod": "%", "div": "/"}


def in_words(call: Call) -> bool:
    """Whether every argument and every possible result of the function fits int64, so that words suffice."""
    if any(a.type.physical is Physical.WIDE or not is_exact(a.type) for a in (call, *call.args)):
        return False
    found = unchecked_range(call)
    return found is not None and WORD_RANGE[0] <= found[0] and found[1] <= WORD_RANGE[1]


def describe(call: Call, columns: tuple[Column, ...]) -> Callable[[int], str]:
    """What a call computes at a row, as a person would write it."""

    def text(row: int) -> str:
        args = [shown(c, row, a.type) for c, a in zip(columns, call.args, strict=False)]
        if call.function in SYMBOLS:
            return f"{args[0]} {SYMBOLS[call.function]} {args[1]}"
        return f"{call.function}({', '.join(args)})"

    return text


def checked(call: Call, operation: Callable[..., Any]) -> Apply:
    """An exact function whose result is checked against its type, unless that cannot be needed."""
    if in_words(call):
        return _words(call, operation)
    return _unbounded(call, operation)


def _words(call: Call, operation: Callable[..., Any]) -> Apply:
    allowed, safe, physical = limits(call.type), fits(call), call.type.physical
    dtype = DTYPES[physical]
    # Where the result may leave int32 on the way to its check, the operation runs on int64.
    widen = (dtype != np.int64 and not safe) or any(a.type.physical is not physical for a in call.args)

    def apply(*columns: Column) -> Column:
        valid = all_valid(columns)
        args = [c.values.astype(np.int64) if widen else c.values for c in columns]
        values = operation(*args)
        if not safe:
            check(values, valid, allowed, describe(call, columns), call.type)
        return Column(values.astype(dtype) if values.dtype != dtype else values, valid)

    return apply


def _unbounded(call: Call, operation: Callable[..., Any]) -> Apply:
    """Over Python's integers: for what does not fit 64 bits, exact, and slow per value."""
    allowed, physical = limits(call.type), call.type.physical

    def apply(*columns: Column) -> Column:
        valid = all_valid(columns)
        values = operation(*[objects(c.values) for c in columns])
        if valid is not None:
            values = np.where(valid, values, 0)
        check(values, valid, allowed, describe(call, columns), call.type)
        return Column(stored(values, physical), valid)

    return apply


def _doubles(call: Call, operation: Callable[..., Any]) -> Apply:
    """In 64 bits; one operation on FLOATs, rounded to 32, is what 32 bits would give."""
    if call.type.kind is Kind.FLOAT:
        return lambda *columns: Column(single(operation(*[c.values for c in columns])), all_valid(columns))
    return lambda *columns: Column(operation(*[c.values for c in columns]), all_valid(columns))


def _arithmetic(call: Call, operation: Callable[..., Any]) -> Apply:
    return _doubles(call, operation) if call.type.is_float else checked(call, operation)


def add(call: Call, context: Context) -> Apply:
    """add(a, b)."""
    if in_words(call) or call.type.physical is not Physical.INT64:
        return _arithmetic(call, np.add)
    return _wrapping(call, np.add, lambda a, b, r: ((a ^ r) & (b ^ r)) < 0)


def sub(call: Call, context: Context) -> Apply:
    """sub(a, b)."""
    if in_words(call) or call.type.physical is not Physical.INT64:
        return _arithmetic(call, np.subtract)
    return _wrapping(call, np.subtract, lambda a, b, r: ((a ^ b) & (a ^ r)) < 0)


def _wrapping(call: Call, operation: Callable[..., Any], wrapped: Callable[..., Any]) -> Apply:
    """int64 arithmetic that may wrap: the signs show where it did."""

    def apply(a: Column, b: Column) -> Column:
        valid = both(a.valid, b.valid)
        values = operation(a.values, b.values)
        row = first_bad(wrapped(a.values, b.values, values), valid)
        if row is not None:
            raise overflow(describe(call, (a, b))(row), call.type)
        return Column(values, valid)

    return apply


def mul(call: Call, context: Context) -> Apply:
    """mul(a, b)."""
    narrow = all(a.type.physical in (Physical.INT64, Physical.INT32) for a in (call, *call.args))
    if call.type.is_float or in_words(call) or not narrow:
        return _arithmetic(call, np.multiply)
    return _multiply_words(call)


def _multiply_words(call: Call) -> Apply:
    """A product that may leave 64 bits: the greatest magnitudes decide whether it can, then each row is asked."""
    allowed, slow = limits(call.type), _unbounded(call, np.multiply)

    def apply(a: Column, b: Column) -> Column:
        if a.values.size == 0 or b.values.size == 0 or _magnitude(a.values) * _magnitude(b.values) <= allowed[1]:
            return Column(np.multiply(a.values, b.values, dtype=np.int64), both(a.valid, b.valid))
        # Under NULL anything may stand, and a product near the bound is rare: the exact way decides.
        estimate = np.abs(np.multiply(a.values, b.values, dtype=np.float64))
        if estimate.max() < allowed[1] * (1 - 1e-12):
            return Column(np.multiply(a.values, b.values, dtype=np.int64), both(a.valid, b.valid))
        return slow(a, b)

    return apply


def _magnitude(values: Array) -> int:
    return max(int(values.max()), -int(values.min()))


def neg(call: Call, context: Context) -> Apply:
    """neg(a)."""
    return _sign_change(call, np.negative)


def absolute(call: Call, context: Context) -> Apply:
    """abs(a)."""
    return _sign_change(call, np.abs)


def _sign_change(call: Call, operation: Callable[..., Any]) -> Apply:
    """Only the least int64 has no opposite; everything else is as other arithmetic."""
    if call.type.kind is not Kind.BIGINT or in_words(call):
        return _arithmetic(call, operation)

    def apply(a: Column) -> Column:
        row = first_bad(a.values == WORD_RANGE[0], a.valid)
        if row is not None:
            raise overflow(describe(call, (a,))(row), call.type)
        return Column(operation(a.values), a.valid)

    return apply


def div(call: Call, context: Context) -> Apply:
    """div(a, b) of DOUBLE, as IEEE says."""
    return _doubles(call, np.divide)


def idiv(call: Call, context: Context) -> Apply:
    """idiv(a, b) of integers: truncating."""
    return _guarded(call, _truncating)


def mod(call: Call, context: Context) -> Apply:
    """mod(a, b): the sign is the dividend's."""
    return _doubles(call, np.fmod) if call.type.is_float else _guarded(call, _remainder)


def _guarded(call: Call, operation: Callable[..., Any]) -> Apply:
    """Integer division: by zero it raises, and so does the least value by -1, whose quotient has no place."""
    wide = call.type.physical is Physical.WIDE
    least = limits(call.type)[0] if call.type.kind is not Kind.DECIMAL else None

    def apply(a: Column, b: Column) -> Column:
        valid = both(a.valid, b.valid)
        x, y = (objects(a.values), objects(b.values)) if wide else (a.values, b.values)
        row = first_bad(y == 0, valid)
        if row is not None:
            raise division_by_zero(describe(call, (a, b))(row))
        if least is not None and (row := first_bad((x == least) & (y == -1), valid)) is not None:
            raise overflow(describe(call, (a, b))(row), call.type)
        values = operation(x, np.where(y == 0, 1, y))
        return Column(stored(values, call.type.physical), valid)

    return apply


def _truncating(x: Any, y: Any) -> Any:
    if x.dtype == object:
        quotient = np.abs(x) // np.abs(y)
        return np.where((x < 0) != (y < 0), -quotient, quotient)
    quotient = np.floor_divide(x, y)
    return quotient + ((quotient * y != x) & ((x < 0) != (y < 0)))


def _remainder(x: Any, y: Any) -> Any:
    if x.dtype == object:
        rest = np.abs(x) % np.abs(y)
        return np.where(x < 0, -rest, rest)
    return np.fmod(x, y)


STRICT = {
    "add": add, "sub": sub, "mul": mul, "neg": neg, "abs": absolute, "div": div, "idiv": idiv, "mod": mod,
}  # fmt: skip

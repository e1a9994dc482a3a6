"""Arithmetic: exact and checked on integers and DECIMAL, IEEE on DOUBLE and FLOAT; functions of DOUBLE, and of bits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ivm.analysis.ranges import fits, unchecked_range
from ivm.catalog.errors import NumericError
from ivm.catalog.types import Kind, Physical, SqlType
from ivm.render.scalars.bodies.body import Body
from ivm.render.scalars.columns import both, objects, stored
from ivm.render.scalars.failures import attempted, division_by_zero, first_bad, over_integers, overflow
from ivm.render.scalars.functions import Apply, Context
from ivm.render.scalars.writer import NotCompiledError, Script, Value
from ivm.sql.ir.functions import function_of
from ivm.sql.ir.limits import Range, is_exact, limits
from ivm.sql.ir.scalar import Call
from ivm.trace.columns.column import Column

WORD_RANGE: Range = (-(2**63), 2**63 - 1)
_LEAST = "(-9223372036854775807 - 1)"


def in_words(call: Call) -> bool:
    """Whether every argument and every possible result of the function fits int64, so that words suffice."""
    if any(a.type.physical is Physical.WIDE or not is_exact(a.type) for a in (call, *call.args)):
        return False
    found = unchecked_range(call)
    return found is not None and WORD_RANGE[0] <= found[0] and found[1] <= WORD_RANGE[1]


def wide(writer: Script, value: Value) -> Value:
    """The value as two words."""
    if len(value.words) == 2:
        return value
    return Value((value.word, writer.let(f"{value.word} >> 63")), value.valid)


def literal_word(value: int) -> str:
    """An int64 as source text."""
    return _LEAST if value == WORD_RANGE[0] else str(value)


def outside_word(word: str, low: int, high: int) -> str:
    """Whether an int64 lies outside a range, as an expression."""
    return "False" if low == WORD_RANGE[0] else f"({word} > {high}) | ({word} < {low})"


def check_word(writer: Script, value: Value, type_: SqlType) -> None:
    """Fail where an int64 lies outside a type's range."""
    bad = outside_word(value.word, *limits(type_))
    if bad != "False":
        writer.fail(bad, value.valid)


def outside_wide(words: tuple[str, str], lost: str, type_: SqlType) -> str:
    """Whether a 128-bit result was lost or lies outside its type: has more digits, or has a sign or over 64 bits."""
    if type_.kind is Kind.UBIGINT:
        return f"{lost} | ({words[1]} != 0)"
    if type_.kind is Kind.DECIMAL:
        return f"{lost} | exceeds({words[0]}, {words[1]}, {type_.precision})"
    return lost


def arithmetic(writer: Script, call: Call, args: list[Value], function: str = "") -> Value:
    """add, sub, mul: the call's own, unless one is given."""
    function = function or call.function
    valid, symbol = writer.both(*args), function_of(function).symbol
    if call.type.is_float:
        return rounded(writer, call, f"{args[0].word} {symbol} {args[1].word}", valid)
    if Physical.WIDE in (call.type.physical, *(a.type.physical for a in call.args)):
        return _wide_arithmetic(writer, call, function, args, valid)
    if in_words(call):
        result = Value((writer.let(f"{args[0].word} {symbol} {args[1].word}"),), valid)
    else:
        name, lost = writer.lets(f"{function}_checked({args[0].word}, {args[1].word})", 2)
        writer.fail(lost, valid)
        result = Value((name,), valid)
    if not fits(call):
        check_word(writer, result, call.type)
    return result


def rounded(writer: Script, call: Call, expression: str, valid: str | None) -> Value:
    """A DOUBLE, or the FLOAT nearest to it: for one operation on FLOATs that is what 32 bits would give."""
    single = call.type.kind is Kind.FLOAT
    return Value((writer.let(f"float64(float32({expression}))" if single else expression),), valid)


def _wide_arithmetic(writer: Script, call: Call, function: str, args: list[Value], valid: str | None) -> Value:
    if function == "mul" and all(len(a.words) == 1 for a in args):
        low, high = writer.lets(f"mul_signed({args[0].word}, {args[1].word})", 2)
        lost = "False"
    else:
        words = ", ".join(word for a in args for word in wide(writer, a).words)
        low, high, lost = writer.lets(f"wide_{function}({words})", 3)
    if lost != "False" or not fits(call):
        writer.fail(outside_wide((low, high), lost, call.type), valid)
    # What was checked to fit its type needs no high word if the type is narrow.
    return Value((low, high) if call.type.physical is Physical.WIDE else (low,), valid)


def sign_change(writer: Script, call: Call, args: list[Value]) -> Value:
    """neg, abs."""
    (a,) = args
    if call.type.physical is not Physical.WIDE:
        if not call.type.is_float and not fits(call):
            writer.fail(f"{a.word} == {literal_word(limits(call.type)[0])}", a.valid)
        return Value((writer.let(f"-{a.word}" if call.function == "neg" else f"abs({a.word})"),), a.valid)
    low, high, lost = writer.lets(f"wide_neg({', '.join(a.words)})", 3)
    if call.function == "neg":
        writer.fail(lost, a.valid)
        return Value((low, high), a.valid)
    negative = writer.let(f"{a.words[1]} < 0")
    writer.fail(f"{lost} & {negative}", a.valid)
    pairs = zip(a.words, (low, high), strict=True)
    return Value(tuple(writer.let(f"{word} + ({minus} - {word}) * {negative}") for word, minus in pairs), a.valid)


def division(writer: Script, call: Call, args: list[Value]) -> Value:
    """div, idiv (truncating), mod (with the dividend's sign)."""
    valid = writer.both(*args)
    if call.type.is_float:
        form = "{} / {}" if call.function == "div" else "np.fmod({}, {})"
        return rounded(writer, call, form.format(args[0].word, args[1].word), valid)
    if call.type.physical is Physical.WIDE:
        raise NotCompiledError(call.function)
    a, b = args[0].word, args[1].word
    zero, least = writer.let(f"{b} == 0"), writer.let(f"({b} == -1) & ({a} == {_LEAST})")
    writer.fail(zero, valid, division_by_zero)
    if call.type.kind is not Kind.DECIMAL:
        writer.fail(f"({a} == {literal_word(limits(call.type)[0])}) & ({b} == -1)", valid)
    # Under NULL anything may stand, so the divisor is made harmless.
    harmless = writer.let(f"{b} + (1 - {b}) * ({zero} | {least})")
    return Value((writer.let(f"{'truncated' if call.function == 'idiv' else 'remainder'}({a}, {harmless})"),), valid)


def _wide_division(call: Call, context: Context) -> Apply | None:
    """Of what does not fit 64 bits, over Python's integers."""
    if call.type.physical is not Physical.WIDE:
        return None
    least = limits(call.type)[0] if call.type.kind is not Kind.DECIMAL else None

    def apply(a: Column, b: Column) -> Column:
        valid = both(a.valid, b.valid)
        x: Any = objects(a.values)
        y: Any = objects(b.values)
        row = first_bad(y == 0, valid)
        if row is not None:
            raise division_by_zero(attempted(call, (a, b), row))
        if least is not None and (row := first_bad((x == least) & (y == -1), valid)) is not None:
            raise overflow(attempted(call, (a, b), row))
        divisor = np.where(y == 0, 1, y)
        quotient = np.abs(x) // np.abs(divisor)
        quotient = np.where((x < 0) != (divisor < 0), -quotient, quotient)
        return Column(stored(quotient if call.function == "idiv" else x - quotient * divisor, Physical.WIDE), valid)

    return apply


_OF_DOUBLES = {
    **{f: f"np.{f}({{}})" for f in ("sqrt", "exp", "log2", "log10", "sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "ln": "np.log({})", "asin": "np.arcsin({})", "acos": "np.arccos({})", "atan": "np.arctan({})",
    "asinh": "np.arcsinh({})", "acosh": "np.arccosh({})", "atanh": "np.arctanh({})", "cbrt": "np.cbrt({})",
    "cot": "1.0 / np.tan({})", "degrees": "np.degrees({})", "radians": "np.radians({})", "even": "even({})",
    "is_nan": "np.isnan({})", "is_inf": "np.isinf({})", "is_finite": "np.isfinite({})",
    "power": "np.power({}, {})", "atan2": "np.arctan2({}, {})", "log": "np.log10({1}) / np.log10({0})",
}  # fmt: skip


def _of_doubles(writer: Script, call: Call, args: list[Value]) -> Value:
    words = (a.word for a in args)
    return Value((writer.let(_OF_DOUBLES[call.function].format(*words)),), writer.both(*args))


_OF_BITS = {"bit_and": "{} & {}", "bit_or": "{} | {}", "xor": "{} ^ {}", "bit_not": "~{}"}


def _word_by_word(writer: Script, call: Call, args: list[Value]) -> Value:
    """bit_and, bit_or, xor, bit_not: 128 bits are two words."""
    words = (_OF_BITS[call.function].format(*words) for words in zip(*(a.words for a in args), strict=True))
    return Value(tuple(writer.let(word) for word in words), writer.both(*args))


def bit_count(call: Call, context: Context) -> Apply:
    """bit_count(a): the bits that are set in as many as the type has."""
    mask = (1 << call.args[0].type.kind.bits) - 1
    if call.args[0].type.physical is Physical.WIDE:
        count = np.frompyfunc(lambda value: (value & mask).bit_count(), 1, 1)
        return lambda a: Column(count(objects(a.values)).astype(np.int32), a.valid)

    def apply(a: Column) -> Column:
        words: Any = a.values.astype(np.int64).view(np.uint64)
        return Column(np.bitwise_count(words & np.uint64(mask)).astype(np.int32), a.valid)

    return apply


def _shift_right(writer: Script, call: Call, args: list[Value]) -> Value:
    if call.type.physical is Physical.WIDE:
        raise NotCompiledError(call.function)
    a, b = (arg.word for arg in args)
    inside = writer.let(f"({b} >= 0) & ({b} < {call.type.kind.bits})")
    return Value((writer.let(f"({a} >> {b} * {inside}) * {inside}"),), writer.both(*args))


def _wide_shift_right(call: Call, context: Context) -> Apply | None:
    def shifted(x: Any, y: Any) -> Any:
        inside = (y >= 0) & (y < 128)
        return np.where(inside, x >> np.where(inside, y, 0), 0)

    return over_integers(call, shifted) if call.type.physical is Physical.WIDE else None


def shift_left(call: Call, context: Context) -> Apply:
    """shift_left(a, b)."""
    width, nothing = call.type.kind.bits, limits(call.type)[1] + 1

    def shifted(x: Any, y: Any) -> Any:
        bad = (x < 0) | (y < 0) | ((y >= width) & (x != 0))
        return np.where(bad, nothing, np.where(bad, 0, x) << np.where(bad | (y >= width), 0, y))

    return over_integers(call, shifted)


def divisors(call: Call, context: Context) -> Apply:
    """gcd(a, b), lcm(a, b)."""
    return over_integers(call, np.frompyfunc(getattr(math, call.function), 2, 1))


def factorial(call: Call, context: Context) -> Apply:
    """factorial(a): of 0 to 33, since that of 34 leaves 128 bits."""
    table = np.array([math.factorial(n) for n in range(34)], object)

    def apply(a: Column) -> Column:
        given: Any = a.values
        bad: Any = (given < 0) | (given > 33)
        row = first_bad(bad, a.valid)
        if row is not None:
            raise NumericError(f"cannot compute {attempted(call, (a,), row)}: factorial needs a number from 0 to 33")
        return Column(stored(table[np.where(bad, 0, given)], call.type.physical), a.valid)

    return apply


BODIES = (
    Body("add", arithmetic),
    Body("sub", arithmetic),
    Body("mul", arithmetic),
    Body("neg", sign_change),
    Body("abs", sign_change),
    Body("div", division),
    Body("idiv", division, strict=_wide_division),
    Body("mod", division, strict=_wide_division),
    *(Body(name, _of_doubles) for name in _OF_DOUBLES),
    *(Body(name, _word_by_word) for name in _OF_BITS),
    Body("bit_count", strict=bit_count),
    Body("shift_left", strict=shift_left),
    Body("shift_right", _shift_right, strict=_wide_shift_right),
    Body("gcd", strict=divisors),
    Body("lcm", strict=divisors),
    Body("factorial", strict=factorial),
)

"""Source text for arithmetic, rounding and casts between numbers."""

from __future__ import annotations

from collections.abc import Callable

from catalog.types import MAX_DIGITS, TRAITS, Kind, Physical, SqlType
from ivm.analysis.ranges import fits
from ivm.render.scalars.maths import digits_of
from ivm.render.scalars.numeric import in_words
from ivm.render.scalars.writer import NotCompiledError, Value, Writer
from sql.ir.limits import is_exact, limits
from sql.ir.scalar import Call

DAY = 86_400_000_000
_LEAST = "(-9223372036854775807 - 1)"
_SIGNS = {"add": "+", "sub": "-", "mul": "*"}


def wide(writer: Writer, value: Value) -> Value:
    """The value as two words."""
    if len(value.words) == 2:
        return value
    return Value((value.word, writer.let(f"{value.word} >> 63")), value.valid)


def literal_word(value: int) -> str:
    """An int64 as source text."""
    return _LEAST if value == -(2**63) else str(value)


def check_word(writer: Writer, value: Value, type_: SqlType) -> None:
    """Fail where an int64 lies outside a type's range."""
    low, high = limits(type_)
    if low == -(2**63):
        return
    writer.fail(f"{value.word} > {high} or {value.word} < {low}", value.valid)


def check_wide(writer: Writer, words: tuple[str, str], lost: str, valid: str | None, type_: SqlType) -> None:
    """Fail where a 128-bit result was lost or lies outside its type: has more digits, or has a sign or over 64 bits."""
    if type_.kind is Kind.UBIGINT:
        writer.fail(f"{lost} or {words[1]} != 0", valid)
    elif type_.kind is Kind.DECIMAL:
        writer.fail(f"{lost} or exceeds({words[0]}, {words[1]}, {type_.precision})", valid)
    else:
        writer.fail(lost, valid)


def arithmetic(writer: Writer, call: Call, args: list[Value]) -> Value:
    """add, sub, mul."""
    valid = writer.both(*args)
    if call.type.is_float:
        return _rounded(writer, call, f"{args[0].word} {_SIGNS[call.function]} {args[1].word}", valid)
    if Physical.WIDE in (call.type.physical, *(a.type.physical for a in call.args)):
        return _wide_arithmetic(writer, call, args, valid)
    if in_words(call):
        result = Value((writer.let(f"{args[0].word} {_SIGNS[call.function]} {args[1].word}"),), valid)
    else:
        name, lost = writer.name(), writer.name()
        writer.line(f"{name}, {lost} = {call.function}_checked({args[0].word}, {args[1].word})")
        writer.fail(lost, valid)
        result = Value((name,), valid)
    if not fits(call):
        check_word(writer, result, call.type)
    return result


def _rounded(writer: Writer, call: Call, expression: str, valid: str | None) -> Value:
    """A DOUBLE, or the FLOAT nearest to it: for one operation on FLOATs that is what 32 bits would give."""
    single = call.type.kind is Kind.FLOAT
    return Value((writer.let(f"float64(float32({expression}))" if single else expression),), valid)


def _wide_arithmetic(writer: Writer, call: Call, args: list[Value], valid: str | None) -> Value:
    low, high, lost = writer.name(), writer.name(), writer.name()
    if call.function == "mul" and all(len(a.words) == 1 for a in args):
        writer.line(f"{low}, {high} = mul_signed({args[0].word}, {args[1].word})")
        lost = "False"
    else:
        words = ", ".join(word for a in args for word in wide(writer, a).words)
        writer.line(f"{low}, {high}, {lost} = wide_{call.function}({words})")
    if lost != "False" or not fits(call):
        check_wide(writer, (low, high), lost, valid, call.type)
    return _narrowed((low, high), valid, call.type)


def _narrowed(words: tuple[str, str], valid: str | None, type_: SqlType) -> Value:
    """What was checked to fit its type needs no high word if the type is narrow."""
    return Value(words if type_.physical is Physical.WIDE else words[:1], valid)


def sign_change(writer: Writer, call: Call, args: list[Value]) -> Value:
    """neg, abs."""
    (a,) = args
    if call.type.physical is not Physical.WIDE:
        if not call.type.is_float and not fits(call):
            writer.fail(f"{a.word} == {literal_word(limits(call.type)[0])}", a.valid)
        return Value((writer.let(f"-{a.word}" if call.function == "neg" else f"abs({a.word})"),), a.valid)
    low, high, lost = writer.name(), writer.name(), writer.name()
    writer.line(f"{low}, {high}, {lost} = wide_neg({', '.join(a.words)})")
    if call.function == "abs":
        positive = writer.let(f"{a.words[1]} >= 0")
        writer.fail(f"{lost} and not {positive}", a.valid)
        low = writer.let(f"{a.words[0]} if {positive} else {low}")
        return Value((low, writer.let(f"{a.words[1]} if {positive} else {high}")), a.valid)
    writer.fail(lost, a.valid)
    return Value((low, high), a.valid)


def division(writer: Writer, call: Call, args: list[Value]) -> Value:
    """div, idiv, mod."""
    valid = writer.both(*args)
    if call.type.is_float:
        form = "{} / {}" if call.function == "div" else "np.fmod({}, {})"
        return _rounded(writer, call, form.format(args[0].word, args[1].word), valid)
    if call.type.physical is Physical.WIDE:
        raise NotCompiledError(call.function)
    a, b = args[0].word, args[1].word
    writer.fail(f"{b} == 0", valid)
    if call.type.kind is not Kind.DECIMAL:
        writer.fail(f"{a} == {literal_word(limits(call.type)[0])} and {b} == -1", valid)
    # Under NULL anything may stand, so the divisor is made harmless.
    harmless = writer.let(f"1 if {b} == 0 or {b} == -1 and {a} == {_LEAST} else {b}")
    return Value((writer.let(f"{'truncated' if call.function == 'idiv' else 'remainder'}({a}, {harmless})"),), valid)


def rounding(writer: Writer, call: Call, args: list[Value]) -> Value:
    """round, floor, ceil."""
    a, source, target = args[0], call.args[0].type, call.type
    if source.kind is Kind.FLOAT and len(call.args) > 1 and digits_of(call):
        raise NotCompiledError(call.function)
    if source.is_float:
        return Value((writer.let(_round_double(writer, call, a)),), a.valid)
    keep = digits_of(call) if call.function in ("round", "trunc") else 0
    cut = max(source.scale - keep, 0)
    narrow = Physical.WIDE not in (source.physical, target.physical)
    if not narrow or target.is_float or cut > 18 or target.scale != source.scale - cut:
        raise NotCompiledError(call.function)
    if cut == 0:
        return a
    result = Value((writer.let(_CUTS[call.function].format(a.word, 10**cut)),), a.valid)
    check_word(writer, result, target)
    return result


_CUTS = {
    "round": "round_off({}, {})", "trunc": "truncated({}, {})", "floor": "{} // {}", "ceil": "ceiling({}, {})",
}  # fmt: skip


def _round_double(writer: Writer, call: Call, a: Value) -> str:
    if call.function in ("floor", "ceil"):
        return f"np.{call.function}({a.word})"
    digits = digits_of(call)
    return f"{call.function}_double({a.word}, {writer.double(10.0 ** abs(digits))}, {digits < 0})"


_OF_DOUBLE = {
    **{f: f"np.{f}({{}})" for f in ("sqrt", "exp", "log2", "log10", "sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "ln": "np.log({})", "asin": "np.arcsin({})", "acos": "np.arccos({})", "atan": "np.arctan({})",
    "asinh": "np.arcsinh({})", "acosh": "np.arccosh({})", "atanh": "np.arctanh({})", "cbrt": "np.cbrt({})",
    "cot": "1.0 / np.tan({})", "degrees": "np.degrees({})", "radians": "np.radians({})",
    "is_nan": "np.isnan({})", "is_inf": "np.isinf({})", "is_finite": "np.isfinite({})",
    "power": "np.power({}, {})", "atan2": "np.arctan2({}, {})", "log": "np.log10({1}) / np.log10({0})",
}  # fmt: skip


def of_double(writer: Writer, call: Call, args: list[Value]) -> Value:
    """The functions of DOUBLE that have no error."""
    return Value((writer.let(_OF_DOUBLE[call.function].format(*(a.word for a in args))),), writer.both(*args))


def sign(writer: Writer, call: Call, args: list[Value]) -> Value:
    """Sign."""
    (a,) = args
    word = a.words[-1]
    positive = f"{word} > 0" if len(a.words) == 1 else f"{word} > 0 or ({word} == 0 and {a.words[0]} != 0)"
    return Value((writer.let(f"int64({positive}) - int64({word} < 0)"),), a.valid)


_BITS = {"bit_and": "{} & {}", "bit_or": "{} | {}", "xor": "{} ^ {}", "bit_not": "~{}"}


def bits(writer: Writer, call: Call, args: list[Value]) -> Value:
    """bit_and, bit_or, xor, bit_not: word by word."""
    words = (_BITS[call.function].format(*words) for words in zip(*(a.words for a in args), strict=True))
    return Value(tuple(writer.let(word) for word in words), writer.both(*args))


def shift_right(writer: Writer, call: Call, args: list[Value]) -> Value:
    """shift_right."""
    if call.type.physical is Physical.WIDE:
        raise NotCompiledError(call.function)
    a, b = (arg.word for arg in args)
    inside = writer.let(f"{b} >= 0 and {b} < {TRAITS[call.type.kind].bits}")
    return Value((writer.let(f"{a} >> ({b} if {inside} else 0) if {inside} else 0"),), writer.both(*args))


def cast(writer: Writer, call: Call, args: list[Value]) -> Value:
    """Casts between numbers, BOOLEAN, DATE and TIMESTAMP."""
    a, source, target = args[0], call.args[0].type, call.type
    if source == target:
        return a
    if Physical.CODE in (source.physical, target.physical) or source.kind is Kind.NULL:
        raise NotCompiledError("cast")
    if target.kind is Kind.BOOLEAN:
        return Value((writer.let(" or ".join(f"{word} != 0" for word in a.words)),), a.valid)
    if target.kind is Kind.FLOAT:
        return _single(writer, source, a)
    if target.is_float:
        return Value((writer.let(_double(writer, source, a)),), a.valid)
    if source.is_float:
        return _from_double(writer, call, a)
    if source.kind is Kind.BOOLEAN:
        a = Value((writer.let(f"int64({a.word})"),), a.valid)
    if Physical.WIDE in (source.physical, target.physical):
        return _wide_cast(writer, call, a)
    return _word_cast(writer, call, a)


def _single(writer: Writer, source: SqlType, a: Value) -> Value:
    if source.kind is Kind.DOUBLE:
        single = writer.let(f"float64(float32({a.word}))")
        writer.fail(f"np.isinf({single}) and not np.isinf({a.word})", a.valid)
        return Value((single,), a.valid)
    if len(a.words) > 1 or source.kind is Kind.DECIMAL:
        raise NotCompiledError("cast")
    return Value((writer.let(f"float64(float32({a.word}))"),), a.valid)


def _double(writer: Writer, source: SqlType, a: Value) -> str:
    if source.physical is Physical.WIDE and source.scale:
        return f"wide_to_double({', '.join(a.words)}, {source.scale})"
    if source.physical is Physical.WIDE:
        return f"wide_to_float({', '.join(a.words)})"
    if source.scale == 0:
        return f"float64({a.word})"
    if source.precision <= 15:
        return f"float64({a.word}) / {float(10**source.scale)!r}"
    return f"decimal_to_double({a.word}, {10**source.scale}, {float(10**source.scale)!r})"


def _from_double(writer: Writer, call: Call, a: Value) -> Value:
    target = call.type
    if target.physical is Physical.WIDE:
        raise NotCompiledError("cast")
    low, high = limits(target)
    if target.kind is Kind.DECIMAL:
        rounded = writer.let(f"half_away({a.word} * {float(10**target.scale)!r})")
    else:
        rounded = writer.let(f"np.rint({a.word})")
    inside = writer.let(f"{rounded} >= {float(low)!r} and {rounded} < {float(high + 1)!r}")
    writer.fail(f"not {inside}", a.valid)
    return Value((writer.let(f"int64({rounded}) if {inside} else int64(0)"),), a.valid)


def _word_cast(writer: Writer, call: Call, a: Value) -> Value:
    source, target = call.args[0].type, call.type
    if not (is_exact(source) and is_exact(target)):
        raise NotCompiledError("cast")
    if source.is_moment and target.kind in (Kind.DATE, Kind.TIME):
        return Value((writer.let(f"{a.word} {'//' if target.kind is Kind.DATE else '%'} {DAY}"),), a.valid)
    digits = target.scale - source.scale
    factor = DAY if source.kind is Kind.DATE else 10 ** max(digits, 0)
    if digits < 0:
        a = Value((writer.let(f"round_off({a.word}, {10**-digits})"),), a.valid)
    if not fits(call):
        low, high = limits(target)
        writer.fail(f"{a.word} > {high // factor} or {a.word} < {literal_word(-(-low // factor))}", a.valid)
    return a if factor == 1 else Value((writer.let(f"{a.word} * {factor}"),), a.valid)


def _wide_cast(writer: Writer, call: Call, a: Value) -> Value:
    source, target = call.args[0].type, call.type
    digits, words = target.scale - source.scale, wide(writer, a).words
    low, high, lost = words[0], words[1], "False"
    if digits > 0:
        low, high, lost = writer.name(), writer.name(), writer.name()
        writer.line(f"{low}, {high}, {lost} = scale_up({words[0]}, {words[1]}, {min(digits, MAX_DIGITS)})")
    elif digits < 0:
        low, high = writer.name(), writer.name()
        writer.line(f"{low}, {high} = scale_down({words[0]}, {words[1]}, {-digits})")
    if target.physical is Physical.WIDE:
        if not fits(call):
            check_wide(writer, (low, high), lost, a.valid, target)
        return Value((low, high), a.valid)
    writer.fail(f"{lost} or not fits_int64({low}, {high})", a.valid)
    result = Value((low,), a.valid)
    check_word(writer, result, target)
    return result


Emit = Callable[[Writer, Call, list[Value]], Value]
STRICT: dict[str, Emit] = {
    "add": arithmetic, "sub": arithmetic, "mul": arithmetic, "neg": sign_change, "abs": sign_change,
    "div": division, "idiv": division, "mod": division,
    "round": rounding, "trunc": rounding, "floor": rounding, "ceil": rounding, "sign": sign,
    **dict.fromkeys(_OF_DOUBLE, of_double), **dict.fromkeys(_BITS, bits), "shift_right": shift_right,
}  # fmt: skip

"""Casts between all types: exact, or a NumericError that names the value."""

from __future__ import annotations

from typing import Any

import numpy as np

from catalog.calendar import DAY
from catalog.errors import NumericError
from catalog.types import BLOB, MAX_DIGITS, Kind, Physical, SqlType
from ivm.analysis.ranges import fits
from ivm.kernels.numbers import elementwise
from ivm.render.scalars.bodies.arithmetic import check_wide, check_word, literal_word, wide
from ivm.render.scalars.bodies.body import Body
from ivm.render.scalars.bodies.rounding import divide_rounding
from ivm.render.scalars.columns import both, constant, objects, single, stored
from ivm.render.scalars.failures import first_bad, shown
from ivm.render.scalars.functions import Apply, Context
from ivm.render.scalars.text_format import formatter
from ivm.render.scalars.text_memo import ERROR, FALSE, NULL, TRUE, TextMemo
from ivm.render.scalars.writer import NotCompiledError, Value, Writer
from ivm.trace.arrow import to_arrow
from ivm.trace.column import DTYPES, Array, Bools, Column
from sql.ir.blobs import blob_text
from sql.ir.limits import is_exact, limits
from sql.ir.scalar import Call
from sql.types.texts import reader


def cast(call: Call, context: Context) -> Apply:
    """cast(a) to the call's type; try_cast(a), which is NULL where there is no such value."""
    source, target = call.args[0].type, call.type
    if source.kind is Kind.NULL:
        null = constant(None, target.physical)
        return lambda a: null
    if source == target:
        return lambda a: a
    if source.kind is Kind.VARCHAR:
        memo = text_cast_memo(call, context)
        return memo.lookup
    if source.kind is Kind.UUID:  # which is kept as its text
        return lambda a: a
    if source.kind is Kind.BLOB:
        return _blob_to_text(context)
    if target.kind is Kind.VARCHAR:
        return _to_text(source, context)
    if target.kind is Kind.BOOLEAN:
        return _to_boolean(source)
    if target.kind is Kind.FLOAT:
        return _to_single(call)
    if target.is_float:
        return _to_double(source)
    if source.is_float:
        return _from_double(call)
    return _exact(call)


def _failure(column: Column, row: int, call: Call) -> NumericError:
    source = call.args[0].type
    value = shown(column, row, source)
    return NumericError(
        f"cannot cast {value} from {source} to {call.type}: the value is out of range; cast to a wider type"
    )


def _kept(bad: Any, a: Column, call: Call) -> Bools | None:
    """Which rows of the result hold a value, given where there is none; a cast raises if there is such a row."""
    row = first_bad(bad, a.valid)
    if row is None:
        return a.valid
    if call.function == "cast":
        raise _failure(a, row, call)
    return both(a.valid, ~bad)


def _exact(call: Call) -> Apply:
    source, target = call.args[0].type, call.type
    if target.kind is Kind.TIME and source.is_moment:
        return lambda a: Column(a.values % DAY, a.valid)
    if Kind.DATE in (source.kind, target.kind):
        factor, divisor = (DAY, 1) if source.kind is Kind.DATE else (1, DAY)
        mode = "floor"
    else:
        digits = target.scale - source.scale
        factor, divisor = (10**digits, 1) if digits >= 0 else (1, 10**-digits)
        mode = "round"
    safe, allowed = fits(call), limits(target)
    wide = Physical.WIDE in (source.physical, target.physical) or divisor > 10**18 or factor > 10**18

    def apply(a: Column) -> Column:
        values: Any = objects(a.values) if wide else a.values.astype(np.int64, copy=False)
        if divisor > 1:
            values = divide_rounding(values, divisor, mode)
        valid = a.valid
        if not safe:
            # Before the scaling: afterwards it might have wrapped.
            bad = ((values > allowed[1] // factor) | (values < -(-allowed[0] // factor))).astype(np.bool_)
            valid = _kept(bad, a, call)
            values = np.where(bad, 0, values)
        if factor > 1:
            values = values * factor
        if wide and valid is not None:
            values = np.where(valid, values, 0)
        return Column(stored(values, target.physical), valid)

    return apply


def _to_boolean(source: SqlType) -> Apply:
    if source.physical is Physical.WIDE:
        return lambda a: Column((a.values != 0).any(axis=1), a.valid)
    return lambda a: Column(a.values != 0, a.valid)


def _to_double(source: SqlType) -> Apply:
    scale = source.scale
    if scale == 0:
        return lambda a: Column(_floats(a.values), a.valid)
    power = 10.0**scale

    def apply(a: Column) -> Column:
        values: Any = a.values
        if values.ndim == 1 and source.precision <= 15:
            return Column(values / power, a.valid)
        if values.ndim == 2 or scale > 18:
            values = objects(values)
        # Beyond 2^53, DuckDB converts the whole part and the fraction one by one.
        small = np.abs(values) <= 1 << 53
        direct = values.astype(np.float64) / power
        whole = divide_rounding(np.abs(values), 10**scale, "floor")
        rest = (np.abs(values) - whole * 10**scale).astype(np.float64)
        split = (whole.astype(np.float64) + rest / power) * np.where(values < 0, -1.0, 1.0)
        return Column(np.where(small.astype(np.bool_), direct, split), a.valid)

    return apply


def _to_single(call: Call) -> Apply:
    source = call.args[0].type
    if source.kind is Kind.DECIMAL:
        return lambda a: Column(_decimal_to_single(a.values, source.scale), a.valid)
    if source.kind is not Kind.DOUBLE:
        return lambda a: Column(single(a.values if a.values.ndim == 1 else _floats(a.values)), a.valid)

    def apply(a: Column) -> Column:
        nearest = single(a.values)
        valid = _kept(np.isinf(nearest) & ~np.isinf(a.values), a, call)
        return Column(nearest, valid)

    return apply


def _decimal_to_single(values: Array, scale: int) -> Array:
    """As DuckDB: with more than 24 bits, the whole part and the fraction are converted one by one."""
    exact: Any = objects(values) if values.ndim == 2 or scale > 18 else values.astype(np.int64)
    power, small = np.float32(10.0**scale), np.abs(exact) <= 1 << 24
    whole = divide_rounding(exact, 10**scale, "trunc")
    rest = exact - whole * 10**scale
    split = whole.astype(np.float32) + rest.astype(np.float32) / power
    direct = np.where(small, exact, 0).astype(np.float32) / power
    return np.where(small.astype(np.bool_), direct, split).astype(np.float64)


def _floats(values: Array) -> Array:
    return values.astype(np.float64) if values.ndim == 1 else objects(values).astype(np.float64)


def _from_double(call: Call) -> Apply:
    target = call.type
    low, high = limits(target)
    decimal = target.kind is Kind.DECIMAL
    power = 10.0**target.scale

    def apply(a: Column) -> Column:
        given: Any = a.values
        scaled = given * power if decimal else given
        rounded = elementwise.half_away(scaled) if decimal else np.rint(scaled)
        # A range's upper end may have no DOUBLE of its own; the next power above it has.
        inside = (rounded >= float(low)) & (rounded < float(high + 1))
        valid = _kept(~inside, a, call)
        rounded = np.where(inside, rounded, 0.0)
        if target.physical is not Physical.WIDE:
            return Column(rounded.astype(DTYPES[target.physical]), valid)
        exact = np.empty(len(rounded), object)
        exact[:] = [int(v) for v in rounded]
        return Column(stored(exact, target.physical), valid)

    return apply


def _to_text(source: SqlType, context: Context) -> Apply:
    text_of, dictionary = formatter(source), context.dictionary

    def apply(a: Column) -> Column:
        values = objects(a.values) if a.values.ndim == 2 else a.values
        if a.valid is not None:
            values = np.where(a.valid, values, np.zeros((), values.dtype))
        # Zeros of both signs are equal, and are not written alike.
        told_apart = np.ascontiguousarray(values).view(np.int64) if values.dtype == np.float64 else values
        _, first, places = np.unique(told_apart, return_index=True, return_inverse=True)
        codes = np.array([dictionary.code(text_of(v)) for v in values[first].tolist()], np.int32)
        return Column(codes[places.reshape(-1)], a.valid)

    return apply


def _blob_to_text(context: Context) -> Apply:
    dictionary = context.dictionary

    def apply(a: Column) -> Column:
        distinct, places = np.unique(a.values, return_inverse=True)
        blobs = to_arrow(Column(distinct.astype(np.int32)), BLOB, dictionary.now()).to_pylist()
        codes = dictionary.codes([blob_text(blob) for blob in blobs])
        return Column(codes[places.reshape(-1)], a.valid)

    return apply


def text_cast_memo(call: Call, context: Context) -> TextMemo:
    """The memo of a cast from text."""
    target, dictionary = call.type, context.dictionary
    read = reader(target)
    assert read is not None, "the binder casts no text to other types"
    trying = call.function == "try_cast"
    failed = NULL if trying else ERROR

    def compute(codes: Array) -> tuple[Any, Array | None]:
        texts = dictionary.now().strings(codes)
        states = np.full(len(texts), TRUE, np.int8)
        results: list[Any] = [0] * len(texts)
        for i, text in enumerate(texts):
            try:
                results[i] = read(text)
            except ValueError:
                states[i] = failed
        if target.kind is Kind.BOOLEAN:
            states[(states == TRUE) & ~np.array(results, np.bool_)] = FALSE
            return states, None
        if target.physical is Physical.CODE:
            return states, dictionary.codes([result or "" for result in results])
        if target.physical is Physical.WIDE:
            return states, stored(np.array(results, object), Physical.WIDE)
        return states, np.array(results, DTYPES[target.physical])

    def failure(text: str) -> str:
        return f"cannot cast {text!r} to {target}: it is no such value; correct the text or filter it out first"

    message = None if trying else failure
    return context.memo((call.function, target), lambda: TextMemo(dictionary, compute, target.physical, message))


def _cast_in_loop(writer: Writer, call: Call, args: list[Value]) -> Value:
    """Of numbers, BOOLEAN, DATE and TIMESTAMP."""
    a, source, target = args[0], call.args[0].type, call.type
    if source == target:
        return a
    if Physical.CODE in (source.physical, target.physical) or source.kind is Kind.NULL:
        raise NotCompiledError("cast")
    if target.kind is Kind.BOOLEAN:
        return Value((writer.let(" or ".join(f"{word} != 0" for word in a.words)),), a.valid)
    if target.kind is Kind.FLOAT:
        return _single_in_loop(writer, source, a)
    if target.is_float:
        return Value((writer.let(_double_in_loop(writer, source, a)),), a.valid)
    if source.is_float:
        return _from_double_in_loop(writer, call, a)
    if source.kind is Kind.BOOLEAN:
        a = Value((writer.let(f"int64({a.word})"),), a.valid)
    if Physical.WIDE in (source.physical, target.physical):
        return _wide_cast(writer, call, a)
    return _word_cast(writer, call, a)


def _single_in_loop(writer: Writer, source: SqlType, a: Value) -> Value:
    if source.kind is Kind.DOUBLE:
        single = writer.let(f"float64(float32({a.word}))")
        writer.fail(f"np.isinf({single}) and not np.isinf({a.word})", a.valid)
        return Value((single,), a.valid)
    if len(a.words) > 1 or source.kind is Kind.DECIMAL:
        raise NotCompiledError("cast")
    return Value((writer.let(f"float64(float32({a.word}))"),), a.valid)


def _double_in_loop(writer: Writer, source: SqlType, a: Value) -> str:
    if source.physical is Physical.WIDE and source.scale:
        return f"wide_to_double({', '.join(a.words)}, {source.scale})"
    if source.physical is Physical.WIDE:
        return f"wide_to_float({', '.join(a.words)})"
    if source.scale == 0:
        return f"float64({a.word})"
    if source.precision <= 15:
        return f"float64({a.word}) / {float(10**source.scale)!r}"
    return f"decimal_to_double({a.word}, {10**source.scale}, {float(10**source.scale)!r})"


def _from_double_in_loop(writer: Writer, call: Call, a: Value) -> Value:
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
        low, high, lost = writer.lets(f"scale_up({words[0]}, {words[1]}, {min(digits, MAX_DIGITS)})", 3)
    elif digits < 0:
        low, high = writer.lets(f"scale_down({words[0]}, {words[1]}, {-digits})", 2)
    if target.physical is Physical.WIDE:
        if not fits(call):
            check_wide(writer, (low, high), lost, a.valid, target)
        return Value((low, high), a.valid)
    writer.fail(f"{lost} or not fits_int64({low}, {high})", a.valid)
    result = Value((low,), a.valid)
    check_word(writer, result, target)
    return result


BODIES = (
    Body("cast", strict=cast, loop=_cast_in_loop),
    Body("try_cast", strict=cast),
)

"""Casts between all types: exact, or a NumericError that names the value."""

from __future__ import annotations

from typing import Any

import numpy as np

from ivm.analysis.ranges import fits
from ivm.catalog.calendar import DAY
from ivm.catalog.errors import NumericError
from ivm.catalog.types import BLOB, MAX_DIGITS, Kind, Physical, SqlType
from ivm.kernels.numbers import elementwise
from ivm.render.scalars.bodies.arithmetic import outside_wide, outside_word, wide
from ivm.render.scalars.bodies.body import Body
from ivm.render.scalars.columns import both, constant, objects, stored
from ivm.render.scalars.failures import Attempt, attempted, first_bad, formatter
from ivm.render.scalars.functions import Apply, Context
from ivm.render.scalars.writer import NotCompiledError, Script, Value
from ivm.sql.ir.asking import keeps_codes
from ivm.sql.ir.blobs import blob_text
from ivm.sql.ir.limits import is_exact, limits
from ivm.sql.ir.scalar import Call
from ivm.trace.columns.arrow import to_arrow
from ivm.trace.columns.column import Array, Column


def cast(script: Script, call: Call, args: list[Value]) -> Value:
    """cast(a) to the call's type; try_cast(a), which is NULL where there is no such value."""
    (a,), source, target = args, call.args[0].type, call.type
    if source == target:
        return a
    if Physical.CODE in (source.physical, target.physical) or source.kind is Kind.NULL:
        raise NotCompiledError(call.function)
    if target.kind is Kind.BOOLEAN:
        return Value((script.let(" | ".join(f"({word} != 0)" for word in a.words)),), a.valid)
    if target.kind is Kind.FLOAT:
        return _to_single(script, call, a)
    if target.is_float:
        return Value((script.let(_double(source, a)),), a.valid)
    if source.is_float:
        return _from_double(script, call, a)
    if source.kind is Kind.BOOLEAN:
        a = Value((script.let(f"int64({a.word})"),), a.valid)
    if Physical.WIDE in (source.physical, target.physical):
        return _of_wide(script, call, a)
    return _of_words(script, call, a)


def _out_of_range(attempt: Attempt) -> NumericError:
    call, value = attempt.call, attempt.shown(0)
    return NumericError(
        f"cannot cast {value} from {call.args[0].type} to {call.type}: the value is out of range; cast to a wider type"
    )


def _kept(script: Script, call: Call, valid: str | None, bad: str) -> str | None:
    """Where the result holds a value, given where there is none; a cast raises if there is such a row."""
    if call.function == "cast":
        script.fail(bad, valid, _out_of_range)
        return valid
    return script.let(f"({bad}) ^ True" if valid is None else f"{valid} & (({bad}) ^ True)")


def _to_single(script: Script, call: Call, a: Value) -> Value:
    source = call.args[0].type
    if source.kind is Kind.DOUBLE:
        single = script.let(f"float64(float32({a.word}))")
        return Value((single,), _kept(script, call, a.valid, f"np.isinf({single}) & (np.isinf({a.word}) ^ True)"))
    if source.kind is Kind.HUGEINT:  # which DuckDB makes a DOUBLE first
        return Value((script.let(f"float64(float32({_double(source, a)}))"),), a.valid)
    if source.kind is Kind.DECIMAL or source.physical is Physical.WIDE:
        return Value((script.let(f"wide_to_single({_words(a)}, {source.scale})"),), a.valid)
    return Value((script.let(f"float64(float32({a.word}))"),), a.valid)


def _double(source: SqlType, a: Value) -> str:
    if source.physical is Physical.WIDE and source.scale == 0:
        return f"wide_to_float({_words(a)})"
    if source.scale == 0:
        return f"float64({a.word})"
    if source.precision <= 15:  # numerator and denominator are doubles
        return f"float64({a.word}) / {float(10**source.scale)!r}"
    return f"wide_to_double({_words(a)}, {source.scale})"


def _words(a: Value) -> str:
    """The two words of 128 bits."""
    return ", ".join(a.words) if len(a.words) == 2 else f"{a.word}, {a.word} >> 63"


def _from_double(script: Script, call: Call, a: Value) -> Value:
    target = call.type
    if target.physical is Physical.WIDE:
        raise NotCompiledError(call.function)
    low, high = limits(target)
    if target.kind is Kind.DECIMAL:
        rounded = script.let(f"half_away({a.word} * {float(10**target.scale)!r})")
    else:
        rounded = script.let(f"np.rint({a.word})")
    # The end of a range may have no DOUBLE of its own; the next power beyond it has.
    least = f"> {float(low - 1)!r}" if target.kind is Kind.DECIMAL else f">= {float(low)!r}"
    inside = script.let(f"({rounded} {least}) & ({rounded} < {float(high + 1)!r})")
    valid = _kept(script, call, a.valid, f"{inside} ^ True")
    return Value((script.let(f"int64(where({inside}, {rounded}, 0.0))"),), valid)


def _of_words(script: Script, call: Call, a: Value) -> Value:
    source, target = call.args[0].type, call.type
    if not (is_exact(source) and is_exact(target)):
        raise NotCompiledError(call.function)
    if source.is_moment:
        return _of_moment(script, call, a)
    digits = target.scale - source.scale
    return _scaled(script, call, a, 10 ** max(digits, 0), 10 ** max(-digits, 0))


def _of_moment(script: Script, call: Call, a: Value) -> Value:
    """See `moment_as`."""
    target, per_day, word = call.type, call.args[0].type.per_day, a.word
    if target.kind not in (Kind.DATE, Kind.TIME):
        return _scaled(script, call, a, max(target.per_day // per_day, 1), max(per_day // target.per_day, 1))
    if per_day > DAY:
        word, per_day = script.let(f"round_off({word}, {per_day // DAY})"), DAY
    form = f"{word} // {per_day}" if target.kind is Kind.DATE else f"{word} % {per_day} * {DAY // per_day}"
    return Value((script.let(form),), a.valid)


def _scaled(script: Script, call: Call, a: Value, factor: int, divisor: int) -> Value:
    """The word times the factor, or through the divisor, rounded half away from zero."""
    word, valid = a.word, a.valid
    if divisor > 1:
        word = script.let(f"round_off({word}, {divisor})")
    if not fits(call):  # asked before the scaling: afterwards it might have wrapped
        low, high = limits(call.type)
        valid = _kept(script, call, valid, outside_word(word, -(-low // factor), high // factor))
    return Value((word if factor == 1 else script.let(f"{word} * {factor}"),), valid)


def _of_wide(script: Script, call: Call, a: Value) -> Value:
    source, target = call.args[0].type, call.type
    digits, (low, high), lost = target.scale - source.scale, wide(script, a).words, "False"
    if digits > 0:
        low, high, lost = script.lets(f"scale_up({low}, {high}, {min(digits, MAX_DIGITS)})", 3)
    elif digits < 0:
        low, high = script.lets(f"scale_down({low}, {high}, {-digits})", 2)
    if target.physical is Physical.WIDE:
        bad = None if fits(call) else outside_wide((low, high), lost, target)
        return Value((low, high), a.valid if bad is None else _kept(script, call, a.valid, bad))
    bad = f"{lost} | (fits_int64({low}, {high}) ^ True) | {outside_word(low, *limits(target))}"
    return Value((low,), _kept(script, call, a.valid, bad))


def _otherwise(call: Call, context: Context) -> Apply | None:
    """To text, and what no loop computes."""
    source, target = call.args[0].type, call.type
    if source.kind is Kind.NULL:
        null = constant(None, target.physical)
        return lambda a: null
    if source == target or keeps_codes(source, target):
        return lambda a: a
    if target.kind is Kind.VARCHAR:
        return _to_text(source, context)
    return _double_to_wide(call) if source.is_float and target.physical is Physical.WIDE else None


def _double_to_wide(call: Call) -> Apply:
    low, high = limits(call.type)
    decimal, power = call.type.kind is Kind.DECIMAL, 10.0**call.type.scale

    def apply(a: Column) -> Column:
        given: Any = a.values
        rounded = elementwise.half_away(given * power) if decimal else np.rint(given)
        above = rounded > float(low - 1) if decimal else rounded >= float(low)  # as in `_from_double`
        inside, valid = above & (rounded < float(high + 1)), a.valid
        row = first_bad(~inside, valid)
        if row is not None:
            if call.function == "cast":
                raise _out_of_range(attempted(call, (a,), row))
            valid = both(valid, inside)
        exact = np.empty(len(rounded), object)
        exact[:] = [int(v) for v in np.where(inside, rounded, 0.0)]
        return Column(stored(exact, Physical.WIDE), valid)

    return apply


def _to_text(source: SqlType, context: Context) -> Apply:
    text_of = formatter(source)

    def apply(a: Column) -> Column:
        values = objects(a.values) if a.values.ndim == 2 else a.values
        if a.valid is not None:
            values = np.where(a.valid, values, np.zeros((), values.dtype))
        # Zeros of both signs are equal, and are not written alike.
        told_apart = np.ascontiguousarray(values).view(np.int64) if values.dtype == np.float64 else values
        _, first, places = np.unique(told_apart, return_index=True, return_inverse=True)
        some = values[first]
        texts = _of_blobs(some, context) if source.kind is Kind.BLOB else [text_of(v) for v in some.tolist()]
        return Column(context.dictionary.codes(texts)[places.reshape(-1)], a.valid)

    return apply


def _of_blobs(codes: Array, context: Context) -> list[str]:
    blobs = to_arrow(Column(codes.astype(np.int32)), BLOB, context.dictionary.now()).to_pylist()
    return [blob_text(blob) for blob in blobs]


BODIES = (
    Body("cast", cast, strict=_otherwise),
    Body("try_cast", cast, strict=_otherwise),
)

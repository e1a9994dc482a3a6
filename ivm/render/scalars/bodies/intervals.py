"""INTERVAL: two words, of which the low one has the months and the days, the high one nanoseconds."""

from __future__ import annotations

from ivm.catalog.calendar import DAY
from ivm.catalog.errors import NumericError
from ivm.catalog.intervals import MONTH_DAYS, MOST_MICROS, NANOS, TOO_LONG
from ivm.render.scalars.bodies.body import Body
from ivm.render.scalars.failures import Attempt
from ivm.render.scalars.writer import Script, Value
from ivm.sql.ir.scalar import Call

_MASK, _SIGN = (1 << 32) - 1, 1 << 31
_SHIFT = 13
"""A day is a multiple of so many bits; what is left of it, times all days of an interval, is within 64 bits."""
_MOST_DAYS = ((1 << 63) - 1) // DAY - MOST_MICROS // DAY - 1
"""So many days and any time are within 64 bits."""


def interval(script: Script, call: Call, args: list[Value]) -> Value:
    """interval(months, days, microseconds)."""
    months, days, micros = (arg.word for arg in args)
    valid = script.both(*args)
    script.fail(f"({micros} > {MOST_MICROS}) | ({micros} < {-MOST_MICROS})", valid, _too_long)
    return _made(script, months, days, micros, valid)


def _too_long(attempt: Attempt) -> NumericError:
    return NumericError(f"cannot make an INTERVAL of {attempt.shown(2)} microseconds: {TOO_LONG}")


def days_and_time(script: Script, call: Call, args: list[Value]) -> Value:
    """days_and_time(microseconds)."""
    (micros,) = args
    days = script.let(f"toward_zero({micros.word}, {DAY})")
    return _made(script, "0", days, script.let(f"{micros.word} - {days} * {DAY}"), micros.valid)


def _made(script: Script, months: str, days: str, micros: str, valid: str | None) -> Value:
    low = script.let(f"({days} << 32) | ({months} & {_MASK})")
    return Value((low, script.let(f"{micros} * {NANOS}")), valid)


def _months(value: Value) -> str:
    return f"(({value.words[0]} & {_MASK}) ^ {_SIGN}) - {_SIGN}"


def _days(value: Value) -> str:
    return f"{value.words[0]} >> 32"


def _micros(value: Value) -> str:
    return f"{value.words[1]} // {NANOS}"


def months(script: Script, call: Call, args: list[Value]) -> Value:
    """interval_months(a)."""
    return Value((script.let(_months(args[0])),), args[0].valid)


def days(script: Script, call: Call, args: list[Value]) -> Value:
    """interval_days(a)."""
    return Value((script.let(_days(args[0])),), args[0].valid)


def micros(script: Script, call: Call, args: list[Value]) -> Value:
    """interval_micros(a)."""
    return Value((script.let(_micros(args[0])),), args[0].valid)


def _all_days(script: Script, value: Value) -> str:
    """The days, a month counting 30 of them."""
    return script.let(f"({_months(value)}) * {MONTH_DAYS} + ({_days(value)})")


def length(script: Script, call: Call, args: list[Value]) -> Value:
    """interval_length(a)."""
    (a,) = args
    odd = script.let(f"{_all_days(script, a)} * {DAY >> _SHIFT}")
    time = script.let(_micros(a))
    low, high, _ = script.lets(f"wide_add({odd} << {_SHIFT}, {odd} >> {64 - _SHIFT}, {time}, {time} >> 63)", 3)
    return Value((low, high), a.valid)


def length_in_word(script: Script, call: Call, args: list[Value]) -> Value:
    """epoch_us(a)."""
    (a,) = args
    all_days = _all_days(script, a)
    script.fail(f"({all_days} > {_MOST_DAYS}) | ({all_days} < {-_MOST_DAYS})", a.valid)
    return Value((script.let(f"{all_days} * {DAY} + ({_micros(a)})"),), a.valid)


BODIES = (
    Body("interval", interval),
    Body("days_and_time", days_and_time),
    Body("interval_months", months),
    Body("interval_days", days),
    Body("interval_micros", micros),
    Body("interval_length", length),
    Body("epoch_us of INTERVAL", length_in_word),
)

"""Source text for the calendar functions."""

from __future__ import annotations

from collections.abc import Callable

from catalog.types import Kind
from ivm.render.scalars.date_parts import CLOCK, MONTHS
from ivm.render.scalars.dates import DAY, part_of
from ivm.render.scalars.emit_logic import EmitScalar
from ivm.render.scalars.emit_numbers import Emit, arithmetic, check_word
from ivm.render.scalars.writer import NotCompiledError, Value, Writer
from sql.ir.limits import limits
from sql.ir.scalar import Call

_OF_DAYS = {
    "year": "year_of({})", "month": "month_of({})", "day": "day_of_month({})",
    "quarter": "(month_of({}) - 1) // 3 + 1", "dow": "({} + 4) % 7", "isodow": "({} + 3) % 7 + 1",
    "doy": "day_of_year({})", "week": "iso_week({})", "isoyear": "iso_year({})",
}  # fmt: skip
_OF_CLOCK = {
    "hour": "{} // 3600000000", "minute": "{} // 60000000 % 60", "second": "{} // 1000000 % 60",
    "millisecond": "{} // 1000 % 60000", "microsecond": "{} % 60000000",
}  # fmt: skip


def _days(writer: Writer, call: Call, place: int, value: Value) -> str:
    return value.word if call.args[place].type.kind is Kind.DATE else writer.let(f"{value.word} // {DAY}")


def extract(writer: Writer, call: Call, emit: EmitScalar) -> Value:
    """extract; the rarer parts have no compiled form."""
    part, value = part_of(call), emit(writer, call.args[1])
    if part in _OF_DAYS:
        return Value((writer.let(_OF_DAYS[part].format(_days(writer, call, 1, value))),), value.valid)
    if part not in _OF_CLOCK:
        raise NotCompiledError(part)
    if call.args[1].type.kind is Kind.DATE:
        return Value((writer.let("int64(0)"),), value.valid)
    clock = writer.let(f"{value.word} % {DAY}")
    return Value((writer.let(_OF_CLOCK[part].format(clock)),), value.valid)


def date_trunc(writer: Writer, call: Call, emit: EmitScalar) -> Value:
    """date_trunc."""
    part, value = part_of(call), emit(writer, call.args[1])
    if part in CLOCK and call.args[1].type.kind is Kind.TIMESTAMP:
        return Value((writer.let(f"{value.word} - {value.word} % {CLOCK[part]}"),), value.valid)
    days = _days(writer, call, 1, value)
    if part in MONTHS:
        days = writer.let(f"first_of_period({days}, {MONTHS[part]})")
    elif part == "week":
        days = writer.let(f"{days} - ({days} + 3) % 7")
    elif part != "day" and part not in CLOCK:
        raise NotCompiledError(part)
    if call.type.kind is Kind.DATE:
        return Value((days,), value.valid)
    low, high = limits(call.type)
    writer.fail(f"{days} > {high // DAY} or {days} < {-(-low // DAY)}", value.valid)
    return Value((writer.let(f"{days} * {DAY}"),), value.valid)


def add_months(writer: Writer, call: Call, args: list[Value]) -> Value:
    """add_months."""
    valid = writer.both(*args)
    days = _days(writer, call, 0, args[0])
    shifted = Value((writer.let(f"shift_months({days}, {args[1].word})"),), valid)
    if call.type.kind is Kind.DATE:
        check_word(writer, shifted, call.type)
        return shifted
    low, high = limits(call.type)
    writer.fail(f"{shifted.word} > {high // DAY} or {shifted.word} < {-(-low // DAY)}", valid)
    result = Value((writer.let(f"{shifted.word} * {DAY} + {args[0].word} % {DAY}"),), valid)
    check_word(writer, result, call.type)
    return result


def added(writer: Writer, call: Call, args: list[Value]) -> Value:
    """add_days, add_micros."""
    return arithmetic(writer, Call("add", call.args, call.type), args)


def days_between(writer: Writer, call: Call, args: list[Value]) -> Value:
    """days_between."""
    return Value((writer.let(f"{args[0].word} - {args[1].word}"),), writer.both(*args))


def micros_between(writer: Writer, call: Call, args: list[Value]) -> Value:
    """micros_between."""
    return arithmetic(writer, Call("sub", call.args, call.type), args)


def last_day(writer: Writer, call: Call, args: list[Value]) -> Value:
    """last_day."""
    result = Value((writer.let(f"last_of_month({args[0].word})"),), args[0].valid)
    check_word(writer, result, call.type)
    return result


def date_diff(writer: Writer, call: Call, emit: EmitScalar) -> Value:
    """date_diff; the rarer parts have no compiled form."""
    part = part_of(call)
    a, b = (emit(writer, arg) for arg in call.args[1:])
    valid = writer.both(a, b)
    of_day = call.args[1].type.kind is Kind.DATE
    if part in CLOCK:
        form = f"{{}} * {DAY // CLOCK[part]}" if of_day else f"{{}} // {CLOCK[part]}"
    elif part in MONTHS:
        form = f"period_of({{}}, {MONTHS[part]})"
    elif part == "day":
        form = "{}"
    else:
        raise NotCompiledError(part)
    if part not in CLOCK:
        a, b = (Value((_days(writer, call, 1, value),), value.valid) for value in (a, b))
    return Value((writer.let(f"{form.format(b.word)} - {form.format(a.word)}"),), valid)


STRICT: dict[str, Emit] = {
    "add_months": add_months, "add_days": added, "add_micros": added, "days_between": days_between,
    "micros_between": micros_between, "last_day": last_day, "to_micros": lambda writer, call, args: args[0],
}  # fmt: skip
LAZY: dict[str, Callable[[Writer, Call, EmitScalar], Value]] = {
    "extract": extract, "date_trunc": date_trunc, "date_diff": date_diff,
}  # fmt: skip

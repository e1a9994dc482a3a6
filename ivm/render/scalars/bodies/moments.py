"""Dates and timestamps: DATE as days, TIMESTAMP as microseconds; the calendar is `ivm.catalog.calendar`."""

from __future__ import annotations

from functools import partial

from ivm.analysis.ranges import fits
from ivm.catalog.calendar import AROUND_CLOCK, CLOCK, DAY, MONTHS, PARTS_OF_DAY
from ivm.catalog.errors import NumericError
from ivm.catalog.types import Kind
from ivm.render.scalars.bodies.arithmetic import arithmetic, check_word
from ivm.render.scalars.bodies.body import Body
from ivm.render.scalars.failures import Problem
from ivm.render.scalars.writer import Script, Value
from ivm.sql.ir.limits import TIMESTAMP_RANGE, limits
from ivm.sql.ir.scalar import Call, Literal

_JULIAN = 2440588.0
"""The Julian day number of 1970-01-01."""


def now(script: Script, call: Call, args: list[Value]) -> Value:
    """now(): never met, since the transforms have made a column of it."""
    raise AssertionError("the clock is a table where anything runs")


def _part_of(call: Call) -> str:
    """The literal part of a call, which the binder has given its one name."""
    literal = call.args[0]
    assert isinstance(literal, Literal), "a part is a literal"
    return str(literal.value)


def _is_date(call: Call, place: int) -> bool:
    return call.args[place].type.kind is Kind.DATE


def _days(script: Script, call: Call, place: int, value: Value) -> str:
    return value.word if _is_date(call, place) else script.let(f"{value.word} // {DAY}")


def extract(script: Script, call: Call, args: list[Value]) -> Value:
    """extract(part, DATE | TIMESTAMP); 'epoch' and 'julian' are DOUBLE."""
    part, (value,) = _part_of(call), args
    a, of_day = value.word, _is_date(call, 1)
    if part in PARTS_OF_DAY:
        form = f"{PARTS_OF_DAY[part].__name__}({_days(script, call, 1, value)})"
    elif part == "epoch":
        form = f"{a} * 86400.0" if of_day else f"{a} / 1e6"
    elif part == "julian":
        form = f"{a} + {_JULIAN}" if of_day else f"{a} // {DAY} + {_JULIAN} + {a} % {DAY} / {DAY}"
    else:
        form = "int64(0)" if of_day else f"{a} % {AROUND_CLOCK[part]} // {CLOCK[part]}"
    return Value((script.let(form),), value.valid)


def date_trunc(script: Script, call: Call, args: list[Value]) -> Value:
    """date_trunc(part, DATE | TIMESTAMP)."""
    part, (value,) = _part_of(call), args
    if part in CLOCK and not _is_date(call, 1):
        return Value((script.let(f"{value.word} - {value.word} % {CLOCK[part]}"),), value.valid)
    days = _days(script, call, 1, value)
    if part in MONTHS:
        days = script.let(f"first_of_period({days}, {MONTHS[part]})")
    elif part == "isoyear":
        days = script.let(f"first_of_iso_year({days})")
    elif part in ("week", "yearweek"):
        days = script.let(f"monday({days})")
    if call.type.kind is Kind.DATE:
        return Value((days,), value.valid)
    _check_days(script, call, days, value.valid)
    return Value((script.let(f"{days} * {DAY}"),), value.valid)


def _check_days(script: Script, call: Call, days: str, valid: str | None) -> None:
    """Fail where a day has no TIMESTAMP."""
    low, high = limits(call.type)
    script.fail(f"({days} > {high // DAY}) | ({days} < {-(-low // DAY)})", valid)


def add_months(script: Script, call: Call, args: list[Value]) -> Value:
    """add_months(DATE | TIMESTAMP, INTEGER): the same day of the month, or its last."""
    valid = script.both(*args)
    shifted = script.let(f"shift_months({_days(script, call, 0, args[0])}, {args[1].word})")
    if call.type.kind is not Kind.DATE:
        _check_days(script, call, shifted, valid)
        shifted = script.let(f"{shifted} * {DAY} + {args[0].word} % {DAY}")
    result = Value((shifted,), valid)
    check_word(script, result, call.type)
    return result


def last_day(script: Script, call: Call, args: list[Value]) -> Value:
    """last_day(DATE)."""
    result = Value((script.let(f"last_of_month({args[0].word})"),), args[0].valid)
    check_word(script, result, call.type)
    return result


def from_micros(script: Script, call: Call, args: list[Value]) -> Value:
    """from_micros(BIGINT)."""
    if not fits(call):
        check_word(script, args[0], call.type)
    return args[0]


def date_diff(script: Script, call: Call, args: list[Value]) -> Value:
    """date_diff(part, a, b): the boundaries of the part that lie between a and b."""
    part, of_day = _part_of(call), _is_date(call, 1)
    valid = script.both(*args)
    if part in CLOCK:
        form = f"{{}} * {DAY // CLOCK[part]}" if of_day else f"{{}} // {CLOCK[part]}"
        words = [value.word for value in args]
    else:
        forms = {"day": "{}", "week": "{}", "isoyear": "iso_year({})"}
        form = f"period_of({{}}, {MONTHS[part]})" if part in MONTHS else forms[part]
        words = [_days(script, call, 1, value) for value in args]
    start, end = (form.format(word) for word in words)
    between = f"toward_zero({end} - {start}, 7)" if part == "week" else f"{end} - {start}"
    return Value((script.let(between),), valid)


_UNITS = {"day": DAY, "week": 7 * DAY, **CLOCK}


def date_sub(script: Script, call: Call, args: list[Value]) -> Value:
    """date_sub(part, a, b): the whole parts between two timestamps."""
    part, (a, b) = _part_of(call), (value.word for value in args)
    if part in _UNITS:
        form = f"toward_zero({b} - {a}, {_UNITS[part]})"
    else:
        form = f"toward_zero(whole_months({a}, {b}), {MONTHS.get(part, 12)})"
    return Value((script.let(form),), script.both(*args))


_MOST_YEARS = 5_877_641
"""Years that a DATE reaches."""
_MOST_DAYS = TIMESTAMP_RANGE[1] // DAY - 1


def _made_days(script: Script, call: Call, args: list[Value]) -> str:
    year, month, day = (arg.word for arg in args[:3])
    bad = script.let(f"({month} < 1) | ({month} > 12) | (abs({year}) > {_MOST_YEARS}) | ({day} < 1) | ({day} > 31)")
    number = script.let(f"where({bad}, {1970 * 12}, {year} * 12 + {month} - 1)")
    days = script.let(f"first_of_month({number}) + {day} - 1")
    low, high = limits(call.type) if call.type.kind is Kind.DATE else (-(2**31), 2**31)
    outside = f"({days} >= first_of_month({number} + 1)) | ({days} < {low}) | ({days} > {high})"
    script.fail(f"{bad} | {outside}", script.both(*args), _none_such("date"))
    return days


def _none_such(what: str) -> Problem:
    return lambda attempt: NumericError(f"cannot compute {attempt}: there is no such {what}")


def make_timestamp(script: Script, call: Call, args: list[Value]) -> Value:
    """make_timestamp(year, month, day, hour, minute, seconds)."""
    days = _made_days(script, call, args)
    hour, minute, seconds = (arg.word for arg in args[3:])
    valid = script.both(*args)
    bad = f"({hour} < 0) | ({hour} > 24) | ({minute} < 0) | ({minute} > 59) | (abs({days}) > {_MOST_DAYS})"
    within = script.let(f"({seconds} >= 0.0) & ({seconds} <= 60.0)")
    script.fail(f"{bad} | ({within} ^ True)", valid, _none_such("time"))
    micros = script.let(f"int64(np.rint(where({within}, {seconds}, 0.0) * 1e6))")
    return Value((script.let(f"{days} * {DAY} + ({hour} * 60 + {minute}) * 60000000 + {micros}"),), valid)


BODIES = (
    Body("now", now),
    Body("extract", extract, values=(1,)),
    Body("date_trunc", date_trunc, values=(1,)),
    Body("date_diff", date_diff, values=(1, 2)),
    Body("date_sub", date_sub, values=(1, 2)),
    *(Body(name, partial(arithmetic, function="add")) for name in ("add_days", "add_micros")),
    Body("add_months", add_months),
    *(Body(name, partial(arithmetic, function="sub")) for name in ("days_between", "micros_between")),
    Body("from_micros", from_micros),
    Body("to_micros", lambda script, call, args: args[0]),
    Body("last_day", last_day),
    Body("make_date", lambda script, call, args: Value((_made_days(script, call, args),), script.both(*args))),
    Body("make_timestamp", make_timestamp),
)

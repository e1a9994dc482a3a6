"""Functions of dates and timestamps that take the name of a part or have more than one form."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ivm.catalog.calendar import CLOCK, MONTHS, PARTS_OF_DAY
from ivm.catalog.names import twice
from ivm.catalog.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INTERVAL,
    NULL,
    TIME,
    TIMESTAMP,
    TIMESTAMP_MS,
    TIMESTAMP_NS,
    TIMESTAMP_S,
    TIMESTAMPTZ,
    TINYINT,
    VARCHAR,
    SqlType,
    struct_of,
)
from ivm.sql.bind.expressions.binder import Binder, Handler
from ivm.sql.bind.expressions.operand import Operand
from ivm.sql.bind.functions.buckets import bucket, shifted_bucket
from ivm.sql.bind.functions.computed import computed, computed_of, constant_text
from ivm.sql.bind.functions.interval_parts import of_interval, truncated
from ivm.sql.bind.functions.shifts import add_moment, arithmetic, moment_of, without_zone
from ivm.sql.bind.functions.signatures import double, exactly, integer, moment_as, moment_by_utc, nanoseconds, text
from ivm.sql.bind.functions.zones import at_time_zone
from ivm.sql.ir.conditions import comparison, is_null
from ivm.sql.ir.functions.nested import places_of
from ivm.sql.ir.scalar import Call, Literal, Scalar
from ivm.sql.reader import LOST
from ivm.sql.types.calendar import ABBREVIATED, unit_of
from ivm.sql.types.printed import READ, WRITTEN, unknown_specifier

_DOUBLE_PARTS = ("epoch", "julian")
_OF_ZONE = ("timezone", "timezone_hour", "timezone_minute")
"""How far the clocks by which a moment is told are ahead of UTC."""
_CUT_BY_CLOCKS = ("hour", "day", "week", "month", "year")
"""What of a moment is cut off as of what clocks of its zone show then, which is fast. Of less it matters which it is of
the two moments at which clocks show the same, and of more DuckDB has rules of its own.
"""
_CUT_BY_DUCKDB = ("isoyear", "yearweek", "dow", "isodow", "doy", "epoch")
"""Parts that date_trunc() takes for units, rarely."""
_PARTS = (*PARTS_OF_DAY, *CLOCK)
_PART_NAMES = {
    **ABBREVIATED,
    "dayofweek": "dow",
    "weekday": "dow",
    "dayofyear": "doy",
    "weekofyear": "week",
    "dayofmonth": "day",
}
_DIFFERENCES = {
    **{part: part for part in ("day", "week", "isoyear", *MONTHS, *CLOCK)},
    **dict.fromkeys(("dow", "isodow", "doy", "julian"), "day"), "yearweek": "week", "epoch": "second",
}  # fmt: skip


def extract(binder: Binder, node: exp.Expr, part: str, of: exp.Expr) -> Operand:
    """The `part` of a DATE, TIMESTAMP or INTERVAL, a BIGINT; a DOUBLE for epoch and julian."""
    name = _part(part)
    if name in _OF_ZONE:
        zoned = exactly(TIMESTAMPTZ)(binder, of)
        return computed_of(node, f"date_part('{name}', {places_of(1)[0]})", (zoned,), BIGINT)
    if name not in (*_PARTS, *_DOUBLE_PARTS):
        binder.refuse(node, f"the part {part!r} of a date is not supported; parts are {', '.join(_PARTS)}, epoch")
    operand = binder.bind(of)
    if operand.type == INTERVAL:
        return of_interval(binder, node, name, operand)
    type_ = DOUBLE if name in _DOUBLE_PARTS else BIGINT
    if operand.type == TIME:
        if name not in ("epoch", *CLOCK):
            binder.fail(node, f"a TIME has no part {part!r}; its parts are {', '.join(CLOCK)} and epoch")
        if name == "hour":  # of 24:00 it is 24
            micros = Call("cast", (operand.scalar,), BIGINT, operand.scalar.nullable)
            return binder.call(node, "idiv", (micros, Literal(CLOCK[name], BIGINT)), BIGINT)
        stamp = Call("cast", (operand.scalar,), TIMESTAMP, operand.scalar.nullable)
        return binder.call(node, "extract", (Literal(name, VARCHAR), stamp), type_)
    if name == "epoch":
        operand = Operand(node, binder.by_utc(operand, TIMESTAMP)) if operand.type == TIMESTAMPTZ else operand
    moment = moment_of(binder, node, operand, "extract")
    return binder.call(node, "extract", (Literal(name, VARCHAR), moment.scalar), type_)


def bind_date_trunc(binder: Binder, node: exp.Expr) -> Operand:
    """DATE_TRUNC('part', x), a TIMESTAMP."""
    name, given = _part(_unit(binder, node, "date_trunc")), binder.bind(node.this)
    if name in _CUT_BY_DUCKDB and (given.type.is_moment or given.type == INTERVAL):
        type_ = given.type if given.type in (INTERVAL, TIMESTAMPTZ) else TIMESTAMP
        return computed_of(node, f"date_trunc('{name}', {places_of(1)[0]})", (given.scalar,), type_)
    try:
        unit_of(name)
    except ValueError as error:
        binder.fail(node, f"date_trunc: {error}")
    if given.type == INTERVAL:
        return truncated(binder, node, name, given)
    if binder.tells_in_zone(given.type) and name not in _CUT_BY_CLOCKS:
        return computed_of(node, f"date_trunc('{name}', {places_of(1)[0]})", (given.scalar,), TIMESTAMPTZ)
    moment = moment_of(binder, node, given, "date_trunc")
    cut = binder.call(node, "date_trunc", (Literal(name, VARCHAR), moment.scalar), TIMESTAMP)
    return Operand(node, binder.cast(cut, TIMESTAMPTZ)) if given.type == TIMESTAMPTZ else cut


def several_parts(binder: Binder, node: exp.Expr, args: Sequence[exp.Expr]) -> Operand:
    """DATE_PART(['year', 'month'], x), a struct of the parts; and DATE_PART(part, x) with one that varies, a DOUBLE."""
    names, of = args[0], binder.bind(args[1])
    if not isinstance(names, exp.Array):
        varying = text(binder, names)
        given = of if of.type in (INTERVAL, TIME) else moment_of(binder, node, of, "date_part")
        return computed(node, "date_part", (varying, given.scalar), DOUBLE)
    if not names.expressions or not all(each.is_string for each in names.expressions):
        binder.refuse(names, "date_part() takes a list of parts as text literals; write ['year', 'month']")
    fields = []
    for each in names.expressions:
        if of.type == DATE and _part(each.name) in CLOCK:
            binder.fail(each, f"a DATE has no part {each.name!r}; cast it to TIMESTAMP")
        fields.append((each.name, extract(binder, each, each.name, args[1]).scalar))
    again = twice(name for name, _ in fields)
    if again is not None:
        binder.fail(names, f"date_part() names the part {again!r} twice; name it once")
    type_ = struct_of((name, scalar.type) for name, scalar in fields)
    parts = Call("struct_pack", tuple(scalar for _, scalar in fields), type_, nullable=False)
    return Operand(node, Call("case", (is_null(of.scalar), Literal(None, type_), parts), type_))


def _unit(binder: Binder, node: exp.Expr, function: str) -> str:
    """The unit that a call names; sqlglot takes the name of a column for one."""
    return _written_part(binder, node.meta[LOST][0] if LOST in node.meta else node.args.get("unit"), function)


def _written_part(binder: Binder, node: exp.Expr | None, function: str) -> str:
    if node is None or not (isinstance(node, exp.Var) or node.is_string):
        binder.refuse(node or exp.Null(), f"{function}() needs its part as a text literal; write 'day', for instance")
    return str(node.name)


def _part(name: str) -> str:
    lower = name.lower()
    lower = _PART_NAMES.get(lower, lower)
    if lower in (*_PARTS, *_DOUBLE_PARTS):
        return lower
    return _PART_NAMES.get(lower.removesuffix("s"), lower.removesuffix("s"))


def _between(binder: Binder, node: exp.Expr, function: str, part: str, args: Sequence[exp.Expr]) -> Operand:
    name = _DIFFERENCES.get(_part(part))
    if name is None:
        binder.refuse(node, f"{function} by {part!r} is not supported; parts are {', '.join(sorted(_DIFFERENCES))}")
    operands = [binder.bind(arg) for arg in args]
    if all(operand.type == TIME for operand in operands) and name in CLOCK:
        return computed_of(
            node, f"{function}('{name}', {', '.join(places_of(2))})", [each.scalar for each in operands], BIGINT
        )
    if binder.tells_in_zone(*(operand.type for operand in operands)):
        call = f"{function}('{name}', {', '.join(places_of(2))})"
        return computed_of(node, call, [binder.cast(operand, TIMESTAMPTZ) for operand in operands], BIGINT)
    dates = all(operand.type in (DATE, NULL) or operand.is_text_literal for operand in operands)
    target = DATE if dates and function == "date_diff" and name not in CLOCK else TIMESTAMP
    zoned = any(operand.type == TIMESTAMPTZ for operand in operands)
    scalars = tuple(
        without_zone(binder, operand, zoned)
        if zoned and operand.is_text_literal
        else moment_as(target)(binder, operand.node)
        for operand in operands
    )
    return binder.call(node, function, (Literal(name, VARCHAR), *scalars), BIGINT)


def bind_date_add(binder: Binder, node: exp.Expr) -> Operand:
    """DATE_ADD(x, interval), as x + interval."""
    moment, added = binder.bind(node.this), binder.bind(node.expression)
    if not moment.type.is_moment:
        binder.mismatch(node, f"date_add needs a DATE or TIMESTAMP, not a {moment.type}; cast it")
    return add_moment(binder, node, moment, added, 1)


def bind_strftime(binder: Binder, node: exp.Expr) -> Operand:
    """STRFTIME(x, 'format')."""
    of, form = node.this, node.args["format"]
    if isinstance(binder.bind(of).scalar, Literal) and binder.bind(of).type == VARCHAR:
        of, form = form, of  # DuckDB takes them in either order
    if binder.bind(of).type in (TIMESTAMP_S, TIMESTAMP_MS, TIMESTAMP_NS):
        return _formatted(binder, node, "strftime of TIMESTAMP_NS", nanoseconds(binder, of), form, VARCHAR)
    return _formatted(binder, node, "strftime", moment_as(TIMESTAMP)(binder, of), form, VARCHAR)


def strptime(binder: Binder, node: exp.Expr, function: str, args: Sequence[exp.Expr]) -> Operand:
    """`strptime`, or `try_strptime`, which is NULL where the other raises; with nanoseconds a TIMESTAMP_NS."""
    forms = args[1].expressions if isinstance(args[1], exp.Array) else [args[1]]
    if any(form.is_string and "%n" in form.name.replace("%%", "") for form in forms):
        name = f"{function} of TIMESTAMP_NS"
        return _formatted(binder, node, name, text(binder, args[0]), args[1], TIMESTAMP_NS)
    return _formatted(binder, node, function, text(binder, args[0]), args[1], TIMESTAMP)


def _formatted(binder: Binder, node: exp.Expr, function: str, of: Scalar, form: exp.Expr, type_: SqlType) -> Operand:
    scalar, name = binder.bind(form).scalar, function.partition(" ")[0]
    if isinstance(form, exp.Array) and name != "strftime":
        written = f"{name}({places_of(1)[0]}, {constant_text(binder, form, 'formats')})"
        return computed_of(node, written, [of], type_)
    if not isinstance(scalar, Literal) or scalar.type != VARCHAR:
        given = Operand(form, scalar)
        if scalar.type not in (VARCHAR, NULL):
            binder.mismatch(form, f"{name}() needs its format as a text, not {scalar.type}")
        return computed(node, name, (of, binder.cast(given, VARCHAR)), type_)
    known = WRITTEN if name == "strftime" else READ
    if function != name:
        known -= {"g"}  # of nanoseconds, which DuckDB writes and reads wrongly
    wrong = unknown_specifier(str(scalar.value), known)
    if wrong is not None:
        binder.refuse(form, f"{name}() does not know the specifier {wrong!r}; write the parts that it knows")
    call = binder.call(node, function, (of, scalar), type_).scalar
    assert isinstance(call, Call), "made as one"
    return Operand(node, Call(function, call.args, type_, call.nullable or name == "try_strptime"))


def bind_epoch_ms(binder: Binder, node: exp.Expr) -> Operand:
    """EPOCH_MS(x): of a moment the milliseconds since 1970-01-01, of an integer the TIMESTAMP."""
    scale = node.args.get("scale")
    if scale is not None and scale.name == "6":  # make_timestamp(x)
        return binder.call(node, "from_micros", (integer(BIGINT)(binder, node.this),), TIMESTAMP)
    if scale is None or scale.name != "3":
        return _to_timestamp(binder, node)
    operand = binder.bind(node.this)
    if operand.type == INTERVAL:
        micros = Call("epoch_us of INTERVAL", (operand.scalar,), BIGINT, operand.scalar.nullable)
        return Operand(node, arithmetic("idiv", micros, Literal(1000, BIGINT)))
    if operand.type.is_integer:
        millis = integer(BIGINT)(binder, node.this)
        micros = Call("mul", (millis, Literal(1000, BIGINT)), BIGINT, millis.nullable)
        return binder.call(node, "from_micros", (micros,), TIMESTAMP)
    if operand.type == TIME:
        return Operand(node, Call("epoch_ms of TIME", (operand.scalar,), BIGINT))
    return Operand(node, _rounded_millis(moment_by_utc(binder, node.this)))


def _to_timestamp(binder: Binder, node: exp.Expr) -> Operand:
    """TO_TIMESTAMP(x), the moment so many seconds after 1970-01-01 in UTC."""
    seconds = double(binder, node.this)
    micros = Call("mul", (seconds, Literal(1e6, DOUBLE)), DOUBLE, seconds.nullable)
    whole = Call("cast", (micros,), BIGINT, seconds.nullable)
    found = Operand(node, Call("from_micros", (whole,), TIMESTAMP, seconds.nullable))
    return Operand(node, binder.by_utc(found, TIMESTAMPTZ))


def _rounded_millis(moment: Scalar) -> Scalar:
    """The milliseconds since 1970-01-01, halves rounded away from it, as DuckDB does."""
    micros = Call("to_micros", (moment,), BIGINT, moment.nullable)
    halves = arithmetic("idiv", micros, Literal(500, BIGINT))
    sign = Call("cast", (Call("sign", (halves,), TINYINT, halves.nullable),), BIGINT, halves.nullable)
    return arithmetic("idiv", arithmetic("add", halves, sign), Literal(2, BIGINT))


def _age(binder: Binder, node: exp.Expr, args: Sequence[exp.Expr]) -> Operand:
    """AGE(x, y): the years, months, days and time from y to x."""
    zoned = binder.tells_in_zone(*(binder.bind(arg).type for arg in args))
    scalars = tuple(moment_as(TIMESTAMPTZ if zoned else TIMESTAMP)(binder, arg) for arg in args)
    return computed(node, "age", scalars, INTERVAL) if zoned else binder.call(node, "age", scalars, INTERVAL)


def is_finite(binder: Binder, node: exp.Expr, of: exp.Expr) -> Operand:
    """ISFINITE(x) of a number; dates and timestamps have no infinities here."""
    return _is_of_double(binder, node, of, "is_finite", "eq")


def _is_of_double(binder: Binder, node: exp.Expr, of: exp.Expr, function: str, of_moments: str) -> Operand:
    """What a number is, and all moments are, or none, as their comparison with themselves says."""
    operand = binder.bind(of)
    if operand.type.is_moment:
        return Operand(node, comparison(of_moments, operand.scalar, operand.scalar))
    return binder.call(node, function, (double(binder, of),), BOOLEAN)


NAMED_PARTS = (*_PARTS, *_OF_ZONE, "julian", "epoch", "dayofweek", "weekday", "dayofyear", "weekofyear", "dayofmonth")
"""Functions that are called as the part that they extract."""


def by_name(binder: Binder, node: exp.Expr, name: str, args: Sequence[exp.Expr]) -> Operand | None:
    """The functions of dates that sqlglot knows by their name only; None if this is none of them."""
    match name, len(args):
        case "age", 1:
            node.set("expressions", [exp.cast(exp.CurrentDate(), "TIMESTAMP"), *args])  # for DuckDB too
            return _age(binder, node, node.expressions)
        case "age", 2:
            return _age(binder, node, args)
        case (("date_part" | "datepart"), 2) if not args[0].is_string:
            return several_parts(binder, node, args)
        case (("date_part" | "datepart"), 2):
            return extract(binder, node, _written_part(binder, args[0], name), args[1])
        case (("date_sub" | "datesub"), 3):
            return _between(binder, node, "date_sub", _written_part(binder, args[0], name), args[1:])
        case (("date_diff" | "datediff"), 3):
            return _between(binder, node, "date_diff", _written_part(binder, args[0], name), args[1:])
        case "time_bucket", 2:
            return bucket(binder, node, args)
        case "time_bucket", 3:
            return shifted_bucket(binder, node, args)
        case "timezone", 2:
            return at_time_zone(binder, node, args[1], args[0])
        case "try_strptime", 2:
            return strptime(binder, node, name, args)
        case "isfinite", 1:
            return is_finite(binder, node, args[0])
        case _, 1 if name in NAMED_PARTS:
            return extract(binder, node, name, args[0])
    return None


HANDLERS: dict[type[exp.Expr], Handler] = {
    exp.Extract: lambda binder, node: extract(
        binder, node, _written_part(binder, node.this, "extract"), node.expression
    ),
    exp.TimestampTrunc: bind_date_trunc,
    exp.DateTrunc: bind_date_trunc,
    exp.DateDiff: lambda binder, node: _between(
        binder, node, "date_diff", _unit(binder, node, "date_diff"), (node.expression, node.this)
    ),
    exp.DateAdd: bind_date_add,
    exp.TimeToStr: bind_strftime,
    exp.StrToTime: lambda binder, node: strptime(binder, node, "strptime", [node.this, node.args["format"]]),
    exp.TimeToUnix: lambda binder, node: extract(binder, node, "epoch", node.this),
    exp.UnixToTime: bind_epoch_ms,
    exp.IsInf: lambda binder, node: _is_of_double(binder, node, node.this, "is_inf", "ne"),
    exp.DayOfWeekIso: lambda binder, node: extract(binder, node, "isodow", node.this),
    **dict.fromkeys(
        (exp.Year, exp.Quarter, exp.Month, exp.Week, exp.WeekOfYear, exp.Day, exp.DayOfMonth, exp.DayOfWeek,
         exp.DayOfYear, exp.Hour, exp.Minute, exp.Second),
        lambda binder, node: extract(binder, node, node.key, node.this),  # sqlglot calls it as DuckDB the part
    ),
}  # fmt: skip

"""Cases of the functions that `cases` does not have: numbers, bits, text, dates and TRY_CAST."""

from __future__ import annotations

from ivm.catalog.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    HUGEINT,
    INTEGER,
    INTERVAL,
    TIMESTAMP,
    TINYINT,
    VARCHAR,
    SqlType,
    decimal,
)
from ivm.sql.ir.scalar import Call, Column
from tests.scalars.cases import D4, D15, D38, INTEGERS, Case, call, lit

_DOUBLES = {
    "cbrt": "cbrt", "log2": "log2", "log10": "log10", "sin": "sin", "cos": "cos", "tan": "tan", "asin": "asin",
    "acos": "acos", "atan": "atan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "asinh": "asinh", "acosh": "acosh",
    "atanh": "atanh", "cot": "cot", "degrees": "degrees", "radians": "radians",
}  # fmt: skip


def doubles() -> list[Case]:
    """Functions of DOUBLE."""
    d = DOUBLE
    return [
        *[call(f, f"{sql}(c0)", (d,), d) for f, sql in _DOUBLES.items()],
        call("even", "even(c0)", (d,), d),
        *[call(f"is_{f}", f"is{f}(c0)", (d,), BOOLEAN) for f in ("nan", "inf", "finite")],
        call("atan2", "atan2(c0, c1)", (d, d), d),
        call("log", "log(c0, c1)", (d, d), d),
        call("sign", "sign(c0)", (d,), TINYINT),
        *[call("trunc", f"trunc(c0, {digits})", (d,), d, digits) for digits in (-2, 0, 1)],
    ]


def exact() -> list[Case]:
    """Functions of exact numbers that never raise."""
    cases = [call("sign", "sign(c0)", (t,), TINYINT) for t in (TINYINT, BIGINT, HUGEINT, D4, D38)]
    for digits in (-1, 0, 1):
        for t in (D4, D15, D38):
            result = decimal(t.precision, min(max(digits, 0), t.scale))
            cases.append(call("trunc", f"trunc(c0, {digits})", (t,), result, digits))
        cases += [call("trunc", f"trunc(c0, {digits})", (t,), t, digits) for t in (INTEGER, HUGEINT)]
    for t in INTEGERS:
        for function, sign in (("bit_and", "&"), ("bit_or", "|"), ("shift_right", ">>")):
            cases.append(call(function, f"c0 {sign} c1", (t, t), t))
        cases.append(call("xor", "xor(c0, c1)", (t, t), t))
        cases.append(call("bit_not", "~c0", (t,), t))
        cases.append(call("bit_count", "bit_count(c0)", (t,), TINYINT))
    return cases


def raising() -> list[Case]:
    """Functions that raise for some arguments."""
    cases = [call("shift_left", "c0 << c1", (t, t), t) for t in (TINYINT, BIGINT, HUGEINT)]
    cases += [call(f, f"{f}(c0, c1)", (t, t), t) for f in ("gcd", "lcm") for t in (BIGINT, HUGEINT)]
    v, stamp = VARCHAR, TIMESTAMP
    return [
        *cases,
        call("factorial", "factorial(c0)", (INTEGER,), HUGEINT),
        call("make_date", "make_date(c0, c1, c2)", (BIGINT, BIGINT, BIGINT), DATE),
        call("last_day", "last_day(c0)", (DATE,), DATE),
        call("micros_between", "epoch_us(c0) - epoch_us(c1)", (stamp, stamp), BIGINT),
        call("lpad", "lpad(c0, c1, c2)", (v, TINYINT, v), v),
        call("rpad", "rpad(c0, c1, 'é')", (v, TINYINT), v, "é"),
        call("chr", "chr(c0)", (INTEGER,), v),
        call("strptime", "strptime(c0, '%Y-%m-%d')", (v,), stamp, "%Y-%m-%d"),
    ]


def of_intervals() -> list[Case]:
    """Intervals, by what they are made of and by their parts."""
    columns = (Column(0, INTEGER), Column(1, INTEGER), Call("cast", (Column(2, INTEGER),), BIGINT))
    made, types = Call("interval", columns, INTERVAL), (INTEGER, INTEGER, INTEGER)
    sql = "(to_months(c0) + to_days(c1) + to_microseconds(c2))"
    apart = Call(
        "days_and_time", (Call("micros_between", (Column(0, TIMESTAMP), Column(1, TIMESTAMP)), BIGINT),), INTERVAL
    )
    return [
        Case(
            f"datepart('year', {sql}) * 12 + datepart('month', {sql})", types, Call("interval_months", (made,), INTEGER)
        ),
        Case(f"datepart('day', {sql})", types, Call("interval_days", (made,), INTEGER)),
        Case(
            f"datepart('microsecond', {sql}) + 60000000 * datepart('minute', {sql})",
            types,
            Call("interval_micros", (made,), BIGINT),
        ),
        Case("(c0::HUGEINT * 30 + c1) * 86400000000 + c2", types, Call("interval_length", (made,), HUGEINT)),
        Case(f"epoch_us({sql})", types, Call("epoch_us of INTERVAL", (made,), BIGINT)),
        Case("datepart('day', c0 - c1)", (TIMESTAMP, TIMESTAMP), Call("interval_days", (apart,), INTEGER)),
    ]


_QUIET = 4
"""So many of them never raise."""
_PATTERNS = ("a", "^a", "(a)(b)?", "a|é", "[^a]+", "", "b$", "(?i)A.")


def texts() -> list[Case]:
    """Functions of text that never raise."""
    v = VARCHAR
    cases = [call(f, f"{f}(c0)", (v,), v) for f in ("ltrim", "rtrim", "reverse", "md5", "sha1", "sha256", "hex")]
    cases += [call(f, f"{f}(c0)", (v,), INTEGER) for f in ("ascii", "unicode")]
    cases += [call(f, f"{f}(c0)", (v,), BIGINT) for f in ("strlen", "bit_length")]
    for f in ("left", "right"):
        cases += [call(f, f"{f}(c0, c1)", (v, TINYINT), v), call(f, f"{f}(c0, -1)", (v,), v, -1)]
    cases += [
        call("cut", "c0[c1:c2]", (v, TINYINT, TINYINT), v),
        call("cut", "c0[2:-1]", (v,), v, 2, -1),
        call("ltrim", "ltrim(c0, c1)", (v, v), v),
        call("rtrim", "rtrim(c0, 'ab')", (v,), v, "ab"),
        call("repeat", "repeat(c0, 3)", (v,), v, 3),
        call("translate", "translate(c0, c1, c2)", (v, v, v), v),
        call("split_part", "split_part(c0, c1, c2)", (v, v, TINYINT), v),
        call("split_part", "split_part(c0, 'a', 2)", (v,), v, "a", 2),
        call("strpos", "strpos(c0, c1)", (v, v), BIGINT),
        call("strpos", "strpos(c0, 'b')", (v,), BIGINT, "b"),
        call("ends_with", "ends_with(c0, c1)", (v, v), BOOLEAN),
        call("ends_with", "ends_with(c0, 'b')", (v,), BOOLEAN, "b"),
        call("levenshtein", "levenshtein(c0, c1)", (v, v), BIGINT),
        call("like", "c0 LIKE c1", (v, v), BOOLEAN),
        call("ilike", "c0 ILIKE c1", (v, v), BOOLEAN),
        call("try_strptime", "try_strptime(c0, '%Y-%m-%d')", (v,), TIMESTAMP, "%Y-%m-%d"),
    ]
    for p in _PATTERNS:
        cases.append(call("regexp_matches", f"regexp_matches(c0, '{p}')", (v,), BOOLEAN, p))
        cases.append(call("regexp_full_match", f"regexp_full_match(c0, '{p}')", (v,), BOOLEAN, p))
        cases.append(call("regexp_extract", f"regexp_extract(c0, '{p}', 0)", (v,), v, p, 0))
        every = call("regexp_replace", f"regexp_replace(c0, '{p}', '<\\0>', 'g')", (v,), v, p, "<\\0>", True)
        first = call("regexp_replace", f"regexp_replace(c0, '{p}', '<\\0>')", (v,), v, p, "<\\0>", False)
        cases += [every, first]
    cases.append(call("regexp_extract", "regexp_extract(c0, '(a)(b)?', 2)", (v,), v, "(a)(b)?", 2))
    return cases


_DIFFERENCES = (
    *("year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond", "microsecond"),
    *("decade", "century", "millennium", "isoyear"),
)


def dates() -> list[Case]:
    """Functions of dates and timestamps that never raise."""
    cases = []
    for t in (DATE, TIMESTAMP):
        for part in _DIFFERENCES:
            if t == TIMESTAMP or part not in _DIFFERENCES[5:10]:
                args = (lit(part), Column(0, t), Column(1, t))
                cases.append(Case(f"date_diff('{part}', c0, c1)", (t, t), Call("date_diff", args, BIGINT)))
        cases.append(Case("julian(c0)", (t,), Call("extract", (lit("julian"), Column(0, t)), DOUBLE)))
    for part in _DIFFERENCES:
        stamps = (Column(0, TIMESTAMP), Column(1, TIMESTAMP))
        between = Call("date_sub", (lit(part), *stamps), BIGINT)
        cases.append(Case(f"date_sub('{part}', c0, c1)", (TIMESTAMP, TIMESTAMP), between))
    form = "%a %A %b %B %d %-d %m %-m %y %Y %H %-H %I %M %S %p %f %j %U %W %w %u %G %V %% %x %X %g %n"
    return [
        *cases,
        call("strftime", f"strftime(c0, '{form}')", (TIMESTAMP,), VARCHAR, form),
        call("dayname", "dayname(c0)", (DATE,), VARCHAR),
        call("monthname", "monthname(c0)", (DATE,), VARCHAR),
        call("to_micros", "epoch_us(c0)", (TIMESTAMP,), BIGINT),
    ]


def tries() -> list[Case]:
    """TRY_CAST, which is NULL where CAST raises."""
    exact_types: tuple[SqlType, ...] = (TINYINT, BIGINT, HUGEINT, D4, D38)
    pairs = [(a, b) for a in (*exact_types, DOUBLE) for b in exact_types if a != b]
    pairs += [(VARCHAR, b) for b in (*exact_types, DOUBLE, BOOLEAN, DATE, TIMESTAMP)]
    return [call("try_cast", f"TRY_CAST(c0 AS {b})", (a,), b) for a, b in pairs]


def quiet_cases() -> list[Case]:
    """The cases that never raise."""
    return [*doubles(), *exact(), *texts(), *dates(), *tries(), *of_intervals()[:_QUIET]]


def function_cases() -> list[Case]:
    """All of them."""
    return [*quiet_cases(), *raising(), *of_intervals()[_QUIET:]]

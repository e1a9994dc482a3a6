"""Every function of the contract as (name, SQL, argument types, Scalar)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ivm.catalog.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    HUGEINT,
    INTEGER,
    SMALLINT,
    TIMESTAMP,
    TINYINT,
    VARCHAR,
    Kind,
    SqlType,
    decimal,
)
from ivm.sql.ir.scalar import Call, Column, Literal, Scalar
from tests.scalars.oracle import arguments

D4, D15, D18, D38, D20 = decimal(4, 2), decimal(15, 2), decimal(18, 4), decimal(38, 4), decimal(20, 2)
INTEGERS = (TINYINT, SMALLINT, INTEGER, BIGINT, HUGEINT)
EXACT = (*INTEGERS, D4, D15, D18, D38)
NUMBERS = (*EXACT, DOUBLE)
ALL = (*NUMBERS, BOOLEAN, DATE, TIMESTAMP, VARCHAR)


@dataclass(frozen=True)
class Case:
    sql: str
    types: tuple[SqlType, ...]
    scalar: Scalar

    def __str__(self) -> str:
        return f"{self.sql} [{', '.join(map(str, self.types))}] -> {self.scalar.type}"


def call(function: str, sql: str, types: tuple[SqlType, ...], result: SqlType, *more: Any) -> Case:
    """The function over columns of the types, then literals."""
    literals = [m if isinstance(m, Literal) else lit(m) for m in more]
    return Case(sql, types, Call(function, (*arguments(types), *literals), result))


def lit(value: Any) -> Literal:
    kinds = {str: VARCHAR, bool: BOOLEAN, float: DOUBLE, int: INTEGER}
    return Literal(value, kinds[type(value)])


def arithmetic() -> list[Case]:
    cases = []
    for t in NUMBERS:
        for function, sign in (("add", "+"), ("sub", "-")):
            cases.append(call(function, f"CAST(c0 {sign} c1 AS {t})", (t, t), t))
        cases.append(call("neg", f"CAST(-c0 AS {t})", (t,), t))
        cases.append(call("abs", "abs(c0)", (t,), t))
        if t.kind is not Kind.DECIMAL:
            cases.append(call("mul", "c0 * c1", (t, t), t))
        cases.append(call("mod", "c0 % c1", (t, t), t))
        if t in INTEGERS:
            cases.append(call("idiv", "c0 // c1", (t, t), t))
    for a, b, r in ((D4, D4, decimal(8, 4)), (D15, D15, decimal(18, 4)), (D15, D4, decimal(18, 4)), (D15, D20, decimal(35, 4)),
                    (D38, D4, decimal(38, 6))):  # fmt: skip
        cases.append(call("mul", "c0 * c1", (a, b), r))
    cases.append(call("div", "c0 / c1", (DOUBLE, DOUBLE), DOUBLE))
    return cases


def comparisons() -> list[Case]:
    signs = {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
    cases = []
    for t in ALL:
        cases += [call(f, f"c0 {sign} c1", (t, t), BOOLEAN) for f, sign in signs.items()]
        cases.append(call("is_distinct", "c0 IS DISTINCT FROM c1", (t, t), BOOLEAN))
        cases.append(call("is_null", "c0 IS NULL", (t,), BOOLEAN))
        cases.append(call("nullif", "nullif(c0, c1)", (t, t), t))
        for f in ("greatest", "least"):
            cases.append(call(f, f"{f}(c0, c1, c2)", (t, t, t), t))
        cases.append(call("coalesce", "coalesce(c0, c1, c2)", (t, t, t), t))
        cases.append(Case("CASE WHEN c0 THEN c1 WHEN c3 THEN c2 ELSE c1 END", (BOOLEAN, t, t, BOOLEAN),
                          Call("case", (Column(0, BOOLEAN), Column(1, t), Column(3, BOOLEAN), Column(2, t), Column(1, t)), t)))  # fmt: skip
    for f, sign in signs.items():
        cases.append(call(f, f"c0 {sign} 'ab'", (VARCHAR,), BOOLEAN, "ab"))
        cases.append(Case(f"'aba' {sign} c0", (VARCHAR,), Call(f, (lit("aba"), Column(0, VARCHAR)), BOOLEAN)))
        cases.append(call(f, f"c0 {sign} 7", (INTEGER,), BOOLEAN, 7))
        cases.append(call(f, f"c0 {sign} 0.5::DOUBLE", (DOUBLE,), BOOLEAN, 0.5))
        cases.append(call(f, f"c0 {sign} 1.25::{D38}", (D38,), BOOLEAN, Literal(12500, D38)))
    return cases


def logic() -> list[Case]:
    b = BOOLEAN
    return [
        call("not", "NOT c0", (b,), b),
        call("and", "c0 AND c1", (b, b), b),
        call("or", "c0 OR c1", (b, b), b),
        call("and", "c0 AND c1 AND c2", (b, b, b), b),
        call("or", "c0 OR c1 OR c2", (b, b, b), b),
        *(
            Case(
                "CASE WHEN c0 THEN error('no') ELSE c1 END",
                (b, t),
                Call("raise_if", (Column(0, b), lit("no"), Column(1, t)), t),
            )
            for t in (INTEGER, D38, DOUBLE, VARCHAR)
        ),
        call("in", "c0 IN (1, 5, 7)", (INTEGER,), b, 1, 5, 7),
        call("in", "c0 IN (1, NULL, 7)", (BIGINT,), b, Literal(1, BIGINT), Literal(None, BIGINT), Literal(7, BIGINT)),
        call("in", f"c0 IN ({', '.join(map(str, range(-9, 20, 2)))})", (INTEGER,), b, *range(-9, 20, 2)),
        call("in", "c0 IN ('a', 'ab', 'zz')", (VARCHAR,), b, "a", "ab", "zz"),
        call("in", "c0 IN (0.5, 'nan'::DOUBLE)", (DOUBLE,), b, 0.5, float("nan")),
        call("in", f"c0 IN (1.5::{D38}, 0::{D38})", (D38,), b, Literal(15000, D38), Literal(0, D38)),
    ]


def texts() -> list[Case]:
    v = VARCHAR
    cases = [call(f, f"{f}(c0)", (v,), v) for f in ("upper", "lower", "trim")]
    cases += [
        call("length", "length(c0)", (v,), BIGINT),
        call("trim", "trim(c0, 'a')", (v,), v, "a"),
        call("concat", "c0 || c1", (v, v), v),
        call("concat", "c0 || '-x'", (v,), v, "-x"),
        call("substring", "substring(c0, c1)", (v, TINYINT), v),
        call("substring", "substring(c0, c1, c2)", (v, TINYINT, TINYINT), v),
        call("substring", "substring(c0, 2, 2)", (v,), v, 2, 2),
        call("replace", "replace(c0, 'a', 'xy')", (v,), v, "a", "xy"),
        call("replace", "replace(c0, c1, c2)", (v, v, v), v),
        call("starts_with", "starts_with(c0, 'a')", (v,), BOOLEAN, "a"),
        call("starts_with", "starts_with(c0, c1)", (v, v), BOOLEAN),
        call("contains", "contains(c0, 'b')", (v,), BOOLEAN, "b"),
        call("contains", "contains(c0, c1)", (v, v), BOOLEAN),
        call("like", "c0 LIKE 'a$%b' ESCAPE '$'", (v,), BOOLEAN, "a$%b", "$"),
    ]
    patterns = ("", "%", "_", "a%", "%b", "%a%b", "a_b", "%a_", "_%_", "a%b%", "%aab", "É%", "__%", "%ab%ab%")
    for p in patterns:
        cases.append(call("like", f"c0 LIKE '{p}'", (v,), BOOLEAN, p))
        cases.append(call("ilike", f"c0 ILIKE '{p}'", (v,), BOOLEAN, p))
    return cases


def dates() -> list[Case]:
    parts = ("year", "month", "day", "quarter", "dow", "isodow", "doy", "week", "isoyear", "yearweek", "decade",
             "century", "millennium", "era", "hour", "minute", "second", "millisecond", "microsecond")  # fmt: skip
    cases = []
    for t in (DATE, TIMESTAMP):
        for p in parts:
            cases.append(Case(f"extract({p} FROM c0)", (t,), Call("extract", (lit(p), Column(0, t)), BIGINT)))
        cases.append(Case("epoch(c0)", (t,), Call("extract", (lit("epoch"), Column(0, t)), DOUBLE)))
        for p in ("year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond", "microsecond",
                  "decade", "century", "millennium"):  # fmt: skip
            cases.append(Case(f"date_trunc('{p}', c0)", (t,), Call("date_trunc", (lit(p), Column(0, t)), TIMESTAMP)))
        cases.append(call("add_months", "c0 + to_months(c1)", (t, TINYINT), t))
    cases.append(Case("date_trunc('month', c0)", (DATE,), Call("date_trunc", (lit("month"), Column(0, DATE)), DATE)))
    cases += [
        call("add_days", "c0 + c1", (DATE, INTEGER), DATE),
        call("days_between", "c0 - c1", (DATE, DATE), BIGINT),
        call("add_micros", "c0 + to_microseconds(c1)", (TIMESTAMP, BIGINT), TIMESTAMP),
    ]
    return cases


def rounding() -> list[Case]:
    cases = []
    for digits in (-2, 0, 1, 3):
        cases.append(call("round", f"round(c0, {digits})", (DOUBLE,), DOUBLE, digits))
        for t in (D4, D15, D38):
            result = decimal(t.precision, min(max(digits, 0), t.scale))
            cases.append(call("round", f"round(c0, {digits})", (t,), result, digits))
        for t in (INTEGER, BIGINT):
            cases.append(call("round", f"round(c0, {digits})", (t,), t, digits))
    for f in ("floor", "ceil"):
        cases.append(call(f, f"{f}(c0)", (DOUBLE,), DOUBLE))
        cases.append(call(f, f"{f}(c0)", (INTEGER,), DOUBLE))
        for t in (D4, D15, D38):
            cases.append(call(f, f"{f}(c0)", (t,), decimal(t.precision, 0)))
    cases += [call(f, f"{f}(c0)", (DOUBLE,), DOUBLE) for f in ("sqrt", "ln", "exp")]
    cases.append(call("power", "power(c0, c1)", (DOUBLE, DOUBLE), DOUBLE))
    return cases


def casts() -> list[Case]:
    numbers = (*NUMBERS, BOOLEAN, D20, decimal(18, 0), decimal(38, 30))
    pairs = [(a, b) for a in numbers for b in numbers if a != b]
    pairs += [(DATE, TIMESTAMP), (TIMESTAMP, DATE)] + [(t, VARCHAR) for t in ALL if t != VARCHAR]
    return [call("cast", f"CAST(c0 AS {b})", (a,), b) for a, b in pairs]


def all_cases() -> list[Case]:
    """Every function and type."""
    return [*arithmetic(), *comparisons(), *logic(), *texts(), *dates(), *rounding(), *casts()]


def loop_cases() -> list[Case]:
    """Every function, each physical form once: a loop for each has to be compiled."""
    repeated = {TINYINT, SMALLINT, D18, D20, D4, decimal(18, 0), decimal(38, 30)}
    cases = [c for c in all_cases() if not repeated & {*c.types, c.scalar.type}]
    alike = ("sub", "ne", "le", "gt", "least", "ilike")
    return [
        c for c in cases if not (isinstance(c.scalar, Call) and c.scalar.function in alike) or c.types == (INTEGER,)
    ]

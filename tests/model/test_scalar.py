"""The model's scalars against DuckDB, so that the model can stand in for it elsewhere."""

from __future__ import annotations

import math

import duckdb
import pytest

from ivm.catalog.types import BIGINT, BOOLEAN, DATE, DOUBLE, INTEGER, TIMESTAMP, TINYINT, VARCHAR, SqlType, decimal
from ivm.sql.ir.scalar import Call, Literal, Value
from ivm.sql.ir.text import literal_text
from tests.model.scalar import raises, value_of
from tests.model.values import same, to_engine

D = decimal(6, 3)
SAMPLES: dict[SqlType, list[Value]] = {
    BIGINT: [None, 0, 1, -7, 3, 2**63 - 1],
    INTEGER: [None, 0, 5, -13, 2**31 - 1],
    TINYINT: [None, 0, 1, 127, -128],
    D: [None, 0, 5, 1255, -1255, 999999, -2500],
    DOUBLE: [None, 0.0, 1.5, -2.5, 2.675, 1e300, math.inf, math.nan],
    BOOLEAN: [None, True, False],
    VARCHAR: [None, "", "aXa", "hello", "  pad ", "é%_", "1.5", "1995-02-28", "zz"],
    DATE: [None, 0, 9204, -1, 9189, 11016, 19782],
    TIMESTAMP: [None, 0, 788922123500000, -1],
}
SQL = {
    "add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "idiv": "{} // {}", "mod": "{} % {}", "div": "{} / {}",
    "neg": "-{}", "not": "NOT {}", "eq": "{} = {}", "ne": "{} <> {}", "lt": "{} < {}", "le": "{} <= {}",
    "gt": "{} > {}", "ge": "{} >= {}", "is_null": "{} IS NULL", "is_distinct": "{} IS DISTINCT FROM {}",
    "and": "{} AND {}", "or": "{} OR {}", "in": "{} IN ({}, {})", "like": "{} LIKE {}", "ilike": "{} ILIKE {}",
    "case": "CASE WHEN {} THEN {} ELSE {} END", "concat": "{} || {}", "add_days": "{} + {}",
    "days_between": "{} - {}", "add_months": "{} + to_months({})", "extract": "date_part({}, {})",
}  # fmt: skip


def duck(connection, call):
    """The value that DuckDB gives, in engine form, or None and an error."""
    args = [f"CAST({_quoted(a)} AS {a.type})" for a in call.args]
    if call.function == "cast":
        text = f"CAST({args[0]} AS {call.type})"
    elif call.function in SQL:
        text = SQL[call.function].format(*(f"({a})" for a in args))
    else:
        text = f"{call.function}({', '.join(args)})"
    if call.function == "add_months":
        text = f"CAST({text} AS {call.type})"
    try:
        (value,) = connection.sql(f"SELECT {text}").fetchall()[0]
    except (duckdb.ConversionException, duckdb.OutOfRangeException, duckdb.InvalidInputException):
        return "error"
    return to_engine(value, call.type)


def _quoted(literal):
    if literal.type == DOUBLE and literal.value is not None:
        return f"'{literal.value!r}'"
    return literal_text(literal.value, literal.type)


def agree(connection, call):
    expected = duck(connection, call)
    if expected == "error":
        return raises(call)
    if raises(call):
        return False
    value = value_of(call)
    if value is None or expected is None:
        return value is expected
    close = isinstance(value, float) and math.isclose(value, expected, rel_tol=1e-14)
    return close or same(value, expected)


def literals(type_):
    return [Literal(v, type_) for v in SAMPLES[type_]]


def calls(function, result, *types):
    products: list[tuple[Literal, ...]] = [()]
    for type_ in types:
        products = [(*p, lit) for p in products for lit in literals(type_)]
    return [Call(function, args, result) for args in products]


UNARY = [
    ("neg", BIGINT, BIGINT), ("neg", DOUBLE, DOUBLE), ("neg", D, D), ("abs", D, D), ("abs", TINYINT, TINYINT),
    ("not", BOOLEAN, BOOLEAN), ("is_null", BOOLEAN, VARCHAR), ("floor", decimal(6, 0), D), ("ceil", decimal(6, 0), D),
    ("floor", DOUBLE, DOUBLE), ("ceil", DOUBLE, DOUBLE), ("round", DOUBLE, DOUBLE), ("round", decimal(4, 0), D),
    ("upper", VARCHAR, VARCHAR), ("lower", VARCHAR, VARCHAR), ("trim", VARCHAR, VARCHAR), ("length", BIGINT, VARCHAR),
]  # fmt: skip
CASTS = [
    (BIGINT, TINYINT), (BIGINT, D), (BIGINT, DOUBLE), (BIGINT, VARCHAR), (D, INTEGER), (D, decimal(5, 1)), (D, DOUBLE),
    (D, VARCHAR), (D, decimal(3, 3)), (DOUBLE, INTEGER), (DOUBLE, D), (DOUBLE, VARCHAR), (BOOLEAN, INTEGER), (BOOLEAN, VARCHAR),
    (VARCHAR, INTEGER), (VARCHAR, DOUBLE), (VARCHAR, DATE), (VARCHAR, D), (DATE, TIMESTAMP), (TIMESTAMP, DATE),
    (DATE, VARCHAR), (TIMESTAMP, VARCHAR), (INTEGER, BOOLEAN),
]  # fmt: skip
BINARY = [(f, r, t, t) for f in ("eq", "lt", "ge", "is_distinct", "ne") for r, t in ((BOOLEAN, DOUBLE), (BOOLEAN, VARCHAR))] + [
    ("and", BOOLEAN, BOOLEAN, BOOLEAN), ("or", BOOLEAN, BOOLEAN, BOOLEAN), ("add", BIGINT, BIGINT, BIGINT),
    ("sub", TINYINT, TINYINT, TINYINT), ("mul", INTEGER, INTEGER, INTEGER), ("mul", decimal(12, 6), D, D),
    ("idiv", BIGINT, BIGINT, BIGINT), ("mod", BIGINT, BIGINT, BIGINT), ("mod", D, D, D), ("div", DOUBLE, DOUBLE, DOUBLE),
    ("nullif", BIGINT, BIGINT, BIGINT), ("greatest", DOUBLE, DOUBLE, DOUBLE), ("least", VARCHAR, VARCHAR, VARCHAR),
    ("coalesce", D, D, D), ("concat", VARCHAR, VARCHAR, VARCHAR), ("contains", BOOLEAN, VARCHAR, VARCHAR),
    ("starts_with", BOOLEAN, VARCHAR, VARCHAR), ("days_between", BIGINT, DATE, DATE),
]  # fmt: skip


@pytest.fixture(scope="module")
def connection():
    with duckdb.connect() as c:
        yield c


def check(connection, cases):
    wrong = [
        (c, duck(connection, c), "raises" if raises(c) else value_of(c)) for c in cases if not agree(connection, c)
    ]
    assert not wrong, wrong[:3]
    assert cases


@pytest.mark.parametrize(("function", "result", "arg"), UNARY)
def test_unary_functions(connection, function, result, arg):
    check(connection, calls(function, result, arg))


@pytest.mark.parametrize(("source", "target"), CASTS)
def test_casts(connection, source, target):
    check(connection, calls("cast", target, source))


@pytest.mark.parametrize(("function", "result", "left", "right"), BINARY)
def test_binary_functions(connection, function, result, left, right):
    check(connection, calls(function, result, left, right))


def test_membership_and_choice(connection):
    check(connection, calls("in", BOOLEAN, BIGINT, BIGINT, BIGINT))
    check(connection, calls("case", D, BOOLEAN, D, D))


@pytest.mark.parametrize("pattern", ["%", "_%", "h_l%o", "%a%", "", "é%"])
def test_like(connection, pattern):
    for function in ("like", "ilike"):
        check(connection, [Call(function, (t, Literal(pattern, VARCHAR)), BOOLEAN) for t in literals(VARCHAR)])


@pytest.mark.parametrize("start", [-10, -3, 0, 1, 3, 9])
@pytest.mark.parametrize("length", [None, -2, 0, 2, 7])
def test_substring(connection, start, length):
    bounds = [Literal(start, BIGINT)] + ([] if length is None else [Literal(length, BIGINT)])
    check(connection, [Call("substring", (t, *bounds), VARCHAR) for t in literals(VARCHAR)])


@pytest.mark.parametrize(
    "part",
    [
        "year",
        "month",
        "day",
        "quarter",
        "dow",
        "isodow",
        "doy",
        "week",
        "hour",
        "minute",
        "second",
        "millisecond",
        "century",
    ],
)
def test_parts_of_dates(connection, part):
    parts = Literal(part, VARCHAR)
    types = (TIMESTAMP,) if part in ("hour", "minute", "second", "millisecond") else (DATE, TIMESTAMP)
    check(connection, [Call("extract", (parts, d), BIGINT) for t in types for d in literals(t)])


@pytest.mark.parametrize(
    "part", ["year", "quarter", "month", "week", "day", "hour", "minute", "decade", "century", "millennium"]
)
def test_truncation_of_dates(connection, part):
    parts = Literal(part, VARCHAR)
    check(connection, [Call("date_trunc", (parts, d), TIMESTAMP) for d in literals(TIMESTAMP)])


@pytest.mark.parametrize("months", [0, 1, -1, 12, -14, 25])
def test_months(connection, months):
    dates = [*literals(DATE), *literals(TIMESTAMP)]
    check(connection, [Call("add_months", (d, Literal(months, INTEGER)), d.type) for d in dates])


def test_replace_and_days(connection):
    old, new = Literal("a", VARCHAR), Literal("bb", VARCHAR)
    check(connection, [Call("replace", (t, old, new), VARCHAR) for t in literals(VARCHAR)])
    check(connection, [Call("add_days", (d, Literal(40, INTEGER)), DATE) for d in literals(DATE)])

"""Every typing rule against DuckDB's own answer, over all pairs of kinds of operands."""

from __future__ import annotations

import duckdb
import pytest

from ivm.catalog.errors import Error
from tests.sql.world import bound, described, expected, modelled

COLUMNS = ("b", "ti", "si", "i", "bi", "hi", "d52", "d152", "d184", "d386", "f", "dt", "ts", "v", "u8", "u16", "u32",
           "u64", "r", "tz", "tm")  # fmt: skip
LITERALS = ("1", "200", "-5", "100000", "3000000000", "1.5", "0.05", "1e3", "'1'", "NULL", "true", "DATE '2020-01-01'")
OPERANDS = COLUMNS + LITERALS

BINARY = (
    "{} + {}", "{} - {}", "{} * {}", "{} / {}", "{} // {}", "{} % {}", "CASE WHEN b THEN {} ELSE {} END",
    "coalesce({}, {})", "greatest({}, {})", "nullif({}, {})", "{} = {}", "{} < {}", "{} IS DISTINCT FROM {}", "{} IN ({})",
)  # fmt: skip
UNARY = (
    "-{}", "abs({})", "round({})", "round({}, 1)", "round({}, -1)", "floor({})", "ceil({})", "sqrt({})", "ln({})", "exp({})",
    "power({}, 2)", "mod({}, 2)", "sum({})", "avg({})", "min({})", "max({})", "count({})", "stddev({})", "stddev_pop({})",
    "variance({})", "var_pop({})", "extract(year FROM {})", "date_part('day', {})", "month({})", "date_trunc('month', {})",
    "length({})", "upper({})", "trim({})", "substring({}, 1, 2)", "concat({}, 'a')", "{} || 'a'", "{} IS NULL", "NOT {}",
    "{} LIKE 'a%'", "starts_with({}, 'a')", "contains({}, 'a')", "replace({}, 'a', 'b')", "{} + INTERVAL '1' MONTH",
    "CAST({} AS BIGINT)", "CAST({} AS DECIMAL(20, 3))", "CAST({} AS VARCHAR)", "CAST({} AS DOUBLE)", "CAST({} AS DATE)",
    "{} BETWEEN {} AND {}", "if(b, {}, {})", "sum({}) FILTER (WHERE b)", "{} IS TRUE",
)  # fmt: skip


# Where DuckDB lets types meet that ours wants cast: BOOLEAN or DATE with numbers, DECIMAL by //, conditions of any type.
STRICTER = frozenset(
    ["{} = {}", "{} < {}", "{} IS DISTINCT FROM {}", "{} IN ({})", "nullif({}, {})", "{} BETWEEN {} AND {}", "{} // {}",
     "{} - {}", "NOT {}", "{} IS TRUE", "avg({})", "CAST({} AS BIGINT)", "CAST({} AS DECIMAL(20, 3))",
     "CAST({} AS DOUBLE)", "CAST({} AS DATE)"],
)  # fmt: skip


def ours(text: str) -> str | None:
    """The type, None if the expression is refused."""
    try:
        return str(bound(f"SELECT {text} AS x FROM t").schema[0].type)
    except Error:
        return None


def check(form: str, choices: list[tuple[str, ...]]) -> int:
    """Compare all; how many have a type. Ours refuses only what DuckDB refuses, but for text and NULL, which adapt."""
    texts = {form.format(*operands): operands for operands in choices}
    mine = {text: ours(text) for text in texts}
    typed = [text for text, type_ in mine.items() if type_ is not None]
    theirs = [type_ for _, type_ in described(f"SELECT {', '.join(typed)} FROM t")]
    assert {text: mine[text] for text in typed} == dict(zip(typed, theirs, strict=True))
    for text, operands in texts.items():
        if mine[text] is None and form not in STRICTER and not {"v", "'1'", "NULL"} & set(operands):
            with pytest.raises(duckdb.Error):
                described(f"SELECT {text} FROM t")
    return len(typed)


@pytest.mark.parametrize("form", BINARY)
def test_two_operands(form: str):
    assert check(form, [(left, right) for left in OPERANDS for right in OPERANDS]) > 100


@pytest.mark.parametrize("form", UNARY)
def test_one_operand(form: str):
    assert check(form, [(operand,) * form.count("{}") for operand in OPERANDS]) > 1


@pytest.mark.parametrize(
    "literal",
    ["0", "1", "2147483647", "2147483648", "-2147483648", "9223372036854775808", "170141183460469231731687303715884105727",
     "0.05", "0.5", "1.50", "00.50", "5.", "1e5", "1.5E-3", "12345678901234567890.12345678901234567890", "1_000",
     "DATE '2020-1-5'", "TIMESTAMP '2020-01-05 01:02'", "DATE '2020-01-31' + INTERVAL '1' MONTH", "'a'", "true", "NULL",
     "CAST('1.005' AS DECIMAL(4, 2))", "CAST(2.5 AS INTEGER)", "CAST(-2.5 AS INTEGER)", "CAST(true AS BIGINT)",
     "CAST('2020-01-05 10:00:00' AS DATE)", "CAST(1.50 AS VARCHAR)", "CAST(DATE '0099-01-05' AS VARCHAR)",
     "CAST(TIMESTAMP '2020-01-05 01:02:03.500' AS VARCHAR)", "CAST('t' AS BOOLEAN)", "CAST(1 AS BOOLEAN)",
     "DATE '2020-05-31' - INTERVAL '3 months 2 days'", "DATE '2020-03-01' - 1", "1 + DATE '2020-02-28'",
     "DATE '1998-12-01' - INTERVAL '90' DAY", "INTERVAL 3 HOUR + DATE '2020-01-01'", "- 1.5", "-(5)", "CAST(7 AS TINYINT)",
     "-(5::TINYINT)", "-((-128)::TINYINT)", "-(5::BIGINT)", "-(-(2147483648))", "-(2147483648)", "-(-2147483648)::INTEGER",
     "CAST(DATE '2020-01-31' + INTERVAL 1 QUARTER AS DATE)", "CAST('1e3' AS INTEGER)", "CAST('nan' AS DOUBLE)"],
)  # fmt: skip
def test_a_literal_has_duckdbs_type_and_value(literal: str):
    query = bound(f"SELECT {literal} AS x")
    assert [(f.name, str(f.type)) for f in query.schema] == described(f"SELECT {literal} AS x")
    assert repr(modelled(query)) == repr(expected(query))

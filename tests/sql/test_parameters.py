"""Parameters become literals: their values, and what is wrong with the rest."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time
from decimal import Decimal

import duckdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ivm.catalog.errors import BindError, Error, TypeMismatchError
from ivm.sql.parameters import filled

VALUES = [
    None, True, False, 0, -1, 2**31, -(2**63), 2**100, 1.5, -0.25, 1e300, 5e-324, math.inf, -math.inf, Decimal("1.50"),
    Decimal("-0.005"), Decimal("1E+3"), Decimal(0), "", "it's", "a\nb", "\\ % ? $1 -- /*", "é日", date(2020, 2, 29),
    date(1, 1, 1), datetime(2020, 2, 29, 23, 59, 59, 123456), datetime(1969, 12, 31),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=repr)
@pytest.mark.parametrize("text", ["SELECT ?", "SELECT $1", "SELECT $value"])
def test_a_value_comes_back_from_duckdb(value: object, text: str):
    params = {"value": value} if text.endswith("value") else [value]
    ((found,),) = duckdb.execute(filled(text, params)).fetchall()
    assert found == value
    assert type(found) is type(value)


NESTED = [
    [1, 2], [], [None], [1, 2.5], (1, 2), [[1], [2, None], []], {"a": 1, "it's": [{"c": None, "d": "x"}]}, {1: 2}, {},
    {"key": ["k", "j"], "value": [[1], None]}, {"key": 1, "value": 2}, [{"key": [1], "value": [date(2020, 2, 29)]}],
    np.array([[1, 2], [3, 4]]), [Decimal("1.5"), None], [np.float64(0.5)], [b"x", b"it's"],
]  # fmt: skip


@pytest.mark.parametrize("value", NESTED, ids=repr)
def test_lists_and_dicts_are_what_duckdb_makes_of_them(value: object):
    duck = duckdb.connect()
    ours, mine = duck.execute(filled("SELECT ? AS x", [value])).fetchall(), duck.description
    assert duck.execute("SELECT ? AS x", [value]).fetchall() == ours
    assert duck.description == mine


def test_what_holds_itself_or_too_much_has_no_literal():
    inside: list[object] = []
    inside.append({"x": inside})
    with pytest.raises(TypeMismatchError, match="100 levels of lists and dicts, or holds itself"):
        filled("SELECT ?", [inside])
    with pytest.raises(TypeMismatchError, match="more than 100,000 values; insert them as rows"):
        filled("SELECT ?", [[[1] * 60_000, [2] * 60_000]])


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_text_comes_back(value: str):
    assert duckdb.execute(filled("SELECT ? || ''", [value])).fetchall() == [(value,)]


def test_nan_and_numpy_have_values_too():
    assert math.isnan(duckdb.execute(filled("SELECT ?", [math.nan])).fetchall()[0][0])
    assert filled("SELECT ?, ?", [np.int32(5), np.float64(0.5)]) == "SELECT 5, 0.5e0"


def test_signs_stay_apart():
    assert filled("SELECT 1 - ?, -?", [-2, -3]) == "SELECT 1 - (-2), -(-3)"


def test_numbers_choose_and_may_repeat():
    assert filled("SELECT $2, $1, $2", [1, 2]) == "SELECT 2, 1, 2"
    assert filled("SELECT $b, $a, $b", {"a": 1, "b": "x"}) == "SELECT 'x', 1, 'x'"


def test_an_operator_behind_a_parameter_is_no_part_of_it():
    assert filled("SELECT ?::INT+?::INT, (?::DATE)", [1, 2, "x"]) == "SELECT 1::INT+2::INT, ('x'::DATE)"
    assert filled("SELECT 'a'||?||?, ?|?, ?&?", ["b", "c", 1, 2, 3, 4], "postgres") == "SELECT 'a'||'b'||'c', 1|2, 3&4"
    assert (
        filled("SELECT j ?| ?, (j)?&?, a[1]?::INT", ["k", "l"], "postgres") == "SELECT j ?| 'k', (j)?&'l', a[1]?::INT"
    )


def test_what_looks_like_a_parameter_in_text_or_a_comment_is_none():
    text = "SELECT '?', \"$1\", $$ ? $$ -- ? $1\n/* $x */"
    assert filled(text, None) == text
    assert filled(text, []) == text


def test_statements_share_their_parameters():
    assert filled("SELECT ?; SELECT ?", [1, 2]) == "SELECT 1; SELECT 2"


@pytest.mark.parametrize(
    ("dialect", "expected"), [("mysql", r"SELECT 'it''s \\'"), ("postgres", r"SELECT 'it''s \'"), ("spark", r"SELECT 'it\'s \\'")]
)  # fmt: skip
def test_quotes_are_those_of_the_dialect(dialect: str, expected: str):
    assert filled("SELECT ?", ["it's \\"], dialect) == expected


@pytest.mark.parametrize(
    ("text", "params", "error", "message"),
    [
        ("SELECT ?", None, BindError, r"no value; give one in params.*column 8"),
        ("SELECT ?, ?", [1], BindError, "has 2 parameters, but 1 values are given"),
        ("SELECT ?", [1, 2], BindError, "has 1 parameter, but 2 values are given"),
        ("SELECT 1", [1], BindError, "has 0 parameters, but 1 values are given"),
        ("SELECT $2", [1], BindError, "has 2 parameters, but 1 values"),
        ("SELECT $0", [], BindError, "has 0 parameters"),
        ("SELECT $nam", {"name": 1}, BindError, r"\$nam has no value; did you mean 'name'"),
        ("SELECT $x", {"x": 1, "y": 2}, BindError, r"a value for 'y', but the text has no \$y"),
        ("SELECT 1", {"y": 2}, BindError, r"no \$y"),
        ("SELECT $x", [1], BindError, r"by name; give params as a dict"),
        ("SELECT ?", {"x": 1}, BindError, r"by position; give params as a list"),
        ("SELECT ?, $1", [1], BindError, r"\$1 and \? cannot be mixed"),
        ("SELECT $x, $1", [1], BindError, r"\$1 and \$name cannot be mixed"),
        ("SELECT ?", "a", BindError, "must be a list or a dict of values, not a str"),
        ("SELECT ?", 5, BindError, "not a int"),
        ("SELECT ?", [{1}], TypeMismatchError, "is a set, which has no literal; give None, bool"),
        ("SELECT $x", {"x": [{1}]}, TypeMismatchError, r"\$x is a set within a list or dict"),
        ("SELECT ?", [time(1, tzinfo=UTC)], TypeMismatchError, "without a time zone"),
        ("SELECT ?", [Decimal("nan")], TypeMismatchError, "NaN"),
    ],
)
def test_what_is_wrong_is_said(text: str, params: object, error: type[Error], message: str):
    with pytest.raises(error, match=message) as caught:
        filled(text, params)  # type: ignore[arg-type]
    assert type(caught.value) is error

"""Rows of plain values of Python have in them what the general way makes of the same, which infers and casts."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any
from unittest import mock

import numpy as np
import pytest

import ivm
from ivm.intake.as_it_is import AsItIs
from ivm.session import database
from tests.interface.test_open_insert import TYPES, VALUES, put

PAIRS = ((0.5, 2), (1, None), (0.25, "1.50"), ("2024-02-29", None), (5, 2.0), ("a", "1"), (True, 1))

NESTED_TYPES = (
    "INTEGER[]", "UTINYINT[]", "DOUBLE[]", "FLOAT[] NOT NULL", "DECIMAL(9, 2)[]", "VARCHAR[][]", "DATE[]", "TIMESTAMP[]",
    "STRUCT(a INTEGER, b VARCHAR)", "STRUCT(a INTEGER[], b STRUCT(c BOOLEAN, d BLOB))[]",
)  # fmt: skip
NESTED: tuple[Any, ...] = (
    None, [], [None], [1, None, 2], (1, 2), [300], [-1], [2**40], [True], [1.5], [1, 1.5], [0.1, -0.0], [3.5e38], [float("nan")],
    ["1"], ["a", "é\0"], ["\ud800"], [["a"], None, []], [[]], [b"x"], [Decimal("1.25")], [Decimal("1.255")], [Decimal("NaN")],
    [Decimal("1e9")], [dt.date(2024, 2, 29)], [dt.datetime(2024, 2, 29, 1, 2, 3, 4)], [dt.datetime(2024, 1, 1, tzinfo=dt.UTC)],
    {"a": 1, "b": "x"}, {"b": None, "a": 2}, {"a": 1}, {"a": 1, "b": "x", "c": 2}, {"A": 1, "B": "x"}, {"a": "1", "b": "x"}, {},
    [{"a": [1, None], "b": {"c": True, "d": b"\0"}}, None, {"a": None, "b": None}], [{"a": [1.5], "b": None}], [np.int64(1)], np.ones(2),
)  # fmt: skip


def _made(db: ivm.Database, values: tuple[Any, ...]) -> Any:
    """What stands in a table after rows with these values have come, and gone again."""
    try:
        db.apply({"t": [{"n": number, "v": value} for number, value in enumerate(values)]})
    except ivm.Error:
        return "refused"
    found = [repr(each) for each in db.sql("SELECT n, v FROM t ORDER BY n").fetchall()]
    db.sql("DELETE FROM t")
    return found


@pytest.mark.parametrize("type_", [*TYPES, *NESTED_TYPES])
def test_plain_or_not_the_same_comes_in(type_: str) -> None:
    plain, general = ivm.connect(compile="off"), ivm.connect(compile="off")
    for db in (plain, general):
        db.sql(f"CREATE TABLE t (n BIGINT PRIMARY KEY, v {type_})")
    several = ((value,) for value in (NESTED if type_ in NESTED_TYPES else VALUES))
    for values in (*several, *PAIRS):
        found = _made(plain, values)
        with mock.patch.object(AsItIs, "_plainly_taken", return_value=None):
            assert found == _made(general, values), values


@pytest.mark.parametrize("type_", NESTED_TYPES)
def test_nested_parameters_are_taken_as_their_literals(type_: str) -> None:
    plain, general = ivm.connect(compile="off"), ivm.connect(compile="off")
    for db in (plain, general):
        db.sql(f"CREATE TABLE t (n BIGINT PRIMARY KEY, v {type_})")
    for number, value in enumerate(NESTED):
        found = put(plain, "INSERT INTO t VALUES (?, ?)", [number, value])
        with mock.patch.object(database, "insert_values", return_value=None):
            assert found == put(general, "INSERT INTO t VALUES (?, ?)", [number, value]), value
    text = "SELECT * FROM t ORDER BY n"
    assert repr(plain.sql(text).fetchall()) == repr(general.sql(text).fetchall())

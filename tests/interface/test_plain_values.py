"""Rows of plain values of Python have in them what the general way makes of the same, which infers and casts."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest

import ivm
from ivm.intake.as_it_is import AsItIs
from tests.interface.test_open_insert import TYPES, VALUES

PAIRS = ((0.5, 2), (1, None), (0.25, "1.50"), ("2024-02-29", None), (5, 2.0), ("a", "1"), (True, 1))


def _made(db: ivm.Database, values: tuple[Any, ...]) -> Any:
    """What stands in a table after rows with these values have come, and gone again."""
    try:
        db.apply({"t": [{"n": number, "v": value} for number, value in enumerate(values)]})
    except ivm.Error:
        return "refused"
    found = [repr(each) for each in db.sql("SELECT n, v FROM t ORDER BY n").fetchall()]
    db.sql("DELETE FROM t")
    return found


@pytest.mark.parametrize("type_", TYPES)
def test_plain_or_not_the_same_comes_in(type_: str) -> None:
    plain, general = ivm.connect(compile="off"), ivm.connect(compile="off")
    for db in (plain, general):
        db.sql(f"CREATE TABLE t (n BIGINT PRIMARY KEY, v {type_})")
    for values in (*((value,) for value in VALUES), *PAIRS):
        found = _made(plain, values)
        with mock.patch.object(AsItIs, "_plainly_taken", return_value=None):
            assert found == _made(general, values), values

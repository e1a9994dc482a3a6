"""Casts of columns of texts, against the reader of one text."""

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from ivm.catalog.types import (
    BIGINT,
    DATE,
    DOUBLE,
    HUGEINT,
    INTEGER,
    TIMESTAMP,
    UBIGINT,
    UTINYINT,
    VARCHAR,
    Physical,
    SqlType,
    decimal,
)
from ivm.render.scalars.columns import objects, stored
from ivm.sql.types.texts import reader
from ivm.trace.columns.column import DTYPES, Column
from ivm.trace.columns.plain_texts import cast_numerals, cast_plainly

TYPES = (BIGINT, INTEGER, UTINYINT, UBIGINT, HUGEINT, DOUBLE, DATE, TIMESTAMP, decimal(9, 2), decimal(38, 5))
NUMBERS = ["0", "-0", "007", "1", "-1", "12.5", "-0.25", "99", "255", "999999999", "1e5", "1E-3", "0.12", "9" * 18]
ODD = [" 7 ", "+3", "1_000", "3.", ".5", "1e2", "18446744073709551615", "9" * 38, "1e300", "0.123456789", "-.5"]
DAYS = ["2024-02-29", "1999-12-31", "0001-01-01", "2024-2-3", "2024-02-03 (BC)", "-0044-03-15"]
MOMENTS = [*DAYS, "2024-02-29 23:59:59", "2024-02-29T00:00:00.5", "2024-02-29 10:11:12.123456789", "2024-02-29 10:11Z"]


def _column(texts: list[str], type: SqlType) -> Column:
    read = reader(type)
    assert read is not None
    wide = type.physical is Physical.WIDE
    return Column(stored(np.array([*map(read, texts)], object if wide else DTYPES[type.physical]), type.physical))


def _are_read(text: str, type: SqlType) -> bool:
    try:
        _column([text], type)
    except ValueError:
        return False
    return True


def _values(column: Column) -> list[Any]:
    assert column.valid is None
    return list(map(repr, objects(column.values) if column.values.ndim > 1 else column.values.tolist()))


@pytest.mark.parametrize("type", TYPES, ids=str)
def test_columns_of_texts_are_read_as_each_text_is(type: SqlType) -> None:
    chance, left = random.Random(1), list[int]()
    written = {DATE: DAYS, TIMESTAMP: MOMENTS}.get(type, [*NUMBERS, *ODD])
    known = [text for text in written if _are_read(text, type)]

    def others(odd: pa.Array) -> Column:
        left.append(len(odd))
        return _column(odd.to_pylist(), type)

    for _ in range(20):
        texts = chance.choices(known, k=100)
        found = cast_plainly(pa.array(texts), type, others)
        assert found is not None
        assert _values(found) == _values(_column(texts, type))
    assert 0 < max(left) < 100


NUMERALS = [
    "0",
    "-0",
    "-0.0",
    "007",
    "1.",
    ".5",
    "-.5",
    "1.005",
    "1.250",
    "0.1",
    "-7",
    "255",
    "256",
    "1234567.891",
    "9" * 18,
]
NUMERALS += ["9" * 19, "-9223372036854775808", "18446744073709551615", "9" * 38, "1" * 120, f"0.{'1' * 30}", "1" * 400]
NUMERALS += ["9" * size for size in range(30, 81)]  # of which Arrow takes some for what is left of them
NO_NUMERALS = ["", ".", "-", "-.", "--1", "1-2", "1.2.3", "+1", "1e5", " 1", "x"]


@pytest.mark.parametrize("type", [each for each in TYPES if each not in (DATE, TIMESTAMP)], ids=str)
def test_numerals_are_read_as_they_are_or_not_at_all(type: SqlType) -> None:
    read = 0
    for text in [*NUMERALS, *NO_NUMERALS]:
        for given in (text, f"-{text}", f"{text}.5"):
            found = cast_numerals(pa.chunked_array([["1"], [given, "2"]]), type)
            if found is not None:
                assert _values(found) == _values(_column(["1", given, "2"], type)), given
                read += 1
    assert read >= 3


def test_what_arrow_does_not_read_is_left_to_who_says_so() -> None:
    def nobody(odd: pa.Array) -> Column:
        pytest.fail("all are left")

    for text, wanted in [("2023-02-29", DATE), ("x", VARCHAR), (".125", decimal(3, 3))]:
        assert cast_plainly(pa.array([text] * 100), wanted, nobody) is None
    assert cast_plainly(pa.array(["1"] * 10), DOUBLE, nobody) is None

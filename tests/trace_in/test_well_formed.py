"""Arrow data that is not what its types say is refused, each by table, column, row and value."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from ivm.catalog import types
from ivm.catalog.errors import TypeMismatchError
from ivm.catalog.schema import Field
from ivm.catalog.types import SqlType, decimal
from ivm.intake.ingest import Intake

MANY = 2000
"""Rows beyond which columns are looked at one by one."""


def buffer(values: Any, item: Any) -> pa.Buffer:
    return pa.py_buffer(np.array(values, item))


def texts(raw: list[bytes], type_: pa.DataType) -> pa.Array:
    return pa.array(raw, pa.large_binary() if pa.types.is_large_string(type_) else pa.binary()).view(type_)


def encoded(indices: Any, values: pa.Array) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int32()), values, safe=False)


def decimals(words: list[tuple[int, int]], type_: pa.DataType) -> pa.Array:
    return pa.Array.from_buffers(type_, len(words), [None, buffer(words, np.int64)])


def days(*values: int | None) -> pa.Array:
    return pa.array(values, pa.int32()).cast(pa.date32())


def moments(*values: int | None, unit: str = "us") -> pa.Array:
    return pa.array(values, pa.int64()).cast(pa.timestamp(unit))


NARROW, WIDE = decimal(9, 2), decimal(30, 2)

WRONG: list[tuple[str, SqlType, Callable[[], pa.Array], str]] = [
    (
        "index beyond",
        types.VARCHAR,
        lambda: encoded([0, 5_000_000], pa.array(["a"])),
        "row 1 .*index 5000000 .* of 1 val",
    ),
    ("index negative", types.VARCHAR, lambda: encoded([0, -3], pa.array(["a"])), "row 1 .*index -3"),
    ("index into nothing", types.VARCHAR, lambda: encoded([0], pa.array([], pa.string())), "row 0 .*index 0"),
    ("index of numbers", types.BIGINT, lambda: encoded([0, 9], pa.array([7])), "row 1 .*index 9"),
    (
        "dictionary not UTF-8",
        types.VARCHAR,
        lambda: encoded([0, 1], texts([b"a", b"\xff"], pa.string())),
        r"value 1 .*\\xff",
    ),
    (
        "not UTF-8",
        types.VARCHAR,
        lambda: texts([b"a", b"\xff\xfe"], pa.string()),
        r"row 1 .*b'\\xff\\xfe' is not UTF-8",
    ),
    (
        "half a character",
        types.VARCHAR,
        lambda: texts(["ä".encode()[:1], "ä".encode()[1:]], pa.large_string()),
        "row 0 .*not UTF-8",
    ),
    ("a surrogate", types.VARCHAR, lambda: texts([b"\xed\xb2\x80"], pa.string()), "row 0 .*not UTF-8"),
    (
        "a view not UTF-8",
        types.VARCHAR,
        lambda: pa.array([b"\xff"], pa.binary_view()).view(pa.string_view()),
        "row 0 .*not UTF-8",
    ),
    (
        "offsets decrease",
        types.VARCHAR,
        lambda: pa.Array.from_buffers(pa.string(), 3, [None, buffer([0, 3, 1, 3], np.int32), pa.py_buffer(b"abc")]),
        "row 1 ",
    ),
    (
        "a view beyond its bytes",
        types.VARCHAR,
        lambda: pa.Array.from_buffers(pa.string_view(), 1, [None, buffer([100, 0, 5, 10**6], np.int32)]),
        "row 0 ",
    ),
    (
        "too many digits",
        NARROW,
        lambda: decimals([(5, 0), (10**15, 0)], pa.decimal128(9, 2)),
        "row 1 .*10000000000000.00 has more",
    ),
    ("a high word", NARROW, lambda: decimals([(5, 77)], pa.decimal128(9, 2)), "row 0 .*has more digits than the 9"),
    (
        "too many digits, wide",
        WIDE,
        lambda: decimals([(0, 1 << 62)], pa.decimal128(30, 2)),
        "row 0 .*has more digits than the 30",
    ),
    (
        "too many digits, short",
        NARROW,
        lambda: pa.Array.from_buffers(pa.decimal32(5, 2), 1, [None, buffer([10**8], np.int32)]),
        "row 0 .*has more digits than the 5",
    ),
    ("a day too late", types.DATE, lambda: days(0, 2**31 - 1), "row 1 .*2147483647 days"),
    ("a day too early", types.DATE, lambda: days(-719_163), "row 0 .*-719163 days"),
    ("a moment too late", types.TIMESTAMP, lambda: moments(0, 253_402_300_800_000_000), "row 1 .*years 1 to 9999"),
    ("no moment", types.TIMESTAMP, lambda: moments(-(2**63)), "row 0 .*years 1 to 9999"),
    ("seconds too many", types.TIMESTAMP, lambda: moments(2**62, unit="s"), ""),
    ("seconds too many for a day", types.DATE, lambda: moments(2**62, unit="s"), ""),
    ("milliseconds too many", types.DATE, lambda: pa.array([2**62]).cast(pa.date64()), ""),
    ("a day that is no moment", types.TIMESTAMP, lambda: days(2**31 - 1), ""),
    (
        "no time of a day",
        types.TIME,
        lambda: pa.array([0, 86_400_000_000], pa.int64()).view(pa.time64("us")),
        "row 1 .*86400000000 us are no time of a day, .* before 24:00; give",
    ),
    ("a list", types.BIGINT, lambda: pa.array([[1]]), "Arrow type list"),
    ("a struct", types.VARCHAR, lambda: pa.array([{"a": "b"}]), "Arrow type struct"),
    ("bytes", types.VARCHAR, lambda: pa.array([b"a"], pa.binary_view()), "Arrow type binary_view"),
    ("a time of day", types.TIMESTAMP, lambda: pa.array([datetime.time(1)]), "Arrow type time64"),
    ("a zone", types.TIMESTAMP, lambda: pa.array([0], pa.timestamp("us", "UTC")), "Arrow type timestamp.us, tz=UTC"),
]


@pytest.mark.parametrize(("type_", "make", "message"), [w[1:] for w in WRONG], ids=[w[0] for w in WRONG])
def test_what_is_not_well_formed_is_refused(type_, make, message):
    fields = (Field("x", type_),)
    for data in (pa.table({"x": make()}), {"x": make()}, pa.record_batch({"x": make()})):
        with pytest.raises(TypeMismatchError, match=f"table t: column 'x'.*{message}"):
            Intake(fields, "table t").rows(data)
    intake = Intake(fields, "table t")
    for _ in range(2):
        with pytest.raises(TypeMismatchError, match=f"table t: column 'x'.*{message}"):
            intake.updates(pa.table({"x": make()}))


@pytest.mark.parametrize(("type_", "make", "message"), [w[1:] for w in WRONG], ids=[w[0] for w in WRONG])
def test_nor_among_many_rows(type_, make, message):
    array = make()
    data = pa.table({"x": pa.chunked_array([pa.nulls(MANY, array.type), array])})
    for row in range(5):
        message = message.replace(f"row {row} ", f"row {MANY + row} ")
    for take in (
        Intake((Field("x", type_),), "table t").rows,
        lambda given: Intake((Field("x", type_),), "table t").rows(given.to_reader()),
    ):
        with pytest.raises(TypeMismatchError, match=f"'x'.*{message}"):
            take(data)


def test_what_lies_under_null_or_outside_a_slice_does_not_matter():
    fields = (Field("t", types.VARCHAR), Field("d", types.DATE), Field("e", types.VARCHAR))
    mask = np.array([False, True, False])
    text = pa.Array.from_buffers(
        pa.string(), 3, [pa.py_buffer(b"\5"), buffer([0, 1, 2, 3], np.int32), pa.py_buffer(b"a\xffb")]
    )
    day = pa.array(np.array([0, 2**31 - 1, 1], np.int32), pa.int32(), mask=mask).cast(pa.date32())
    code = pa.DictionaryArray.from_arrays(
        pa.array(np.array([0, 99, 0], np.int32), mask=mask), pa.array(["x"]), safe=False
    )
    table = pa.table({"t": text, "d": day, "e": code})
    taken = Intake(fields, "table t").rows(table)[0].to_pylist()
    assert taken[0] == {"t": "a", "d": datetime.date(1970, 1, 1), "e": "x"}
    assert taken[1] == dict.fromkeys("tde")
    plain = pa.table(
        {"t": texts([b"\xff", b"ok"], pa.string()), "d": days(2**31 - 1, 5), "e": encoded([9, 0], pa.array(["x"]))}
    )
    assert Intake(fields, "table t").updates(plain.slice(1))[0].to_pylist() == [
        {"t": "ok", "d": datetime.date(1970, 1, 6), "e": "x"}
    ]


def test_the_extremes_are_taken():
    fields = (Field("d", types.DATE), Field("t", types.TIMESTAMP), Field("p", NARROW), Field("q", decimal(18, 0)))
    rows = [
        {"d": datetime.date.min, "t": datetime.datetime.min, "p": Decimal("-9999999.99"), "q": Decimal(1 - 10**18)},
        {"d": datetime.date.max, "t": datetime.datetime.max, "p": Decimal("9999999.99"), "q": Decimal(10**18 - 1)},
    ]
    assert Intake(fields, "table t").rows(rows * MANY)[0].to_pylist()[-2:] == rows


def test_a_dictionary_is_looked_at_once_and_again_when_it_is_another():
    intake = Intake((Field("x", types.VARCHAR),), "table t")
    good = encoded([0, 1] * 5, pa.array(["a", "b"]))
    for begin in range(0, 10, 2):
        assert intake.updates(pa.table({"x": good.slice(begin, 2)}))[0].num_rows == 2
    with pytest.raises(TypeMismatchError, match="not UTF-8"):
        intake.updates(pa.table({"x": encoded([0, 1], texts([b"a", b"\xff"], pa.string()))}))
    with pytest.raises(TypeMismatchError, match="index 2"):
        intake.updates(pa.table({"x": encoded([0, 2], good.dictionary)}))

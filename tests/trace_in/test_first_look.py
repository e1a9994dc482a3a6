"""The one look at all columns of a batch says that all is well only where the checks of every value say so."""

from __future__ import annotations

import gc
import itertools
from collections.abc import Sequence
from decimal import Decimal
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ivm.catalog import types
from ivm.catalog.errors import Error
from ivm.catalog.schema import Field
from ivm.catalog.types import SqlType, decimal
from ivm.intake.as_it_is import first_look, number_field
from ivm.intake.well_formed import SHOWN, check_shown, check_well_formed
from ivm.kernels.memory.exported import ADDED, REMOVED, SEEN
from ivm.trace.columns.arrow import arrow_type, is_direct, to_column
from ivm.trace.columns.column import Ints
from ivm.trace.text.dictionary import TextDictionary

DAYS, MOMENTS = (SHOWN[each.kind][:2] for each in (types.DATE, types.TIMESTAMP))
TEXTS = ["", "a", "plain text of some length", "ä", "日本", "𝒳", "a" * 9 + "é"]
BYTES = [b"", b"a", "ä".encode(), b"\xff", b"\xc3", b"eight by\xff", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\xaf"]


def texts(raw: Sequence[bytes | None], type_: pa.DataType) -> pa.Array:
    return pa.array(raw, pa.large_binary() if pa.types.is_large_string(type_) else pa.binary()).view(type_)


def numbers(values: Sequence[int | None], type_: pa.DataType) -> pa.Array:
    """Values as they are, those under NULL too, whatever the type may hold."""
    there = np.packbits([value is not None for value in values], bitorder="little")
    size = type_.bit_width // 8
    raw = b"".join((99**9 if v is None else v).to_bytes(16, "little", signed=True)[:size] for v in values)
    return pa.Array.from_buffers(type_, len(values), [pa.py_buffer(there), pa.py_buffer(raw)])


def around(*limits: int) -> list[int]:
    return [0, 1, -1, *(limit + step for limit in limits for step in (-1, 0, 1))]


def of_digits(digits: int) -> list[int]:
    return around(10**digits, -(10**digits), 2**63, -(2**63), 2**64, -(2**64))


PLAIN: list[tuple[SqlType, pa.DataType, list[int]]] = [
    (types.BIGINT, pa.int64(), [0, 2**63 - 1, -(2**63)]),
    (types.INTEGER, pa.int32(), [0, 2**31 - 1, -(2**31)]),
    (types.DATE, pa.date32(), around(*DAYS)),
    (types.TIMESTAMP, pa.timestamp("us"), around(*MOMENTS)),
    (types.TIME, pa.time64("us"), around(86_400_000_000)),
    (decimal(9, 2), pa.decimal32(5, 2), around(10**5, -(10**5))),
    (decimal(15, 2), pa.decimal64(11, 2), around(10**11, -(10**11))),
    *((decimal(d, 2), pa.decimal128(d, 2), of_digits(d)) for d in (3, 15, 18, 19, 20, 37)),
]


@st.composite
def columns(draw: Any, length: int) -> tuple[SqlType, pa.Array, bool]:
    """A column of some type that may hold anything, NULL too, and whether it may hold NULL."""
    nothing = st.none() if draw(st.booleans()) else st.nothing()
    is_wild = draw(st.integers(0, 3)) == 0
    kind = draw(st.integers(0, 2))
    if kind == 0:
        type_, given_type, values = draw(st.sampled_from(PLAIN))
        chosen = st.sampled_from(values if is_wild else [0, 1, -1] if type_ != types.TIME else [0, 1])
        return type_, numbers(draw(st.lists(chosen | nothing, min_size=length, max_size=length)), given_type), True
    plain = draw(st.sampled_from([pa.string(), pa.large_string()]))
    some = st.sampled_from(BYTES if is_wild else [text.encode() for text in TEXTS])
    if kind == 1:
        raw = draw(st.lists(some | nothing, min_size=length, max_size=length))
        return types.VARCHAR, texts(raw, plain), draw(st.booleans())
    values = texts(draw(st.lists(some, min_size=1, max_size=5, unique=True)), plain)
    codes = st.integers(-1, len(values)) if is_wild else st.integers(0, len(values) - 1)
    given_type = draw(st.sampled_from([pa.int8(), pa.int16(), pa.int32()]))
    indices = pa.array(draw(st.lists(codes | nothing, min_size=length, max_size=length)), given_type)
    return types.VARCHAR, pa.DictionaryArray.from_arrays(indices, values, safe=False), draw(st.booleans())


def is_well(table: pa.Table, fields: Sequence[Field]) -> bool:
    """What the checks of every value say."""
    try:
        table.validate(full=True)
        check_well_formed(table, "t")
        for column, field in zip(table.columns, fields, strict=True):
            check_shown(column, field, "t")
    except (Error, pa.ArrowException):
        return False
    return not any(not f.nullable and c.null_count for c, f in zip(table.columns, fields, strict=True))


def looked(table: pa.Table, fields: Sequence[Field]) -> Ints | None:
    look, (batch,) = first_look(table.schema, list(enumerate(fields))), table.to_batches()
    assert look is not None
    found = look.at(batch)
    with mock.patch("ivm.intake.as_it_is.LARGE", 1):
        again = look.at(batch)
    assert (found is None) is (again is None)
    return again


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_it_agrees_with_the_checks_of_every_value(data: Any) -> None:
    length = data.draw(st.sampled_from([1, 2, 7, 8, 9, 70, 130]))
    begin = data.draw(st.integers(0, length - 1))
    made = data.draw(st.lists(columns(length), min_size=1, max_size=3))
    fields = [Field(f"c{i}", type_, nullable=nullable) for i, (type_, _, nullable) in enumerate(made)]
    table = pa.table([array.slice(begin) for _, array, _ in made], names=[field.name for field in fields])
    assert all(is_direct(given, field.type) for given, field in zip(table.schema.types, fields, strict=True))
    places = looked(table, fields)
    assert (places is not None) is is_well(table, fields)
    if places is None:
        return
    for column, field, place in zip(table.columns, fields, places.tolist(), strict=True):
        array, (address, stride, validity, bit) = column.chunk(0), place[:4]
        expected = to_column(array, field.type, TextDictionary())
        if stride:
            assert bool(validity) is (expected.valid is not None)
            assert address == array.buffers()[1].address + array.offset * stride
            assert not validity or (validity, bit) == (array.buffers()[0].address, array.offset)


def told_of_text(raw: bytes, look: Any) -> bool:
    return look.at(pa.record_batch([texts([b"", raw, b"x"], pa.string())], names=["x"])) is not None


def is_utf8(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def test_every_kind_of_utf8() -> None:
    look = first_look(pa.schema({"x": pa.string()}), [(0, Field("x", types.VARCHAR))])
    leads = [0x00, 0x7F, 0x80, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4]
    leads += [0xF5, 0xF8, 0xFC, 0xFF]
    others = [0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF]
    for raw in itertools.chain(
        ((lead, *rest) for lead in leads for more in (0, 1) for rest in itertools.product(others, repeat=more)),
        ((lead, *rest, 0x80) for lead in leads for rest in itertools.product(others[1:-1], repeat=2)),
        ((lead, one, 0x80, last) for lead in leads for one in others for last in others),
    ):
        for text in (bytes(raw), b"in words" + bytes(raw) + b"of eight"):
            assert told_of_text(text, look) is is_utf8(text), text


def test_a_dictionary_is_looked_at_again_only_where_it_is_another() -> None:
    look = first_look(
        pa.schema({"x": pa.dictionary(pa.int32(), pa.string())}), [(0, Field("x", types.VARCHAR, nullable=False))]
    )
    assert look is not None
    values = pa.array([f"text {i}" for i in range(1000)])

    def batch(indices: Sequence[int], values: pa.Array) -> pa.RecordBatch:
        encoded = pa.DictionaryArray.from_arrays(pa.array(indices, pa.int32()), values, safe=False)
        return pa.record_batch([encoded], names=["x"])

    assert look.at(batch([0, 999], values)) is not None
    assert look.at(batch([5], values)) is not None
    assert [len(held) for held in look._dictionaries.held.values()] == [1000]
    assert look.at(batch([5, 1000], values)) is None
    spoilt = texts([b"fine"] * 999 + [b"\xff"], pa.string())
    assert look.at(batch([0], spoilt)) is None
    assert look.at(batch([0], values.slice(0, 500))) is not None
    assert look.at(batch([500], values.slice(0, 500))) is None
    assert look.at(batch([0], pa.concat_arrays([values, pa.array([None], pa.string())]))) is None
    del values
    gc.collect()
    assert look.at(batch([0], spoilt)) is None
    few = pa.array(["a", "b"])
    assert look.at(batch([0, 1], few)) is not None
    assert look.at(batch([2], few)) is None


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_a_dictionary_of_the_very_same_texts_is_the_same(data: Any) -> None:
    """However its texts lie: behind others, at another offset, in memory that has been given back meanwhile."""
    type_ = data.draw(st.sampled_from([pa.string(), pa.large_string()]))
    look = first_look(pa.schema({"x": pa.dictionary(pa.int8(), type_)}), [(0, Field("x", types.VARCHAR))])
    assert look is not None
    before: tuple[list[str | None], int] = [], 0
    for _ in range(data.draw(st.integers(2, 6))):
        some = st.lists(st.sampled_from([*TEXTS, "b", "a" * 8, "b" * 8]) | st.none(), max_size=3)
        given = before[0] if data.draw(st.booleans()) else data.draw(some)
        begin = data.draw(st.integers(0, 2))
        values = pa.array([*TEXTS[:begin], *given, *TEXTS[:begin]], type_).slice(begin, len(given))
        codes = pa.array([0] if given else [], pa.int8())
        places = look.at(pa.record_batch([pa.DictionaryArray.from_arrays(codes, values)], names=["x"]))
        assert (places is None) is (None in given)
        if places is not None:
            number = places.item(0, SEEN)
            assert number
            assert not given or (number == before[1]) is (given == before[0])
            before = given, number


@settings(max_examples=100, deadline=None)
@given(diffs=st.lists(st.sampled_from([1, -1, 0, 2, -(2**63)]), max_size=40), begin=st.integers(0, 40))
def test_diffs_are_counted(diffs: list[int], begin: int) -> None:
    table = pa.table({"x": pa.array([0] * len(diffs)), "_diff": pa.array(diffs, pa.int64())}).to_batches()
    for batch in [each.slice(min(begin, len(each))) for each in table]:
        look = first_look(batch.schema, [(0, Field("x", types.BIGINT)), (1, number_field("_diff"))], counts=True)
        assert look is not None
        for large in (1, 100):
            with mock.patch("ivm.intake.as_it_is.LARGE", large):
                places = look.at(batch)
            assert places is not None
            left = batch.column(1).to_pylist()
            assert [places.item(1, word) for word in (ADDED, REMOVED)] == [left.count(1), left.count(-1)]


@pytest.mark.parametrize(
    "array",
    [
        pa.Array.from_buffers(pa.int64(), 20, [pa.py_buffer(b"\xff\xff\0"), pa.py_buffer(bytes(160))], 5),
        pa.Array.from_buffers(pa.string(), 2, [None, pa.py_buffer(np.array([0, 100, 3], "<i4")), pa.py_buffer(b"abc")]),
        pa.Array.from_buffers(pa.string(), 2, [None, pa.py_buffer(np.array([2, 1, 3], "<i4")), pa.py_buffer(b"abc")]),
    ],
)
def test_what_lies_about_itself(array: pa.Array) -> None:
    field = Field("x", types.VARCHAR if pa.types.is_string(array.type) else types.BIGINT)
    assert looked(pa.table({"x": array}), [field]) is None


def test_what_is_not_judged() -> None:
    field = Field("x", types.BIGINT)
    listed = types.list_of(types.BIGINT)
    schema = pa.schema({"x": pa.int64(), "y": arrow_type(listed)})
    assert first_look(schema, [(0, field), (1, Field("y", listed))]) is None
    assert looked(pa.table({"x": pa.array([Decimal("1.5")])}), [Field("x", decimal(2, 1))]) is not None

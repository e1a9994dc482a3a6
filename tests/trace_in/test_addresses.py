"""Where the columns of a batch lie in memory."""

from __future__ import annotations

import gc
from ctypes import c_int32, c_int64, c_ubyte
from decimal import Decimal
from itertools import permutations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from ivm.catalog.schema import Field
from ivm.catalog.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    HUGEINT,
    INTEGER,
    SMALLINT,
    TIMESTAMP,
    VARCHAR,
    SqlType,
    decimal,
)
from ivm.intake.as_it_is import AsItIs
from ivm.kernels.memory.exported import OFFSET_BYTES
from ivm.kernels.memory.places import ADDRESS, SIZE, STRIDE, WORDS
from ivm.trace.columns.arrow import arrow_type, to_column
from ivm.trace.columns.batch import Batch, Reader, Readers
from ivm.trace.columns.exported import Exported, located
from ivm.trace.text.dictionary import TextDictionary

DICTIONARY = TextDictionary()
PLAIN: list[tuple[SqlType, list[Any], pa.DataType | None]] = [
    (BIGINT, [1, -(2**62), 3, 4], None),
    (INTEGER, [1, -7, 3, 4], None),
    (DATE, [1, -7, 3, 4], None),
    (TIMESTAMP, [1, -7, 3, 4], None),
    (DOUBLE, [0.5, -7.25, 3.0, 1e300], None),
    (decimal(15, 2), [Decimal("1.25"), Decimal("-7.00"), Decimal("3.00"), Decimal("4.00")], None),
    (decimal(15, 2), [Decimal("1.25"), Decimal("-7.00"), Decimal("3.00"), Decimal("4.00")], pa.decimal64(15, 2)),
    (decimal(30, 2), [Decimal("1.25"), Decimal(-(10**25)), Decimal("3.00"), Decimal("4.00")], None),
    (HUGEINT, [Decimal(1), Decimal(-(10**25)), Decimal(3), Decimal(4)], None),
    (BIGINT, [1, -(2**31), 3, 4], pa.int32()),
    (decimal(9, 2), [Decimal("1.25"), Decimal("-7.00"), Decimal("3.00"), Decimal("4.00")], pa.decimal32(9, 2)),
]
OTHERS: list[tuple[SqlType, list[Any], pa.DataType | None]] = [
    (VARCHAR, ["a", "b", "c", "d"], None),
    (VARCHAR, ["a", "b", "c", "d"], pa.dictionary(pa.int32(), pa.string())),
    (BOOLEAN, [True, False, True, True], None),
    (SMALLINT, [1, 2, 3, 4], None),
    (decimal(30, 2), [Decimal("1.25"), Decimal("-7.00"), Decimal("3.00"), Decimal("4.00")], pa.decimal64(9, 2)),
]


def batch_of(arrays: list[pa.Array], types: list[SqlType]) -> Batch:
    names = [f"c{i}" for i in range(len(arrays))]
    return Batch(pa.table(arrays, names=names), Readers([Reader(each, DICTIONARY) for each in types]))


def given(type: SqlType, values: list[Any], encoding: pa.DataType | None) -> pa.Array:
    return pa.array(values, encoding or arrow_type(type))


@pytest.mark.parametrize("begin", [0, 1, 3])
@pytest.mark.parametrize("null", [None, 0, 1, 3])
def test_they_say_where_each_value_lies(begin: int, null: int | None) -> None:
    cases = [
        (type_, [None if i == null else value for i, value in enumerate(values)], encoding)
        for type_, values, encoding in PLAIN + OTHERS
    ]
    arrays = [given(*case).slice(begin) for case in cases]
    batch = batch_of(arrays, [type_ for type_, _, _ in cases])
    places = batch.places([]).copy()
    assert places.shape == (len(cases), WORDS)
    for i, (type_, values, _) in enumerate(cases):
        address, stride, validity, bit, size = places[i, : SIZE + 1].tolist()
        assert bool(stride) is (i < len(PLAIN))
        column, expected = batch.column(i), to_column(arrays[i], type_, DICTIONARY)
        assert column.values.tolist() == expected.values.tolist()
        assert (column.valid is None) is (expected.valid is None)
        if not stride:
            continue
        assert size == stride
        there = [value is not None for value in values[begin:]]
        assert bool(validity) is not all(there)
        if validity:
            assert [
                bool(c_ubyte.from_address(validity + ((bit + r) >> 3)).value >> ((bit + r) & 7) & 1)
                for r in range(len(there))
            ] == there
        for row in np.flatnonzero(there).tolist():
            item = c_int32 if stride == 4 else c_int64
            words = [item.from_address(address + row * stride + 8 * w).value for w in range(expected.values.ndim)]
            is_half = expected.values.dtype == np.int32
            raw = np.ascontiguousarray(expected.values).view(np.int32 if is_half else np.int64)
            assert words == np.atleast_1d(raw.reshape(len(there), -1)[row]).tolist()


@pytest.mark.parametrize("encoding", [pa.string(), pa.large_string(), None])
@pytest.mark.parametrize(
    "values", [["Bern"], ["", "ä\0日", "x" * 300, "", "Bern"], ["", ""], ["a", None, "b"], [None, "a"], ["a"] * 70]
)
@pytest.mark.parametrize("begin", [0, 1])
def test_texts_have_the_same_codes_read_where_they_lie(
    encoding: pa.DataType | None, values: list[Any], begin: int
) -> None:
    intake = AsItIs((Field("t", VARCHAR), Field("n", BIGINT)))
    if encoding is None:  # rows of Python's, which come one behind the other in one page
        given_rows = [{"t": value, "n": 1} for value in values]
        assert begin == 0 or intake.taken([{"t": "before", "n": 0}])
        taken = intake.taken(given_rows)
    else:
        table = pa.table({"t": pa.array(values, encoding), "n": [1] * len(values)})
        taken = intake.taken(table.slice(begin) if begin < len(values) else table)
    assert taken is not None
    assert taken[3] is not None
    assert bool(taken[3][0, OFFSET_BYTES]) is (taken[0].column(0).null_count == 0)
    readers = Readers([Reader(VARCHAR, DICTIONARY), Reader(BIGINT, DICTIONARY)])
    column, expected = Batch(taken[0], readers, taken[3]).column(0), Batch(taken[0], readers).column(0)
    assert column.values.tolist() == expected.values.tolist()
    assert (column.valid is None) is (expected.valid is None)


def test_columns_in_several_large_pieces_are_nowhere() -> None:
    pieces = pa.chunked_array([np.arange(4096), np.arange(7)])
    batch = Batch(pa.table({"a": pieces}), Readers([Reader(BIGINT, DICTIONARY)]))
    assert batch.places([])[0, STRIDE] == 0
    assert batch.places([0])[0, ADDRESS] == batch.column(0).values.ctypes.data
    assert batch.column(0).values.tolist() == [*range(4096), *range(7)]


def test_small_pieces_are_put_together() -> None:
    """Where that can be: two dictionaries of 100 texts each are none of codes of one byte."""
    fields = Field("a", BIGINT), Field("b", VARCHAR, nullable=False)
    for count, is_one in ((2, True), (100, False)):
        texts = [[f"{piece} {number}" for number in range(count)] for piece in (0, 1)]
        coded = pa.dictionary(pa.int8(), pa.string())
        table = pa.table(
            {
                "a": pa.chunked_array(
                    [pa.array(range(count)), pa.array([], pa.int64()), pa.array([None] * count, pa.int64())]
                ),
                "b": pa.chunked_array([pa.array(each).cast(coded) for each in texts]),
            }
        )
        taken = AsItIs(fields).taken(table)
        assert taken is not None
        rows, _, _, addresses, _ = taken
        assert (addresses is not None) is is_one
        readers = Readers([Reader(field.type, DICTIONARY) for field in fields])
        for batch in (Batch(rows, readers, addresses), Batch(table, readers)):
            assert batch.places([])[0, STRIDE] == (8 if is_one else 0)
            columns = [batch.column(0), batch.column(1)]
            assert columns[0].valid is not None
            assert columns[0].values[columns[0].valid].tolist() == [*range(count)]
            assert DICTIONARY.now().strings(columns[1].values) == texts[0] + texts[1]


@pytest.mark.parametrize("extra", [(), ("_diff",), ("_time", "_diff")])
def test_columns_in_any_order_and_case_are_taken_as_the_table_has_them(extra: tuple[str, ...]) -> None:
    fields = Field("a", BIGINT), Field("b", VARCHAR), Field("c", INTEGER)
    given = {"a": pa.array([1, 2]), "b": pa.array(["x", None]), "c": pa.array([3, 4], pa.int32())}
    given |= {name: pa.array([7, 7]) for name in extra}
    takes = AsItIs(fields)
    for order in permutations(given):
        for called in (str.lower, str.upper):
            table = pa.table({called(name): given[name] for name in order})
            turned = pa.concat_tables([table, table]).slice(1, 2)
            for data, (first, second) in ((table, (1, 2)), (table.to_batches()[0], (1, 2)), (turned, (2, 1))):
                taken = takes.taken(data)
                assert taken is not None
                rows, times, diffs, addresses, _ = taken
                assert rows.schema.names == ["a", "b", "c"]
                assert [rows.column(c).to_pylist() for c in (0, 2)] == [[first, second], [first + 2, second + 2]]
                found = [None if each is None else each.tolist() for each in (times, diffs)]
                assert found == [[7, 7] if name in extra else None for name in ("_time", "_diff")]
                assert addresses is not None
                assert [bool(addresses[c, STRIDE]) for c in range(3)] == [True, False, True]
    for names in (["a", "b"], ["a", "b", "c", "d"], ["a", "b", "b"], ["a", "B", "b", "c"]):
        arrays = [pa.array([1]) if name in "acd" else pa.array(["x"]) for name in names]
        assert takes.taken(pa.Table.from_arrays(arrays, names=names)) is None


def test_values_that_are_not_aligned_are_copied() -> None:
    raw = pa.py_buffer(b"\0" * 3 + np.arange(4, dtype=np.int64).tobytes())
    array = pa.Array.from_buffers(pa.int64(), 4, [None, raw.slice(3)])
    batch = batch_of([array], [BIGINT])
    assert batch.places([])[0, STRIDE] == (8 if array.buffers()[1].address % 8 == 0 else 0)
    assert batch.column(0).values.tolist() == [0, 1, 2, 3]
    assert batch.column(0).values.flags.aligned


def test_a_column_keeps_the_memory_alive_that_it_is_read_in() -> None:
    batch = batch_of([pa.array(np.arange(1 << 16))], [BIGINT])
    column = batch.column(0)
    del batch
    gc.collect()
    pa.array(np.zeros(1 << 16, np.int64))
    assert column.values.tolist() == list(range(1 << 16))


def test_nothing_is_held_afterwards() -> None:
    strides = np.array([8], np.int64)
    gc.collect()  # what tests before have left may go meanwhile
    before = pa.total_allocated_bytes()
    for _ in range(50):
        located(pa.table({"a": pa.array([1] * 100_000)}), strides)
    assert pa.total_allocated_bytes() == before


def test_what_is_dropped_lets_go() -> None:
    gc.collect()
    before = pa.total_allocated_bytes()
    made = [Exported() for _ in range(50)]
    for each in made:
        pa.record_batch({"a": pa.array([1] * 100_000)})._export_to_c(each.address)
    assert pa.total_allocated_bytes() > before
    made.clear()
    del each
    assert pa.total_allocated_bytes() == before


def test_batches_over_the_same_rows_hold_what_they_convert_by_themselves() -> None:
    rows = pa.record_batch({"n": pa.array([1, 2]), "s": pa.array(["one", "two"])})
    readers = Readers([Reader(BIGINT, DICTIONARY), Reader(VARCHAR, DICTIONARY)])
    found = located(rows, readers.strides(rows.schema))
    assert found is not None
    first, second = Batch(*found[:1], readers, found[1]), Batch(*found[:1], readers, found[1])
    before = found[1].copy()
    assert first.places((1,))[1, STRIDE] == second.places((1,))[1, STRIDE] == 4
    assert first.places((1,))[1, ADDRESS] != second.places((1,))[1, ADDRESS]
    assert (found[1] == before).all()

from __future__ import annotations

import datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ivm.catalog import types
from ivm.catalog.types import Physical, SqlType, decimal
from ivm.trace.columns.arrow import arrow_type, to_arrow, to_column
from ivm.trace.columns.batch import Reader
from ivm.trace.columns.column import DTYPES, Column
from ivm.trace.text.dictionary import TextDictionary
from tests.trace_in.columns import python_values

DAY, SECOND = datetime.date(1970, 1, 1), datetime.datetime(1970, 1, 1)


def of_scale(digits: int, scale: int) -> st.SearchStrategy[Decimal]:
    bound = 10**digits - 1
    return st.integers(-bound, bound).map(lambda i: Decimal(i).scaleb(-scale))


ARROW_VALUES: dict[SqlType, st.SearchStrategy[object]] = {
    types.BOOLEAN: st.booleans(),
    types.TINYINT: st.integers(-128, 127),
    types.SMALLINT: st.integers(-(2**15), 2**15 - 1),
    types.INTEGER: st.integers(-(2**31), 2**31 - 1),
    types.BIGINT: st.integers(-(2**63), 2**63 - 1),
    types.HUGEINT: of_scale(30, 0),
    decimal(4, 1): of_scale(4, 1),
    decimal(18, 2): of_scale(18, 2),
    decimal(28, 5): of_scale(28, 5),
    types.UTINYINT: st.integers(0, 2**8 - 1),
    types.USMALLINT: st.integers(0, 2**16 - 1),
    types.UINTEGER: st.integers(0, 2**32 - 1),
    types.UBIGINT: st.integers(0, 2**64 - 1),
    types.FLOAT: st.floats(allow_nan=False, width=32),
    types.DOUBLE: st.floats(allow_nan=False),
    types.DATE: st.dates(),
    types.TIMESTAMP: st.datetimes(),
    types.TIMESTAMPTZ: st.datetimes(timezones=st.just(datetime.UTC)),
    types.TIME: st.times(),
    types.VARCHAR: st.text(max_size=12),
}

ENGINE = {
    types.DATE: lambda v: (v - DAY).days,
    types.TIMESTAMP: lambda v: (v - SECOND) // datetime.timedelta(microseconds=1),
    types.TIMESTAMPTZ: lambda v: (v.replace(tzinfo=None) - SECOND) // datetime.timedelta(microseconds=1),
    types.TIME: lambda v: (datetime.datetime.combine(SECOND, v) - SECOND) // datetime.timedelta(microseconds=1),
}


def in_engine_form(value: object, type: SqlType) -> object:
    if value is not None and type.kind is types.Kind.DECIMAL:
        return int(value.scaleb(type.scale))  # type: ignore[attr-defined]
    return ENGINE[type](value) if value is not None and type in ENGINE else value


@st.composite
def typed_arrays(draw: st.DrawFn) -> tuple[SqlType, list[object], pa.Array | pa.ChunkedArray]:
    sql_type = draw(st.sampled_from(list(ARROW_VALUES)))
    values = draw(
        st.lists(st.none() | ARROW_VALUES[sql_type] if draw(st.booleans()) else ARROW_VALUES[sql_type], max_size=20)
    )
    array = pa.array(values, arrow_type(sql_type))
    match draw(st.sampled_from(["whole", "sliced", "chunked"])):
        case "sliced":
            begin = draw(st.integers(0, len(values)))
            return sql_type, values[begin:], array.slice(begin)
        case "chunked":
            return sql_type, values, pa.chunked_array([array.slice(0, 3), array.slice(3, 2), array.slice(5)])
    return sql_type, values, array


@given(typed_arrays())
def test_columns_hold_the_values_and_give_them_back(drawn):
    sql_type, values, array = drawn
    dictionary = TextDictionary()
    column = to_column(array, sql_type, dictionary)
    assert column.values.dtype == DTYPES[sql_type.physical]
    assert column.values.shape == ((len(values), 2) if sql_type.physical is Physical.WIDE else (len(values),))
    assert (column.valid is None) == (None not in values)
    if sql_type is not types.VARCHAR:
        assert python_values(column) == [in_engine_form(v, sql_type) for v in values]
    if column.valid is not None:
        assert not column.values[~column.valid].any()
    back = to_arrow(column, sql_type, dictionary.now())
    back.validate(full=True)
    assert back.type == arrow_type(sql_type)
    assert back.to_pylist() == values


@pytest.mark.parametrize("type", [types.BIGINT, types.DOUBLE, types.TIMESTAMP, types.INTEGER, types.DATE])
def test_numbers_are_not_copied(type):
    array = (
        pa.array(np.arange(10), pa.int64()).cast(arrow_type(type), safe=False)
        if type != types.DATE
        else pa.array(np.arange(10, dtype=np.int32)).cast(pa.date32())
    )
    column = to_column(array.slice(3), type, TextDictionary())
    assert column.values.ctypes.data == array.buffers()[1].address + 3 * DTYPES[type.physical].itemsize
    assert to_arrow(column, type, TextDictionary().now()).buffers()[1].address == column.values.ctypes.data


def test_narrow_decimals_are_a_view_of_the_low_words():
    array = pa.array([Decimal("1.25"), Decimal("-2.50")], pa.decimal128(12, 2))
    column = to_column(array, decimal(15, 2), TextDictionary())
    assert column.values.tolist() == [125, -250]
    assert column.values.strides == (16,)
    assert column.values.ctypes.data == array.buffers()[1].address


@pytest.mark.parametrize("given", [pa.decimal32(5, 2), pa.decimal64(12, 2), pa.decimal128(12, 2), pa.decimal256(40, 2)])
@pytest.mark.parametrize("type", [decimal(12, 2), decimal(30, 2)])
def test_decimals_of_any_width(given, type):
    values = [Decimal("-1.25"), None, Decimal("12.50")]
    column = to_column(pa.array(values, given).slice(0), type, TextDictionary())
    assert python_values(column) == [-125, None, 1250]


def test_other_types_are_cast_exactly_or_not_at_all():
    assert to_column(pa.array([1, 2], pa.int16()), types.BIGINT, TextDictionary()).values.tolist() == [1, 2]
    with pytest.raises(pa.ArrowInvalid):
        to_column(pa.array([1, 2**40]), types.INTEGER, TextDictionary())


def test_nulls_of_no_type():
    column = to_column(pa.nulls(2), types.BIGINT, TextDictionary())
    assert python_values(column) == [None, None]
    assert to_arrow(column, types.NULL, TextDictionary().now()).type == pa.null()


def test_memory_outlives_the_array_it_came_from():
    column = to_column(pa.array(range(1000)), types.BIGINT, TextDictionary())
    assert column.values.sum() == 499_500


def test_strided_and_wide_columns_out():
    table = np.arange(6).reshape(3, 2)
    assert to_arrow(Column(table[:, 1]), types.BIGINT, TextDictionary().now()).to_pylist() == [1, 3, 5]
    wide = Column(np.array([[5, 0], [-5, -1], [0, 1]]))
    assert to_arrow(wide, types.HUGEINT, TextDictionary().now()).to_pylist() == [5, -5, 2**64]


@pytest.mark.parametrize("type", [types.INTEGER, types.BIGINT, decimal(15, 2), types.DOUBLE, types.DATE], ids=str)
@given(data=st.data())
def test_a_reader_reads_parts_of_arrays_as_if_it_saw_each_for_the_first_time(type, data):
    values = st.lists(ARROW_VALUES[type if type in ARROW_VALUES else decimal(4, 1)].filter(bool), min_size=1)
    wholes = [pa.array(data.draw(values), arrow_type(type)) for _ in range(2)]
    if type is types.BIGINT:
        wholes.append(pa.array([1, None, 3], pa.int64()))
        wholes.append(pa.array([1, 2], pa.int32()))
    reader, dictionary = Reader(type, TextDictionary()), TextDictionary()
    for _ in range(6):
        whole = data.draw(st.sampled_from(wholes))
        begin = data.draw(st.integers(0, len(whole) - 1))
        part = whole.slice(begin, data.draw(st.integers(1, len(whole) - begin)))
        read = reader.read([part])
        assert python_values(read) == python_values(to_column(part, type, dictionary))

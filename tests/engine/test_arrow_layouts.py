"""Every Arrow layout of each type goes in and comes out: as a table, a stream, an array, a slice, in chunks."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import nanoarrow as na
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import ivm

Values = list[Any]
Layout = tuple[str, pa.Array | pa.ChunkedArray, Values]

FIRST, LAST = datetime.datetime.min, datetime.datetime.max
TYPES: dict[str, tuple[pa.DataType, Values]] = {
    "BOOLEAN": (pa.bool_(), [True, False, None, True]),
    "TINYINT": (pa.int8(), [1, -128, None, 127]),
    "SMALLINT": (pa.int16(), [1, -(2**15), None, 2**15 - 1]),
    "INTEGER": (pa.int32(), [1, -(2**31), None, 2**31 - 1]),
    "BIGINT": (pa.int64(), [1, -(2**63), None, 2**63 - 1]),
    "HUGEINT": (pa.decimal128(38, 0), [1, -(10**37), None, 10**37]),
    "DECIMAL(9,2)": (pa.decimal128(9, 2), [Decimal("1.50"), Decimal("-9999999.99"), None, Decimal("9999999.99")]),
    "DECIMAL(30,3)": (pa.decimal128(30, 3), [Decimal("1.500"), Decimal("-2.250"), None, Decimal(10**26)]),
    "DOUBLE": (pa.float64(), [1.5, -2.25, None, float("inf")]),
    "DATE": (pa.date32(), [FIRST.date(), LAST.date(), None, datetime.date(2020, 2, 29)]),
    "TIMESTAMP": (pa.timestamp("us"), [FIRST, LAST, None, datetime.datetime(1969, 12, 31, 23)]),
    "VARCHAR": (pa.string(), ["a", "longer than twelve: grüße", None, ""]),
}
INDEXES = (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())


class Named(pa.ExtensionType):  # type: ignore[misc]
    """An extension type over any other."""

    def __init__(self, storage: pa.DataType) -> None:
        super().__init__(storage, "ivm.tests.named")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.DataType, serialized: bytes) -> Named:
        return cls(storage)


class Stream:
    """Nothing but the C stream interface."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


class Single:
    """Nothing but the C array interface."""

    def __init__(self, table: pa.Table) -> None:
        (self._batch,) = table.to_batches()

    def __arrow_c_array__(self, requested_schema: object = None) -> object:
        return self._batch.__arrow_c_array__(requested_schema)


def plain(type_: pa.DataType, values: Values) -> Iterator[Layout]:
    whole, full = pa.array(values, type_), [value for value in values if value is not None]
    unmasked = pa.array(full, type_)
    yield "masked", whole, values
    yield "without a mask", unmasked, full
    yield "a slice", pa.concat_arrays([unmasked, whole, unmasked])[3:7], values
    yield "a slice without NULL", pa.concat_arrays([whole, unmasked, whole])[4:7], full
    yield "chunks", pa.chunked_array([whole[:2], whole[2:2], whole[2:], unmasked]), values + full
    yield "no chunk", pa.chunked_array([], type_), []
    yield "no row", whole[:0], []
    yield "no type", pa.nulls(2), [None, None]
    yield "named", Named(type_).wrap_array(whole), values
    yield (
        "named chunks",
        pa.chunked_array([Named(type_).wrap_array(whole), Named(type_).wrap_array(whole[2:])]),
        values + values[2:],
    )


def encoded(whole: pa.Array, values: Values) -> Iterator[Layout]:
    some = [value for value in values if value is not None]
    full = pa.array(some, whole.type)

    def by(indices: list[int | None], dictionary: pa.Array, index: pa.DataType | None = None) -> pa.DictionaryArray:
        return pa.DictionaryArray.from_arrays(pa.array(indices, index or pa.int32()), dictionary)

    for index in INDEXES:
        yield f"by {index}", by([0, 1, None, 1], full, index), [some[0], some[1], None, some[1]]
    yield "NULL in the dictionary", by([0, 2, None, 1], whole), [values[0], values[2], None, values[1]]
    yield "a slice of codes", by([0, 2, None, 1], whole)[1:], [values[2], None, values[1]]
    yield (
        "many dictionaries",
        pa.chunked_array([by([0, 2], whole), by([0, 1], whole[1:])]),
        [values[i] for i in (0, 2, 1, 2)],
    )
    yield "values twice", by([0, 1], pa.concat_arrays([full[:1], full[:1]])), [some[0], some[0]]
    yield "a dictionary in a dictionary", by([0, 1, 0], by([1, 0], full)), [some[1], some[0], some[1]]
    yield "an empty dictionary", by([None, None], full[:0]), [None, None]


def runs(whole: pa.Array, values: Values) -> Iterator[Layout]:
    expected = [values[i] for i in (0, 0, 1, 2, 2)]
    for index in (pa.int16(), pa.int32(), pa.int64()):
        made = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3, 5], index), whole[:3])
        yield f"runs to {index}", made, expected
        yield f"a slice of runs to {index}", made[1:4], expected[1:4]
    codes = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2], pa.int32()), whole[:3])
    yield "runs of codes", pa.RunEndEncodedArray.from_arrays(pa.array([2, 3, 5], pa.int32()), codes), expected


def of_text(values: Values) -> Iterator[Layout]:
    for type_ in (pa.large_string(), pa.string_view()):
        whole = pa.array(values, type_)
        for layouts in (encoded(whole, values), runs(whole, values)):
            yield from ((f"{type_}, {name}", array, given) for name, array, given in layouts)
        yield f"{type_}", whole, values
        yield f"{type_}, a slice", whole[1:3], values[1:3]
        yield f"{type_}, chunks", pa.chunked_array([whole, whole[:0], whole[2:]]), values + values[2:]
        yield f"{type_}, no chunk", pa.chunked_array([], type_), []
        yield f"{type_}, named", Named(type_).wrap_array(whole), values
    yield "json", pa.ExtensionArray.from_storage(pa.json_(), pa.array(["1", None])), ["1", None]


def of_decimals(type_: pa.DataType) -> Iterator[Layout]:
    values = [Decimal(k).scaleb(-type_.scale) for k in (0, 5, 99_999)]
    texts = pa.array([*map(str, values), None])
    for make in (pa.decimal32, pa.decimal64, pa.decimal128, pa.decimal256):
        array = texts.cast(make(9, type_.scale))
        yield f"{array.type}", array, [*values, None]
        yield f"{array.type}, a slice", array[1:], [*values[1:], None]


def of_integers(_: pa.DataType) -> Iterator[Layout]:
    values = [1, None, 99]
    for type_ in (*INDEXES, pa.float32(), pa.float64()):
        yield f"{type_}", pa.array(values, type_), values
    yield "float16", pa.array(values, pa.float32()).cast(pa.float16()), values
    for type_ in (pa.decimal32(5, 2), pa.decimal64(12, 2), pa.decimal128(20, 1), pa.decimal256(50, 3)):
        yield f"{type_}", pa.array(["1", None, "99"]).cast(type_), values


def of_moments(type_: pa.DataType) -> Iterator[Layout]:
    day, moment = datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1)
    values = [day if pa.types.is_date(type_) else moment, None]
    for given in (pa.date32(), pa.date64()):
        yield f"{given}", pa.array([day, None], given), values
    for unit in ("s", "ms", "us", "ns"):
        yield f"in {unit}", pa.array([moment, None], pa.timestamp(unit)), values


def layouts_of(sql: str) -> Iterator[Layout]:
    type_, values = TYPES[sql]
    whole = pa.array(values, type_)
    yield from plain(type_, values)
    yield from encoded(whole, values)
    yield from runs(whole, values)
    if pa.types.is_string(type_):
        yield from of_text(values)
    elif sql == "BOOLEAN":
        yield (
            "bool8",
            pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, 0, None], pa.int8())),
            [True, False, None],
        )
    elif sql.startswith("DECIMAL"):
        yield from of_decimals(type_)
    elif pa.types.is_integer(type_) or sql == "HUGEINT":
        yield from of_integers(type_)
    elif pa.types.is_temporal(type_):
        yield from of_moments(type_)


FORMS: tuple[Callable[[pa.Table], Any], ...] = (
    lambda table: table,
    Stream,
    lambda table: {name: table.column(name) for name in table.column_names},
    lambda table: Single(table) if len(table.to_batches()) == 1 else table.to_reader(),
)


@pytest.mark.parametrize("sql", TYPES)
def test_every_layout_goes_in_and_out(sql):
    db = ivm.connect(compile="off")
    db.sql(f"CREATE TABLE t (x {sql}); CREATE TABLE u (id BIGINT PRIMARY KEY, x {sql})")
    db.sql("CREATE MATERIALIZED VIEW counted AS SELECT x, count(*) AS n FROM t GROUP BY x")
    db.sql("CREATE MATERIALIZED VIEW joined AS SELECT u.id, u.x FROM u LEFT JOIN counted ON counted.x = u.x")
    expected: Counter[Any] = Counter()
    ids = 0
    for name, array, values in layouts_of(sql):
        for number, form in enumerate(FORMS):
            table = pa.table({"x": array})
            keyed = pa.table({"id": pa.array(range(ids, ids + len(values)), pa.int64()), "x": array})
            ids += len(values)
            with db.transaction() as tx:
                tx.insert("t", form(table))
                tx.insert("u", form(keyed))
            expected.update(values)
            if number == 0:
                with db.transaction() as tx:
                    tx.delete("t", form(table))
                    tx.upsert("u", form(keyed))
                expected.subtract(values)
        assert dict(db.view("counted").fetchall()) == +expected, name
    assert Counter(x for (x,) in db.sql("SELECT x FROM t").fetchall()) == +expected
    assert db.sql("SELECT count(*) FROM joined").fetchall() == [(ids,)]
    assert len(db.verify()) == 2


def test_data_frames_by_their_own_interface():
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (k BIGINT, s VARCHAR, c VARCHAR, d DECIMAL(9,2), day DATE, at TIMESTAMP, b BOOLEAN)")
    db.sql(
        "CREATE MATERIALIZED VIEW v AS SELECT s, c, count(*) AS n, sum(d) AS d, max(day) AS day FROM t GROUP BY s, c"
    )
    frame = pl.DataFrame(
        {
            "k": [1, None],
            "s": ["longer than twelve: grüße", None],
            "c": pl.Series(["x", "y"], dtype=pl.Categorical),
            "d": pl.Series([Decimal("1.50"), None], dtype=pl.Decimal(9, 2)),
            "day": [datetime.date(2020, 2, 29), None],
            "at": [datetime.datetime(2020, 1, 1, 5), None],
            "b": [True, None],
        }
    )
    given = [frame, frame.lazy().collect(), {name: frame[name] for name in frame.columns}, na.c_array_stream(frame)]
    for data in given:
        db.apply({"t": data})
    assert Counter(db.sql("SELECT * FROM t").fetchall()) == Counter(frame.rows() * len(given))
    assert len(db.verify()) == 1


def test_pandas_columns_of_each_kind():
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (k BIGINT, s VARCHAR, c VARCHAR, x DOUBLE, at TIMESTAMP, b BOOLEAN)")
    frame = pd.DataFrame(
        {
            "k": pd.array([1, None], "Int64"),
            "s": ["a", None],
            "c": pd.Categorical(["x", None]),
            "x": [1.5, float("nan")],
            "at": pd.to_datetime(["2020-01-01 05:00", None]),
            "b": pd.array([True, None], "boolean"),
        }
    )
    for data in (frame, frame.convert_dtypes(dtype_backend="pyarrow"), {name: frame[name] for name in frame}):
        db.apply({"t": data})
    row = (1, "a", "x", 1.5, datetime.datetime(2020, 1, 1, 5), True)
    assert Counter(db.sql("SELECT * FROM t").fetchall()) == Counter({row: 3, (None,) * 6: 3})

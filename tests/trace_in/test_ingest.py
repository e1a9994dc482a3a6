from __future__ import annotations

import datetime
import gc
from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ivm
from ivm.catalog import types
from ivm.catalog.errors import ConstraintError, TypeMismatchError
from ivm.catalog.schema import Field, Schema
from ivm.catalog.types import SqlType, decimal
from ivm.intake.ingest import Intake

FIELDS: Schema = (
    Field("id", types.BIGINT, nullable=False),
    Field("name", types.VARCHAR),
    Field("price", decimal(15, 2)),
    Field("day", types.DATE),
)
DAY = datetime.date(2020, 2, 29)
ROWS: list[dict[str, Any]] = [
    {"id": 1, "name": "a", "price": Decimal("1.50"), "day": DAY},
    {"id": 2, "name": None, "price": None, "day": None},
]
TABLE = pa.table(
    {
        "id": pa.array([1, 2]),
        "name": pa.array(["a", None]),
        "price": pa.array([Decimal("1.50"), None], pa.decimal128(15, 2)),
        "day": pa.array([DAY, None]),
    }
)


def taken(data: object, fields: Schema = FIELDS, *, keys_only: bool = False) -> pa.Table:
    return Intake(fields, "table t", ("id",) if keys_only else ()).rows(data, keys_only=keys_only)[0]


@pytest.mark.parametrize(
    "data",
    [
        TABLE,
        TABLE.to_batches()[0],
        TABLE.to_reader(),
        TABLE.select(["day", "price", "id", "name"]).rename_columns(["DAY", "Price", "ID", "name"]),
        ROWS,
        {name: TABLE.column(name).to_pylist() for name in TABLE.column_names},
        {"id": np.array([1, 2]), "name": pa.array(["a", None]), "price": [1.5, None], "day": [DAY, None]},
        [{**ROWS[0], "price": "1.50", "day": "2020-02-29"}, ROWS[1]],
        {"id": [1, 2], "name": ["a", None], "price": ["1.5", None], "day": np.array(["2020-02-29", None], object)},
        TABLE.to_pandas(),
        TABLE.to_pandas().set_index(pd.Index([7, 8])),
        TABLE.set_column(1, "name", TABLE.column("name").dictionary_encode()),
        TABLE.set_column(2, "price", TABLE.column("price").cast(pa.decimal128(38, 6))),
        TABLE.set_column(2, "price", TABLE.column("price").cast(pa.float64())),
        TABLE.set_column(3, "day", TABLE.column("day").cast(pa.timestamp("ns"))),
        TABLE.set_column(0, "id", TABLE.column("id").cast(pa.uint8())),
    ],
)
def test_every_form_gives_the_same_table(data):
    table = taken(data)
    assert table.column_names == [field.name for field in FIELDS]
    assert table.to_pylist() == ROWS
    assert table.column("id").type == pa.int64()
    assert table.column("day").type == pa.date32()


def test_a_duckdb_relation():
    with duckdb.connect() as connection:
        assert taken(connection.from_arrow(TABLE)).to_pylist() == ROWS


def test_what_fits_is_passed_on_as_it_is():
    given, found = TABLE.to_batches()[0], taken(TABLE)
    assert found.schema == TABLE.schema
    for column, kept in zip(given.columns, found.columns, strict=True):
        assert [b and b.address for b in kept.buffers()] == [b and b.address for b in column.buffers()]


def test_no_rows():
    assert taken([]).num_rows == taken(TABLE.slice(0, 0)).num_rows == 0
    assert taken([]).column_names == TABLE.column_names


def test_a_key_that_only_some_rows_have_is_null_in_the_others():
    assert taken([ROWS[0], {"id": 2}]).to_pylist() == ROWS


def test_only_the_key_of_rows_to_delete():
    key = taken([{"ID": 5}], keys_only=True)
    assert key.to_pylist() == [{"id": 5}]
    assert taken(TABLE, keys_only=True).to_pylist() == [{"id": 1}, {"id": 2}]


def test_times_and_diffs():
    data = TABLE.append_column("_time", pa.array([7, 8], pa.int32())).append_column("_diff", pa.array([1, -1]))
    rows, times, diffs, _ = Intake(FIELDS, "table t").updates(data)
    assert rows.to_pylist() == ROWS
    assert times is not None
    assert diffs is not None
    assert (times.tolist(), diffs.tolist()) == ([7, 8], [1, -1])


def test_diffs_of_one_need_not_be_told_and_diffs_of_zero_are_no_change():
    assert Intake(FIELDS, "table t").updates(TABLE)[1:3] == (None, None)
    ones = TABLE.append_column("_diff", pa.array([1, 1]))
    assert Intake(FIELDS, "table t").updates(ones)[2] is None
    zero = TABLE.append_column("_time", pa.array([3, 4])).append_column("_diff", pa.array([0, 1]))
    rows, times, diffs, _ = Intake(FIELDS, "table t").updates(zero)
    assert rows.to_pylist() == ROWS[1:]
    assert times is not None
    assert times.tolist() == [4]
    assert diffs is None


def unaligned(values: list[int]) -> pa.Array:
    """Whose first value does not begin at a word."""
    raw = b"\0" + np.array(values, np.int64).tobytes()
    return pa.Array.from_buffers(pa.int64(), len(values), [None, pa.py_buffer(raw).slice(1)])


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_times_and_diffs_of_arrow_data_wherever_they_stand(data: Any) -> None:
    length = data.draw(st.integers(0, 9))
    begin = data.draw(st.integers(0, length))
    chosen = st.sampled_from([[1], [-1], [1, -1], [1, -1, 0, 3]])
    diffs = data.draw(chosen.flatmap(lambda of: st.lists(st.sampled_from(of), min_size=length, max_size=length)))
    times = data.draw(st.lists(st.integers(3, 9), min_size=length, max_size=length))
    columns = {"id": list(range(length)), "name": ["x"] * length, "_diff": diffs, "_time": times}
    names = [*data.draw(st.sampled_from([[], ["_diff"], ["_time"], ["_diff", "_time"]])), "id", "name"]
    order = data.draw(st.permutations(names).filter(lambda order: order.index("id") < order.index("name")))
    made = data.draw(st.sampled_from([pa.array, unaligned]))
    array_of = {name: made(columns[name]) if name in ("_diff", "_time") else pa.array(columns[name]) for name in names}
    array_of["name"] = array_of["name"].cast(pa.string())
    table = pa.table({name: array_of[name] for name in order}).slice(begin)
    cut = data.draw(st.integers(0, len(table)))
    parts = pa.concat_tables([table.slice(0, cut), table.slice(cut)])
    given_as = data.draw(st.sampled_from([table, parts, table.combine_chunks()]))
    intake = Intake(FIELDS[:2], "table t")
    expected = [
        (columns["id"][i], times[i] if "_time" in names else None, diffs[i] if "_diff" in names else 1)
        for i in range(begin, length)
        if "_diff" not in names or diffs[i]
    ]
    for _ in range(2):  # what is known of the schema by then is asked, too
        rows, own_times, own_diffs, places = intake.updates(given_as)
        assert rows.schema.names == ["id", "name"]
        own = [1] * len(rows) if own_diffs is None else own_diffs.tolist()
        whens = [None] * len(rows) if own_times is None else own_times.tolist()
        assert list(zip(rows.column("id").to_pylist(), whens, own, strict=True)) == expected
        assert own_diffs is None or set(own) != {1}
        assert places is None or len(places) == 2


def test_times_and_diffs_stay_as_they_came_while_somebody_holds_them() -> None:
    intake = Intake(FIELDS[:1], "table t")
    for _ in range(2):
        found = [
            intake.updates(pa.table({"id": [1, 2], "_time": pa.array([3, 4 + i]), "_diff": pa.array([1, -1])}))
            for i in range(50)
        ]
        gc.collect()
        for i, (_, times, diffs, _) in enumerate(found):
            assert times is not None
            assert diffs is not None
            assert (times.tolist(), diffs.tolist()) == ([3, 4 + i], [1, -1])
            assert not times.flags.writeable
            assert not diffs.flags.writeable


NAMED = [
    (TABLE.drop_columns(["price"]), "'price'.*missing"),
    (TABLE.append_column("prize", pa.array([1, 2])), "no column 'prize'; did you mean 'price'"),
    (TABLE.append_column("_diff", pa.array([1, 2])), "no column '_diff'"),
    (TABLE.append_column("_diff", pa.array([1, 1])), "no column '_diff'"),
    ([{**row, "_diff": 1} for row in ROWS], "no column '_diff'"),
    (TABLE.append_column("ID", pa.array([1, 2])), "'ID' is there twice"),
    (TABLE.set_column(0, "id", pa.array(["1", "2"])), "'id' is BIGINT.*Arrow type string"),
    (TABLE.set_column(0, "id", pa.array([True, False])), "'id' is BIGINT.*Arrow type bool"),
    (TABLE.set_column(0, "id", pa.array([2**63, 1], pa.uint64())), "'id' is BIGINT.*does not fit"),
    (TABLE.set_column(0, "id", pa.array([1.5, 1])), "'id' is BIGINT.*does not fit"),
    (TABLE.set_column(1, "name", pa.array([1, 2])), "'name' is VARCHAR.*Arrow type int64"),
    (TABLE.set_column(2, "price", pa.array(["1.5", "2"])), r"'price' is DECIMAL\(15,2\).*Arrow type string"),
    (TABLE.set_column(2, "price", pa.array([1.005, 1])), r"'price' is DECIMAL\(15,2\).*does not fit"),
    (TABLE.set_column(2, "price", pa.array([10**14, 1])), r"'price' is DECIMAL\(15,2\).*does not fit"),
    (TABLE.set_column(3, "day", pa.array(["2020-01-01", None])), "'day' is DATE.*Arrow type string"),
    (TABLE.set_column(3, "day", pa.array([datetime.datetime(2020, 1, 1, 5), None])), "'day' is DATE.*time of day"),
    ([{**ROWS[0], "id": 2**63}], "'id' is BIGINT.*does not fit"),
    ([{**ROWS[0], "id": "x"}], "'id' is BIGINT"),
    ([ROWS[1], {**ROWS[0], "day": "2020-02-30"}], "'day', row 1.*'2020-02-30' is no DATE; write YYYY-MM-DD"),
    ([{**ROWS[0], "day": "2020-02-29T00:00:00"}], "'day', row 0"),
    ([{**ROWS[0], "day": "20200229"}, ROWS[0]], "'day', row 0"),
    ([{**ROWS[0], "day": "2020-02-29"}, {**ROWS[0], "day": 7}], "'day' is DATE.*Arrow type int64"),
    ([{**ROWS[0], "price": "1.505"}], r"'price', row 0.*'1.505' is no DECIMAL\(15,2\)"),
    ([{**ROWS[0], "price": "10000000000000.00"}], "'price', row 0"),
    ([ROWS[0], {**ROWS[0], "price": " 1"}, {**ROWS[0], "price": "x"}], "'price', row 1"),
    ([{**ROWS[0], "name": [1]}], "'name' is VARCHAR"),
    ([{**ROWS[0], "name": 1}, ROWS[0]], "'name' is VARCHAR"),
    ({"id": 1, "name": "a"}, "'id' is a int; give a list"),
    ({"id": [1], "name": ["a", "b"], "price": [1], "day": [DAY]}, "different lengths"),
    ([(1, "a")], "a list is not understood"),
    (7, "a int is not understood"),
    (pa.array([1, 2]), "does not give a table"),
]


@pytest.mark.parametrize(("data", "message"), NAMED)
def test_what_does_not_fit_is_named(data, message):
    with pytest.raises(TypeMismatchError, match=rf"table t.*{message}|{message}.*table t"):
        taken(data)


@pytest.mark.parametrize(
    "ids",
    [pa.array([1, None]), pa.nulls(2), pa.chunked_array([[1], [None]], pa.int64())],
)
def test_null_where_there_may_be_none(ids):
    with pytest.raises(ConstraintError, match=r"table t: NOT NULL column 'id' is NULL in . row\(s\).*: (0, )?1;"):
        taken(TABLE.set_column(0, "id", ids))


def test_null_hidden_in_an_arrow_dictionary():
    names = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["a", None]))
    with pytest.raises(ConstraintError, match="name"):
        taken(pa.table({"name": names}), (Field("name", types.VARCHAR, nullable=False),))


@pytest.mark.parametrize(
    ("type_", "given", "expected"),
    [
        (types.HUGEINT, [2**100, -1], [Decimal(2**100), Decimal(-1)]),
        (types.HUGEINT, pa.array([5]), [Decimal(5)]),
        (types.DOUBLE, [1, 2.5], [1.0, 2.5]),
        (types.DOUBLE, [Decimal("0.1")], [0.1]),
        (types.INTEGER, [Decimal("7.00")], [7]),
        (types.INTEGER, pa.array([Decimal("7.00")], pa.decimal64(5, 2)), [7]),
        (decimal(38, 20), [1], [Decimal("1.00000000000000000000")]),
        (decimal(5, 1), pa.array([0.1], pa.float32()), [Decimal("0.1")]),
        (types.BOOLEAN, [True, None], [True, None]),
        (types.TIMESTAMP, [DAY], [datetime.datetime(2020, 2, 29)]),
        (types.TIMESTAMP, pa.array([1], pa.timestamp("ms")), [datetime.datetime(1970, 1, 1, 0, 0, 0, 1000)]),
        (
            types.TIMESTAMP,
            ["2020-02-29T01:02:03.5", None, DAY],
            [datetime.datetime(2020, 2, 29, 1, 2, 3, 500000), None, datetime.datetime(2020, 2, 29)],
        ),
        (decimal(5, 1), ["1.5", 2, None, "-3E+1"], [Decimal("1.5"), Decimal("2.0"), None, Decimal("-30.0")]),
        (decimal(38, 2), ["1.5", Decimal(2)], [Decimal("1.50"), Decimal("2.00")]),
        (types.BIGINT, pa.array([3, None]).dictionary_encode(), [3, None]),
        (types.DATE, [None, None], [None, None]),
        (types.VARCHAR, pa.array(["x"], pa.string_view()), ["x"]),
    ],
)
def test_exact_casts(type_: SqlType, given, expected):
    assert taken({"x": given}, (Field("x", type_),)).column(0).to_pylist() == expected


@pytest.mark.parametrize(
    ("type_", "given"),
    [
        (types.TINYINT, [128]),
        (types.HUGEINT, [2**127]),
        (types.BOOLEAN, [1]),
        (types.DOUBLE, [2**53 + 1]),
        (types.TIMESTAMP, pa.array([1], pa.timestamp("ns"))),
        (types.TIMESTAMP, pa.array([1], pa.timestamp("us", "UTC"))),
        (types.BIGINT, [datetime.time(1)]),
        (decimal(5, 1), [float("nan")]),
        (types.VARCHAR, pa.array([b"x"])),
        (types.TIMESTAMP, ["2020-02-29T01:02:03Z"]),
        (types.TIMESTAMP, ["2020-02-29 01:02:03.1234567"]),
        (types.DATE, ["10000-01-01"]),
    ],
)
def test_inexact_casts(type_: SqlType, given):
    with pytest.raises(TypeMismatchError, match="'x'"):
        taken({"x": given}, (Field("x", type_),))


@pytest.mark.parametrize("form", [dict, pd.DataFrame, lambda columns: {n: pd.Series(v) for n, v in columns.items()}])
def test_what_is_written_to_later_stays_as_it_was_given(form) -> None:
    columns = {"a": np.arange(3), "b": np.array([0.5, 1.5, 2.5])}
    data = form(columns)
    db = ivm.connect()
    db.sql("CREATE TABLE t (a BIGINT, b DOUBLE); CREATE MATERIALIZED VIEW v AS SELECT a, sum(b) AS b FROM t GROUP BY a")

    def write(value: int) -> None:
        for values in columns.values():
            values[:] = value
        if isinstance(data, pd.DataFrame):
            data.iloc[:, :] = value

    with db.transaction() as tx:
        tx.insert("t", data)
        write(9)
    write(7)
    wanted = [(0, 0.5), (1, 1.5), (2, 2.5)]
    assert sorted(db.sql("SELECT * FROM t").fetchall()) == sorted(db.sql("SELECT * FROM v").fetchall()) == wanted


def test_messages_speak_of_where_the_data_came_from():
    moment = Field("x", types.TIMESTAMP)
    texts = Field("x", types.VARCHAR)
    frame, series = pl.DataFrame({"x": [5]}), pl.Series([5])
    for field, data, told in (
        (moment, [{"x": 5}], "they are int; give datetime without a time zone, or text such as '2020-02-29 12:00:00'"),
        (moment, {"X": [5]}, "they are int; give datetime"),
        (moment, {"x": np.array([5])}, "they are int; give datetime"),
        (moment, {"x": pa.array([5])}, "it has Arrow type int64; convert it first; where it comes from Spark, by CAST"),
        (moment, {"x": series}, "it has Arrow type int64; convert it first, where the frame is made"),
        (moment, pa.table({"x": [5]}), "it has Arrow type int64; convert it first; where it comes from Spark, by CAST"),
        (moment, frame, "it has Arrow type int64; convert it first, where the frame is made"),
        (moment, duckdb.sql("SELECT 5 AS x"), 'it has Arrow type int32; convert it first, by CAST("x" AS TIMESTAMP)'),
        (texts, duckdb.sql("SELECT {'a': 1} AS x"), 'struct<a: int32>; convert it first, by to_json("x")'),
        (texts, [{"x": True}], "they are bool; give str"),
        (texts, [{"x": b"x"}], "they are bytes; give str"),
        (texts, [{"x": {}}], "it holds a dict; convert it first"),
        (Field("x", types.BIGINT), [{"x": "5"}], "they are str; give int, float or Decimal"),
        (Field("x", types.BOOLEAN), [{"x": 1.5}], "they are float; give bool"),
    ):
        with pytest.raises(TypeMismatchError) as raised:
            Intake((field,), "table t").rows(data)
        assert told in str(raised.value), data
        assert ("Spark" in str(raised.value)) == ("Spark" in told)

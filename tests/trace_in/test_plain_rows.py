"""Rows of plain Python values come in as they do by way of Arrow's inference and exact casts, or with the same error."""

from __future__ import annotations

import datetime
from decimal import Decimal
from enum import IntEnum
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ivm.catalog import types
from ivm.catalog.errors import Error
from ivm.catalog.schema import Field
from ivm.catalog.types import SqlType, decimal
from ivm.intake.as_it_is import AsItIs
from ivm.intake.ingest import Intake
from ivm.kernels.memory.places import BIT, STRIDE, VALIDITY
from ivm.trace.columns.column import Ints
from ivm.trace.columns.exported import located, stride_of


class Number(IntEnum):
    ONE = 1


DAY, MOMENT = datetime.date(1999, 12, 31), datetime.datetime(1999, 12, 31, 23, 59, 59, 999_999)
AWARE = MOMENT.replace(tzinfo=datetime.UTC)
OF: list[tuple[SqlType, list[Any]]] = [
    (types.BIGINT, [0, -1, 2**63 - 1, -(2**63)]),
    (types.INTEGER, [0, 2**31 - 1]),
    (types.SMALLINT, [0, -(2**15)]),
    (types.UBIGINT, [0, 2**64 - 1]),
    (types.HUGEINT, [0, 2**100, -(10**38) + 1]),
    (types.DOUBLE, [0.0, -1.5, 1e300, float("inf")]),
    (types.BOOLEAN, [True, False]),
    (types.VARCHAR, ["", "a", "ä\0日"]),
    (types.BLOB, [b"", b"\xff\0"]),
    (types.DATE, [DAY, datetime.date.min, datetime.date.max]),
    (types.TIMESTAMP, [MOMENT, datetime.datetime.min, datetime.datetime.max]),
    (decimal(4, 2), [Decimal("1.5"), Decimal("-99.99"), Decimal("1.5000"), Decimal("1E+1"), 5, -99]),
    (decimal(30, 5), [Decimal("1.5"), Decimal("1234567890123456789012345.00001"), 10**24]),
]
ODD: list[Any] = [
    *(None, True, 2**63, 2**70, -(2**40), 1.5, float("nan"), "x", "1.25", "1999-12-31", "\ud800", b"x", Number.ONE),
    *(DAY, MOMENT, AWARE, datetime.time(1), Decimal("NaN"), Decimal("1.234"), Decimal("1E+30"), Decimal(10**20)),
    *(Decimal("1E-30"), 10**40, [1], {}),
]


def told(intake: Intake, data: Any) -> Any:
    try:
        rows, times, diffs, _ = intake.updates(data)
    except Error as error:
        return type(error), str(error)
    rows.validate(full=True)
    return repr(rows.to_pylist()), *(None if each is None else each.tolist() for each in (times, diffs))


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
@given(data=st.data())
def test_as_by_inference(data: Any) -> None:
    chosen = data.draw(st.lists(st.sampled_from(OF), min_size=1, max_size=3))
    fields = tuple(Field(f"c{i}", type_, nullable=data.draw(st.booleans())) for i, (type_, _) in enumerate(chosen))
    extra = data.draw(st.sampled_from([{}, {"_diff": 1}, {"_diff": 1, "_time": 7}, {"_diff": None}, {"nothing": 1}]))
    values = {f.name: st.sampled_from(plain) for f, (_, plain) in zip(fields, chosen, strict=True)}
    rows = data.draw(st.lists(st.fixed_dictionaries(values), min_size=1, max_size=4))
    rows = [{**row, **extra} for row in rows]
    for name in data.draw(st.lists(st.sampled_from([*values]), max_size=1)):
        data.draw(st.sampled_from(rows))[name] = data.draw(st.sampled_from(ODD))
    if data.draw(st.integers(0, 9)) == 0:
        rows[-1].pop(fields[-1].name)
    if data.draw(st.booleans()):
        rows = [dict(sorted(row.items(), reverse=True)) for row in rows]
    columns = {name: data.draw(st.sampled_from([list, tuple]))(row.get(name) for row in rows) for name in rows[0]}
    if data.draw(st.integers(0, 9)) == 0 and fields[0].name in columns:
        columns[fields[0].name] = columns[fields[0].name][1:]
    intake = Intake(fields, "table t")
    for given_data in (rows, columns):
        with mock.patch.object(AsItIs, "_plainly_taken", return_value=None):
            expected = told(Intake(fields, "table t"), given_data)
        assert told(intake, given_data) == expected


@pytest.mark.parametrize(("type_", "values"), OF, ids=[str(type_) for type_, _ in OF])
def test_plain_values_need_no_inference(type_: SqlType, values: list[Any]) -> None:
    intake = Intake((Field("id", types.BIGINT, nullable=False), Field("x", type_)), "table t")
    with mock.patch.object(Intake, "_as_table", side_effect=AssertionError):
        for value in (*values, None):
            rows, addresses = intake.rows([{"id": 1, "x": value}, {"x": None, "id": 2}])
            assert rows.column(1).to_pylist() == [value, None]
            assert addresses is not None
            assert isinstance(rows, pa.RecordBatch)
        assert intake.rows({"x": values, "id": [0] * len(values)})[0].column(1).to_pylist() == values


def test_values_of_their_own_table_only() -> None:
    intake = Intake((Field("_time", types.BIGINT), Field("x", types.BIGINT)), "table t")
    rows, times, diffs, _ = intake.updates([{"_time": 1, "x": 2, "_diff": -1}])
    assert (rows.to_pylist(), times) == ([{"_time": 1, "x": 2}], None)
    assert diffs is not None
    assert diffs.tolist() == [-1]
    for i in range(40):
        with pytest.raises(Error, match=f"no column 'c{i}'"):
            intake.rows([{"_time": 1, "x": 2, f"c{i}": 3}])
    assert len(intake._as_it_is._forms) <= 16


class Raising:
    """What cannot be compared, as values of some libraries cannot."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("asked whether they are equal")


def test_nobody_compares_values_of_classes_that_are_not_known() -> None:
    intake = Intake((Field("id", types.BIGINT, nullable=False), Field("x", types.DOUBLE)), "table t")
    for values in ([Raising()], [1.5, Raising()], [None, Raising()]):
        with pytest.raises(Error, match="a value does not fit"):
            intake.updates([{"id": place, "x": value} for place, value in enumerate(values)])
    assert intake.updates([{"id": 1, "x": None}])[0].column(1).to_pylist() == [None]
    assert intake.updates([{"id": 1, "x": 2.5}])[0].column(1).to_pylist() == [2.5]


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_rows_that_came_stay_what_they_are(data: Any) -> None:
    """Whatever is written to the same page later, also what turns out not to be plain in its last column."""
    fields = (
        Field("s", types.VARCHAR),
        Field("x", types.BIGINT),
        Field("b", types.BOOLEAN),
        Field("d", decimal(30, 2)),
    )
    many = tuple(Field(f"m{i}", types.BIGINT) for i in range(data.draw(st.sampled_from([0, 0, 20]))))
    intake = Intake((*fields, Field("n", types.TINYINT, nullable=False), *many), "table t")
    texts = st.one_of(st.none(), st.text(max_size=3), st.sampled_from(["a" * 200, "b" * 900, "ä" * 3000]))
    row = st.fixed_dictionaries({
        "s": texts, "x": st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)), "b": st.sampled_from([None, True, False]),
        "d": st.sampled_from([None, Decimal("-1.25"), Decimal(10**25), 0]), "n": st.sampled_from([1, -1, 127, 128, None]),
    })  # fmt: skip
    taken = []
    for count in data.draw(st.lists(st.sampled_from([1, 1, 1, 2, 16, 17, 60]), min_size=1, max_size=30)):
        rows = [{**data.draw(row), **{field.name: count for field in many}}] * count
        try:
            taken.append((rows, *intake.rows(rows)))
        except Error:
            assert rows[0]["n"] in (128, None)
    for rows, batch, places in taken:
        batch.validate(full=True)
        assert batch.to_pylist() == rows
        strides = np.array([stride_of(batch.schema.field(f.name).type, f.type) for f in intake.fields])
        assert isinstance(batch, pa.RecordBatch)
        there = located(batch, strides)
        assert there is not None
        assert places is not None
        _agree(places, there[1])


def _agree(places: Ints, wanted: Ints) -> None:
    """The same places; where nothing is NULL the bit means nothing, and where there is no stride nothing does."""
    assert (places[:, STRIDE] == wanted[:, STRIDE]).all()
    plain = wanted[:, STRIDE] > 0
    assert (places[plain, :VALIDITY] == wanted[plain, :VALIDITY]).all()
    assert (places[plain, VALIDITY] == wanted[plain, VALIDITY]).all()
    masked = plain & (wanted[:, VALIDITY] > 0)
    assert (places[masked, BIT] == wanted[masked, BIT]).all()

"""What Spark sends as Arrow: taken, or refused by name with the cast to write."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from ivm.catalog import types
from ivm.catalog.errors import TypeMismatchError
from ivm.catalog.schema import Field
from ivm.catalog.types import SqlType, decimal
from ivm.intake.ingest import Intake
from ivm.intake.spark_casts import cast_to_write, spark_type

MOMENT = datetime.datetime(2020, 2, 29, 12, 30)
VARIANT = pa.StructArray.from_arrays(
    [pa.array([b"v"]), pa.array([b"m"])],
    fields=[pa.field("value", pa.binary()), pa.field("metadata", pa.binary(), metadata={b"variant": b"true"})],
)


def taken(data: object, *fields: Field) -> pa.Table:
    return Intake(fields, "table t").rows(data)[0]


@pytest.mark.parametrize(
    ("type_", "given", "value"),
    [
        (types.TIMESTAMPTZ, pa.array([MOMENT], pa.timestamp("us", "UTC")), MOMENT.replace(tzinfo=datetime.UTC)),
        (types.TIMESTAMP, pa.array([MOMENT], pa.timestamp("us")), MOMENT),
        (types.TIME, pa.array([1_000], pa.time64("ns")), datetime.time(0, 0, 0, 1)),
        (types.BLOB, pa.array([b"\xff"]), b"\xff"),
        (types.FLOAT, pa.array([1.5], pa.float32()), 1.5),
        (types.DOUBLE, pa.array([1.5], pa.float32()), 1.5),
        (types.BIGINT, pa.array([5], pa.int8()), 5),
        (types.UTINYINT, pa.array([255], pa.int16()), 255),
        (types.UBIGINT, pa.array([Decimal(2**64 - 1)], pa.decimal128(20, 0)), 2**64 - 1),
        (types.HUGEINT, pa.array([Decimal(10**37)], pa.decimal128(38, 0)), Decimal(10**37)),
        (decimal(9, 2), pa.array([Decimal("1.5")], pa.decimal128(38, 18)), Decimal("1.50")),
        (types.UUID, pa.array(["A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11"]), "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
        (types.VARCHAR, pa.nulls(1), None),
    ],
)
def test_taken(type_: SqlType, given: pa.Array, value: object):
    assert taken(pa.table({"x": given}), Field("x", type_))["x"].to_pylist() == [value]


@pytest.mark.parametrize(
    ("type_", "given", "cast"),
    [
        (types.TIMESTAMP, pa.array([MOMENT], pa.timestamp("us", "UTC")), "CAST(x AS TIMESTAMP_NTZ)"),
        (types.TIMESTAMPTZ, pa.array([MOMENT], pa.timestamp("us")), "CAST(x AS TIMESTAMP)"),
        (types.DATE, pa.array([MOMENT], pa.timestamp("us", "UTC")), "CAST(x AS DATE)"),
        (types.DATE, pa.array(["2020-02-29"]), "CAST(x AS DATE)"),
        (types.BIGINT, pa.array(["5"]), "CAST(x AS BIGINT)"),
        (types.UTINYINT, pa.array(["5"]), "CAST(x AS SMALLINT)"),
        (types.BOOLEAN, pa.array([1]), "CAST(x AS BOOLEAN)"),
        (types.VARCHAR, pa.array([1]), "CAST(x AS STRING)"),
        (types.VARCHAR, pa.array([b"x"]), "CAST(x AS STRING)"),
        (types.BLOB, pa.array(["x"]), "CAST(x AS BINARY)"),
        (types.UUID, pa.array([b"x" * 16]), "hex(x)"),
        (types.VARCHAR, pa.array([[1]]), "to_json(x)"),
        (types.VARCHAR, pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())), "to_json(x)"),
        (types.VARCHAR, pa.array([{"a": 1}]), "to_json(x)"),
        (types.VARCHAR, VARIANT, "CAST(x AS STRING)"),
        (types.BIGINT, VARIANT, "CAST(x AS BIGINT)"),
        (types.VARCHAR, pa.array([datetime.timedelta(1)]), "CAST(x AS STRING)"),
        (types.BIGINT, pa.array([datetime.timedelta(1)]), "CAST(CAST(x AS INTERVAL SECOND) AS BIGINT)"),
    ],
)
def test_refused_with_the_cast_to_write(type_: SqlType, given: pa.Array, cast: str):
    with pytest.raises(TypeMismatchError) as told:
        taken(pa.table({"x": given}), Field("x", type_))
    assert "column 'x'" in str(told.value)
    assert str(told.value).endswith(f"convert it first; where it comes from Spark, by {cast}")


def test_what_no_cast_helps():
    with pytest.raises(TypeMismatchError, match=r"'x'.*list<.*convert it first$"):
        taken(pa.table({"x": [[1]]}), Field("x", types.BIGINT))
    with pytest.raises(TypeMismatchError, match="would lose data"):
        taken(pa.table({"x": pa.array([1], pa.time64("ns"))}), Field("x", types.TIME))


def test_names_that_are_no_words_are_quoted():
    assert cast_to_write(pa.field("a `b", pa.int64()), Field("a `b", types.VARCHAR)) == "CAST(`a ``b` AS STRING)"


def test_a_struct_is_its_fields():
    fields = (Field("id", types.BIGINT), Field("S_a", types.INTEGER), Field("s_b_c", types.VARCHAR))
    given = pa.table({"id": [1, 2], "s": pa.array([{"a": 5, "b": {"c": "x"}}, None])})
    assert taken(given, *fields).to_pylist() == [
        {"id": 1, "S_a": 5, "s_b_c": "x"},
        {"id": 2, "S_a": None, "s_b_c": None},
    ]
    sliced = pa.concat_tables([given, given]).slice(1, 2)
    assert taken(sliced, *fields)["s_b_c"].to_pylist() == [None, "x"]


def test_a_struct_that_is_not_flat_enough_is_refused_by_name():
    with pytest.raises(TypeMismatchError, match="there is no column 's_b'"):
        taken(pa.table({"s": pa.array([{"a": 5, "b": 6}])}), Field("s_a", types.INTEGER))
    with pytest.raises(TypeMismatchError, match="'s_a' is there twice"):
        taken(pa.table({"s": pa.array([{"a": 5}]), "s_a": [6]}), Field("s_a", types.INTEGER))
    with pytest.raises(TypeMismatchError, match="there is no column 'v'"):
        taken(pa.table({"v": VARIANT}), Field("v_value", types.BLOB))


def test_spark_has_a_type_for_each():
    assert spark_type(decimal(9, 2)) == "DECIMAL(9,2)"
    assert spark_type(SqlType(types.Kind.LIST, element=types.UBIGINT)) == "ARRAY<DECIMAL(20,0)>"
    assert spark_type(types.UUID) == "STRING"

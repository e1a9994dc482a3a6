"""What DuckDB is given of a table has the table's types, and a use goes on after DuckDB has failed inside."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest

import ivm
from ivm import duck as duck_module
from ivm.catalog.schema import Field
from ivm.catalog.types import HUGEINT, decimal
from ivm.duck import Use, answer, connection, with_hugeints

VALUES = [Decimal(-1), None, Decimal(2**100), Decimal(7), Decimal(-(2**100)), None]
HALVES = {Decimal(-1): 0, Decimal(2**100): 2**99, Decimal(7): 3, Decimal(-(2**100)): -(2**99)}
WIDE = pa.decimal128(38, 0)


@pytest.mark.parametrize(
    "column",
    [
        pa.chunked_array([pa.array(VALUES, WIDE)]),
        pa.chunked_array([pa.array([None, *VALUES, None], WIDE).slice(1, 6)]),
        pa.chunked_array(
            [pa.array(VALUES[:2], WIDE), pa.array([], WIDE), pa.array([None, *VALUES[2:]], WIDE).slice(1)]
        ),
        pa.chunked_array([], WIDE),
    ],
    ids=["whole", "sliced", "chunks", "empty"],
)
def test_hugeints_are_integers_to_duckdb(column: pa.ChunkedArray) -> None:
    table = pa.table({"h": column, "d": column})
    given = with_hugeints(table, (Field("h", HUGEINT), Field("d", decimal(38, 0))))
    with connection(Use.CLOSED) as duck:
        duck.register("t", given)
        found = answer(duck, "SELECT h, h // 2 AS q FROM t")
        types = answer(duck, "SELECT DISTINCT typeof(h) AS h, typeof(d) AS d FROM t").to_pylist()
    expected = column.to_pylist()
    assert found["h"].to_pylist() == expected
    assert found["q"].to_pylist() == [None if v is None else Decimal(HALVES[v]) for v in expected]
    assert types == ([{"h": "HUGEINT", "d": "DECIMAL(38,0)"}] if expected else [])


def test_another_instance_is_made_after_an_internal_error() -> None:
    with connection(Use.CLOSED) as duck:
        duck.execute("CREATE TABLE of_this_instance (n INTEGER)")
    with connection(Use.CLOSED) as duck:
        assert answer(duck, "FROM of_this_instance").num_rows == 0
    with pytest.raises(duckdb.InternalException), connection(Use.CLOSED):
        raise duckdb.InternalException("as DuckDB raises it")
    with connection(Use.CLOSED) as duck, pytest.raises(duckdb.CatalogException):
        answer(duck, "FROM of_this_instance")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("SELECT x * 2 FROM o", ivm.NumericError),
        ("SELECT x // 0 FROM o", ivm.NumericError),
        ("SELECT s::INTEGER FROM o", ivm.NumericError),
        ("SELECT strptime(s, '%Y') FROM o", ivm.NumericError),
        ("SELECT (SELECT x FROM o UNION ALL SELECT 1)", ivm.NumericError),
        ("UPDATE o SET x = x * 2", ivm.NumericError),
        ("INSERT INTO o (x) SELECT x + 1000000000 FROM o", ivm.NumericError),
        ("INSERT INTO o (x) VALUES (2000000000 + 2000000000)", ivm.NumericError),
        ("DELETE FROM o WHERE s::INTEGER > 0", ivm.NumericError),
        ("CREATE TABLE p AS SELECT x * 2 AS y FROM o", ivm.NumericError),
        ("SELECT abs(s) FROM o", ivm.TypeMismatchError),
        ("SELECT x + d + s FROM o", ivm.TypeMismatchError),
        ("SELECT x FROM o UNION SELECT d FROM o", ivm.TypeMismatchError),
        ("UPDATE o SET x = d", ivm.TypeMismatchError),
        ("SELECT y FROM o", ivm.BindError),
        ("SELECT nothing(x) FROM o", ivm.BindError),
        ("SELECT x FROM o GROUP BY d", ivm.BindError),
    ],
)
def test_what_duckdb_raises_has_the_class_of_what_is_wrong(of_one_row: ivm.Database, text: str, error: type) -> None:
    with pytest.raises(error, match="cannot run the query") as told:
        of_one_row.sql(text)
    assert type(told.value) is error or error is ivm.BindError
    assert "SET error_on" not in str(told.value), "which nobody can set"


@pytest.fixture(scope="module")
def of_one_row() -> ivm.Database:
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE o (x INTEGER, d DATE, s VARCHAR); INSERT INTO o VALUES (2000000000, '2020-01-01', 'a')")
    return db


def test_columns_of_one_name_are_told_apart() -> None:
    found = ivm.connect().sql(
        "SELECT 1::HUGEINT AS x, DATE '2020-01-01' AS x, (~ 170141183460469231731687303715884105727) AS x"
    )
    assert found.fetchall() == [(1, date(2020, 1, 1), -(2**127))]
    assert str(-(2**127)) in repr(found)


@pytest.mark.parametrize(("processors", "threads"), [(1, 1), (2, 1), (8, 7)])
def test_what_takes_long_leaves_a_processor_to_others(
    processors: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duck_module, "cores", lambda: processors)
    with connection(Use.ASIDE, alone=True) as duck:
        assert duck.execute(
            "SELECT current_setting('threads'), current_setting('enable_external_access')"
        ).fetchall() == [(threads, False)]

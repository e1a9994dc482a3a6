"""What DuckDB is given of a table has the table's types, and a use goes on after DuckDB has failed inside."""

from __future__ import annotations

from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest

from catalog.schema import Field
from catalog.types import HUGEINT, decimal
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

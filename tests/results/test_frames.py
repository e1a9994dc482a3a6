"""Frames of pandas have the types and values of DuckDB's; what they round is exact elsewhere."""

from __future__ import annotations

import random
from decimal import Decimal

import duckdb
import pandas as pd
import pytest

import ivm

COLUMNS = {
    "bo": ("BOOLEAN", "true"),
    "i1": ("TINYINT", "-1"),
    "i2": ("SMALLINT", "-2"),
    "i4": ("INTEGER", "-4"),
    "i8": ("BIGINT", "9007199254740993"),
    "u1": ("UTINYINT", "1"),
    "u2": ("USMALLINT", "2"),
    "u4": ("UINTEGER", "4"),
    "u8": ("UBIGINT", "18446744073709551615"),
    "h": ("HUGEINT", "12345678901234567890"),
    "d": ("DECIMAL(9,2)", "1.50"),
    "w": ("DECIMAL(38,4)", "1.5001"),
    "f": ("FLOAT", "1.5"),
    "g": ("DOUBLE", "2.5"),
    "dt": ("DATE", "'2020-02-29'"),
    "ts": ("TIMESTAMP", "'2020-02-29 12:00:00.123456'"),
    "tz": ("TIMESTAMPTZ", "'2020-02-29 12:00:00+00'"),
    "ti": ("TIME", "'12:00:00.5'"),
    "v": ("VARCHAR", "'x'"),
    "e": ("ENUM('a', 'b')", "'b'"),
}
TABLE = (
    f"CREATE TABLE t (k INTEGER PRIMARY KEY, {', '.join(f'{name} {type_}' for name, (type_, _) in COLUMNS.items())})"
)
FULL = f"(1, {', '.join(value for _, value in COLUMNS.values())})"
NULLS = f"(2, {', '.join('NULL' for _ in COLUMNS)})"
ADHOC = """SELECT INTERVAL 1 DAY AS a, INTERVAL '1 month 2 days 3 seconds' AS a, [1.5, 2.5] AS l, [DATE '2020-01-01'] AS m,
    MAP {'a': 1} AS p, NULL::INTERVAL AS n"""


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # of DuckDB's own, where there are no rows
@pytest.mark.parametrize("rows", ["", FULL, f"{FULL}, {NULLS}"])
@pytest.mark.parametrize("shards", [None, 2])
def test_every_type_is_what_duckdb_makes_of_it(rows, shards):
    with ivm.connect(compile="off", shards=shards) as db, duckdb.connect() as other:
        other.execute("SET TimeZone = 'UTC'")
        for each in (db.sql, other.sql):
            each(TABLE)
            if rows:
                each(f"INSERT INTO t VALUES {rows}")
        db.sql("CREATE MATERIALIZED VIEW v AS FROM t ORDER BY k")
        expected = other.sql("FROM t ORDER BY k").df()
        for found in (db.view("v").df(), db.sql("FROM t ORDER BY k").df(), db.sql("SELECT * FROM v WHERE k > 0").df()):
            found["ti"] = found["ti"].fillna(pd.NA)  # which DuckDB has for None, in objects
            assert list(map(str, found.dtypes)) == list(map(str, expected.dtypes))
            if rows:  # of none DuckDB gives no labels to Arrow
                pd.testing.assert_frame_equal(found, expected, check_exact=True)
        if rows:
            assert db.view("v").fetchall()[0][9:13] == (18446744073709551615, 12345678901234567890, Decimal("1.50"),
                                                       Decimal("1.5001"))  # fmt: skip


def test_what_only_selects_have_is_as_in_duckdb():
    with ivm.connect(compile="off") as db:
        found, expected = db.sql(ADHOC).df(), duckdb.execute(ADHOC).df()
    assert list(found.columns) == ["a", "a", "l", "m", "p", "n"]
    assert list(found.dtypes) == list(expected.dtypes)
    for place in range(found.shape[1]):
        assert repr(found.iloc[0, place]) == repr(expected.iloc[0, place])


def test_decimals_are_rounded_to_the_nearest():
    chosen = random.Random(4)
    texts = [str(chosen.randrange(10 ** chosen.randrange(1, 18))) for _ in range(2000)]
    query = "SELECT " + ", ".join(f"(x::DECIMAL(38,0) / 10^{s})::DECIMAL(38,{s}) AS c{s}" for s in (1, 2, 6, 10))
    query += f" FROM (SELECT unnest({texts}) AS x)"
    with ivm.connect(compile="off") as db:
        result = db.sql(query)
        assert list(result.df().itertuples(index=False, name=None)) == [tuple(map(float, row)) for row in result]


def test_a_frame_can_be_computed_with():
    with ivm.connect(compile="off") as db:
        db.sql("CREATE TABLE t (k INTEGER PRIMARY KEY, p DECIMAL(9,2)); INSERT INTO t VALUES (1, 0.10), (2, 0.20)")
        db.sql("CREATE MATERIALIZED VIEW v AS SELECT sum(p) AS p, sum(k) AS k FROM t")
        assert db.view("v").df().select_dtypes("number").columns.tolist() == ["p", "k"]
        assert db.sql("CREATE TABLE s (a INTEGER)").df().empty

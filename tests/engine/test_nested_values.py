"""Structs, lists and maps do not become text unless somebody says how, by whatever road they come."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import ivm

NESTED = (
    "{'a': 1, 'b': 'x'}",
    "[1, 2]",
    "MAP {'a': 1}",
    "[1, 2]::INT[2]",
    "union_value(a := 1)",
    "row(1, 2)",
    "[{'a': 1}]",
)


@pytest.fixture(params=[None, 2])
def db(request):
    with ivm.connect(compile="off", external_access=True, shards=request.param) as db:
        db.sql("CREATE TABLE t (id INTEGER PRIMARY KEY, b VARCHAR); INSERT INTO t VALUES (1, 'x')")
        yield db


def test_sql_says_what_to_write(db, tmp_path):
    for value in NESTED:
        db.sql(f"COPY (SELECT 2 AS id, {value} AS b) TO '{tmp_path}/x.parquet'")
        for text in (
            f"INSERT INTO t SELECT 2, {value}",
            f"INSERT INTO t VALUES (2, {value})",
            f"INSERT INTO t (b, id) SELECT {value} AS b, 2",
            f"INSERT INTO t BY NAME SELECT 2 AS id, {value} AS b",
            f"INSERT INTO t VALUES (1, '') ON CONFLICT DO UPDATE SET b = {value}",
            f"UPDATE t SET b = {value}",
            f"UPDATE t SET b = {value} WHERE id = 1",
            f"COPY t FROM '{tmp_path}/x.parquet'",
        ):
            with pytest.raises(ivm.TypeMismatchError, match=r"^cannot put a value of type .* column b, .* to_json"):
                db.sql(text)
    with pytest.raises(ivm.UnsupportedError, match=r"TUPLE.*cast it"):
        db.sql("CREATE TABLE made AS SELECT row(1, 2) AS b")
    assert db.sql("FROM t").fetchall() == [(1, "x")]
    db.sql("""INSERT INTO t VALUES (2, to_json({'a': 1})), (3, {'a': 1}::VARCHAR), (4, DATE '2020-01-01'), (5, 1.50)""")
    db.sql("INSERT INTO t SELECT 6, '{}'::JSON; INSERT INTO t SELECT 7, (SELECT 'STRUCT('::ENUM('STRUCT(', ']'))")
    texts = ['{"a":1}', "{'a': 1}", "2020-01-01", "1.50", "{}", "STRUCT("]
    assert [b for (b,) in db.sql("SELECT b FROM t WHERE id > 1 ORDER BY id").fetchall()] == texts


def test_data_is_refused_alike(db):
    for value in ({"a": 1}, [1], (1,), {1}):
        column = pa.array([json.loads(json.dumps(list(value) if isinstance(value, set | tuple) else value))])
        for rows in (
            [{"id": 2, "b": value}],
            {"id": [2], "b": [value]},
            {"id": np.array([2]), "b": np.array([value, None], object)[:1]},
            pd.DataFrame({"id": [2], "b": pd.Series([value], dtype=object)}),
            pa.table({"id": [2], "b": column}),
            pl.DataFrame(pa.table({"id": [2], "b": column})),
        ):
            with pytest.raises(ivm.TypeMismatchError, match="column 'b' is VARCHAR"):
                db.apply({"t": rows})
    assert db.sql("FROM t").fetchall() == [(1, "x")]


def test_pieces_without_rows_are_cast_too():
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE pieces (l INTEGER[], s STRUCT(a INTEGER, b VARCHAR), m MAP(VARCHAR, INTEGER), e ENUM('x')[])")
    given = {
        "l": (pa.list_(pa.int64()), [1]),
        "s": (pa.struct([("a", pa.int64()), ("b", pa.large_string())]), {"a": 1, "b": "x"}),
        "m": (pa.map_(pa.large_string(), pa.int64()), [("k", 1)]),
        "e": (pa.list_(pa.string()), ["x"]),
    }
    nothing = pa.table({name: pa.array([], type_) for name, (type_, _) in given.items()})
    one = pa.table({name: pa.array([value], type_) for name, (type_, value) in given.items()})
    for rows in (nothing, nothing.slice(0, 0), pa.concat_tables([nothing, one, nothing])):
        db.apply({"pieces": rows})
    assert db.sql("SELECT * FROM pieces").fetchall() == [([1], {"a": 1, "b": "x"}, {"k": 1}, ["x"])]

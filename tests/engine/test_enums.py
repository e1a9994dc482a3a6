"""ENUMs: their names, what is refused, and where they become text. What all types have in common: `test_types`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import ivm

MOOD = "ENUM('sad', 'ok', 'happy')"


def world() -> ivm.Database:
    db = ivm.connect(compile="off")
    db.sql("CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')")
    db.sql("CREATE TABLE t (id BIGINT PRIMARY KEY, x mood, n ENUM('ok', 'happy', 'x'), v VARCHAR)")
    return db


ROWS = pa.table(
    {
        "id": [1, 2, 3, 4, 5],
        "x": ["sad", "ok", "happy", None, "sad"],
        "n": ["ok", None, "happy", "x", "x"],
        "v": ["sad", "zz", "ok", "happy", None],
    }
)

VIEWS = (
    "SELECT a.id, b.id AS other FROM t a JOIN t b ON a.x = b.n",
    "SELECT a.id, b.id AS other FROM t a JOIN t b ON a.x = b.v",
    "SELECT x FROM t UNION ALL SELECT n FROM t",
    "SELECT x FROM t UNION SELECT v FROM t",
    "SELECT x FROM t EXCEPT SELECT 'ok'",
    "SELECT id, x < n AS a, x < v AS b, x = n AS c, x IS DISTINCT FROM v AS d, x IN (n, v) AS e FROM t",
    "SELECT id, nullif(x, n) AS a, coalesce(x, n) AS b, greatest(x, v) AS c, x::mood AS d, try_cast(v AS mood) AS e FROM t",
    "SELECT median(x) AS a, quantile_disc(x, 0.5) AS b, string_agg(x, ',' ORDER BY x) AS c, mode(x) AS d FROM t",
    "SELECT id, lag(x, 1, 'ok') OVER (ORDER BY id) AS a, rank() OVER (ORDER BY x) AS b FROM t",
    "SELECT n, list(x ORDER BY x, id) AS l FROM t GROUP BY n",
    "SELECT x, n, count(*) AS c FROM t GROUP BY ROLLUP (x, n)",
    "SELECT id FROM t WHERE x IN (SELECT v FROM t) OR n > 'ok'::ENUM('ok', 'happy', 'x')",
)


def test_an_enum_meets_texts_and_other_enums() -> None:
    db = world()
    for number, query in enumerate(VIEWS):
        db.sql(f"CREATE MATERIALIZED VIEW v{number} AS {query}")
    db.apply({"t": ROWS})
    db.verify()
    db.sql("UPDATE t SET x = 'happy', n = x WHERE id = 2")
    db.sql("UPDATE t SET x = v WHERE id = 1")
    db.sql("DELETE FROM t WHERE x = 'sad'")
    db.verify()
    assert [str(field.type) for field in db.view("v2").schema] == ["string"]


def test_rows_come_in_the_order_of_the_labels() -> None:
    db = world()
    db.apply({"t": ROWS})
    db.sql("CREATE MATERIALIZED VIEW v AS SELECT x, id FROM t ORDER BY x DESC NULLS LAST, id")
    assert db.view("v").fetchall() == [("happy", 3), ("ok", 2), ("sad", 1), ("sad", 5), (None, 4)]
    assert db.view("v").fetchall() == db.sql("SELECT x, id FROM t ORDER BY x DESC NULLS LAST, id").fetchall()
    assert db.view("v").arrow()["x"].chunk(0).dictionary.to_pylist() == ["sad", "ok", "happy"]


def test_categories_of_data_frames() -> None:
    db = world()
    values: dict[str, list[Any]] = {
        "id": [1, 2, 3],
        "x": ["happy", None, "sad"],
        "n": ["ok", "x", None],
        "v": ["a", "b", None],
    }
    for frame in (
        pl.DataFrame(values, schema_overrides={"x": pl.Categorical, "n": pl.Enum(["x", "ok", "other"])}),
        pd.DataFrame(values).astype({"x": "category", "n": pd.CategoricalDtype(["other", "x", "ok"])}),
    ):
        db.apply({"t": frame})
        assert db.sql("SELECT x, n FROM t ORDER BY id").fetchall() == list(zip(values["x"], values["n"], strict=True))
        assert db.sql("SELECT x FROM t").pl()["x"].to_list() == values["x"]
        db.sql("DELETE FROM t")


@pytest.mark.parametrize(
    "given",
    [
        list,
        pa.array,
        lambda values: pa.array(values).dictionary_encode(),
        lambda values: pl.Series(values, dtype=pl.Categorical),
    ],
)
def test_an_unknown_label_is_told_with_column_row_and_value(given: Callable[[list[Any]], Any]) -> None:
    db = world()
    with pytest.raises(
        ivm.TypeMismatchError, match=r"table t: column 'x' .*row 1 counted from 0: 'glad' is none of its"
    ):
        db.apply({"t": {"id": [1, 2], "x": given(["ok", "glad"]), "n": [None, None], "v": [None, None]}})
    for change in ("INSERT INTO t(id, x) VALUES (1, 'glad')", "INSERT INTO t(id, x) SELECT 1, 'glad'"):
        with pytest.raises(ivm.Error, match="Could not convert string 'glad'"):
            db.sql(change)
    assert db.sql("SELECT * FROM t").fetchall() == []


@pytest.mark.parametrize("labels", [255, 256, 70_000])
def test_many_labels(labels: int) -> None:
    texts = [f"l{number}" for number in range(labels)]
    db = ivm.connect(compile="off")
    db.sql(f"CREATE TABLE t (x ENUM({', '.join(map(repr, texts))}), n BIGINT)")
    db.apply({"t": {"x": texts[-3:], "n": [1, 2, 3]}})
    db.sql("CREATE MATERIALIZED VIEW v AS SELECT max(x) AS x FROM t")
    assert db.view("v").fetchall() == [(texts[-1],)]
    assert db.view("v").schema.field("x").type == db.sql("SELECT max(x) AS x FROM t").schema.field("x").type
    db.verify()


def test_a_name_stands_for_the_type() -> None:
    db = world()
    assert db.sql("DESCRIBE t").fetchall()[1][:2] == ("x", MOOD)
    db.sql("CREATE TYPE IF NOT EXISTS MOOD AS ENUM ('x'); CREATE TYPE \"my type\" AS ENUM ('b', 'it''s')")
    db.sql("CREATE TABLE k (mood mood PRIMARY KEY DEFAULT 'ok'::Mood, b \"my type\" UNIQUE, CHECK (mood <> 'sad'))")
    db.sql("INSERT INTO k VALUES ('happy', 'it''s')")
    db.sql(
        "CREATE MATERIALIZED VIEW v AS SELECT CAST(b AS VARCHAR) AS mood, TRY_CAST(b AS mood) AS c, mood::mood AS d FROM k"
    )
    db.verify()
    assert db.view("v").fetchall() == [("it's", None, "happy")]
    assert db.sql("SELECT 'mood', typeof('ok'::mood)").fetchall() == [("mood", MOOD)]
    with pytest.raises(ivm.BindError, match="cannot drop type 'mood': used by tables 't', 'k'"):
        db.sql("DROP TYPE mood")
    db.sql("DROP TABLE k CASCADE; DROP TABLE t; DROP TYPE mood; DROP TYPE IF EXISTS mood")
    with pytest.raises(ivm.BindError, match="there is no type 'mood'"):
        db.sql("DROP TYPE mood")
    with pytest.raises(ivm.UnsupportedError, match="type mood"):
        db.sql("CREATE TABLE t (x mood)")


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("CREATE TYPE", ivm.ParseError, "write CREATE TYPE name AS ENUM"),
        ("CREATE TYPE x", ivm.ParseError, "write CREATE TYPE name AS ENUM"),
        ("CREATE TYPE a.b AS ENUM ('a')", ivm.BindError, "there is no schema 'a'"),
        ("CREATE TYPE 'x' AS ENUM ('a')", ivm.ParseError, "expected the name of a type"),
        ("CREATE TYPE mood AS ENUM ('a')", ivm.BindError, "there is a type of that name"),
        ("CREATE TYPE date AS ENUM ('a')", ivm.BindError, "SQL has one of that name"),
        ("CREATE TYPE uint8 AS ENUM ('a')", ivm.BindError, "SQL has one of that name"),
        ("CREATE TYPE x AS ENUM ('a', 'a')", ivm.BindError, "'a' twice"),
        ("CREATE TYPE x AS ENUM ()", ivm.UnsupportedError, "takes an ENUM with its labels"),
        ("CREATE TYPE x AS ENUM ('a', )", ivm.UnsupportedError, "takes an ENUM with its labels"),
        ("CREATE TYPE x AS ENUM ('a') y", ivm.UnsupportedError, "takes an ENUM with its labels"),
        ("CREATE TYPE x AS ENUM ('a', 1)", ivm.UnsupportedError, "takes an ENUM with its labels"),
        ("CREATE TYPE x AS ENUM (SELECT 'a')", ivm.UnsupportedError, "takes an ENUM with its labels"),
        ("CREATE TYPE x AS nothing", ivm.UnsupportedError, "takes a type, which .nothing. is not|not supported"),
        ("DROP TYPE", ivm.ParseError, "write DROP TYPE name"),
        ("DROP TYPE IF EXISTS", ivm.ParseError, "write DROP TYPE name"),
        ("DROP TYPE a, b", ivm.ParseError, "write DROP TYPE name"),
        ("DROP TYPE mood CASCADE", ivm.UnsupportedError, "drop the tables"),
        ("CREATE TABLE k (x ENUM())", ivm.BindError, "write its labels as texts"),
        ("CREATE TABLE k (x ENUM('a', 'a'))", ivm.BindError, "'a' twice"),
        ("CREATE TABLE k (x mood DEFAULT 'glad')", ivm.NumericError, "Could not convert string 'glad'"),
        ("CREATE MATERIALIZED VIEW v AS SELECT sum(x) AS s FROM t", ivm.TypeMismatchError, "needs numbers"),
        ("CREATE MATERIALIZED VIEW v AS SELECT id::mood AS s FROM t", ivm.TypeMismatchError, "cannot cast BIGINT"),
        ("CREATE MATERIALIZED VIEW v AS SELECT 'glad'::mood AS s FROM t", ivm.TypeMismatchError, "none of its labels"),
    ],
)
def test_what_is_no_type_is_refused(text: str, error: type[ivm.Error], words: str) -> None:
    db = world()
    with pytest.raises(error, match=words):
        db.sql(text)
    assert db.sql("SHOW TABLES").fetchall() == [("t",)]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("STRUCT(a mood, mood mood[])", "STRUCT(a {0}, mood {0}[])"),
        ("MAP(mood, mood[])", "MAP({0}, {0}[])"),
        ("STRUCT(a STRUCT(b mood))[]", "STRUCT(a STRUCT(b {0}))[]"),
        ("STRUCT(mood DECIMAL(9,2), p pair)", "STRUCT(mood DECIMAL(9,2), p STRUCT(a {0}, b {0}[]))"),
        ("many", "STRUCT(a {0}, b {0}[])[]"),
    ],
)
def test_names_stand_within_other_types(written: str, meant: str) -> None:
    db = ivm.connect(compile="off")
    db.sql("CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE TYPE pair AS STRUCT(a mood, b mood[])")
    db.sql("CREATE TYPE many AS pair[]")
    db.sql(
        f"CREATE TABLE t (mood INTEGER, x {written}); ALTER TABLE t ADD COLUMN y {written}; INSERT INTO t VALUES (1, NULL, NULL)"
    )
    expected = meant.format("ENUM('sad', 'ok')")
    assert [row[1] for row in db.sql("DESCRIBE t").fetchall()] == ["INTEGER", expected, expected]
    assert db.sql(f"SELECT x::{written}, CAST(x AS {written}) FROM t").fetchall() == [(None, None)]

"""Rows that are not there when they are deleted: an error, or nothing; deletes that give no more than the key."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

import ivm
from ivm.arguments import Tabular
from ivm.trace.rows.table_store import Mode


@pytest.fixture
def db() -> ivm.Database:
    db = ivm.connect(compile="off", history=100)
    db.sql(
        """CREATE TABLE t (id BIGINT PRIMARY KEY, name VARCHAR NOT NULL, x INTEGER);
        CREATE TABLE pair (a INTEGER, b VARCHAR, x INTEGER NOT NULL, PRIMARY KEY (a, b));
        CREATE TABLE bag (x INTEGER, s VARCHAR);
        CREATE MATERIALIZED VIEW names AS SELECT name, count(*) AS n, sum(x) AS x FROM t GROUP BY name ORDER BY name;
        CREATE MATERIALIZED VIEW bags AS SELECT x, s, count(*) AS n FROM bag GROUP BY x, s ORDER BY x, s;
        INSERT INTO t VALUES (1, 'a', 1), (2, 'b', NULL);
        INSERT INTO pair VALUES (1, 'p', 1), (1, 'q', 2);
        INSERT INTO bag VALUES (1, 'a'), (1, 'a'), (2, NULL)"""
    )
    return db


def state(db: ivm.Database) -> list[object]:
    return [db.time, *(db.sql(f"SELECT * FROM {table.name} ORDER BY ALL").fetchall() for table in db.tables())]


def delete(table: str, rows: Tabular) -> Callable[[ivm.Database], object]:
    def work(db: ivm.Database) -> None:
        with db.transaction() as tx:
            tx.delete(table, rows)

    return work


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (delete("t", [{"id": 2}, {"id": 9}, {"id": 8}]), r"delete from table t: it has no row with PRIMARY KEY \(id\) = \(9,\), \(8,\); .*missing='ignore'"),
        (delete("t", {"id": [1, 1]}), r"\(id\) = \(1,\)"),
        (delete("pair", [{"a": 1, "b": "p"}, {"a": 2, "b": "p"}]), r"PRIMARY KEY \(a, b\) = \(2, 'p'\)"),
        (delete("bag", [{"x": 2, "s": "a"}]), r"has no row with \(x, s\) = \(2, 'a'\)"),
        (delete("bag", [{"x": 1, "s": "a"}] * 3), r"\(x, s\) = \(1, 'a'\)"),
        (lambda db: db.apply({"t": [{"id": 9, "_diff": -1}]}), r"\(id\) = \(9,\)"),
        (lambda db: db.apply({"bag": [{"x": None, "s": None, "_diff": -1}]}), r"\(x, s\) = \(None, None\)"),
    ],
)  # fmt: skip
def test_it_is_an_error_that_names_the_rows(
    db: ivm.Database, change: Callable[[ivm.Database], object], told: str
) -> None:
    before = state(db)
    with pytest.raises(ivm.ConstraintError, match=told):
        change(db)
    assert state(db) == before
    db.verify()


def test_it_is_ignored_if_that_is_said(db: ivm.Database) -> None:
    with db.subscribe("names") as names, db.transaction() as tx:
        tx.delete("t", [{"id": 2}, {"id": 9}, {"id": 2}], missing="ignore")
        tx.insert("t", [{"id": 9, "name": "z", "x": 1}])
        tx.delete("t", [{"id": 9}, {"id": 8}], missing="ignore")
        tx.delete("pair", [{"a": 7, "b": "p"}, {"a": 1, "b": "q"}], missing="ignore")
        tx.delete("bag", [{"x": 1, "s": "a"}] * 5 + [{"x": 2, "s": "a"}, {"x": 2, "s": None}] * 2, missing="ignore")
    assert [row["name"] for row in names.fetch().to_pylist()] == ["b"]
    assert state(db)[1:] == [[(1, "a", 1)], [(1, "p", 1)], []]
    with db.transaction() as tx:
        tx.delete("t", [{"id": 2}], missing="ignore")
    assert db.time == tx.time
    db.verify()
    db.sql("INSERT INTO t VALUES (2, 'again', 1); INSERT INTO bag VALUES (1, 'a')")
    db.verify()


def test_what_is_wrong_otherwise_is_refused(db: ivm.Database) -> None:
    before = state(db)
    tx = db.transaction()
    with pytest.raises(ivm.TypeMismatchError, match="missing is 'skip', and must be one of 'error', 'ignore'"):
        tx.delete("t", [{"id": 1}], missing="skip")  # type: ignore[arg-type]
    with pytest.raises(ivm.ConstraintError, match="NULL"):
        tx.delete("t", [{"id": None}], missing="ignore")
    with pytest.raises(ivm.TypeMismatchError, match="'id', BIGINT, is missing"):
        tx.delete("t", [{"name": "a"}], missing="ignore")
    with pytest.raises(ivm.ConstraintError, match="cannot upsert into table bag: it has no PRIMARY KEY"):
        tx.upsert("bag", [{"x": 1, "s": "a"}])
    with pytest.raises(ivm.ConstraintError, match="cannot upsert into table bag: it has no PRIMARY KEY"):
        db.apply({"bag": [{"x": 1, "s": "a"}]}, mode="upsert")
    with pytest.raises(ivm.TypeMismatchError, match="mode is 'insert', and must be one of 'diff', 'upsert'"):
        db.apply({"t": []}, mode="insert")  # type: ignore[arg-type]
    assert state(db) == before


@pytest.mark.parametrize("mode", ["diff", "upsert"])
def test_a_delete_needs_no_more_than_the_key(db: ivm.Database, mode: Mode) -> None:
    times = {"_time": db.time + 5}
    db.apply(
        {"t": [{"id": 3, "name": "c", "x": 3, "_diff": 1}, {"id": 1, "_diff": -1}, {"id": 4, "name": "d", "_diff": 1}]},
        mode=mode,
    )
    assert state(db)[1] == [(2, "b", None), (3, "c", 3), (4, "d", None)]
    db.apply(
        {"t": pa.table({"id": [2, 4], "_diff": [-1, -1]}), "pair": {"b": ["q"], "a": [1], "_diff": [-1]}}, mode=mode
    )
    assert state(db)[1:3] == [[(3, "c", 3)], [(1, "p", 1)]]
    columns = {"id": [3, 5, 3, 5], "name": [None, "e", "c2", None], "x": [None, 5, 4, None], "_diff": [-1, 1, 1, -1]}
    db.apply({"t": {**columns, "_time": [times["_time"] + i for i in range(4)]}}, mode=mode)
    assert state(db)[1] == [(3, "c2", 4)]
    assert db.view("names").fetchall(as_of=times["_time"] + 1) == [("e", 1, 5)]
    db.apply({"t": {"id": [3, 7], "name": [None, None], "_diff": [-1, 0]}}, mode=mode)
    assert state(db)[1] == []
    db.verify()


def test_an_insert_still_needs_all(db: ivm.Database) -> None:
    before = state(db)
    bad: dict[str, tuple[Tabular, type[ivm.Error], str]] = {
        "a NULL": ({"id": [1, 7, 8], "name": [None, None, "a"], "x": [1, 2, 3], "_diff": [-1, 1, 1]}, ivm.ConstraintError, r"'name' is NULL in 1 row\(s\), counted from 0: 1;"),
        "no column": ({"id": [1, 7], "x": [1, 2], "_diff": [-1, 1]}, ivm.TypeMismatchError, "'name', VARCHAR, is missing"),
        "a key that is NULL": ({"id": [None], "_diff": [-1]}, ivm.ConstraintError, "'id' is NULL"),
        "another column": ({"id": [1], "y": [1], "_diff": [-1]}, ivm.TypeMismatchError, "no column 'y'"),
        "another type": ({"id": ["a"], "_diff": [-1]}, ivm.TypeMismatchError, "'id'"),
        "a diff that is none": ({"id": [1], "_diff": ["x"]}, ivm.TypeMismatchError, "_diff"),
        "a diff that is NULL": ({"id": [1, 2], "_diff": [-1, None]}, ivm.ConstraintError, "_diff"),
    }  # fmt: skip
    for what, (rows, error, told) in bad.items():
        for mode in ("diff", "upsert"):
            with pytest.raises(error, match=told):
                pytest.fail(f"{what}: {db.apply({'t': rows}, mode=mode)}")
    with pytest.raises(ivm.TypeMismatchError, match="'s', VARCHAR, is missing"):
        db.apply({"bag": {"x": [1], "_diff": [-1]}})
    assert state(db) == before


def test_a_key_alone_does_not_cancel_the_insert_of_its_time(db: ivm.Database) -> None:
    with pytest.raises(ivm.ConstraintError, match=r"\(id\) = \(7,\)"):
        db.apply({"t": [{"id": 7, "name": "x", "x": 1, "_diff": 1}, {"id": 7, "_diff": -1}]})
    db.apply({"t": [{"id": 7, "name": "x", "x": 1, "_diff": 1}, {"id": 7, "name": "x", "x": 1, "_diff": -1}]})
    assert db.sql("SELECT id FROM t ORDER BY id").fetchall() == [(1,), (2,)]


def test_a_bag_of_many_rows_is_a_counter(db: ivm.Database) -> None:
    rng = np.random.default_rng(3)
    there: Counter[int] = Counter()
    db.sql("DELETE FROM bag")
    for _ in range(20):
        come, go = rng.integers(0, 50, 100).tolist(), rng.integers(0, 60, 120).tolist()
        with db.transaction() as tx:
            tx.insert("bag", {"x": come, "s": [None] * 100})
            tx.delete("bag", {"x": go, "s": [None] * 120}, missing="ignore")
        there = (there + Counter(come)) - Counter(go)
        assert dict(db.sql("SELECT x, n FROM bags").fetchall()) == dict(there)
    db.verify()

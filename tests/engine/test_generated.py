"""Generated columns of rows that come in other ways than SQL, on disk, and in views."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import ivm

_TABLE = "CREATE TABLE k (id INTEGER PRIMARY KEY, x VARCHAR, u AS (upper(x) || '!'), n AS (length(x)))"


def test_rows_of_any_form(tmp_path: Path) -> None:
    with ivm.connect(tmp_path / "db", compile="off") as db:
        db.sql(_TABLE)
        db.sql("CREATE MATERIALIZED VIEW v AS SELECT n, count(*) AS c, max(u) AS u FROM k GROUP BY n")
        db.apply({"k": [{"id": 1, "x": "one"}, {"id": 2, "x": None}]})
        db.apply({"k": {"id": [3], "x": ["three"], "u": ["is not looked at"], "n": [0]}})
        db.apply({"k": pa.table({"id": [1, 4], "x": ["uno", "four"]})}, mode="upsert")
        with db.transaction() as tx:
            tx.delete("k", [{"id": 3}])
            tx.insert("k", pa.table({"id": [5], "x": ["five"]}))
        db.sql("BEGIN; INSERT INTO k VALUES (6, 'in'); COMMIT")
        expected = [(1, "uno", "UNO!", 3), (2, None, None, None), (4, "four", "FOUR!", 4), (5, "five", "FIVE!", 4)]
        assert db.sql("SELECT * FROM k WHERE id < 6 ORDER BY id").fetchall() == expected
        db.verify()
    with ivm.connect(tmp_path / "db", compile="off") as db:
        assert db.sql("SELECT * FROM k WHERE id < 6 ORDER BY id").fetchall() == expected
        db.sql("UPDATE k SET x = 'again' WHERE id = 6")
        assert db.sql("SELECT u FROM k WHERE id = 6").fetchall() == [("AGAIN!",)]
        db.verify()
        db.apply({"k": pa.table({"id": range(10, 5_000), "x": [str(each) for each in range(10, 5_000)]})})
        db.verify()


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        ("CREATE TABLE w (a INTEGER, b AS (random()))", ivm.UnsupportedError, "changes without a change"),
        ("CREATE TABLE w (a INTEGER, b AS (SELECT max(id) FROM k))", ivm.Error, "."),
        ("CREATE TABLE w (a INTEGER, b AS (a + 1) NOT NULL)", ivm.UnsupportedError, "leave out what follows"),
        ("CREATE TABLE w (a INTEGER, b AS (a + 1), PRIMARY KEY (b))", ivm.BindError, "cannot be of a key"),
        ("CREATE TABLE w (a INTEGER GENERATED ALWAYS AS IDENTITY)", ivm.UnsupportedError, "DEFAULT nextval"),
        ("ALTER TABLE k ADD COLUMN z AS (n + 1)", ivm.UnsupportedError, "CREATE TABLE takes them"),
        ("ALTER TABLE k ALTER x TYPE BLOB", ivm.BindError, "generated column 'u' depends on"),
        ("ALTER TABLE k ALTER n SET DEFAULT 3", ivm.BindError, "is generated"),
        ("COPY k (id, n) FROM 'x.csv'", ivm.Error, "."),
    ],
)
def test_what_is_refused(text: str, kind: type[Exception], said: str) -> None:
    with ivm.connect(compile="off") as db:
        db.sql(_TABLE)
        with pytest.raises(kind, match=said):
            db.sql(text)
        assert db.sql("INSERT INTO k VALUES (1, 'x') RETURNING *").fetchall() == [(1, "x", "X!", 1)]


def test_over_shards() -> None:
    with ivm.connect(shards=2, compile="off") as db:
        db.sql(_TABLE)
        db.sql("CREATE MATERIALIZED VIEW v AS SELECT n, count(*) AS c, max(u) AS u FROM k GROUP BY n")
        db.apply({"k": [{"id": 1, "x": "one"}, {"id": 2, "x": None}]})
        db.sql("INSERT INTO k VALUES (3, 'three'); UPDATE k SET x = 'uno!' WHERE id = 1; DELETE FROM k WHERE n IS NULL")
        db.sql("INSERT INTO k VALUES (3, 'trois') ON CONFLICT (id) DO UPDATE SET x = excluded.u")
        assert sorted(db.view("v").fetchall()) == [(4, 1, "UNO!!"), (6, 1, "TROIS!!")]
        db.verify()

"""CREATE OR REPLACE, CREATE TABLE AS, CASCADE, indexes: nothing is half-done, and who reads sees the old or the new."""

from __future__ import annotations

import threading

import pytest

import ivm


@pytest.fixture
def db():
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (id BIGINT PRIMARY KEY, a INTEGER UNIQUE)")
    db.sql("INSERT INTO t VALUES (1, 10), (2, 20)")
    return db


def names(db):
    return [name for (name,) in db.sql("SHOW TABLES").fetchall()]


def test_a_table_made_of_a_maintained_view_stands_alone(db):
    db.sql("CREATE MATERIALIZED VIEW v AS SELECT a, count(*) AS n FROM t GROUP BY a")
    assert db.sql("CREATE TABLE kept AS SELECT v.*, id FROM v JOIN t USING (a)").fetchall() == [(2,)]
    db.sql("DELETE FROM t")
    assert sorted(db.sql("FROM kept").fetchall()) == [(10, 1, 1), (20, 1, 2)]
    with pytest.raises(ivm.UnsupportedError, match=r"CREATE TABLE l: column 'x' has type BIT"):
        db.sql("CREATE TABLE l AS SELECT '101'::BIT AS x")
    with pytest.raises(ivm.AccessError):
        db.sql("CREATE TABLE l AS FROM 'x.csv'")
    with pytest.raises(ivm.BindError, match="3 names are given"):
        db.sql("CREATE TABLE l (a, b, c) AS SELECT 1, 2")
    with pytest.raises(ivm.BindError, match="names that begin with ivm_"):
        db.sql("CREATE TABLE ivm_x AS SELECT 1")
    assert names(db) == ["kept", "t", "v"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CREATE OR REPLACE TABLE t (a INTEGER REFERENCES nowhere)", "not a table"),
        ("CREATE OR REPLACE TABLE t (a INTEGER, a INTEGER)", "declared twice"),
        ("CREATE OR REPLACE TABLE t AS SELECT error('stop') AS a", "stop"),
        ("CREATE OR REPLACE TABLE t (a INTEGER DEFAULT 'x')", "Could not convert"),
        ("CREATE TABLE T (a INTEGER)", "there is a table of that name"),
        ("CREATE TABLE t AS SELECT 1 AS x", "there is a table of that name"),
    ],
)
def test_a_table_that_cannot_be_replaced_is_as_it_was(db, text, message):
    db.sql("CREATE MATERIALIZED VIEW v AS SELECT sum(a) AS s FROM t") if "REPLACE" not in text else None
    with pytest.raises(ivm.Error, match=message):
        db.sql(text)
    db.sql("INSERT INTO t VALUES (3, 30)")
    assert db.sql("SELECT sum(a) FROM t").fetchall() == [(60,)]
    with pytest.raises(ivm.ConstraintError, match=r"UNIQUE \(a\)"):
        db.sql("INSERT INTO t VALUES (4, 30)")
    db.verify()


def test_a_table_is_replaced(db):
    with db.transaction() as tx:
        tx.insert("t", [{"id": 3, "a": 30}])
        db.sql("CREATE OR REPLACE TABLE T AS SELECT a, id FROM t")
        with pytest.raises(ivm.BindError, match="dropped since"):
            tx_time(tx)
        tx.forget()
    assert db.sql("FROM t").fetchall() == [(10, 1), (20, 2)]
    assert names(db) == ["T"]
    db.sql("CREATE VIEW v AS FROM t")
    with pytest.raises(ivm.BindError, match="used by view 'v'"):
        db.sql("CREATE OR REPLACE TABLE t (a INTEGER)")
    with pytest.raises(ivm.BindError, match="there is a view of that name"):
        db.sql("CREATE OR REPLACE TABLE v (a INTEGER)")


def tx_time(tx):
    tx._commit(tx._changes)


def test_a_view_is_replaced_once_the_new_one_is_whole(db):
    db.sql("CREATE MATERIALIZED VIEW v AS SELECT sum(a) AS s FROM t")
    old, subscription = db.view("v"), db.subscribe("v")
    seen: list[list[str]] = []

    def told(progress):
        db.sql(f"INSERT INTO t VALUES ({10 + len(seen)}, {100 + len(seen)})")
        seen.append(db.view("v").columns)

    db.sql("CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT a, id FROM t WHERE a > 15", progress=told)
    assert seen
    assert set(map(tuple, seen)) == {("s",)}
    assert sorted(db.view("v").fetchall())[0] == (20, 2)
    assert old.fetchall()
    assert subscription.fetch()["_diff"].to_pylist()[:2] == [-1, 1]
    with pytest.raises(ivm.ViewDroppedError, match="replaced by one of other columns"):
        list(subscription)
    with pytest.raises(ivm.NumericError):
        db.sql("CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT a // (id - 2) AS x FROM t")
    with pytest.raises(ivm.BindError, match="view 'v' cannot read itself"):
        db.sql("CREATE OR REPLACE VIEW v AS SELECT * FROM v")
    db.sql("INSERT INTO t VALUES (99, 99)")
    assert (99, 99) in db.view("v").fetchall()
    db.sql("CREATE OR REPLACE VIEW v AS SELECT a FROM t")
    with pytest.raises(ivm.BindError, match="registered, not maintained"):
        db.view("v")
    db.sql("CREATE MATERIALIZED VIEW above AS SELECT count(*) AS n FROM v")
    db.sql("CREATE OR REPLACE VIEW v AS SELECT a FROM t WHERE a < 9")
    db.verify()


def test_cascade_takes_what_reads_it_and_nothing_else(db):
    db.sql(
        "CREATE VIEW a AS FROM t; CREATE MATERIALIZED VIEW b AS SELECT count(*) AS n FROM a; CREATE VIEW c AS FROM b"
    )
    db.sql("CREATE TABLE child (id BIGINT REFERENCES t); CREATE MATERIALIZED VIEW d AS SELECT count(*) AS n FROM child")
    with pytest.raises(ivm.BindError, match="a foreign key of table 'child' names it"):
        db.sql("DROP TABLE t CASCADE")
    assert names(db) == ["a", "b", "c", "child", "d", "t"]
    with pytest.raises(ivm.BindError, match="used by view 'b'; drop what uses it first, or DROP"):
        db.sql("DROP VIEW a RESTRICT")
    db.sql("DROP VIEW b CASCADE")
    assert names(db) == ["a", "child", "d", "t"]
    db.sql("DROP TABLE child CASCADE; DROP TABLE t CASCADE")
    assert names(db) == []
    db.sql("CREATE TABLE t (x INTEGER)")


def test_an_index_is_noted_and_a_unique_one_is_kept(db):
    ((note,),) = db.sql("CREATE INDEX i ON t (a)").fetchall()
    assert "decided by the views that read it" in note
    with pytest.raises(ivm.BindError, match="table t has one of that name"):
        db.sql("CREATE UNIQUE INDEX I ON t (id)")
    with pytest.raises(ivm.BindError, match="no column 'aa'; did you mean 'a'"):
        db.sql("CREATE INDEX j ON t (aa)")
    with pytest.raises(ivm.BindError, match="no table 'tt'"):
        db.sql("CREATE INDEX j ON tt (a)")
    with db.transaction() as tx:
        tx.insert("t", [{"id": 3, "a": 30}])
        db.sql("CREATE INDEX j ON t (a)")  # hinders nobody
    with pytest.raises(ivm.BindError, match="there is no index 'k'"):
        db.sql("DROP INDEX k")
    db.sql("DROP INDEX i; CREATE TABLE m (x INTEGER); INSERT INTO m VALUES (1), (1)")
    with pytest.raises(ivm.ConstraintError, match=r"CONSTRAINT u UNIQUE \(x\)"):
        db.sql("CREATE UNIQUE INDEX u ON m (x)")
    db.sql("DELETE FROM m; CREATE UNIQUE INDEX u ON m (x); INSERT INTO m VALUES (1)")
    with pytest.raises(ivm.ConstraintError, match=r"CONSTRAINT u UNIQUE \(x\)"):
        db.sql("INSERT INTO m VALUES (1)")
    db.sql("DROP INDEX u; INSERT INTO m VALUES (1)")
    assert db.sql("SELECT column_name, key FROM (DESCRIBE m)").fetchall() == [("x", None)]


def test_upserts_of_many_threads_lose_nothing():
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (k INTEGER PRIMARY KEY, n INTEGER)")

    def count():
        for _ in range(10):
            db.sql("INSERT INTO t VALUES (1, 1), (2, 1) ON CONFLICT (k) DO UPDATE SET n = n + excluded.n")

    threads = [threading.Thread(target=count) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(db.sql("FROM t").fetchall()) == [(1, 30), (2, 30)]


def test_an_update_on_conflict_may_ask_other_tables(db):
    db.sql("CREATE TABLE u (x INTEGER); INSERT INTO u VALUES (7)")
    db.sql("INSERT INTO t VALUES (1, 0) ON CONFLICT (id) DO UPDATE SET a = (SELECT max(x) FROM u) + excluded.a + t.a")
    assert sorted(db.sql("FROM t").fetchall()) == [(1, 17), (2, 20)]
    db.sql(
        "CREATE TABLE log (k INTEGER PRIMARY KEY, n INTEGER) WITH (append_only = true); INSERT INTO log VALUES (1, 1)"
    )
    db.sql("INSERT OR IGNORE INTO log VALUES (1, 2), (2, 2)")
    with pytest.raises(ivm.ConstraintError, match="append-only"):
        db.sql("INSERT OR REPLACE INTO log VALUES (1, 2)")
    assert sorted(db.sql("FROM log").fetchall()) == [(1, 1), (2, 2)]

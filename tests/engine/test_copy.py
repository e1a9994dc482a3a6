"""COPY reads and writes files as DuckDB does, in one commit, and only where the application allows it."""

from __future__ import annotations

from decimal import Decimal

import duckdb
import pytest

import ivm

TABLE = "CREATE TABLE t (id INTEGER PRIMARY KEY, a DECIMAL(9, 2) DEFAULT 4, b VARCHAR, h HUGEINT CHECK (h < 100))"


@pytest.fixture
def db():
    db = ivm.connect(compile="off", external_access=True)
    db.sql(TABLE)
    db.sql("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n, sum(a) AS a FROM t")
    return db


def rows(db):
    return sorted(db.sql("FROM t").fetchall())


def test_a_file_goes_in_and_out(db, tmp_path):
    csv = tmp_path / "it's.csv"
    told: list[ivm.Progress] = []
    csv.write_text("id;a;b;h\n1;1.5;x;7\n2;2.25;NIL;8\n")
    name = str(csv).replace("'", "''")
    copied = db.sql(f"COPY t FROM '{name}' (FORMAT csv, HEADER, DELIMITER ';', NULL 'NIL')", progress=told.append)
    assert copied.fetchall() == [(2,)]
    assert (copied.rowcount, told[-1].view, told[-1].rows) == (2, "t", 2)
    first = [(1, Decimal("1.50"), "x", 7), (2, Decimal("2.25"), None, 8)]
    assert rows(db) == first
    for file, options in (
        ("o.parquet", "(COMPRESSION zstd)"),
        ("o.csv", "(HEADER false, DELIMITER '|')"),
        ("p.csv", ""),
    ):
        path = tmp_path / file
        assert db.sql(f"COPY t TO '{path}' {options}").fetchall() == [(2,)]
        db.sql("TRUNCATE t")
        db.sql(f"COPY t FROM '{path}' {options if 'csv' in file else ''}")
        assert rows(db) == first
    assert duckdb.execute(f"SELECT id, a, b, h FROM '{tmp_path}/o.parquet' ORDER BY id").fetchall() == first
    db.sql(f"COPY (SELECT id + 10, n FROM t, v) TO '{tmp_path}/q.parquet'")
    db.sql(f"COPY t (ID, b) FROM '{tmp_path}/q.parquet'")
    assert rows(db)[2:] == [(11, Decimal("4.00"), "2", None), (12, Decimal("4.00"), "2", None)]
    db.verify()


def test_a_file_that_does_not_fit_changes_nothing(db, tmp_path):
    db.sql("INSERT INTO t VALUES (1, 1, 'x', 1)")
    before, time = rows(db), db.time
    for text, error, message in (
        ("id,a,b,h\n2,1,x,1\nz,1,x,1\n", ivm.BindError, "Could not convert string"),
        ("id,a,b,h\n2,1,x,1\n1,1,x,1\n", ivm.ConstraintError, "already has a row with PRIMARY KEY"),
        ("id,a,b,h\n2,1,x,100\n", ivm.ConstraintError, "CHECK"),
    ):
        (tmp_path / "x.csv").write_text(text)
        with pytest.raises(error, match=message):
            db.sql(f"COPY t FROM '{tmp_path}/x.csv'")
    db.sql(f"COPY (SELECT 1 AS a, 2 AS b) TO '{tmp_path}/two.parquet'")
    with pytest.raises(ivm.BindError, match="the file has 2 columns"):
        db.sql(f"COPY t (id) FROM '{tmp_path}/two.parquet'")
    with pytest.raises(ivm.BindError, match="no column 'zz'"):
        db.sql(f"COPY t (zz) FROM '{tmp_path}/two.parquet'")
    with pytest.raises(ivm.BindError, match="no table 'nope'"):
        db.sql(f"COPY nope FROM '{tmp_path}/two.parquet'")
    with pytest.raises(ivm.BindError, match="no table or view 'nope'"):
        db.sql(f"COPY nope TO '{tmp_path}/two.parquet'")
    (tmp_path / "x.csv").write_text("id,a,b,h\n2,1,x,1\n")

    def stop(progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        db.sql(f"COPY t FROM '{tmp_path}/x.csv'", progress=stop)
    assert (rows(db), db.time) == (before, time)


def test_a_row_far_down_that_does_not_fit_is_told_as_any_other(tmp_path):
    """By then Arrow asks for the rows, which makes errors of its own of DuckDB's."""
    (tmp_path / "x.csv").write_text("a,b\n" + "1,x\n" * 300_000 + "bad,x\n")
    with ivm.connect(compile="off", external_access=True) as db:
        db.sql("CREATE TABLE t (a BIGINT, b VARCHAR)")
        with pytest.raises(ivm.BindError, match='Could not convert string "bad" to'):
            db.sql(f"COPY t FROM '{tmp_path}/x.csv' (HEADER)")
        assert (db.time, db.sql("FROM t").fetchall()) == (0, [])


def test_without_external_access_no_file_is_touched(tmp_path):
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (a INTEGER)")
    (tmp_path / "x.csv").write_text("a\n1\n")
    for text in (
        f"COPY t FROM '{tmp_path}/x.csv'",
        f"COPY t TO '{tmp_path}/y.csv'",
        f"COPY (SELECT 1) TO '{tmp_path}/y.csv'",
    ):
        with pytest.raises(ivm.AccessError, match="external_access=True"):
            db.sql(text)
    assert not (tmp_path / "y.csv").exists()

"""Tables that let go of old rows: ticks delete them, and all that reads the tables follows."""

from __future__ import annotations

import datetime

import pytest

import ivm

BEGIN = datetime.datetime(2024, 2, 28)
OPTIONS = "WITH (retention = '1 day 12 hours', retention_column = 'TS')"
TABLES = f"""
    CREATE TABLE keyed (id BIGINT PRIMARY KEY, ts TIMESTAMP) {OPTIONS};
    CREATE TABLE plain (k INTEGER, ts DATE) {OPTIONS};
    CREATE MATERIALIZED VIEW counted AS SELECT count(*) AS n FROM keyed;
    CREATE MATERIALIZED VIEW listed AS SELECT k, ts FROM plain
"""


def hours(count):
    return BEGIN + datetime.timedelta(hours=count)


def made(**how):
    db = ivm.connect(compile="off", **how)
    db.tick(BEGIN)
    db.sql(TABLES)
    return db


def fill(db):
    db.sql("INSERT INTO keyed VALUES (1, '2024-02-28'), (2, '2024-02-28 10:00'), (3, NULL), (4, '2024-02-20')")
    db.sql("INSERT INTO plain VALUES (1, '2024-02-28'), (1, '2024-02-28'), (1, '2024-02-29'), (2, NULL)")


def counts(db):
    db.verify()
    found = db.sql("SELECT (SELECT count(*) FROM keyed), (SELECT count(*) FROM plain)").fetchall()[0]
    assert db.view("counted").fetchall() == [(found[0],)]
    assert len(db.view("listed").fetchall()) == found[1]
    return found


@pytest.mark.parametrize("shards", [None, 3])
def test_old_rows_end_at_ticks(shards):
    with made(shards=shards) as db:
        fill(db)
        assert counts(db) == (4, 4)  # one is old already, and goes with the next tick
        db.tick(BEGIN)
        assert counts(db) == (3, 4)
        db.tick(hours(36))
        assert counts(db) == (3, 4)  # just as old as that
        db.sql("UPDATE keyed SET ts = ts + INTERVAL 1 DAY WHERE id = 1")
        db.tick(hours(37))
        assert counts(db) == (3, 2)
        db.tick(hours(47))
        assert sorted(db.sql("SELECT id FROM keyed").fetchall()) == [(1,), (3,)]
        db.tick(hours(1000))
        assert counts(db) == (1, 1)
        time = db.time
        assert db.tick(hours(1000)) == time
        fill_again = "INSERT INTO keyed SELECT i, localtimestamp FROM range(10, 20) AS r (i)"
        db.sql(fill_again)
        db.tick(hours(1001))
        assert counts(db) == (11, 1)


def test_it_is_kept_on_disk_and_goes_with_the_table(tmp_path):
    with made(path=tmp_path / "db") as db:
        fill(db)
        db.tick(hours(1))
    with ivm.connect(tmp_path / "db", compile="off") as db:
        db.tick(hours(37))
        assert counts(db) == (2, 2)
        db.sql("CHECKPOINT")
        assert [view.name for view in db.views()] == ["counted", "listed"]
        assert "ivm_" not in str(db.sql("SHOW ALL TABLES").fetchall())
        with pytest.raises(ivm.BindError, match="used by view 'counted'"):
            db.sql("DROP TABLE keyed")
        with pytest.raises(ivm.BindError, match="the engine's own"):
            db.sql('DROP VIEW "ivm_old keyed"')
        with pytest.raises(ivm.UnsupportedError, match="it has a retention"):
            db.sql("ALTER TABLE plain ADD COLUMN x INTEGER")
        db.sql("DROP TABLE plain CASCADE; DROP VIEW counted; CREATE OR REPLACE TABLE keyed (id INTEGER)")
    with ivm.connect(tmp_path / "db", compile="off") as db:
        db.tick()
        assert ([table.name for table in db.tables()], db.views()) == (["keyed"], [])
        db.sql(f"CREATE SCHEMA s; CREATE TABLE s.t (ts TIMESTAMPTZ) {OPTIONS}; INSERT INTO s.t VALUES ('2000-01-01')")
        db.tick()
        assert db.sql("SELECT * FROM s.t").fetchall() == []
        db.sql("DROP SCHEMA s CASCADE")


def test_rows_that_others_refer_to_stay():
    with ivm.connect(compile="off") as db:
        db.tick(BEGIN)
        db.sql(f"""CREATE TABLE parent (id BIGINT PRIMARY KEY, ts TIMESTAMP) {OPTIONS};
            CREATE TABLE child (id BIGINT REFERENCES parent) WITH (check_foreign_keys = true);
            INSERT INTO parent VALUES (1, '2024-02-28'); INSERT INTO child VALUES (1)""")
        with pytest.raises(ivm.ConstraintError, match="still refer to rows removed from parent"):
            db.tick(hours(100))
        assert db.sql("SELECT id FROM parent").fetchall() == [(1,)]
        db.sql("DELETE FROM child")
        db.tick(hours(100))
        assert db.sql("SELECT id FROM parent").fetchall() == []


REFUSED = (
    ("retention = '7 days'", "retention_column = 'ts'"),
    ("retention = 7, retention_column = 'ts'", "retention = '7 days'"),
    ("retention = '7 days', retention_column = 'id'", "'id' is no column of type DATE or TIMESTAMP"),
    ("retention = '7 days', retention_column = 'x'", "'x' is no column"),
    ("retention = 'soon', retention_column = 'ts'", "'soon' is not an interval"),
    ("retention = '-7 days', retention_column = 'ts'", "not over zero"),
    ("retention = '7 days', retention_column = 'ts', append_only = true", "declared append_only or static"),
)


@pytest.mark.parametrize(("options", "words"), REFUSED)
def test_refused(options, words):
    with ivm.connect() as db:
        with pytest.raises(ivm.BindError, match=words):
            db.sql(f"CREATE TABLE t (id INTEGER, ts TIMESTAMP) WITH ({options})")
        assert (db.tables(), db.time) == ([], 0)

"""What is TEMP, in several sessions of one database: as in DuckDB, each has its own, which ends with it."""

from __future__ import annotations

import random
import threading

import duckdb
import pytest

import ivm
from ivm.catalog.errors import Error, TransactionError
from ivm.session.database import core_of
from ivm.session.of_session import of_session

STATEMENTS = [
    "CREATE TABLE {n} (x INTEGER)", "CREATE TEMP TABLE {n} (x INTEGER)", "CREATE OR REPLACE TEMP MACRO m(y) AS y + {v}",
    "DROP VIEW IF EXISTS v{n}; CREATE OR REPLACE TEMP TABLE {n} AS SELECT {v} AS x",
    "CREATE TEMP TABLE IF NOT EXISTS {n} (x INTEGER); CREATE TEMP VIEW v{n} AS SELECT sum(x) AS x FROM temp.{n}",
    "DROP VIEW IF EXISTS v{n}; DROP TABLE {n}", "DROP TABLE memory.main.{n}", "DROP VIEW IF EXISTS v{n}", "INSERT INTO {n} VALUES ({v})",
    "INSERT INTO memory.main.{n} VALUES ({v})", "UPDATE {n} SET x = x + 1", "DELETE FROM temp.{n} WHERE x = {v}",
    "BEGIN", "COMMIT", "ROLLBACK", "INSERT INTO {n} SELECT x + 1 FROM {n}",
]  # fmt: skip
READS = (
    "SELECT x FROM {n} ORDER BY x", "SELECT x FROM temp.{n} ORDER BY x", "SELECT x FROM memory.main.{n} ORDER BY x",
    "SELECT x FROM v{n}", "SELECT m(1)", "SELECT count(*) FROM {n} AS a JOIN memory.main.{n} AS b ON a.x = b.x",
    "SHOW TABLES",
)  # fmt: skip
OF_CATALOG = (
    "SELECT database_name, table_name FROM duckdb_tables() ORDER BY ALL",
    "SELECT table_catalog, table_name FROM information_schema.tables ORDER BY ALL",
)


def _rows(run, text):
    try:
        return run(text)
    except (Error, duckdb.Error):
        return "refused"


@pytest.mark.parametrize("seed", range(3))
def test_sessions_are_as_duckdbs_connections(seed):
    chance = random.Random(seed)
    with ivm.connect(compile="off") as db, duckdb.connect() as duck:
        ours, theirs = [of_session(db) for _ in range(3)], [duck.cursor() for _ in range(3)]
        for step in range(50):
            who = chance.randrange(3)
            said = {"n": chance.choice("ab"), "v": chance.randrange(5)}
            text = chance.choice(STATEMENTS).format(**said)
            if text == "BEGIN" and chance.random() < 0.7:
                continue
            found = [_rows(each[who].execute, text) == "refused" for each in (ours, theirs)]
            assert found[0] == found[1], text
            if found[0]:
                _rows(ours[who].execute, "ROLLBACK"), _rows(theirs[who].execute, "ROLLBACK")
            for read in (*READS, *(OF_CATALOG if step % 10 == 9 else ())):
                text = read.format(**said)
                asked = [_rows(lambda t, by=each[who]: by.execute(t).fetchall(), text) for each in (ours, theirs)]
                assert asked[0] == asked[1], (text, said)
        for each in ours:
            each.close()
        assert not [each for each in core_of(db).catalog.schema_names if each.startswith("temp")]


def test_nobody_sees_or_names_what_is_temp_of_others():
    with ivm.connect(compile="off") as db:
        db.sql("CREATE TABLE t (x INTEGER); INSERT INTO t VALUES (1)")
        a, b = of_session(db), of_session(db)
        for each, start in ((db, 10), (a, 20), (b, 30)):
            each.sql(
                f"CREATE TEMP TABLE t (x INTEGER, y INTEGER); INSERT INTO t VALUES ({start}, 1), (2, 2);"
                f"CREATE TEMP MATERIALIZED VIEW v AS SELECT sum(x) AS s FROM t; CREATE TEMP SEQUENCE s START {start};"
                f"CREATE TEMP MACRO m(z) AS z + {start}; PREPARE p AS SELECT count(*), sum(x) FROM t"
            )
        for each, start in ((db, 10), (a, 20), (b, 30)):
            assert each.sql("SELECT s, m(1), nextval('s') FROM v").fetchall() == [(start + 2, start + 1, start)]
            assert each.sql("EXECUTE p").fetchall() == [(2, start + 2)]
            assert each.sql("SELECT * FROM memory.main.t").fetchall() == [(1,)]
            assert [t.name for t in each.tables()] == ["t", "temp.t"]
            assert [v.name for v in each.views()] == ["temp.v"]
            assert each.sql("SELECT view FROM ivm_views").fetchall() == [("temp.v",)]
            assert each.sql("SELECT count(*) FROM ivm_arrangements WHERE collection LIKE '%other%'").fetchall() == [
                (1,)
            ]
            assert len(each.verify()) == 1
            assert "temp#" not in str(each.sql("EXPLAIN SELECT sum(x) FROM t"))
            for wrong in ("CREATE TEMP TABLE t (z INTEGER)", "SELECT * FROM tt", "DROP TABLE v", "SELECT z FROM t"):
                with pytest.raises(Error) as raised:
                    each.sql(wrong)
                assert "temp#" not in str(raised.value)
        (of_b,) = (name for name in core_of(db).catalog.schema_names if name == core_of(b).settings.names.temp)
        for text in (f'SELECT * FROM "{of_b}".t', f'DROP SCHEMA "{of_b}" CASCADE', "DROP SCHEMA temp CASCADE",
                     f'CREATE SCHEMA "{of_b}"', f'SET schema = "{of_b}"'):  # fmt: skip
            with pytest.raises(Error):
                a.sql(text)
        heard = b.subscribe("v")
        b.sql("BEGIN; DELETE FROM t")
        b.rollback()
        a.close()
        b.close()
        with pytest.raises(Error, match="dropped"):
            list(heard)
        assert [t.name for t in db.tables()] == ["t", "temp.t"]
        assert db.sql("SELECT s FROM v").fetchall() == [(12,)]


def test_what_is_temp_is_in_no_file(tmp_path):
    with ivm.connect(tmp_path / "db", compile="off") as db:
        db.sql("CREATE TABLE t (x INTEGER)")
        each = of_session(db)
        each.sql("CREATE TEMP TABLE t (x INTEGER); CREATE TEMP MATERIALIZED VIEW v AS SELECT sum(x) AS s FROM t")
        each.sql(
            "INSERT INTO t VALUES (1); CREATE TEMP SEQUENCE s; SELECT nextval('s'); CHECKPOINT; INSERT INTO t VALUES (2)"
        )
        each.sql("BEGIN; INSERT INTO t VALUES (3); CREATE TEMP TABLE u AS SELECT * FROM t; COMMIT")
        assert each.sql("SELECT s FROM v").fetchall() == [(6,)]
    with ivm.connect(tmp_path / "db", compile="off") as db:
        assert (core_of(db).catalog.schema_names, [t.name for t in db.tables()], db.views()) == ({}, ["t"], [])


def test_sessions_make_and_drop_side_by_side():
    with ivm.connect(compile="off") as db:
        failed: list[object] = []

        def work(n):
            try:
                for k in range(6):
                    each = of_session(db)
                    each.sql(
                        "CREATE TEMP TABLE t (x INTEGER); CREATE TEMP MATERIALIZED VIEW v AS SELECT sum(x) s FROM t"
                    )
                    each.sql(f"INSERT INTO t VALUES ({n}), ({k})")
                    if each.sql("SELECT s FROM v").fetchall() != [(n + k,)] or len(each.tables()) != 1:
                        failed.append((n, k))
                    each.close()
            except Error as error:
                failed.append(error)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert (failed, db.tables(), core_of(db).catalog.schema_names) == ([], [], {})


def test_transactions_that_define_something_let_others_have_what_is_temp():
    made = "CREATE TEMP TABLE u AS SELECT * FROM t; CREATE TEMP MATERIALIZED VIEW v AS SELECT sum(x) AS s FROM u"
    with ivm.connect(compile="off") as db:
        db.sql("CREATE TABLE t (x INTEGER); INSERT INTO t VALUES (1); CREATE TABLE gone (x INTEGER)")
        db.sql("CREATE SEQUENCE of_all")  # with the first one the table of all sequences comes
        heard = db.subscribe("SELECT x FROM gone WHERE x > ?", [0])
        a, b = of_session(db), of_session(db)
        for each in (a, b):
            each.sql(f"BEGIN; {made}; CREATE TEMP MACRO m(y) AS y + 1; CREATE TEMP SEQUENCE s")
        for n, each in enumerate((a, b)):
            each.sql(f"INSERT INTO u VALUES ({n}); COMMIT")
        assert [each.sql("SELECT s, m(1), nextval('s') FROM v").fetchall() for each in (a, b)] == [
            [(1, 2, 1)],
            [(2, 2, 1)],
        ]
        a.sql("BEGIN; CREATE TABLE new (x INTEGER); DROP TABLE u CASCADE")
        b.sql("CREATE TEMP TABLE w (x INTEGER)")
        told = db.subscribe("SELECT x FROM t WHERE x > ?", [5])
        a.sql("COMMIT; INSERT INTO new VALUES (1); INSERT INTO t VALUES (7)")
        assert told.fetch().num_rows == 1
        assert b.sql("SELECT count(*) FROM w").fetchall() == [(0,)]
        assert [t.name for t in b.tables()] == ["t", "gone", "new", "temp.u", "temp.w"]
        a.sql("BEGIN; DROP TABLE gone CASCADE")
        b.sql("CREATE TEMP TABLE another (x INTEGER)")
        a.sql("COMMIT")
        with pytest.raises(Error, match="dropped"):
            list(heard)
        for theirs in ("CREATE TEMP VIEW late AS SELECT x FROM new", "CREATE TABLE more (x INTEGER)"):
            a.sql("BEGIN; DROP TABLE new; CREATE TEMP TABLE mine (x INTEGER)")
            b.sql(theirs)
            with pytest.raises(TransactionError, match="others have done so"):
                a.sql("COMMIT")
            b.sql("DROP VIEW IF EXISTS late; DROP TABLE IF EXISTS more")
        assert a.sql("SELECT x FROM new").fetchall() == [(1,)]
        assert [t.name for t in a.tables()] == ["t", "new"]
        db.verify()

"""COPY in all forms, in and out, and SUBSCRIBE, by psycopg."""

from __future__ import annotations

import shutil
import subprocess
import threading
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import psycopg
import pytest

import ivm
from ivm.serve import user_with_password
from tests.serve.postgres import served

TABLE = """
    CREATE TABLE t (id BIGINT PRIMARY KEY, s VARCHAR, n DECIMAL(9,2), d DATE, m TIMESTAMP, b BLOB, f DOUBLE, y BOOLEAN,
        a INTEGER[], w VARCHAR[], i INTERVAL);
    CREATE TABLE few (id INTEGER PRIMARY KEY, k INTEGER NOT NULL DEFAULT 5);
    CREATE MATERIALIZED VIEW total AS SELECT k, count(*) AS n FROM few GROUP BY k;
"""
ROWS = [
    (1, "a\tb\n\\c", Decimal("1.50"), date(2024, 2, 29), datetime(2024, 1, 2, 3, 4, 5, 6), b"\0\xff", 1.5, True, [1, None],
     ["x,y", 'q"', "NULL", None, ""], timedelta(days=3, seconds=1)),
    (2, "", None, None, None, b"", float("inf"), False, [], [], timedelta(0)),
    (3, None, None, None, None, None, None, None, None, None, None),
    (4, "\\N", Decimal("-0.01"), date(1, 1, 1), datetime(1969, 12, 31), b"\\", -0.0, True, [7], [], timedelta(days=-1)),
]  # fmt: skip
TYPES = ["int8", "text", "numeric", "date", "timestamp", "bytea", "float8", "bool", "int4[]", "text[]", "interval"]


@pytest.fixture(scope="module")
def server():
    with served(text=TABLE, history=100) as found:
        yield found


@pytest.fixture
def client(server):
    with server.connect() as found:
        yield found


@pytest.mark.parametrize(
    "form", ["", "(FORMAT csv)", "(FORMAT csv, HEADER, DELIMITER ';', NULL 'none')", "(FORMAT binary)"]
)
def test_copy_there_and_back(client, form):
    cursor = client.cursor()
    if "csv" not in form:
        with cursor.copy(f"COPY t FROM STDIN {form}") as copy:
            copy.set_types(TYPES)
            for row in ROWS:
                copy.write_row(row)
        assert cursor.rowcount == len(ROWS)
    else:
        cursor.executemany("INSERT INTO t VALUES (" + ", ".join(["%b"] * len(TYPES)) + ")", ROWS)
    assert client.execute("SELECT * FROM t ORDER BY id").fetchall() == ROWS
    with cursor.copy(f"COPY (SELECT * FROM t ORDER BY id) TO STDOUT {form}") as copy:
        data = b"".join(map(bytes, copy))
    client.execute("DELETE FROM t")
    with cursor.copy(f"COPY t FROM STDIN {form}") as copy:
        for start in range(0, len(data), 7):
            copy.write(data[start : start + 7])
    assert client.execute("SELECT * FROM t ORDER BY id").fetchall() == ROWS
    client.execute("DELETE FROM t")


def test_copy_of_some_columns_in_a_transaction(server, client):
    with server.connect(autocommit=False) as other:
        cursor = other.cursor()
        with cursor.copy("COPY few (id) FROM STDIN WITH (FORMAT text)") as copy:
            copy.write("1\n\\.\n")
        with cursor.copy("COPY few (id) FROM STDIN BINARY") as copy:
            copy.set_types(["int4"])
            copy.write_row([2])
        assert other.execute("SELECT * FROM few ORDER BY id").fetchall() == [(1, 5), (2, 5)]
        assert client.execute("SELECT count(*) FROM few").fetchone() == (0,)
        other.commit()
    with client.cursor().copy("COPY few (id, k) TO STDOUT WITH CSV HEADER") as copy:
        assert b"".join(map(bytes, copy)).splitlines()[0] == b"id,k"
    client.execute("DELETE FROM few")


@pytest.mark.parametrize(
    ("text", "data", "code"),
    [
        ("COPY few FROM STDIN", "1\t2\n3\tx\n", "22P04"),
        ("COPY few FROM STDIN", "1\n", "22P04"),
        ("COPY few FROM STDIN", "1\t\\N\n", "23502"),
        ("COPY few FROM STDIN", "1\t1\n1\t2\n", "23505"),
        ("COPY few FROM STDIN (FORMAT csv)", "1,2,3\n", "22P04"),
        ("COPY few FROM STDIN (FORMAT binary)", "1\t2\n", "22P04"),
        ("COPY few (id, nope) FROM STDIN", "", "22P04"),
        ("COPY nope FROM STDIN", "", "42P01"),
        ("COPY few FROM STDIN (FORMAT parquet)", "", "0A000"),
        ("COPY few FROM STDIN (DELIMITER 'ab')", "", "22023"),
        ("COPY (SELECT 1) FROM STDIN", "", "42601"),
        ("COPY few FROM '/tmp/x.csv'", "", "42501"),
    ],
)
def test_a_copy_that_fails_changes_nothing(client, text, data, code):
    with pytest.raises(psycopg.Error) as raised, client.cursor().copy(text) as copy:
        copy.write(data.encode())
    assert raised.value.sqlstate == code, raised.value
    assert client.execute("SELECT count(*) FROM few").fetchone() == (0,)


def test_a_copy_that_the_client_ends(client):
    with pytest.raises(KeyError), client.cursor().copy("COPY few FROM STDIN") as copy:
        copy.write("1\t1\n")
        raise KeyError
    assert client.execute("SELECT count(*) FROM few").fetchone() == (0,)


def test_subscribe_tells_rows_and_then_changes(server):
    changes = server.db.sql
    changes("INSERT INTO few VALUES (1, 1), (2, 1)")
    with server.connect() as client:
        told = client.cursor().stream("SUBSCRIBE TO total WITH (PROGRESS)")
        time, *row = next(told)
        assert row == [False, 1, 1, 2]
        changes("INSERT INTO few VALUES (3, 1)")
        assert sorted([next(told), next(told)]) == [(time + 1, False, -1, 1, 2), (time + 1, False, 1, 1, 3)]
        changes("UPDATE few SET id = 4 WHERE id = 3")
        assert next(told) == (time + 2, True, None, None, None)
        client.cancel_safe()
        with pytest.raises(psycopg.errors.QueryCanceled):
            next(told)
        with pytest.raises(psycopg.errors.UndefinedTable):
            client.execute("SUBSCRIBE TO nope")
        with pytest.raises(psycopg.errors.FeatureNotSupported):
            client.execute("SUBSCRIBE TO total WITH (ENVELOPE)")
        asked: Any = client.cursor().stream("SUBSCRIBE TO (SELECT k FROM few WHERE id = %b)", (4,))
        assert next(asked)[1:] == (1, 1)
        asked.close()
        lines = client.cursor().copy(f"COPY (SUBSCRIBE total AS OF {time}) TO STDOUT")
        with pytest.raises(psycopg.errors.QueryCanceled), lines as copy:
            read = sorted(bytes(copy.read()) for _ in range(2))
            assert read == [b"%d\t-1\t1\t2\n" % (time + 1), b"%d\t1\t1\t3\n" % (time + 1)]
            threading.Timer(0.1, client.cancel_safe).start()
            copy.read()
        gone = client.cursor().stream("SUBSCRIBE total WITH (SNAPSHOT = false)")
        threading.Timer(0.2, lambda: changes("DROP VIEW total")).start()
        with pytest.raises(psycopg.errors.UndefinedTable, match="dropped"):
            next(gone)
        assert client.execute("SELECT 1").fetchone() == (1,)
    changes("DELETE FROM few; CREATE MATERIALIZED VIEW total AS SELECT k, count(*) AS n FROM few GROUP BY k")


def test_cursors(server):
    with server.connect(autocommit=False) as client:
        with client.cursor("some", scrollable=False) as cursor:
            cursor.itersize = 3
            cursor.execute("SELECT * FROM range(%s)", (8,))
            assert (cursor.fetchone(), cursor.fetchmany(2), len(list(cursor))) == ((0,), [(1,), (2,)], 5)
        client.execute("DECLARE c CURSOR FOR SUBSCRIBE total; DECLARE d CURSOR FOR SELECT 1")
        assert client.execute("FETCH ALL c WITH (timeout = '10ms')").fetchall() == []
        server.db.sql("INSERT INTO few VALUES (1, 1), (2, 2)")
        assert client.execute("FETCH 1 c").fetchone()[1:] == (1, 1, 1)
        assert client.execute("FETCH c").fetchone()[1:] == (1, 2, 1)
        threading.Timer(0.2, lambda: server.db.sql("DELETE FROM few WHERE id = 2")).start()
        assert client.execute("FETCH FORWARD ALL FROM c").fetchone()[1:] == (-1, 2, 1)
        threading.Timer(0.2, client.cancel_safe).start()
        with pytest.raises(psycopg.errors.QueryCanceled):
            client.execute("FETCH c")
        client.rollback()
        assert not server.db._core.engine.listeners.of()
        client.execute("DECLARE d CURSOR WITH HOLD FOR SELECT 1")
        client.commit()
        assert client.execute("FETCH NEXT FROM d").fetchall() == [(1,)]
        for text, code in (("FETCH 1 c", "34000"), ("DECLARE d SCROLL CURSOR FOR SELECT 1", "0A000"), ("FETCH PRIOR d", "0A000"),
                           ("DECLARE d CURSOR FOR SELECT 1", "42P03"), ("CLOSE nope", "34000")):  # fmt: skip
            client.rollback()
            with pytest.raises(psycopg.Error) as raised:
                client.execute(text)
            assert raised.value.sqlstate == code, text
        client.rollback()
        client.execute("CLOSE d; CLOSE ALL")
    server.db.sql("DELETE FROM few")


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl, which makes certificates, is not installed")
def test_over_tls_on_disk_and_over_shards(tmp_path):
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    subprocess.run(
        [*made, "-keyout", tmp_path / "key.pem", "-out", tmp_path / "cert.pem"], check=True, capture_output=True
    )
    ada = user_with_password("ada", "sesame", "write")
    hows: list[dict[str, Any]] = [{"path": tmp_path / "x.ivm"}, {"shards": 2}]
    for how in hows:
        with served((ada,), text=TABLE, tls=tmp_path, **how) as server:
            with pytest.raises(psycopg.OperationalError, match="TLS"):
                server.connect(password="sesame", sslmode="disable")
            with server.connect(password="sesame", sslmode="require") as client:
                assert client.pgconn.ssl_in_use
                with client.cursor().copy("COPY few FROM STDIN") as copy:
                    copy.write("".join(f"{n}\t1\n" for n in range(20_000)))
                with client.transaction():
                    with pytest.raises(psycopg.errors.UniqueViolation), client.transaction():
                        client.execute("INSERT INTO few VALUES (-1, 1); INSERT INTO few VALUES (-1, 1)")
                    client.execute("DELETE FROM few WHERE id >= 15000")
                changes: Any = client.cursor().stream("SUBSCRIBE total")
                assert next(changes)[1:] == (1, 1, 15_000)
                changes.close()
                assert len(client.execute("SELECT * FROM few").fetchall()) == 15_000
    with ivm.connect(tmp_path / "x.ivm", compile="off") as db:
        assert db.view("total").fetchall() == [(1, 15_000)]


def test_who_subscribes_and_goes_is_forgotten(server):
    listeners = server.db._core.engine.listeners
    client = server.connect()
    told = client.cursor().stream("SUBSCRIBE total")
    server.db.sql("INSERT INTO few VALUES (1, 1)")
    next(told)
    assert len(listeners.of()) == 1
    client.pgconn.finish()
    for _ in range(100):
        if not listeners.of():
            break
        threading.Event().wait(0.02)
    assert not listeners.of()
    server.db.sql("DELETE FROM few")
    del told, client


def test_each_row_goes_by_a_message_of_its_own(server):
    with server.connect() as client:
        for form in ("", "WITH (FORMAT binary)"):
            with client.cursor().copy(
                f"COPY (SELECT 1::INTEGER AS a, 'x' AS b UNION ALL SELECT 2, 'y' ORDER BY a) TO STDOUT {form}"
            ) as copy:
                copy.set_types(["int4", "text"])
                assert list(copy.rows()) == [(1, "x"), (2, "y")]
            with client.cursor().copy(f"COPY (SELECT 1::INTEGER AS a WHERE false) TO STDOUT {form}") as copy:
                copy.set_types(["int4"])
                assert list(copy.rows()) == []


def test_columns_that_are_not_copied_are_null_or_their_default(server):
    with server.connect() as client:
        client.execute("CREATE TABLE several (a INTEGER, b VARCHAR, c VARCHAR DEFAULT 'd', e INTEGER NOT NULL)")
        with client.cursor().copy("COPY several (e, a) FROM STDIN") as copy:
            copy.write_row((1, 2))
        assert client.execute("SELECT * FROM several").fetchall() == [(2, None, "d", 1)]
        with (
            pytest.raises(psycopg.errors.NotNullViolation),
            client.cursor().copy("COPY several (a) FROM STDIN") as copy,
        ):
            copy.write_row((1,))
        client.execute("DROP TABLE several")

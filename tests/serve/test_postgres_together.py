"""Statements that take effect together: those of one text, those before one Sync, and transactions that define something."""

from __future__ import annotations

import threading
import time

import psycopg
import pytest
from psycopg import errors

from ivm.session.database import core_of
from tests.serve.postgres import start_up, until


@pytest.fixture
def client(server):
    with server.connect() as found:
        found.execute("CREATE TABLE IF NOT EXISTS kept (k INTEGER PRIMARY KEY)")
        found.execute("DELETE FROM kept")
        yield found


def _kept(client):
    return [k for (k,) in client.execute("SELECT k FROM kept ORDER BY k").fetchall()]


TEXTS = {
    "INSERT INTO kept VALUES (1); INSERT INTO kept VALUES (2)": (None, [1, 2]),
    "INSERT INTO kept VALUES (1); INSERT INTO kept VALUES (1)": (errors.UniqueViolation, []),
    "INSERT INTO kept VALUES (1); SELECT 1 / 'x'": (errors.InvalidTextRepresentation, []),
    "INSERT INTO kept VALUES (1); COMMIT; INSERT INTO kept VALUES (1)": (errors.UniqueViolation, [1]),
    "INSERT INTO kept VALUES (1); ROLLBACK; INSERT INTO kept VALUES (2)": (None, [2]),
    "INSERT INTO kept VALUES (1); BEGIN; INSERT INTO kept VALUES (2); ROLLBACK; INSERT INTO kept VALUES (3)": (None, [3]),
    "BEGIN; INSERT INTO kept VALUES (1); COMMIT; INSERT INTO kept VALUES (2); nonsense": (errors.SyntaxError, [1]),
    "INSERT INTO kept VALUES (1); SAVEPOINT s": (errors.NoActiveSqlTransaction, []),
    "INSERT INTO kept VALUES (1); BEGIN READ ONLY": (errors.ActiveSqlTransaction, []),
    "SELECT 1; BEGIN READ ONLY; INSERT INTO kept VALUES (1)": (errors.ReadOnlySqlTransaction, []),
    "CREATE TABLE gone (k INTEGER); INSERT INTO gone VALUES (1); INSERT INTO gone SELECT 'x'": (
        errors.InvalidTextRepresentation, []),
    "DECLARE c CURSOR FOR SELECT 1; MOVE c; FETCH c; INSERT INTO kept VALUES (4)": (None, [4]),
}  # fmt: skip
"""Texts of several statements, the error that they end with, and what is there then."""


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_is_one_transaction(client, text):
    error, kept = TEXTS[text]
    if error is None:
        client.execute(text)
    else:
        with pytest.raises(error):
            client.execute(text)
    if client.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
        client.execute("ROLLBACK")
    assert _kept(client) == kept
    assert client.execute("SELECT to_regclass('gone') IS NULL").fetchone() == (True,)


def test_begin_within_a_text_goes_on_after_it(client, server):
    client.execute("INSERT INTO kept VALUES (1); BEGIN; INSERT INTO kept VALUES (2)")
    with server.connect() as other:
        assert (_kept(client), _kept(other)) == ([1, 2], [])
        client.execute("COMMIT")
        assert _kept(other) == [1, 2]


def test_what_comes_before_a_sync_is_one_transaction(client):
    with pytest.raises(errors.UniqueViolation), client.pipeline():
        for k in (1, 2, 1):
            client.execute("INSERT INTO kept VALUES (%s)", [k])
    assert _kept(client) == []
    with client.pipeline():
        for k in (1, 2):
            client.execute("INSERT INTO kept VALUES (%s)", [k])
    assert _kept(client) == [1, 2]


def test_a_commit_that_fails_at_a_sync_is_told_and_the_connection_goes_on(server, client):
    def message(kind, body):
        return kind + (len(body) + 4).to_bytes(4, "big") + body

    def asked(text):
        parse, bind = message(b"P", b"\0" + text + b"\0\0\0"), message(b"B", b"\0\0\0\0\0\0\0\0")
        return parse + bind + message(b"E", b"\0\0\0\0\0")

    with server.raw(start_up()) as raw:
        until(raw, b"Z")
        raw.sendall(asked(b"INSERT INTO kept VALUES (1)") + asked(b"INSERT INTO kept VALUES (2)") + message(b"H", b""))
        until(raw, b"C"), until(raw, b"C")
        client.execute("INSERT INTO kept VALUES (2)")
        raw.sendall(message(b"S", b""))
        told = until(raw, b"Z")
        assert ([kind for kind, _ in told], b"40001" in told[0][1], told[-1][1]) == ([b"E", b"Z"], True, b"I")
        raw.sendall(asked(b"INSERT INTO kept VALUES (3)") + message(b"S", b""))
        assert until(raw, b"Z")[-1][1] == b"I"
    assert _kept(client) == [2, 3]


def test_who_defines_something_waits_for_others_who_do(server):
    with server.connect() as first, server.connect() as second:
        for client in (first, second):
            client.execute("BEGIN")
            client.execute("SELECT count(*) FROM item").fetchall()
        first.execute("CREATE TABLE of_first (k INTEGER)")
        done = threading.Thread(target=lambda: second.execute("CREATE TABLE of_second (k INTEGER)"))
        done.start()
        time.sleep(0.2)
        assert done.is_alive()
        first.execute("COMMIT")
        done.join(10)
        second.execute("COMMIT")
        first.execute("DROP TABLE of_first; DROP TABLE of_second")


def test_a_repeatable_transaction_that_was_overtaken_fails(server):
    with server.connect() as first, server.connect() as second:
        second.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        second.execute("SELECT count(*) FROM item").fetchall()
        first.execute("CREATE TABLE of_first (k INTEGER)")
        second.execute("CREATE TABLE of_second (k INTEGER)")
        with pytest.raises(errors.SerializationFailure):
            second.execute("COMMIT")
        first.execute("DROP TABLE of_first")


def test_a_client_that_goes_while_it_waits_leaves_the_turn_to_others(server):
    with server.connect() as first, server.connect() as third:
        first.execute("BEGIN; CREATE TABLE of_first (k INTEGER)")
        raw = server.raw(start_up("gone"))
        until(raw, b"Z")
        text = b"CREATE TABLE of_second (k INTEGER)\0"
        raw.sendall(b"Q" + (len(text) + 4).to_bytes(4, "big") + text)
        time.sleep(0.1)
        raw.close()
        time.sleep(0.1)
        first.execute("ROLLBACK")
        third.execute("CREATE TABLE of_third (k INTEGER)")
        third.execute("DROP TABLE of_third")


def test_what_a_transaction_has_made_is_there_for_it(server):
    asked = "SELECT count(*) FROM information_schema.columns WHERE table_name = 'new'"
    with server.connect() as client, server.connect() as other:
        client.execute("BEGIN; CREATE TABLE new (k INTEGER, v VARCHAR)")
        assert client.execute(asked).fetchone() == (2,)
        assert client.execute("SELECT relkind FROM pg_class WHERE relname = 'new'").fetchone() == ("r",)
        assert other.execute(asked).fetchone() == (0,)
        client.execute("ROLLBACK")


def test_a_portal_ends_with_its_transaction(server):
    with server.connect() as client, client.transaction(), client.cursor("c") as cursor:
        cursor.itersize = 1
        cursor.execute("SELECT id FROM item ORDER BY id")
        assert [row for (row,) in cursor] == [1, 2]


def test_refresh_is_of_materialized_views(client):
    for name in ("dear", '"memory"."main"."dear"', "main.dear"):
        assert (
            client.execute(f"REFRESH MATERIALIZED VIEW CONCURRENTLY {name}").statusmessage
            == "REFRESH MATERIALIZED VIEW"
        )
    for name in ("one", "item", "nowhere"):
        with pytest.raises(errors.UndefinedTable):
            client.execute(f"REFRESH MATERIALIZED VIEW {name}")
    with pytest.raises(errors.SyntaxError):
        client.execute("REFRESH VIEW dear")


def test_what_is_temp_is_of_one_connection_and_ends_with_it(server):
    asked = "SELECT count(*) FROM pg_class WHERE relname IN ('item', 'of_item', 'counted')"
    catalog = ivm_catalog(server)

    def there(client):
        return client.execute(asked).fetchone()[0]

    with server.connect() as other:
        with server.connect() as client:
            for each, first in ((client, 10), (other, 20)):
                each.execute(
                    f"CREATE TEMP SEQUENCE counted START {first};"
                    "CREATE TEMP TABLE item (k INTEGER DEFAULT nextval('counted'), v INTEGER);"
                    "CREATE TEMPORARY MATERIALIZED VIEW of_item AS SELECT sum(k) AS s FROM item"
                )
                each.execute("INSERT INTO item (v) VALUES (1), (2)")
            assert client.execute("SELECT * FROM of_item").fetchall() == [(21,)]
            assert other.execute("SELECT * FROM of_item").fetchall() == [(41,)]
            assert (there(client), there(other)) == (3, 3)
            where = "SELECT nspname FROM pg_namespace WHERE oid = pg_my_temp_schema()"
            assert client.execute(where).fetchall() == [("temp",)]
            meant = "SELECT relpersistence FROM pg_class WHERE oid = to_regclass('item') AND pg_table_is_visible(oid)"
            assert client.execute(meant).fetchall() == [("t",)]
            other.execute("BEGIN; UPDATE item SET k = 0; DROP VIEW of_item; ROLLBACK")
            assert other.execute("SELECT k FROM item ORDER BY k").fetchall() == [(20,), (21,)]
        with server.connect() as third:
            assert there(third) == 1
        for _ in range(200):
            if len(catalog()) == 1:
                break
            time.sleep(0.02)
        assert len(catalog()) == 1
        assert other.execute("SELECT * FROM of_item").fetchall() == [(41,)]
        other.execute("BEGIN; DISCARD TEMP; ROLLBACK")
        assert there(other) == 3
        other.execute("DISCARD TEMP")
        assert (there(other), catalog()) == (1, [])
        assert other.execute("SELECT id FROM item ORDER BY id").fetchall() == [(1,), (2,)]


def ivm_catalog(server):
    """Tells the schemas of what is TEMP."""
    return lambda: [each for each in core_of(server.db).catalog.schema_names if each.startswith("temp")]

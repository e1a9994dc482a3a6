"""Postgres's protocol as psycopg speaks it: values, transactions, errors, settings, what ends a statement."""

from __future__ import annotations

import threading
import time
from datetime import date, datetime, timedelta
from datetime import time as clock
from decimal import Decimal
from uuid import UUID

import psycopg
import pytest

from ivm.serve import Limits, user_with_password
from ivm.serve.postgres.decoding import value_of
from ivm.serve.postgres.encoding import encoded
from ivm.serve.postgres.types import shapes
from ivm.serve.postgres.variables import Variables
from tests.serve.postgres import served, start_up, until

A_UUID = UUID("12345678-1234-1234-1234-123456789abc")
VALUES = {
    "true": True, "CAST(-7 AS TINYINT)": -7, "CAST(7 AS UBIGINT)": 7, "CAST(7 AS HUGEINT)": 7, "2.50": Decimal("2.50"),
    "CAST(0.0001 AS DECIMAL(9,4))": Decimal("0.0001"), "CAST(-12345678.9 AS DECIMAL(18,3))": Decimal("-12345678.900"),
    "CAST(0 AS DECIMAL(9,2))": Decimal("0.00"), "CAST(1.5 AS FLOAT)": 1.5, "1e300": 1e300, "'inf'::DOUBLE": float("inf"),
    "'a''b\"\\'": "a'b\"\\", "'ab'::BLOB": b"ab", "DATE '1815-12-10'": date(1815, 12, 10), "TIME '12:30:00.5'": clock(
        12, 30, 0, 500_000), "TIMESTAMP '2024-02-29 01:02:03.000004'": datetime(2024, 2, 29, 1, 2, 3, 4),
    "TIMESTAMP_NS '2024-02-29 01:02:03.000004'": datetime(2024, 2, 29, 1, 2, 3, 4),
    "INTERVAL '14 months -3 days 1 hour'": timedelta(days=365 + 60 - 3, hours=1), f"'{A_UUID}'::UUID": A_UUID,
    "'{\"a\": [1]}'::JSON": {"a": [1]}, "[1, NULL, 3]": [1, None, 3], "['a,b', NULL, '', 'NULL', '\"']": [
        "a,b", None, "", "NULL", '"'], "[DATE '2024-01-01']": [date(2024, 1, 1)], "[1.5, 2.25]": [Decimal("1.50"),
        Decimal("2.25")], "[[1], [2, 3]]": [[1], [2, 3]], "{'a': 1, 'b': 'x'}": {"a": 1, "b": "x"}, "NULL": None,
    "CAST([] AS INTEGER[])": [],
}  # fmt: skip


@pytest.fixture
def client(server):
    with server.connect() as found:
        yield found


@pytest.mark.parametrize("binary", [False, True])
def test_values_of_all_types_come_as_they_are(client, binary):
    cursor = client.cursor(binary=binary)
    found = cursor.execute("SELECT " + ", ".join(VALUES)).fetchone()
    assert dict(zip(VALUES, found, strict=True)) == VALUES
    zoned = cursor.execute("SELECT TIMESTAMPTZ '2024-07-01 12:00:00+02'").fetchone()[0]
    assert zoned == datetime.fromisoformat("2024-07-01 10:00:00+00:00")
    cursor.execute("SET TimeZone = 'Asia/Kolkata'")
    assert cursor.execute("SELECT TIMESTAMPTZ '2024-07-01 10:00:00+00'").fetchone()[0] == zoned
    assert client.info.parameter_status("TimeZone") == "Asia/Kolkata"


def test_texts_are_those_of_postgres(client):
    asked = {
        "DATE '0044-03-15 (BC)'": "0044-03-15 BC", "DATE 'infinity'": "infinity", "1e20": "1e+20", "1.0::DOUBLE": "1",
        "0.1::FLOAT": "0.1", "'-inf'::DOUBLE": "-Infinity", "INTERVAL '2 months'": "2 mons", "'\\x00'::BLOB": "\\x00",
        "TIMESTAMPTZ '-infinity'": "-infinity", "[true]": "{t}", "false": "f",
    }  # fmt: skip
    cursor = client.cursor()
    cursor.execute("SELECT " + ", ".join(asked))
    assert [cursor.pgresult.get_value(0, place).decode() for place in range(len(asked))] == list(asked.values())
    cursor.execute("SET TimeZone = 'America/St_Johns'; SELECT TIMESTAMPTZ '2024-01-01 00:00:00+00'")
    cursor.nextset()
    assert cursor.pgresult.get_value(0, 0) == b"2023-12-31 20:30:00-03:30"


@pytest.mark.parametrize("binary", ["%s", "%b"])
def test_parameters(client, binary):
    given = [7, 1 << 40, Decimal("1.25"), 1.5, "it's $1", b"\0\xff", date(2024, 1, 1), A_UUID, [1, 2], None, True,
             datetime(2024, 1, 1, 1), timedelta(days=3, seconds=1)]  # fmt: skip
    for value in given:
        assert client.execute(f"SELECT {binary} AS x", (value,)).fetchone() == (value,), value
    assert client.execute(f"SELECT id FROM item WHERE name = {binary} AND id < {binary}", ("ink", 5)).fetchall() == [
        (1,)
    ]
    for text in (f"name = ANY({binary})", f"list_contains({binary}::text[], name)"):
        assert client.execute(f"SELECT id FROM item WHERE {text}", (["ink", 'b"'],)).fetchall() == [(1,)]
    with pytest.raises(psycopg.errors.InvalidTextRepresentation):
        client.execute("SELECT id FROM item WHERE id = %s", ("x",))


def test_both_forms_say_the_same(server):
    asked = [text for text in VALUES if not text.startswith(("[", "{", "INT", "TIME ", "CAST([", "NULL", "'{"))]
    rows = server.db.sql("SELECT " + ", ".join(asked)).arrow()
    for column, shape in zip(rows.columns, shapes(rows.schema), strict=True):
        text, binary = (value_of(encoded(column, shape, form)[0] or b"", shape.oid, form) for form in (0, 1))
        assert str(text) == str(binary)


def test_transactions(server, client):
    with server.connect(autocommit=False) as other:
        other.execute("INSERT INTO item VALUES (3, 'pad', 1)")
        assert other.execute("SELECT count(*) FROM item").fetchone() == (3,)
        assert client.execute("SELECT count(*) FROM item").fetchone() == (2,)
        with pytest.raises(psycopg.errors.UniqueViolation):
            other.execute("INSERT INTO item VALUES (3, 'pad', 1)")
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            other.execute("SELECT 1")
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            other.execute("SHOW server_version")
        other.commit()  # which rolls back
        assert other.execute("SELECT count(*) FROM item").fetchone() == (2,)
        other.rollback()
        other.execute("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY")
        other.commit()
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            other.execute("DELETE FROM item")
        other.rollback()
    said = []
    client.add_notice_handler(lambda told: said.append(told.sqlstate))
    for text in ("COMMIT", "BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE", "BEGIN", "ROLLBACK WORK", "ROLLBACK"):
        client.execute(text)
    assert said == ["25P01", "25001", "25P01"]
    for text in ("BEGIN ISOLATION LEVEL SERIALIZABLE", "COMMIT AND CHAIN", "PREPARE TRANSACTION 'x'"):
        with pytest.raises(psycopg.Error):
            client.execute(text)


def test_savepoints(client):
    def names() -> list[str]:
        return [name for (name,) in client.execute("SELECT name FROM item ORDER BY id").fetchall()]

    with client.transaction(force_rollback=True):
        client.execute("UPDATE item SET name = 'nib' WHERE id = 2")
        with pytest.raises(psycopg.errors.CheckViolation), client.transaction():
            client.execute("INSERT INTO item VALUES (3, 'pad', 1); DELETE FROM item WHERE id = 1")
            assert names() == ["nib", "pad"]
            client.execute("INSERT INTO eu.stock VALUES (0)")
        assert names() == ["ink", "nib"]
        with client.transaction():
            client.execute("DELETE FROM item WHERE id = 1")
        client.execute("SAVEPOINT a; INSERT INTO item VALUES (1, 'again', 1); SAVEPOINT b; DELETE FROM item")
        client.execute("ROLLBACK TO b; DELETE FROM item WHERE id = 2")
        assert names() == ["again"]
        client.execute("ROLLBACK TO SAVEPOINT a")
        assert names() == ["nib"]
        client.execute("CREATE TABLE more (i INTEGER)")
        for text, error in (("ROLLBACK TO b", "3B001"), ("ROLLBACK TO a", "40001")):
            with pytest.raises(psycopg.Error) as raised:
                client.execute(text)
            assert raised.value.sqlstate == error
    assert names() == ["ink", "pen"]
    with pytest.raises(psycopg.errors.NoActiveSqlTransaction):
        client.execute("SAVEPOINT a")


def test_errors_say_what_is_wrong_where_and_what_to_do(client):
    wrong = {
        "SELEC 1": "42601", "SELECT * FROM nope": "42P01", "SELECT nope FROM item": "42703", "SELECT nope(1)": "42883",
        "INSERT INTO item VALUES (9, NULL, 1)": "23502", "CREATE TABLE item (i INT)": "42P07", "SELECT 1 // 0": "22012",
        "SELECT CAST('x' AS INTEGER)": "22P02", "SELECT 2147483647::INTEGER + 1::INTEGER": "22003",
        "SELECT * FROM read_csv('x')": "42501", "SET bytea_output = 'escape'": "22023", "SET nonsense = 1": "42704",
        "SELECT * FROM pg_class, item": "0A000", "EXECUTE nope": "26000", "NOTIFY x": "0A000", "DROP TABLE item": "2BP01",
    }  # fmt: skip
    for text, code in wrong.items():
        with pytest.raises(psycopg.Error) as raised:
            client.execute(text)
        assert raised.value.sqlstate == code, (text, raised.value)
    with pytest.raises(psycopg.Error) as raised:
        client.execute("SELECT *\nFROM itm")
    told = raised.value.diag
    assert (told.message_primary, told.statement_position) == ("there is no table or view 'itm'", "15")
    with pytest.raises(psycopg.Error) as raised:
        client.execute("DROP TABLE item")
    assert "drop what uses it first" in str(raised.value.diag.message_hint)
    assert client.execute("SELECT 1").fetchone() == (1,)


def test_several_statements_and_tags(client):
    tags = {
        "INSERT INTO item VALUES (5, 'five', 5), (6, 'six', 6)": "INSERT 0 2", "UPDATE item SET price = 7 WHERE id > 4":
        "UPDATE 2", "DELETE FROM item WHERE id = 5 RETURNING id": "DELETE 1", "SELECT * FROM item": "SELECT 3",
        "CREATE TABLE made AS SELECT 1 AS i": "SELECT 1", "CREATE MATERIALIZED VIEW seen AS SELECT i FROM made":
        "CREATE MATERIALIZED VIEW", "DROP VIEW seen": "DROP VIEW", "DROP TABLE made": "DROP TABLE", "SHOW DateStyle": "SHOW",
        "WITH d AS (DELETE FROM item WHERE id = 6 RETURNING id) SELECT id FROM d": "SELECT 1", "EXPLAIN SELECT 1": "EXPLAIN",
    }  # fmt: skip
    for text, tag in tags.items():
        assert client.execute(text).statusmessage == tag, text
    cursor = client.execute("SELECT 1 AS a;; SELECT 2; -- no more")
    found = [cursor.fetchall(), cursor.nextset(), cursor.fetchall()]
    assert found == [[(1,)], True, [(2,)]]
    client.execute("")
    with pytest.raises(psycopg.errors.SyntaxError):
        client.execute("SELECT 1; SELECT 2", prepare=True)


def test_settings_of_a_connection(server):
    options = "-c search_path=eu,main -c statement_timeout=5000 -c nonsense=1"
    with server.connect(application_name="tests", options=options) as one, server.connect() as other:
        assert one.info.parameter_status("application_name") == "tests"
        assert one.execute("SHOW search_path").fetchone() == ("eu, main",)
        assert one.execute("SELECT count(*) FROM stock").fetchone() == (0,)
        assert one.execute("SHOW statement_timeout").fetchone() == ("5000",)
        assert other.execute("SHOW search_path").fetchone() == ("main",)
        for text in ("SET extra_float_digits = 3", "SET client_encoding TO 'UTF8'", "SET SESSION my.own = 'x'",
                     "SET search_path TO \"$user\", eu", "RESET ALL", "DISCARD ALL", "DEALLOCATE ALL", "UNLISTEN *",
                     "SET TIME ZONE 'UTC'", "SET ROLE NONE", "SET statement_timeout = '2s'", "SET NAMES 'utf8'"):  # fmt: skip
            one.execute(text)
        assert one.execute("SHOW transaction isolation level").fetchone() == ("repeatable read",)
        assert ("server_version", "16.0") in [row[:2] for row in one.execute("SHOW ALL").fetchall()]
        other.execute("PREPARE p AS SELECT $1 + 1")
        with pytest.raises(psycopg.errors.InvalidSqlStatementName):
            one.execute("EXECUTE p(1)")
        assert other.execute("EXECUTE p(1)").fetchone() == (2,)
        server.db.sql("CREATE SCHEMA gone")
        one.execute("SET search_path = gone")
        server.db.sql("DROP SCHEMA gone")
        one.execute("CREATE TABLE here (i INTEGER)")
        assert [each.name for each in server.db.tables() if "here" in each.name] == ["here"]
        one.execute("DROP TABLE here")
    variables = Variables("ada")
    variables.set("statement_timeout", "2s")
    assert variables.seconds == 2


def test_prepared_statements_and_portals(server, client):
    for n in range(8):  # psycopg prepares it by then
        assert client.execute("SELECT price FROM item WHERE id = %s", (n % 2 + 1,)).fetchone() is not None
    client.prepare_threshold = 0
    assert client.execute("INSERT INTO item VALUES (%s, %s, %s) RETURNING id", (9, "nine", 1)).fetchone() == (9,)
    assert client.execute("DELETE FROM item WHERE id = %s", (9,)).rowcount == 1
    with client.pipeline():
        first, second = client.execute("SELECT 1"), client.execute("SELECT %s", ("x",))
        assert (first.fetchone(), second.fetchone()) == ((1,), ("x",))
    raw = server.raw(start_up())
    until(raw, b"Z")
    parse = _message(b"P", b"s\0SELECT range AS n FROM range(5) WHERE range >= $1\0\0\1\0\0\0\x14")
    raw.sendall(parse + _message(b"D", b"Ss\0") + _message(b"S"))
    kinds = until(raw, b"Z")
    assert [kind for kind, _ in kinds] == [b"1", b"t", b"T", b"Z"]
    assert kinds[1][1] == b"\0\1\0\0\0\x14"
    bind = _message(b"B", b"p\0s\0\0\1\0\1\0\1" + b"\0\0\0\x08" + bytes(8) + b"\0\0")
    raw.sendall(bind + _message(b"E", b"p\0\0\0\0\2") + _message(b"E", b"p\0\0\0\0\0") + _message(b"S"))
    assert b"".join(kind for kind, _ in until(raw, b"Z")) == b"2DDsDDDCZ"
    raw.sendall(_message(b"D", b"Pp\0") + _message(b"E", b"p\0\0\0\0\0") + _message(b"S"))  # it went with Sync
    assert b"".join(kind for kind, _ in until(raw, b"Z")) == b"EZ"
    insert = _message(b"P", b"\0INSERT INTO item VALUES (8, 'x', 1) RETURNING name\0\0\0")
    raw.sendall(insert + _message(b"B", bytes(8)) + _message(b"D", b"P\0") + _message(b"S"))
    assert b"".join(kind for kind, _ in until(raw, b"Z")) == b"12TZ"
    assert client.execute("SELECT count(*) FROM item WHERE id = 8").fetchone() == (0,)  # to describe it does nothing
    raw.sendall(_message(b"C", b"Ss\0") + _message(b"H") + _message(b"S"))
    assert b"".join(kind for kind, _ in until(raw, b"Z")) == b"3Z"
    raw.close()


def test_what_takes_too_long_ends(client):
    slow = "SELECT count(*) FROM range(1000000000) a, range(1000000) b WHERE a.range * b.range % 7 = 3"
    client.execute("SET statement_timeout = '300ms'")
    begun = time.monotonic()
    with pytest.raises(psycopg.errors.QueryCanceled):
        client.execute(slow)
    client.execute("RESET statement_timeout")
    threading.Timer(0.3, client.cancel_safe).start()
    with pytest.raises(psycopg.errors.QueryCanceled):
        client.execute(slow)
    assert time.monotonic() - begun < 10
    assert client.execute("SELECT 1").fetchone() == (1,)


def test_users_roles_and_limits():
    ada, bot = user_with_password("ada", "sesame", "write"), user_with_password("bot", "12345678")
    limits = Limits(connections=2, result_rows=100, request_bytes=10_000)
    with (
        served((ada, bot), limits) as server,
        server.connect(password="sesame") as client,
        server.connect("bot", password="12345678") as reader,
    ):
        client.execute("INSERT INTO item VALUES (3, 'pad', 1)")
        assert reader.execute("SELECT count(*) FROM item").fetchone() == (3,)
        assert reader.execute("SELECT current_user").fetchone() == ("bot",)
        for text in (
            "DELETE FROM item",
            "DELETE FROM item WHERE id = 1",
            "CREATE TABLE x (i INTEGER)",
            "BEGIN; DROP VIEW one",
        ):
            with pytest.raises(psycopg.errors.ReadOnlySqlTransaction, match="bot"):
                reader.execute(text)
        reader.execute("ROLLBACK")
        with pytest.raises(psycopg.errors.ProgramLimitExceeded):
            reader.execute("SELECT * FROM range(101)")
        with pytest.raises(psycopg.OperationalError):
            reader.execute("SELECT '" + "x" * 20_000 + "'")
        for name, password in (("ada", "open"), ("nobody", "sesame"), ("bot", "")):
            with pytest.raises(psycopg.OperationalError):
                server.connect(name, password=password)
        with server.connect(password="sesame"), pytest.raises(psycopg.OperationalError, match="too many"):
            server.connect(password="sesame")
        assert client.execute("SELECT 1").fetchone() == (1,)


def _message(kind: bytes, body: bytes = b"") -> bytes:
    return kind + (len(body) + 4).to_bytes(4, "big") + body

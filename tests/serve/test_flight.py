"""The door of Arrow Flight SQL, as ADBC's driver and pyarrow's client use it."""

from __future__ import annotations

import json
import threading
import time
from contextlib import suppress
from decimal import Decimal

import adbc_driver_flightsql.dbapi as flightsql
import pyarrow as pa
import pytest
from adbc_driver_flightsql import DatabaseOptions
from adbc_driver_manager import Error as AdbcError
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import flight

import ivm
from ivm.serve import Limits, Settings, serve, user_with_password, user_with_token
from ivm.serve.flight.messages import command, read, wrapped, written


@pytest.fixture(scope="module")
def db():
    with ivm.connect(compile="off", history=100) as made:
        yield made


@pytest.fixture(scope="module")
def address(db):
    users = (
        user_with_password("ada", "sesame", "write"),
        user_with_token("bot", "bot"),
        user_with_token("all", "all", "write"),
    )
    limits = Limits(seconds=20, result_rows=200_000, request_bytes=1 << 20)
    with serve(db, Settings(http=None, flight=0, users=users, limits=limits)) as server:
        yield server.addresses["flight"]


@pytest.fixture(autouse=True)
def sale(db):
    db.sql("""
        CREATE OR REPLACE TABLE sale (id BIGINT PRIMARY KEY, city VARCHAR NOT NULL, price DECIMAL(9,2));
        CREATE MATERIALIZED VIEW revenue AS SELECT city, sum(price) AS total FROM sale GROUP BY city ORDER BY city;
        INSERT INTO sale VALUES (1, 'Bern', 2.50), (2, 'Oslo', 4), (3, 'Bern', 1)
    """)
    yield
    db.sql("DROP TABLE sale CASCADE")


@pytest.fixture
def writer(address):
    with flightsql.connect(address, {"username": "ada", "password": "sesame"}, autocommit=True) as connection:
        yield connection


@pytest.fixture
def client(address):
    with flight.connect(address) as made:
        yield made


AS_BOT = flight.FlightCallOptions(headers=[(b"authorization", b"Bearer bot")])
AS_ALL = flight.FlightCallOptions(headers=[(b"authorization", b"Bearer all")])


def test_queries_and_changes(writer):
    with writer.cursor() as cursor:
        cursor.execute("SELECT * FROM revenue")
        assert cursor.fetchall() == [("Bern", Decimal("3.50")), ("Oslo", Decimal("4.00"))]
        cursor.execute("SELECT id FROM sale WHERE city = ? AND price > ?", ("Bern", 2))
        assert cursor.fetch_arrow_table().to_pylist() == [{"id": 1}]
        cursor.executemany("INSERT INTO sale VALUES (?, ?, ?)", [(4, "Rome", 1), (5, "Rome", 2)])
        assert cursor.rowcount == 2
        with pytest.raises(AdbcError, match="sale"):
            cursor.executemany("INSERT INTO sale VALUES (?, ?, ?)", [(6, "Rome", 1), (5, "Rome", 2)])
        cursor.execute("SELECT count(*) FROM sale")
        assert cursor.fetchone() == (5,)
        cursor.execute("UPDATE sale SET price = 3 WHERE city = 'Rome'")
        cursor.execute("SELECT total FROM revenue WHERE city = 'Rome'")
        assert cursor.fetchone() == (Decimal("6.00"),)


def test_transactions(address, db):
    options = {"username": "ada", "password": "sesame"}
    with flightsql.connect(address, options) as one, one.cursor() as cursor:
        cursor.execute("DELETE FROM sale")
        cursor.execute("SELECT count(*) FROM sale")
        assert cursor.fetchone() == (0,)
        assert len(db.sql("SELECT * FROM sale")) == 3
        one.rollback()
        cursor.execute("CREATE TEMP TABLE sale (x INTEGER)")
        cursor.execute("INSERT INTO sale VALUES (1)")
        cursor.execute("SELECT * FROM sale")
        assert cursor.fetchall() == [(1,)]
        one.commit()
        cursor.execute("SELECT count(*) FROM sale")
        assert cursor.fetchone() == (3,)
        cursor.execute("INSERT INTO sale VALUES (9, 'Kiel', 1)")
        assert len(db.sql("SELECT * FROM sale")) == 3
        one.commit()
        assert len(db.sql("SELECT * FROM sale")) == 4
        rows = pa.table({"id": [10], "city": ["Kiel"], "price": [None]})
        cursor.adbc_ingest("sale", rows, mode="append")  # for which the driver names no transaction
        assert len(db.sql("SELECT * FROM sale")) == 5


def test_rows_that_come(writer, db):
    rows = pa.table(
        {"n": [1, 2], "day": pa.array([0, None], pa.date32()), "x": pa.array(["1.50", None]).cast(pa.decimal128(9, 2))}
    )
    with writer.cursor() as cursor:
        assert cursor.adbc_ingest("made", rows, mode="create") == 2
        assert db.sql("SELECT sum(n), max(x) FROM made").fetchall() == [(3, Decimal("1.50"))]
        assert cursor.adbc_ingest("made", rows, mode="append") == 2
        assert cursor.adbc_ingest("made", rows, mode="replace") == 2
        assert len(db.sql("FROM made")) == 2
        for wrong in ("create", "append"):
            with pytest.raises(AdbcError):
                cursor.adbc_ingest("made" if wrong == "create" else "nowhere", rows, mode=wrong)
        with pytest.raises(AdbcError):
            cursor.adbc_ingest(
                "sale", pa.table({"id": [7, 1], "city": ["a", "b"], "price": [None, None]}), mode="append"
            )
        with pytest.raises(AdbcError, match="TEMP table"):
            cursor.adbc_ingest("brief", rows, mode="create", temporary=True)
        with pytest.raises(AdbcError, match="bytes"):
            cursor.adbc_ingest("long", pa.table({"s": ["x" * (1 << 21)]}), mode="create")
    assert [each.name for each in db.tables()] == ["sale", "made"]
    assert len(db.sql("FROM sale")) == 3
    db.sql("DROP TABLE made")


def test_what_there_is(writer):
    assert writer.adbc_get_info()["vendor_name"] == "ivm"
    assert writer.adbc_get_table_types() == ["TABLE", "VIEW"]
    assert writer.adbc_get_table_schema("sale").names == ["id", "city", "price"]
    found = writer.adbc_get_objects(depth="all").read_all().to_pylist()
    (catalog,) = found
    (schema,) = catalog["catalog_db_schemas"]
    named = {each["table_name"]: each for each in schema["db_schema_tables"]}
    assert (schema["db_schema_name"], set(named)) == ("main", {"sale", "revenue"})
    assert [each["column_name"] for each in named["sale"]["table_columns"]] == ["id", "city", "price"]
    some = writer.adbc_get_objects(depth="tables", table_name_filter="rev%").read_all().to_pylist()
    assert [t["table_name"] for t in some[0]["catalog_db_schemas"][0]["db_schema_tables"]] == ["revenue"]


def test_what_is_refused(address, writer, client):
    with writer.cursor() as cursor:
        for text, says in (
            ("SELECT * FROM sales", "sale"), ("SELEC 1", "line 1"), ("SELECT * FROM range(300000)", "200,000"),
            ("FROM read_text('/etc/passwd')", "external_access"),
        ):  # fmt: skip
            with pytest.raises(AdbcError, match=says):
                cursor.execute(text)
    with (
        flightsql.connect(
            address, {DatabaseOptions.AUTHORIZATION_HEADER.value: "Bearer bot"}, autocommit=True
        ) as reader,
        reader.cursor() as cursor,
    ):
        cursor.execute("SELECT count(*) FROM sale")
        assert cursor.fetchone() == (3,)
        with pytest.raises(AdbcError, match="role is read"):
            cursor.execute("DELETE FROM sale")
    for header in (b"Bearer wrong", b"Basic eA==", b"Basic x", b"", b"Digest x", b"Bearer basic.x"):
        options = flight.FlightCallOptions(headers=[(b"authorization", header)])
        with pytest.raises(flight.FlightUnauthenticatedError):
            client.do_get(flight.Ticket(b"revenue"), options).read_all()
    for ticket in (b"nowhere", b"\x00result:1234", b"{", b'{"view": 1}', b'{"changes": "sale"}', b"\xff"):
        with pytest.raises((pa.ArrowException, KeyError)):
            client.do_get(flight.Ticket(ticket), AS_BOT).read_all()
    for body in (
        b"",
        b"\xff\xff",
        written({1: "x"}),
        wrapped("CommandGetExportedKeys", {}),
    ):
        with pytest.raises((pa.ArrowException, NotImplementedError)):
            client.get_flight_info(flight.FlightDescriptor.for_command(body), AS_BOT)
    with pytest.raises(NotImplementedError):
        list(client.do_action(flight.Action("Explode", b""), AS_BOT))


def test_a_view_by_plain_flight(client, db):
    info = client.get_flight_info(flight.FlightDescriptor.for_path("revenue"), AS_BOT)
    read_ = client.do_get(info.endpoints[0].ticket, AS_BOT).read_all()
    assert read_.to_pylist() == db.view("revenue").arrow().to_pylist()


def test_changes_as_they_come(client, db):
    asked = flight.Ticket(json.dumps({"changes": "revenue", "snapshot": True}).encode())
    stream = client.do_get(asked, AS_BOT)
    first = stream.read_chunk()
    assert first.data.to_pydict()["city"] == ["Bern", "Oslo"]
    db.sql("INSERT INTO sale VALUES (4, 'Rome', 7)")
    second = stream.read_chunk()
    assert second.data.to_pydict()["city"] == ["Rome"]
    stream.cancel()
    db.sql("DELETE FROM sale WHERE id = 4; INSERT INTO sale VALUES (5, 'Riga', 1)")
    again = client.do_get(flight.Ticket(second.app_metadata.to_pybytes()), AS_BOT)
    told = again.read_chunk().data.to_pydict()
    assert set(zip(told["city"], told["_diff"], strict=True)) == {("Rome", -1), ("Riga", 1)}
    db.sql("DROP VIEW revenue")
    with pytest.raises(pa.ArrowException, match="revenue"):
        again.read_chunk()
    end = time.monotonic() + 5
    while list(db._core.engine.listeners.of()):
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_name_goes_on_behind_the_last_ticket(client, db):
    asked = flight.Ticket(json.dumps({"changes": "revenue", "name": "till", "snapshot": True}).encode())
    with pytest.raises(pa.ArrowException, match="role is read"):
        client.do_get(asked, AS_BOT).read_chunk()
    stream = client.do_get(asked, AS_ALL)
    ticket = flight.Ticket(stream.read_chunk().app_metadata.to_pybytes())
    db.sql("INSERT INTO sale VALUES (4, 'Rome', 7)")
    stream.cancel()
    for each in (ticket, asked):
        again = client.do_get(each, AS_ALL)
        assert again.read_chunk().data.to_pydict()["city"] == ["Rome"]
        again.cancel()
    db.forget_subscription("till")


def test_clients_are_told_of_the_end(db):
    server = serve(db, Settings(http=None, flight=0))
    with flight.connect(server.addresses["flight"]) as client:
        stream = client.do_get(flight.Ticket(b'{"changes": "revenue"}'))
        assert stream.read_chunk().data.num_rows == 0
        stopping = threading.Thread(target=server.stop)
        stopping.start()
        with pytest.raises(pa.ArrowException, match="the server ends"):
            stream.read_chunk()
        stopping.join()


@given(st.dictionaries(st.integers(1, 40), st.integers(0, 2**63) | st.binary() | st.text()))
def test_messages_are_read_as_they_were_written(fields):
    name, found = command(wrapped("X", fields))
    assert name == "X"
    for number, value in fields.items():
        assert (found.number(number) if isinstance(value, int) else found.bytes(number)) == (
            value.encode() if isinstance(value, str) else value
        )


@given(st.binary())
def test_any_bytes_are_a_message_or_refused(data):
    with suppress(ivm.Error):
        read(data)

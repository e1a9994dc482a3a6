"""The door of HTTP: rows, statements, changes and streams, and what is refused there."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from decimal import Decimal

import pyarrow as pa
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect as websocket

import ivm
from ivm.duck import _running
from ivm.serve import Limits, Settings, serve, user_with_password, user_with_token
from ivm.serve.http import streams
from tests.serve.clients import Client

ENDLESS = "SELECT sum(a.range + b.range) FROM range(10000000) a, range(10000000) b"
ARROW = "application/vnd.apache.arrow.stream"


@pytest.fixture(scope="module")
def db():
    with ivm.connect(compile="off", history=100) as made:
        yield made


@pytest.fixture(scope="module")
def client(db):
    limits = Limits(seconds=20, result_rows=20_000, request_bytes=1 << 20)
    users = user_with_token("all", "all", "write"), user_with_token("bot", "bot"), user_with_password("ada", "x")
    with serve(db, Settings(http=0, users=users, origins=("https://shop.example",), limits=limits)) as server:
        yield Client(server.addresses["http"], {"Authorization": "Bearer all"})


@pytest.fixture(autouse=True)
def sale(db):
    db.sql("""
        CREATE OR REPLACE TABLE sale (id BIGINT PRIMARY KEY, city VARCHAR NOT NULL, price DECIMAL(9,2), day DATE);
        CREATE MATERIALIZED VIEW revenue AS SELECT city, sum(price) AS total FROM sale GROUP BY city ORDER BY city;
        CREATE VIEW plain AS SELECT * FROM sale;
        INSERT INTO sale VALUES (1, 'Bern', 2.50, '2024-02-29'), (2, 'Oslo', 4, NULL), (3, 'Bern', 1, NULL)
    """)
    yield
    db.sql("DROP TABLE sale CASCADE")


def test_rows_in_every_form(client):
    assert client.get("/views/revenue").json == [{"city": "Bern", "total": 3.5}, {"city": "Oslo", "total": 4.0}]
    assert client.get("/views/revenue").body == b'[{"city": "Bern", "total": 3.50},\n{"city": "Oslo", "total": 4.00}]'
    assert client.get("/views/revenue?format=csv").body == b"city,total\nBern,3.50\nOslo,4.00\n"
    assert client.get("/views/revenue", Accept="text/csv").headers["Content-Type"].startswith("text/csv")
    assert client.get("/tables/sale?limit=1&format=jsonl&id=1").json == {
        "id": 1,
        "city": "Bern",
        "price": 2.5,
        "day": "2024-02-29",
    }
    read = pa.ipc.open_stream(client.get("/views/revenue", Accept=f"x/y, {ARROW};q=0.5").body).read_all()
    assert read.column("total").to_pylist() == [Decimal("3.50"), Decimal("4.00")]
    assert client.get("/views/revenue?limit=1").json == [{"city": "Bern", "total": 3.5}]
    assert client.get("/views/revenue?city=Oslo").json == [{"city": "Oslo", "total": 4.0}]
    assert client.get("/views/plain?where.city=Bern&price=1.00").json[0]["id"] == 3
    assert client.get("/views/revenue?city=%27%20OR%201=1").json == []
    assert [each["rows"] for each in client.get("/views").json] == [2, None]
    assert client.get("/tables").json[0]["primary_key"] == ["id"]


def test_a_long_view_is_sent_in_pieces(client, db):
    db.sql(
        "CREATE TABLE long AS SELECT range AS n FROM range(30000); CREATE MATERIALIZED VIEW all_n AS SELECT n FROM long"
    )
    assert len(client.get("/views/all_n").json) == 30000
    assert pa.ipc.open_stream(client.get("/views/all_n?format=arrow").body).read_all().num_rows == 30000
    assert client.get("/tables/long").status == 413  # an answer to a statement has a limit of 20,000
    db.sql("DROP TABLE long CASCADE")


def test_what_has_not_changed_is_not_sent_again(client, db):
    first = client.get("/views/revenue")
    tag = first.headers["ETag"]
    assert client.get("/views/revenue", If_None_Match=tag).status == 304
    assert client.get("/views/revenue?format=csv", If_None_Match=tag).status == 200
    db.sql("UPDATE sale SET day = '2024-01-01' WHERE id = 2")  # which the view does not read
    assert client.get("/views/revenue", If_None_Match=tag).status == 304
    db.sql("UPDATE sale SET price = 5 WHERE id = 2")
    assert client.get("/views/revenue", If_None_Match=tag).json[1]["total"] == 5
    tag = client.get("/tables/sale").headers["ETag"]
    assert client.get("/tables/sale", If_None_Match=tag).status == 304
    db.sql("CREATE OR REPLACE MATERIALIZED VIEW revenue AS SELECT city, sum(price) AS total FROM sale GROUP BY city")
    assert "ETag" not in client.get("/views/plain").headers
    time_ = int(first.headers["Ivm-Time"])
    assert client.get(f"/views/revenue?as_of={time_ + 99}").status == 400


def test_statements(client):
    assert client.sql("SELECT $a + 1 AS n", {"a": 41}) == [{"n": 42}]
    assert client.sql("INSERT INTO sale VALUES (?, ?, ?, ?)", [4, "Rome", 7.25, None]) == [{"Count": 1}]
    assert client.sql("SELECT sum(price) AS s FROM sale") == [{"s": 14.75}]
    assert client.post("/sql", "SELECT 1 AS one", Content_Type="application/sql").json == [{"one": 1}]
    assert client.post(
        "/sql", "BEGIN; DELETE FROM sale; SELECT count(*) AS n FROM sale", Content_Type="text/plain"
    ).json == [{"n": 0}]
    assert client.sql("SELECT count(*) AS n FROM sale") == [{"n": 4}]  # nobody has committed that
    assert client.sql("CREATE TABLE other (id INTEGER); DROP TABLE other") == []


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        ('{"sql": "SELECT 1",}', 400, "line 1, column 20"),
        ('{"sql": 1}', 400, "params"),
        ('{"sql": "SELECT 1", "params": 3}', 400, "array"),
        ("[" * 100_000, 400, "levels"),
        (b"\xff", 400, "UTF-8"),
        ('{"sql": "SELEC 1"}', 400, "line 1"),
        ('{"sql": "SELECT * FROM sales"}', 400, "sale"),
        ('{"sql": "SELECT * FROM range(30000)"}', 413, "20,000"),
        ('{"sql": "INSERT INTO sale VALUES (1, \'\', 1, NULL)"}', 409, "sale"),
        ('{"sql": "FROM read_text(\'/etc/passwd\')"}', 403, "external_access"),
        ("x" * (1 << 21), 413, "bytes"),
    ],
)  # fmt: skip
def test_statements_that_are_refused(client, body, status, says):
    answer = client.post("/sql", body)
    assert answer.status == status
    assert says in answer.json["error"]
    assert client.sql("SELECT count(*) AS n FROM sale") == [{"n": 3}]


def test_a_statement_that_takes_too_long(db):
    with serve(db, Settings(http=0, limits=Limits(seconds=0.2))) as server:
        answer = Client(server.addresses["http"]).post("/sql", {"sql": ENDLESS})
        assert (answer.status, "0.2 s" in answer.json["error"]) == (504, True)


def test_rows_that_come(client, db):
    assert client.post("/tables/sale", [{"id": 4, "city": "Rome", "price": 1.10}]).json["time"] == db.time
    lines = '{"id": 4, "city": "Rome", "price": 2}\n{"id": 5, "city": "Bern", "price": "3.50", "day": "2024-03-01"}\n'
    assert client.post("/tables/sale?mode=upsert", lines, Batch="orders/1").status == 200
    assert client.post("/tables/sale?mode=upsert", lines.replace("2}", "9}"), Batch="orders/1").status == 200
    assert client.get("/views/revenue").json == [
        {"city": "Bern", "total": 7.0}, {"city": "Oslo", "total": 4.0}, {"city": "Rome", "total": 2.0},
    ]  # fmt: skip
    gone = client.post("/tables/sale?mode=delete", [{"id": 4}, {"id": 5}])
    assert gone.status == 200, gone.body
    prices = pa.array([Decimal("1.50"), None], pa.decimal128(9, 2))
    table = pa.table({"id": [6, 7], "city": ["Riga", "Riga"], "price": prices, "day": pa.nulls(2, pa.date32())})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    body = sink.getvalue().to_pybytes()
    assert client.post("/tables/sale", body, Content_Type=ARROW).status == 200
    assert client.get("/views/revenue?city=Riga").json == [{"city": "Riga", "total": 1.5}]
    assert client.post("/tables/sale?mode=delete", body, Content_Type=ARROW).status == 200
    envelope = {"before": None, "after": {"id": 8, "city": "Kiel", "price": 1, "day": None}, "op": "c"}
    assert client.post("/tables/sale?format=debezium", [envelope]).status == 200
    assert db.sql("SELECT id FROM sale ORDER BY id").fetchall() == [(1,), (2,), (3,), (8,)]
    before = db.time
    for path, body, status in (
        ("/tables/sale", b'[{"id": 9, "city": "A"}, {"id": 10, "city": ]', 400),
        ("/tables/sale", [{"id": 9, "city": "A"}, {"id": 1, "city": "B"}], 409),
        ("/tables/sale", [{"id": 9, "city": "A", "colour": "red"}], 400),
        ("/tables/sale", [{"id": 9, "city": None}], 409),
        ("/tables/sale?mode=delete", [9], 400),
        ("/tables/sale?mode=replace", [], 400),
        ("/tables/sale?format=rows", [], 400),
        ("/tables/sals", [], 404),
        ("/tables/revenue", [], 404),
    ):
        answer = client.post(path, body)
        assert (answer.status, bool(answer.json["error"])) == (status, True), (path, answer.body)
    assert client.post("/tables/sale", b"ARROW1 no", Content_Type=ARROW).status == 400
    assert client.post("/tables/sale", [], Batch="orders").status == 400
    assert db.time == before


def test_names_that_are_not_there(client):
    assert "'revenue'" in client.get("/views/revenu").json["error"]
    assert "/tables/sale" in client.get("/views/sale").json["error"]
    assert (
        client.get("/views/revenu").status == client.get("/views/sale").status == client.get("/nowhere").status == 404
    )
    assert client.ask("DELETE", "/views/revenue").status == 405
    assert "'city'" in client.get("/views/revenue?citi=Bern").json["error"]
    for path in (
        "/views/revenue?limit=x",
        "/views/revenue?format=xml",
        "/tables/sale?as_of=1",
        "/views/revenue?as_of=1&city=a",
    ):
        assert client.get(path).status == 400
    assert client.get("/views/revenue", Accept="image/png").status == 400


def test_the_console_asks_what_there_is(client):
    page = Client(client.address).get("/")
    text = page.body.decode()
    assert page.headers["Content-Type"].startswith("text/html")
    assert "connect-src 'self'" in page.headers["Content-Security-Policy"]
    assert "://" not in text  # nothing comes from elsewhere
    statements = re.findall(r'sql\(\s*[`"](SELECT [^`"]*)[`"]', text)
    assert len(statements) == 3
    for each in statements:
        assert isinstance(client.sql(each, ["revenue"] if "?" in each else None), list), each
    assert client.sql("EXPLAIN " + client.get("/views").json[0]["sql"])[0]["explain"]
    with client.events("/views/revenue/changes?every=200ms") as events:
        assert events.next().data == []


def test_who_only_reads(client):
    reader = Client(client.address, {"Authorization": "Bearer bot"})
    assert len(reader.sql("SELECT * FROM sale")) == 3
    assert reader.post("/sql", {"sql": "DELETE FROM sale"}).status == 403
    assert reader.post("/tables/sale", [{"id": 9, "city": ""}]).status == 403
    assert Client(client.address).get("/views/revenue").status == 401
    assert Client(client.address).get("/metrics").status == 401
    assert Client(client.address).get("/health").status == 200
    preflight = client.ask("OPTIONS", "/sql", Origin="https://shop.example", Access_Control_Request_Method="POST")
    assert preflight.headers["Access-Control-Allow-Origin"] == "https://shop.example"


def test_events(client, db):
    with client.events("/views/revenue/changes?snapshot=true") as events:
        begun = events.next()
        assert (begun.kind, [row["city"] for row in begun.data]) == ("snapshot", ["Bern", "Oslo"])
        db.sql("INSERT INTO sale VALUES (4, 'Rome', 7, NULL)")
        come = events.next()
        assert (come.kind, come.id, come.data) == (
            "changes",
            db.time,
            [{"city": "Rome", "total": 7.0, "_time": db.time, "_diff": 1}],
        )
    db.sql("DELETE FROM sale WHERE id = 4; INSERT INTO sale VALUES (5, 'Riga', 1, NULL)")
    with client.events("/views/revenue/changes", Last_Event_ID=str(come.id)) as events:
        assert {(row["city"], row["_diff"]) for row in events.next().data} == {("Rome", -1), ("Riga", 1)}
        db.sql("DROP VIEW revenue")
        last = events.next()
        assert (last.kind, last.data["kind"]) == ("end", "ViewDroppedError")
        assert events.rest() == []
    assert client.get("/views/revenue/changes").status == 404
    assert client.get("/views/plain/changes").status == 400


def test_events_in_other_forms(client, db):
    path = "/views/revenue/changes?access_token=all"
    anybody = Client(client.address)
    with anybody.events(f"{path}&form=upserts&every=50ms&snapshot=true") as events:
        assert [row["_deleted"] for row in events.next().data] == [False, False]
        db.sql("UPDATE sale SET price = 9 WHERE id = 2")
        db.sql("UPDATE sale SET price = 8 WHERE id = 2")
        while [row["total"] for row in events.next().data] != [8.0]:
            pass  # the first commit may have been told alone
    with anybody.events(f"{path}&progress=1") as events:
        assert events.next().data == []
        db.sql("CREATE TABLE IF NOT EXISTS aside (id INTEGER); INSERT INTO aside VALUES (1)")
        assert (events.next().kind, client.sql("DROP TABLE aside")) == ("progress", [])
    with anybody.events(f"{path}&from_time=99999999&snapshot=true") as events:
        assert events.next().kind == "snapshot"
    for wrong in (
        "form=x",
        "every=0",
        "limit=x",
        "limit=0",
        "when_full=block",
        "snapshot=maybe",
        "from_time=x",
        "from_time=99999999",
    ):
        assert client.get(f"/views/revenue/changes?{wrong}").status == 400, wrong


def test_messages(client, db):
    at = client.address.replace("http", "ws") + "/views/revenue/changes?access_token=bot"
    with websocket(f"{at}&snapshot=true") as one, websocket(f"{at}&format=arrow") as other:
        assert json.loads(one.recv())["event"] == "snapshot"
        assert json.loads(other.recv())["event"] == "changes"
        assert pa.ipc.open_stream(other.recv()).read_all().num_rows == 0
        one.send("hello")  # which nobody asks for
        db.sql("INSERT INTO sale VALUES (4, 'Rome', 7, NULL)")
        assert json.loads(one.recv()) == {
            "event": "changes", "time": db.time, "rows": [{"city": "Rome", "total": 7.0, "_time": db.time, "_diff": 1}]
        }  # fmt: skip
        assert json.loads(other.recv())["time"] == db.time
        assert pa.ipc.open_stream(other.recv()).read_all()["city"].to_pylist() == ["Rome"]
        db.sql("DROP VIEW revenue")
        assert json.loads(one.recv())["rows"]["kind"] == "ViewDroppedError"
        with pytest.raises(ConnectionClosed) as closed:
            one.recv()
        assert "revenue" in str(closed.value)
    for path, status in ((at, 404), (at.replace("bot", "wrong"), 401), (at.replace("revenue", "plain"), 400)):
        with pytest.raises(InvalidStatus) as refused:
            websocket(path)
        assert refused.value.response.status_code == status


def _until(holds) -> None:
    end = time.monotonic() + 5
    while not holds():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.01)


def _listening(client: Client) -> str:
    found = [
        line for line in client.get("/metrics").body.decode().splitlines() if line.startswith("ivm_server_streams{")
    ]
    return found[0].rpartition(" ")[2] if found else "0"


def test_metrics_and_clients_that_go(client, db, monkeypatch):
    _until(lambda: _listening(client) == "0")
    monkeypatch.setattr(streams, "_BEAT_SECONDS", 0.05)
    events = client.events("/views/revenue/changes")
    events.next()
    text = client.get("/metrics").body.decode()
    for line in (
        'ivm_subscribers{view="revenue"} 1', 'ivm_server_streams{door="http"} 1', 'ivm_table_rows{table="sale"} 3',
        f"ivm_time {db.time}", "# EOF",
    ):  # fmt: skip
        assert line in text.splitlines()
    assert 'ivm_commit_seconds{quantile="0.99"}' in text
    events.close()
    _until(lambda: _listening(client) == "0" and not list(db._core.engine.listeners.of()))


def test_who_goes_in_the_middle_leaves_nothing_behind(client, db):
    asked = client.connect()
    asked.request("POST", "/sql", json.dumps({"sql": ENDLESS}), client.headers)
    _until(lambda: bool(_running))
    asked.close()
    _until(lambda: not _running)
    host, port = client.address.removeprefix("http://").split(":")
    for garbage in (
        b"\x16\x03\x01\x02\x00",
        b"GET / HTTP/9\r\n\r\n",
        b"POST /tables/sale HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n[{",
    ):
        with socket.create_connection((host, int(port))) as raw:
            raw.sendall(garbage)
    assert client.sql("SELECT count(*) AS n FROM sale") == [{"n": 3}]


def test_a_slow_reader_holds_nobody_up(client, db):
    host, port = client.address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.sendall(
            b"GET /views/revenue/changes?limit=5 HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer all\r\n\r\n"
        )
        slow.recv(100)
        slowest = 0.0
        for n in range(300):
            begun = time.perf_counter()
            db.apply({"sale": [{"id": 100 + n, "city": "x" * 10_000 + str(n), "price": 1, "day": None}]})
            slowest = max(slowest, time.perf_counter() - begun)
        assert slowest < 1
        assert max(each.wish.limit - each.room for each in db._core.engine.listeners.of()) < 300
    _until(lambda: _listening(client) == "0")


def test_clients_are_told_of_the_end_and_commits_end_well(db):
    server = serve(db, Settings(http=0))
    client = Client(server.addresses["http"])
    events = client.events("/views/revenue/changes")
    events.next()
    begun, answers = threading.Event(), []

    def send() -> None:
        for n in range(1000, 3000):
            try:
                answers.append(client.post("/tables/sale", [{"id": n, "city": "x", "price": 1}]).status)
            except OSError:
                return
            if n > 1005:
                begun.set()

    sending = threading.Thread(target=send)
    sending.start()
    begun.wait()
    server.stop()
    sending.join()
    told = events.rest()
    assert told[-1].kind == "end"
    assert "the server ends" in told[-1].data["error"]
    events.close()
    assert set(answers) == {200}
    assert db.sql("SELECT count(*) FROM sale WHERE id >= 1000").fetchall()[0][0] - len(answers) in (0, 1)
    with pytest.raises(OSError, match="refused"):
        client.get("/health")

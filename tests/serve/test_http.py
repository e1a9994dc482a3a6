"""The door of HTTP: rows, statements, changes and streams, and what is refused there."""

from __future__ import annotations

import json
import re
import socket
from decimal import Decimal

import pyarrow as pa
import pytest

from ivm.duck import _running
from ivm.serve import Limits, Settings, serve
from ivm.serve.http import streams
from tests.serve.clients import Client, listening, until

pytestmark = pytest.mark.usefixtures("sale")

ENDLESS = "SELECT sum(a.range + b.range) FROM range(10000000) a, range(10000000) b"
ARROW = "application/vnd.apache.arrow.stream"


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


def test_the_page_is_one_answer(client):
    page = Client(client.address).get("/")
    text = page.body.decode()
    assert page.headers["Content-Type"].startswith("text/html")
    assert "connect-src 'self'" in page.headers["Content-Security-Policy"]
    assert "://" not in text  # nothing comes from elsewhere
    assert "{{" not in text
    statements = re.findall(r"(?:= |sql\()[`\"](SELECT [^`\"$]*)[`\"]", text)
    assert len(statements) == 5
    for each in statements:
        assert isinstance(client.sql(each), list), each


def test_what_the_page_shows_first(client):
    told = client.get("/top").json
    assert told["views"]["revenue"]["rows"] == 2
    assert {"time", "commits", "p99"} <= told["commits"].keys()
    assert told["memory"]["table"] > 0
    assert Client(client.address).get("/top").status == 401
    assert Client(client.address, {"Authorization": "Bearer bot"}).get("/top").status == 200


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


def test_metrics_and_clients_that_go(client, db, monkeypatch):
    until(lambda: listening(client) == "0")
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
    until(lambda: listening(client) == "0" and not list(db._core.engine.listeners.of()))


def test_who_goes_in_the_middle_leaves_nothing_behind(client, db):
    asked = client.connect()
    asked.request("POST", "/sql", json.dumps({"sql": ENDLESS}), client.headers)
    until(lambda: bool(_running))
    asked.close()
    until(lambda: not _running)
    host, port = client.address.removeprefix("http://").split(":")
    for garbage in (
        b"\x16\x03\x01\x02\x00",
        b"GET / HTTP/9\r\n\r\n",
        b"POST /tables/sale HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n[{",
    ):
        with socket.create_connection((host, int(port))) as raw:
            raw.sendall(garbage)
    assert client.sql("SELECT count(*) AS n FROM sale") == [{"n": 3}]

"""Changes as HTTP tells of them: events and messages, who is slow, who goes, and how a server ends."""

from __future__ import annotations

import json
import socket
import threading
import time
from urllib.parse import urlencode

import pyarrow as pa
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect as websocket

from ivm.serve import Settings, serve
from tests.serve.clients import Client, listening, until

pytestmark = pytest.mark.usefixtures("sale")


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
    with client.events("/views/revenue/changes?snapshot=true", Last_Event_ID=str(come.id)) as events:
        missed = events.next()  # a browser asks again in the same words, and has the rows
        assert (missed.kind, len(missed.data)) == ("changes", 2)
    with client.events("/views/revenue/changes", Last_Event_ID=str(come.id)) as events:
        assert {(row["city"], row["_diff"]) for row in events.next().data} == {("Rome", -1), ("Riga", 1)}
    with client.events("/views/revenue/changes?snapshot=true", Last_Event_ID=str(come.id)) as events:
        again = events.next()
        assert (again.kind, len(again.data)) == ("changes", 2)  # no rows that he has to forget what he knows for
        db.sql("DROP VIEW revenue")
        last = events.next()
        assert (last.kind, last.data["kind"]) == ("end", "ViewDroppedError")
        assert events.rest() == []
    assert client.get("/views/revenue/changes").status == 404
    assert client.get("/views/plain/changes").status == 400


def test_a_name_goes_on_behind_what_was_acknowledged(client, db):
    path = "/views/revenue/changes?name=till/1&snapshot=true"
    with client.events(path) as events:
        assert events.next().kind == "snapshot"
    with client.events(path) as events:
        begun = events.next()
        assert (begun.kind, len(begun.data)) == ("snapshot", 2)
        assert client.post(f"/subscriptions/till/1?time={begun.id}", "").status == 204
        db.sql("DELETE FROM sale WHERE id = 2")
        assert events.next().kind == "changes"
    for _ in range(2):
        with client.events(path) as events:
            missed = events.next()
            assert (missed.kind, [row["city"] for row in missed.data]) == ("changes", ["Oslo"])
    with client.events(path, Last_Event_ID=str(missed.id)) as events:
        assert (events.next().data, db.sql("SELECT behind FROM ivm_subscriptions").fetchall()) == ([], [(0,)])
    assert client.get(path, Last_Event_ID="1").status == 410  # that is acknowledged
    assert [client.get(f"{path}&keep={wrong}").status for wrong in ("x", "0")] == [400, 400]
    assert Client(client.address, {"Authorization": "Bearer bot"}).get(path).status == 403
    assert [client.post(f"/subscriptions/{wrong}", "").status for wrong in ("x?time=1", "till/1?time=x")] == [400, 400]
    assert [client.ask("DELETE", "/subscriptions/till/1").status for _ in range(2)] == [204, 400]


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


def test_events_of_a_query(client, db):
    reader = Client(client.address, {"Authorization": "Bearer bot"})
    asked = {"sql": "SELECT id, price FROM sale WHERE city = ?", "snapshot": "true"}
    paths = [f"/changes?{urlencode(asked | {'params': json.dumps([city])})}" for city in ("Bern", "Oslo")]
    with client.events(paths[0]) as bern, client.events(paths[1]) as oslo:
        assert [row["id"] for row in bern.next().data] == [1, 3]
        assert [row["id"] for row in oslo.next().data] == [2]
        db.sql("UPDATE sale SET city = 'Oslo' WHERE id = 3")
        assert [(row["id"], row["_diff"]) for row in bern.next().data] == [(3, -1)]
        assert [(row["id"], row["_diff"]) for row in oslo.next().data] == [(3, 1)]
    for wrong in (
        {},
        {"sql": "SELECT * FROM sals"},
        asked | {"params": "1"},
        asked | {"params": "["},
        {"sql": "DELETE FROM sale"},
    ):
        assert client.get(f"/changes?{urlencode(wrong)}").status == 400, wrong
    assert reader.get(paths[0]).status == 403
    assert len(db.sql("FROM sale")) == 3


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
    until(lambda: listening(client) == "0")


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

"""What doors bear: certificates, clients that come in numbers, say nothing, vanish, or send what makes no sense."""

from __future__ import annotations

import json
import random
import shutil
import socket
import ssl
import struct
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from pyarrow import flight

import ivm
from ivm.serve import Limits, Settings, serve, user_with_password
from ivm.serve.http.patience import Patience
from tests.serve.postgres import start_up

ENDLESS = "SELECT sum(a.range + b.range) FROM range(10000000) a, range(10000000) b"
SCHEMA = """
    CREATE TABLE t (id INTEGER PRIMARY KEY, s VARCHAR);
    INSERT INTO t VALUES (1, 'a');
    CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM t
"""


@pytest.fixture(scope="module")
def db():
    with ivm.connect(compile="off", history=100) as made:
        made.sql(SCHEMA)
        yield made


def _until(true: Callable[[], bool], seconds: float = 10) -> bool:
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.02)
    return true()


def _port(address: str) -> int:
    return int(address.rpartition(":")[2])


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    if shutil.which("openssl") is None:
        pytest.skip("openssl, which makes certificates, is not installed; apt-get install openssl")
    folder = tmp_path_factory.mktemp("tls")
    asked = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    names = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:TRUE"]
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    subprocess.run([*asked, *names, *files], check=True, capture_output=True)
    return folder


def test_all_doors_speak_tls(db, certificate):
    file, ada = certificate / "cert.pem", user_with_password("ada", "sesame", "write")
    how: dict[str, Any] = {"certificate": file, "key": certificate / "key.pem", "users": (ada,)}
    with serve(db, Settings(http=0, flight=0, postgres=0, **how)) as server:
        at = server.addresses
        assert at["http"].startswith("https://")
        context = ssl.create_default_context(cafile=str(file))
        with urllib.request.urlopen(f"{at['http']}/health", context=context) as answer:
            assert json.load(answer)["status"] == "ok"
        with pytest.raises(urllib.error.URLError, match="CERTIFICATE"):
            urllib.request.urlopen(f"{at['http']}/health")
        with flight.connect(f"grpc+tls://localhost:{_port(at['flight'])}", tls_root_certs=file.read_bytes()) as client:
            said = flight.FlightCallOptions(headers=[client.authenticate_basic_token("ada", "sesame")])
            assert client.do_get(flight.Ticket(b"v"), said).read_all().to_pylist() == [{"n": 1}]
        where: dict[str, Any] = {
            "host": "localhost",
            "port": _port(at["postgres"]),
            "user": "ada",
            "password": "sesame",
        }
        with psycopg.connect(**where, sslmode="verify-full", sslrootcert=str(file)) as client:
            assert client.execute("SELECT n FROM v").fetchall() == [(1,)]
        with pytest.raises(psycopg.OperationalError, match="TLS"):
            psycopg.connect(**where, sslmode="disable")


def test_a_flight_client_that_vanishes_ends_its_query(db):
    with serve(db, Settings(http=None, flight=0, limits=Limits(seconds=60))) as server:
        client = flight.connect(server.addresses["flight"])
        asked = flight.FlightDescriptor.for_command(_query(ENDLESS))
        options = flight.FlightCallOptions(timeout=0.3)
        begun = time.monotonic()
        with pytest.raises(flight.FlightTimedOutError):
            client.get_flight_info(asked, options)
        assert _until(lambda: not server._inside.watch._running)
        assert time.monotonic() - begun < 30
        client.close()


def test_flight_takes_so_many_calls_at_a_time(db):
    with serve(db, Settings(http=None, flight=0, limits=Limits(connections=2))) as server:
        client = flight.connect(server.addresses["flight"])
        ticket = flight.Ticket(b'{"changes": "v", "snapshot": true}')
        streams = [client.do_get(ticket) for _ in range(2)]
        for each in streams:
            each.read_chunk()
        with pytest.raises(flight.FlightUnavailableError, match="limit"):
            client.do_get(flight.Ticket(b"v")).read_all()
        streams[0].cancel()
        assert _until(lambda: _answers(client))
        streams[1].cancel()
        assert _until(lambda: not db._core.engine.listeners.of())
        client.close()


def _answers(client: flight.FlightClient) -> bool:
    try:
        return bool(client.do_get(flight.Ticket(b"v")).read_all().num_rows)
    except flight.FlightUnavailableError:
        return False


def _query(text: str) -> bytes:
    from ivm.serve.flight.messages import wrapped

    return wrapped("CommandStatementQuery", {1: text})


def test_who_is_slow_with_the_head_of_a_request_is_let_go(db, monkeypatch):
    monkeypatch.setattr(Patience, "head_seconds", 0.5)
    with serve(db, Settings(http=0)) as server:
        port = _port(server.addresses["http"])

        def comes(*parts: bytes, pause: float = 0.2) -> bytes:
            with socket.create_connection(("127.0.0.1", port), timeout=10) as raw:
                for part in parts:
                    raw.sendall(part)
                    time.sleep(pause)
                found = b""
                while part := raw.recv(1 << 16):
                    found += part
                return found

        begun = time.monotonic()
        assert b"no request has come" in comes()
        assert b"no request has come" in comes(b"GET / HT", b"TP/1.1\r\n", b"Host: a\r\n")
        assert time.monotonic() - begun < 8
        request = b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n"
        answers = comes(request, request[:9], request[9:], b"GET /hea", b"lth HT", b"TP/1.1\r\n")
        assert (answers.count(b"200 OK"), b"no request has come" in answers) == (2, True)
        with urllib.request.urlopen(f"{server.addresses['http']}/views/v/changes?snapshot=true") as told:
            time.sleep(0.8)  # who listens says nothing, and stays
            assert any(b"snapshot" in told.readline() for _ in range(5))


def _noise(chance: random.Random, whole: list[bytes]) -> Iterator[bytes]:
    """Bytes that make no sense, or messages of which some bytes are others, are missing, or come twice."""
    while True:
        data = bytearray(b"".join(chance.choice(whole) for _ in range(chance.randint(1, 3))))
        for _ in range(chance.choice((0, 1, 1, 2, 8))):
            place = chance.randrange(len(data))
            match chance.randrange(4):
                case 0:
                    data[place] = chance.randrange(256)
                case 1:
                    del data[place : place + chance.randint(1, 9)]
                    data = data or bytearray(b"x")
                case 2:
                    data[place:place] = chance.randbytes(chance.randint(1, 9))
                case _:
                    data = data[: place + 1]
        yield chance.randbytes(chance.randint(1, 200)) if chance.random() < 0.1 else bytes(data)


def _message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!I", len(body) + 4) + body


_BOUND = _message(b"B", b"\0\0\0\1\0\1\0\1\0\0\0\4\0\0\0\1\0\1\0\1")
WHOLE = {
    "http": [
        b"GET /views/v?n=1 HTTP/1.1\r\nHost: a\r\n\r\n", b"GET /views/v/changes?form=upserts HTTP/1.1\r\nHost: a\r\n\r\n",
        b"POST /sql HTTP/1.1\r\nHost: a\r\nContent-Length: 16\r\nContent-Type: application/sql\r\n\r\nSELECT n FROM v;",
        b'POST /tables/t?mode=upsert HTTP/1.1\r\nHost: a\r\nContent-Length: 18\r\n\r\n[{"id":1,"s":"a"}]',
        b"POST /sql HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n{\"sql\":\"SELECT 1\"\r\n0\r\n\r\n",
        b"GET /views/v/changes HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", b"\x81\x85\1\2\3\4hello", b"\x88\x80\1\2\3\4",
    ],
    "postgres": [
        start_up(), _message(b"Q", b"SELECT * FROM t\0"), _message(b"P", b"\0SELECT id FROM t WHERE id = $1\0\0\1\0\0\0\x17"),
        _BOUND, _message(b"D", b"P\0"), _message(b"E", b"\0\0\0\0\0"), _message(b"S", b""), _message(b"H", b""),
        _message(b"Q", b"COPY t FROM STDIN\0"), _message(b"d", b"1\tx\n"), _message(b"c", b""), _message(b"C", b"S\0"),
        _message(b"Q", b"BEGIN; SAVEPOINT a; ROLLBACK\0"), _message(b"X", b""), struct.pack("!II", 8, 80877103),
    ],
    "flight": [
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\0\0\0\4\0\0\0\0\0", b"\0\0\x0e\1\4\0\0\0\1\x82\x86\x84\x41\x8a\x08\x9d\x5c\x0b\x81\x70\xdc\x78\x0f",
        b"\0\0\5\0\1\0\0\0\1\0\0\0\0\0", b"\0\0\4\3\0\0\0\0\1\0\0\0\x08", b"\0\0\x08\6\0\0\0\0\0abcdefgh",
    ],
}  # fmt: skip
"""What clients of each door send, message by message."""
_LEFT = "ASGI callable returned without completing handshake."
"""What uvicorn says where a client of a WebSocket has gone before it was there."""


def _fuzz(db: ivm.Database, seed: int, rounds: int, caplog: pytest.LogCaptureFixture) -> None:
    with serve(db, Settings(http=0, flight=0, postgres=0, limits=Limits(seconds=5))) as server:
        noises = {door: _noise(random.Random(f"{seed} {door}"), whole) for door, whole in WHOLE.items()}
        for number in range(rounds):
            for door, noise in noises.items():
                sent = start_up() if door == "postgres" and number % 3 else b""
                with socket.create_connection(("127.0.0.1", _port(server.addresses[door])), timeout=10) as raw:
                    try:
                        raw.sendall(sent + next(noise))
                        raw.settimeout(0.01)
                        raw.recv(1 << 16)
                    except OSError:
                        pass  # the server has let go, or waits for more
        faults = {each.getMessage() for each in caplog.records if each.levelname in ("ERROR", "CRITICAL")}
        assert faults <= {_LEFT}, f"seed {seed}"
        with urllib.request.urlopen(f"{server.addresses['http']}/health") as answer:
            assert json.load(answer)["status"] == "ok"
        with psycopg.connect(host="127.0.0.1", port=_port(server.addresses["postgres"]), user="ada") as client:
            assert client.execute("SELECT 1").fetchone() == (1,)
        with flight.connect(server.addresses["flight"]) as client:
            assert client.do_get(flight.Ticket(b"v")).read_all().num_rows == 1
    assert [checked.view for checked in db.verify()] == ["v"]
    assert _until(lambda: threading.active_count() < 40)


def test_bytes_that_make_no_sense_disturb_nobody(db, caplog):
    _fuzz(db, 1, 60, caplog)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 12))
def test_many_bytes_that_make_no_sense_disturb_nobody(db, caplog, seed):
    _fuzz(db, seed, 3000, caplog)

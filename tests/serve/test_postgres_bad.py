"""Clients that say nonsense, too much, or nothing any more: they are told or left, and nobody else is disturbed."""

from __future__ import annotations

import random
import socket
import struct
import threading
import time

import psycopg
import pytest

import ivm
from ivm.serve import Limits, Settings, serve, user_with_password
from ivm.serve.postgres.door import PostgresDoor
from tests.serve.postgres import served, start_up, until

CANCEL, SSL, GSSENC = 80877102, 80877103, 80877104


@pytest.fixture(scope="module")
def server():
    with served(limits=Limits(request_bytes=100_000)) as found:
        yield found


@pytest.fixture
def goes_on(server):
    """What stays as it is, whatever others do."""
    with server.connect() as client:
        yield
        assert client.execute("SELECT count(*) FROM item").fetchone() == (2,)
        assert server.db.sql("SELECT count(*) FROM item").fetchall() == [(2,)]


def test_first_messages(server, goes_on):
    with server.raw(struct.pack("!II", 8, SSL)) as client:
        assert client.recv(1) == b"N"
        client.sendall(struct.pack("!II", 8, GSSENC))
        assert client.recv(1) == b"N"
        client.sendall(start_up(version=(3 << 16) + 2, **{"_pq_.x": "1"}))
        told = until(client, b"Z")
        assert told[0] == (b"v", struct.pack("!II", 0, 1) + b"_pq_.x\0")
    for wrong in (start_up(version=2 << 16), struct.pack("!II", 8, CANCEL), struct.pack("!I", 1 << 30), start_up("")):
        with server.raw(wrong) as client:
            assert [kind for kind, _ in _all(client)] in ([b"E"], [])
    with server.raw(struct.pack("!IIII", 16, CANCEL, 1, 2)) as client:
        assert client.recv(1) == b""


def test_bytes_of_garbage(server, goes_on):
    chosen = random.Random(7)
    good = [b"P" + _sized(b"\0SELECT 1\0\0\0"), b"B" + _sized(bytes(8)), b"D" + _sized(b"P\0"), b"E" + _sized(b"\0" * 5),
            b"S" + _sized(b""), b"Q" + _sized(b"SELECT * FROM item\0"), b"C" + _sized(b"S\0"), b"H" + _sized(b"")]  # fmt: skip
    for n in range(60):
        sent = bytearray(b"".join(chosen.choices(good, k=6)))
        for _ in range(1 + n % 4):
            sent[chosen.randrange(len(sent))] = chosen.randrange(256)
        first = start_up() if n % 3 else bytes(chosen.randbytes(chosen.randrange(1, 40)))
        with server.raw(first + bytes(sent), timeout=0.2) as client:
            client.shutdown(socket.SHUT_WR)
            _all(client)


def test_who_goes_in_the_middle_leaves_nothing(server, goes_on):
    for ending in (b"", b"Q" + _sized(b"SELECT count(*) FROM range(100000000000)\0"), b"Q\0\0\1\0SEL"):
        client = server.raw(start_up())
        until(client, b"Z")
        client.sendall(b"Q" + _sized(b"BEGIN; DELETE FROM item WHERE id = 1\0"))
        until(client, b"Z")
        client.sendall(ending)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
    with server.connect() as other:
        other.execute("UPDATE item SET price = price WHERE id = 1")


def test_messages_that_are_too_long(server, goes_on):
    with server.raw(start_up()) as client:
        until(client, b"Z")
        client.sendall(b"Q" + struct.pack("!I", 1 << 30))
        told = _all(client)
        assert told[-1][0] == b"E"
        assert b"08P01" in told[-1][1]


def test_ten_wrong_passwords_are_slowed_down():
    with served((user_with_password("ada", "sesame", "write"),), text="CREATE TABLE t (i INTEGER)") as server:
        for _ in range(10):
            with pytest.raises(psycopg.OperationalError, match="password"):
                server.connect(password="guess")
        begun = time.monotonic()
        with pytest.raises(psycopg.OperationalError, match="password"):
            server.connect(password="guess")
        assert time.monotonic() - begun > 0.5
        for sent in (
            b"p" + _sized(b"PLAIN\0\0\0\0\0"),
            b"p" + _sized(b"SCRAM-SHA-256\0\0\0\0\3abc"),
            b"Q" + _sized(b"x\0"),
        ):
            with server.raw(start_up("bob") + sent) as client:
                assert _all(client)[-1][0] == b"E"


def test_a_server_that_ends_says_so():
    with ivm.connect(compile="off") as db:
        server = serve(db, Settings(http=None, postgres=0))
        port = int(server.addresses["postgres"].rpartition(":")[2])
        client = psycopg.connect(host="127.0.0.1", port=port, user="ada", autocommit=True)
        with pytest.raises(ivm.InterfaceError, match="cannot listen"):
            serve(db, Settings(http=None, postgres=port))
        slow, found = "SELECT count(*) FROM range(20000000) WHERE range % 7 = 3", list[int]()
        with psycopg.connect(host="127.0.0.1", port=port, user="bob", autocommit=True) as busy:
            busy.execute("CREATE TABLE t (i INTEGER)")
            busy.execute("BEGIN; INSERT INTO t VALUES (1)")
            at_work = threading.Thread(target=lambda: found.append(_answer(busy, slow)))
            at_work.start()
            time.sleep(0.05)
            server.stop()
            at_work.join()
        assert (len(found), db.sql("SELECT count(*) FROM t").fetchall()) == (1, [(0,)])
        with pytest.raises(psycopg.OperationalError):
            client.execute("SELECT 1")
        PostgresDoor(server._inside, 0).stop()


def _answer(client: psycopg.Connection, text: str) -> int:
    """What a statement answers; -1 where the server has gone before."""
    try:
        return int((client.execute(text).fetchone() or (-1,))[0])
    except psycopg.OperationalError:
        return -1


def _sized(body: bytes) -> bytes:
    return struct.pack("!I", len(body) + 4) + body


def _all(client: socket.socket) -> list[tuple[bytes, bytes]]:
    """All messages that come until the other side closes, or says nothing for a while."""
    found = []
    try:
        while True:
            found += until(client, b"")
    except (EOFError, TimeoutError, ConnectionError):
        return found

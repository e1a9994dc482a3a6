"""A database that is served by Postgres's door, and clients of it, for the tests of that."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

import ivm
from ivm.serve import Limits, Settings, User, serve

SCHEMA = """
    CREATE SCHEMA eu;
    CREATE TABLE item (id BIGINT PRIMARY KEY, name VARCHAR NOT NULL DEFAULT 'new', price DECIMAL(9,2), UNIQUE (name));
    CREATE TABLE sale (item BIGINT REFERENCES item(id), at TIMESTAMP);
    CREATE TABLE eu.stock (k INTEGER CHECK (k > 0));
    COMMENT ON TABLE item IS 'what is sold';
    INSERT INTO item VALUES (1, 'ink', 2.50), (2, 'pen', NULL);
    CREATE MATERIALIZED VIEW dear AS SELECT id, name FROM item WHERE price > 2;
    CREATE VIEW one AS SELECT 1 AS n;
"""


_USUAL = Limits()


class Served:
    """A database, and where it is served."""

    def __init__(self, db: ivm.Database, port: int) -> None:
        self.db, self.port = db, port

    def connect(self, user: str = "ada", **how: Any) -> psycopg.Connection:
        """A client of psycopg."""
        return psycopg.connect(host="127.0.0.1", port=self.port, user=user, **({"autocommit": True} | how))

    def raw(self, *sent: bytes, timeout: float = 10) -> socket.socket:
        """A socket by which these bytes were sent."""
        found = socket.create_connection(("127.0.0.1", self.port), timeout=timeout)
        for each in sent:
            found.sendall(each)
        return found


@contextmanager
def served(
    users: tuple[User, ...] = (), limits: Limits = _USUAL, text: str = SCHEMA, tls: Path | None = None, **how: Any
) -> Iterator[Served]:
    """A database in memory, unless `how` says otherwise, behind the door. `tls`: where cert.pem and key.pem are."""
    files: dict[str, Any] = {} if tls is None else {"certificate": tls / "cert.pem", "key": tls / "key.pem"}
    with ivm.connect(compile="off", **how) as db:
        db.sql(text)
        with serve(db, Settings(http=None, postgres=0, users=users, limits=limits, **files)) as server:
            yield Served(db, int(server.addresses["postgres"].rpartition(":")[2]))


def start_up(user: str = "ada", version: int = 3 << 16, **said: str) -> bytes:
    """The first message of a client."""
    pairs = b"".join(f"{name}\0{value}\0".encode() for name, value in {"user": user, **said}.items())
    body = struct.pack("!I", version) + pairs + b"\0"
    return struct.pack("!I", len(body) + 4) + body


def until(client: socket.socket, kind: bytes) -> list[tuple[bytes, bytes]]:
    """The messages that come, up to one of a kind, or the first that comes."""
    found: list[tuple[bytes, bytes]] = []
    while not found or (kind and found[-1][0] != kind):
        head = _exactly(client, 5)
        found.append((head[:1], _exactly(client, int.from_bytes(head[1:], "big") - 4)))
    return found


def _exactly(client: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = client.recv(size - len(data))
        if not part:
            raise EOFError
        data += part
    return data

"""Clients of a server that come and go, for `visitors`: each in a process of its own, which may be killed any time.

Usage: `python -m ivm.benchmarks.visitors_client KIND ADDRESS SEED SECONDS`
"""

from __future__ import annotations

import http.client
import json
import os
import random
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from urllib.parse import quote

VIEWS = ("by_tenant", "recent", "dearest", "pages")
_GARBAGE = 4096
_BEGUN = (b"", b"GET / HTTP/1.1\r\nHost: x\r\n", b"POST /sql HTTP/1.1\r\nContent-Length: 99\r\n\r\n{")
_SLOW = 0.3

Visit = Callable[[str, random.Random], None]


def _port(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition("//")[2].rpartition(":")
    return host, int(port)


def _listen(address: str, chance: random.Random, rest: float) -> None:
    """Follow a view's changes, lose the connection, and come back by the last id."""
    view, last = chance.choice(VIEWS), ""
    while True:
        connection = http.client.HTTPConnection(*_port(address), timeout=30)
        headers = {"Last-Event-ID": last} if last else {}
        connection.request("GET", f"/views/{view}/changes?limit=20", headers=headers)
        stream, left = connection.getresponse(), chance.randrange(200)
        if stream.status != http.client.OK:
            last = ""  # what was told since is gone
            continue
        while left and (line := stream.readline()):
            if line.startswith(b"id: "):
                last, left = line[4:].decode().strip(), left - 1
            time.sleep(rest)
        connection.close()


def _events(address: str, chance: random.Random) -> None:
    _listen(address, chance, 0.0)


def _slow(address: str, chance: random.Random) -> None:
    _listen(address, chance, _SLOW)


def _rows(address: str, chance: random.Random) -> None:
    """Read views, ask, and follow a query of one's own for a while."""
    while True:
        connection = http.client.HTTPConnection(*_port(address), timeout=30)
        tenant = chance.randrange(100)
        query = quote(f"SELECT * FROM by_tenant WHERE tenant = {tenant}")
        for path in (f"/views/{chance.choice(VIEWS)}", f"/changes?sql={query}&snapshot=true"):
            connection.request("GET", path)
            answer = connection.getresponse()
            if "changes" in path:
                answer.readline()
                break  # and the rest is never read
            answer.read()
        sql = {"sql": "SELECT count(*), sum(price) FROM visit WHERE tenant = ?", "params": [tenant]}
        asked = http.client.HTTPConnection(*_port(address), timeout=30)
        asked.request("POST", "/sql", json.dumps(sql), {"Content-Type": "application/json"})
        asked.getresponse().read()
        time.sleep(chance.random() / 5)


def _postgres(address: str, chance: random.Random) -> None:
    """Transactions, of which some are never ended, and connections that are simply gone."""
    import psycopg  # noqa: PLC0415  which other clients need not wait for

    host, port = _port(address)
    while True:
        connection = psycopg.connect(host=host, port=port, user="visitor")
        with suppress(psycopg.Error):  # others may have been first
            cursor = connection.cursor()
            cursor.execute("SELECT tenant, n FROM by_tenant WHERE tenant = %s", (chance.randrange(100),))
            cursor.execute("UPDATE visit SET price = price + 1 WHERE id = %s", (chance.randrange(1000),))
            time.sleep(chance.random())
            chance.choice((connection.commit, connection.rollback, lambda: None))()
        if chance.random() < 0.5:
            connection.close()


def _flight(address: str, chance: random.Random) -> None:
    """Views as Arrow, and changes, until enough of them are seen."""
    from pyarrow import flight  # noqa: PLC0415  as above

    while True:
        with flight.connect(address) as client:
            client.do_get(flight.Ticket(chance.choice(VIEWS).encode())).read_all()
            wanted = json.dumps({"changes": chance.choice(VIEWS), "snapshot": True})
            reader = client.do_get(flight.Ticket(wanted.encode()))
            for _ in range(chance.randrange(20)):
                reader.read_chunk()
            reader.cancel()


def _garbage(address: str, chance: random.Random) -> None:
    """What no protocol has, and half of what one has."""
    while True:
        with suppress(OSError), socket.create_connection(_port(address), timeout=5) as connection:
            begun = chance.choice(_BEGUN)
            connection.sendall(begun + chance.randbytes(chance.randrange(_GARBAGE)))
            connection.settimeout(chance.random())
            connection.recv(1000)
        time.sleep(0.1)


KINDS: dict[str, tuple[str, Visit]] = {
    "events": ("http", _events),
    "slow": ("http", _slow),
    "rows": ("http", _rows),
    "postgres": ("postgres", _postgres),
    "flight": ("flight", _flight),
    "garbage of http": ("http", _garbage),
    "garbage of postgres": ("postgres", _garbage),
    "garbage of flight": ("flight", _garbage),
}
"""What clients do, and at which door."""


def main(kind: str, address: str, seed: str, seconds: str) -> None:
    """Do so for so many seconds, and end in the middle of it."""

    def leave() -> None:
        time.sleep(float(seconds))
        os._exit(0)

    threading.Thread(target=leave, daemon=True).start()
    KINDS[kind][1](address, random.Random(seed))


if __name__ == "__main__":
    main(*sys.argv[1:])

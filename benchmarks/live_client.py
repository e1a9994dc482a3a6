"""Clients of a server, for `live`: each in a process of its own, as they are in life. See `CLIENTS`."""

from __future__ import annotations

import http.client
import json
import resource
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

_GOES_ON = 100
"""What comes before any is measured."""


def _events(address: str, asked: dict[str, Any]) -> dict[str, Any]:
    """When each row was told of by HTTP, on the clock that all processes have, by the row's `id`."""
    connection = http.client.HTTPConnection(address.rpartition("//")[2])
    connection.request("GET", f"/views/{asked['view']}/changes")
    stream, seen = connection.getresponse(), dict[str, int]()
    print("ready", flush=True)
    while len(seen) < asked["commits"]:
        line = stream.readline()
        if line.startswith(b"data: ["):
            now = time.monotonic_ns()
            seen |= dict.fromkeys([str(row["id"]) for row in json.loads(line[6:])], now)
    return {"seen": seen}


def _points(address: str, asked: dict[str, Any]) -> dict[str, Any]:
    """Microseconds of SELECTs of a row by its key by psycopg, alone, and beside connections that are held."""
    import psycopg  # noqa: PLC0415  each client has what it needs

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    host, _, port = address.rpartition("//")[2].rpartition(":")
    print("ready", flush=True)

    def connect() -> psycopg.Connection:
        return psycopg.connect(host=host, port=int(port), user="bench", autocommit=True)

    def select(cursor: psycopg.Cursor, number: int) -> int:
        begun = time.perf_counter_ns()
        cursor.execute("SELECT id, shop, price FROM sold WHERE id = %s", (number % asked["rows"],), prepare=True)
        assert cursor.fetchone() is not None, number
        return time.perf_counter_ns() - begun

    found = {}
    with ExitStack() as stack:
        cursor = stack.enter_context(connect()).cursor()
        for name, held in (("alone", 0), ("beside", asked["held"])):
            for _ in range(held):
                stack.enter_context(connect())
            took = [select(cursor, number * 7919) for number in range(_GOES_ON + asked["commits"])]
            found[name] = took[_GOES_ON:]
    return found


def _flights(address: str, asked: dict[str, Any]) -> dict[str, Any]:
    """Microseconds of reading a view as Arrow by Flight."""
    from pyarrow import flight  # noqa: PLC0415  each client has what it needs

    print("ready", flush=True)
    took = []
    with flight.connect(address) as client:
        for _ in range(asked["commits"]):
            begun = time.perf_counter_ns()
            table = client.do_get(flight.Ticket(asked["view"].encode())).read_all()
            took.append(time.perf_counter_ns() - begun)
            assert table.num_rows == asked["rows"], table.num_rows
    return {"took": took}


CLIENTS: dict[str, Callable[[str, dict[str, Any]], dict[str, Any]]] = {
    "http": _events,
    "postgres": _points,
    "flight": _flights,
}
"""What each does at an address, by the name of the door; it says "ready" before, and answers in JSON."""


if __name__ == "__main__":
    print(json.dumps(CLIENTS[sys.argv[1]](sys.argv[2], json.loads(sys.argv[3]))))

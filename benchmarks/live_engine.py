"""One measurement of `live`: what it costs that others look on. In a process of its own.

Each answers with figures: what is measured, of what, and what is asked of it at most, if something is.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any

import numpy as np
import pyarrow as pa

import ivm
from ivm.benchmarks.engine import connect
from ivm.benchmarks.process import BenchmarkError, answer, task

_TABLE = "CREATE TABLE sale (id BIGINT PRIMARY KEY, shop INTEGER NOT NULL, price DECIMAL(9,2) NOT NULL)"
_TAKINGS = "CREATE MATERIALIZED VIEW takings AS SELECT shop, sum(price) AS total, count(*) AS n FROM sale GROUP BY shop"
_COPY = "CREATE MATERIALIZED VIEW sold AS SELECT id, shop, price FROM sale"
_SHOPS = 50
_BATCHES = (1_000, 100_000)
_TURNS = 5
_TOUCHED = 10
_BESIDE_COMMITS = 3
"""How many times as many commits there are beside others, for a 99th percentile that holds."""
_REST_SECONDS = 0.002


@dataclass(frozen=True, slots=True)
class Task:
    """Measure a `kind` with so many `listeners`, or `rows` in the table, over so many `commits`."""

    kind: str
    listeners: int
    rows: int
    commits: int


def measure(asked: Task) -> dict[str, Any]:
    """The figures of a kind: "name", "value", "unit", and "asked" where a goal is set."""
    pa.set_cpu_count(1)
    return {"figures": list(KINDS[asked.kind](asked))}


def _listeners(asked: Task) -> Iterator[dict[str, Any]]:
    """Commits of one row while nobody, one and many listen to one view, and read nothing of it."""
    db, rows = _shop(_TAKINGS), _Sales()
    _commits(db, rows, asked.commits)
    took = list[float]()
    with ExitStack() as stack:
        for there, more in ((0, 0), (1, 1), (asked.listeners, asked.listeners - 1)):
            for _ in range(more):
                stack.enter_context(db.subscribe("takings", snapshot=False))
            took.append(_median(_commits(db, rows, asked.commits)))
            yield _figure(f"a commit of one row, {there:,} listen", took[-1], "us")
    yield _figure(f"{asked.listeners:,} listeners, times nobody", took[-1] / took[0], "", 1.5)


def _tenants(asked: Task) -> Iterator[dict[str, Any]]:
    """Commits that touch ten tenants of a view while each of many tenants listens to rows of his own."""
    db, rows = _shop(_COPY), _Sales(max(asked.listeners, 1))
    _fill(db, rows, asked.rows)
    commit = partial(_commits, db, rows, asked.commits, _TOUCHED)
    commit()
    alone = _median(commit())
    with ExitStack() as stack:
        begun = time.perf_counter()
        for shop in range(asked.listeners):
            query = "SELECT id, price FROM sold WHERE shop = ?"
            stack.enter_context(db.subscribe(query, [shop], snapshot=False))
        yield _figure(f"{asked.listeners:,} tenants begin to listen", time.perf_counter() - begun, "s")
        commit()
        beside = _median(commit())
    yield _figure(f"a commit of {_TOUCHED} rows, nobody listens", alone, "us")
    yield _figure(f"{asked.listeners:,} tenants listen, more than that", (beside - alone) / 1e3, "ms", 2.0)


def _reader(asked: Task) -> Iterator[dict[str, Any]]:
    """Rows a second of a view with and without somebody who reads its changes as they come, in turns."""
    db, rows = _shop(_TAKINGS), _Sales()
    for size in _BATCHES:
        without, read = list[float](), list[float]()
        commit = partial(_commits, db, rows, max(asked.commits * _BATCHES[0] // size // _TURNS, 1), size)
        commit()
        for _ in range(_TURNS):
            without.append(_median(commit()))
            with _reading(db, "takings"):
                read.append(_median(commit()))
        yield _figure(f"rows a second in batches of {size:,}, nobody reads", size / np.median(without), "M/s")
        slower = np.median(read) / np.median(without)
        yield _figure(f"time of a batch of {size:,}, times that, while somebody reads each change", slower, "", 1.11)


def _beside(asked: Task) -> Iterator[dict[str, Any]]:
    """The slowest of a hundred commits of one row while others select, verify and create views."""
    db, rows = _shop(_TAKINGS), _Sales()
    _fill(db, rows, asked.rows)
    others: dict[str, Callable[[], object]] = {
        "long SELECTs run": lambda: db.sql(
            "SELECT count(*) FROM sale a, range(200) b WHERE hash(a.id, b.range) % 7 = 1"
        ),
        "verify runs": db.verify,
        "views are created": partial(_create, db, count()),
    }
    alone = _rested(db, rows, _BESIDE_COMMITS * asked.commits)
    yield _figure("a commit of one row, p99, alone", _tail(alone), "us")
    for what, work in others.items():
        work()  # what is compiled and cached the first time
        with _again(work):
            found = _rested(db, rows, _BESIDE_COMMITS * asked.commits)
        yield _figure(f"the same, times that, while {what}", _tail(found) / _tail(alone), "", 1.2)


def _events(asked: Task) -> Iterator[dict[str, Any]]:
    """From a commit of one row to the event that tells a client of it by HTTP."""
    db, rows, begun = _shop(_COPY), _Sales(), dict[str, int]()
    with _client(db, "http", {"view": "sold", "commits": asked.commits}) as told:
        for number in range(asked.commits):
            begun[str(number)] = time.monotonic_ns()
            _commits(db, rows, 1)
            time.sleep(_REST_SECONDS)
    waits = [(told["seen"][number] - since) / 1e6 for number, since in begun.items()]
    yield _figure("commit to event by HTTP", _median(waits), "ms")
    yield _figure("commit to event by HTTP, p99", _tail(waits), "ms", 20.0)


def _points(asked: Task) -> Iterator[dict[str, Any]]:
    """SELECTs of one row of a view by psycopg, alone and beside connections that are held."""
    db, rows = _shop(_COPY), _Sales()
    _fill(db, rows, asked.rows)
    there = {"rows": asked.rows, "held": asked.listeners, "commits": asked.commits}
    with _client(db, "postgres", there) as told:
        pass
    alone, beside = _median(told["alone"]), _median(told["beside"])
    yield _figure("SELECT of a row by psycopg", alone / 1e6, "ms", 1.0)
    yield _figure(f"the same, times that, {asked.listeners:,} connections held", beside / alone, "", 2.0)


def _flights(asked: Task) -> Iterator[dict[str, Any]]:
    """A view as Arrow by Flight."""
    db, rows = _shop(_COPY), _Sales()
    count = min(asked.rows, 100_000)
    _fill(db, rows, count)
    with _client(db, "flight", {"view": "sold", "rows": count, "commits": min(asked.commits, 50)}) as told:
        pass
    yield _figure(f"a view of {count:,} rows by Flight", _median(told["took"]) / 1e6, "ms", 20.0)


@contextmanager
def _client(db: ivm.Database, door: str, asked: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A client in a process of its own, at work from the beginning of the block on; what it says is there behind it."""
    from ivm.serve import Limits, Settings, serve  # noqa: PLC0415  packages that only servers need

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    limits, ports = Limits(connections=asked.get("held", 0) + 10), {door: 0}
    settings = Settings(
        http=ports.get("http"), postgres=ports.get("postgres"), flight=ports.get("flight"), limits=limits
    )
    found = dict[str, Any]()
    with serve(db, settings) as server:
        program = [sys.executable, "-m", "ivm.benchmarks.live_client", door, server.addresses[door], json.dumps(asked)]
        with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None, "it is a pipe"
            if process.stdout.readline() != "ready\n":
                raise BenchmarkError(f"the client of the door {door} failed; see above")
            yield found
            said = process.stdout.read()
        if process.returncode:
            raise BenchmarkError(f"the client of the door {door} failed; see above")
        found |= json.loads(said)


KINDS: dict[str, Callable[[Task], Iterator[dict[str, Any]]]] = {
    "listeners": _listeners,
    "tenants": _tenants,
    "reader": _reader,
    "beside": _beside,
    "events": _events,
    "points": _points,
    "flights": _flights,
}
"""What is measured, by name."""


class _Sales:
    """Rows of the table `sale`, each with a number of its own."""

    def __init__(self, shops: int = _SHOPS) -> None:
        self._shops, self._next = shops, 0

    def next(self, rows: int) -> pa.Table:
        """So many more, of as many shops as there are, in turns."""
        numbers = np.arange(self._next, self._next + rows)
        self._next += rows
        prices = pa.array((numbers % 1_000).astype(np.int32)).cast(pa.decimal128(12, 2)).cast(pa.decimal128(9, 2))
        return pa.table({"id": numbers, "shop": pa.array(numbers % self._shops, pa.int32()), "price": prices})


def _shop(view: str) -> ivm.Database:
    db = connect()
    db.sql(_TABLE)
    db.sql(view)
    return db


def _fill(db: ivm.Database, rows: _Sales, count: int) -> None:
    for first in range(0, count, 100_000):
        db.apply({"sale": rows.next(min(100_000, count - first))})


def _create(db: ivm.Database, numbers: Iterator[int]) -> None:
    name = f"made{next(numbers)}"
    db.sql(f"CREATE MATERIALIZED VIEW {name} AS SELECT shop % 7 AS s, max(price) AS m FROM sale GROUP BY ALL")
    db.sql(f"DROP VIEW {name}")


def _commits(db: ivm.Database, rows: _Sales, commits: int, size: int = 1) -> list[float]:
    """The microseconds that each commit took."""
    found = []
    for table in [rows.next(size) for _ in range(commits)]:
        begun = time.perf_counter()
        db.apply({"sale": table})
        found.append((time.perf_counter() - begun) * 1e6)
    return found


def _rested(db: ivm.Database, rows: _Sales, commits: int) -> list[float]:
    """The microseconds of commits of one row, with a rest after each."""
    found = list[float]()
    for _ in range(commits):
        found += _commits(db, rows, 1)
        time.sleep(_REST_SECONDS)
    return found


@contextmanager
def _reading(db: ivm.Database, view: str) -> Iterator[None]:
    """Meanwhile somebody takes each change of a view as it comes."""
    with db.subscribe(view, snapshot=False) as subscription:
        thread = threading.Thread(target=lambda: [changes.num_rows for changes in subscription])
        thread.start()
        yield
    thread.join()


@contextmanager
def _again(work: Callable[[], object]) -> Iterator[None]:
    """Meanwhile another thread does some work again and again. BenchmarkError if it fails."""
    ended, errors = threading.Event(), list[Exception]()

    def run() -> None:
        try:
            while not ended.is_set():
                work()
        except Exception as error:  # noqa: BLE001  raised below
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
    if errors:
        raise BenchmarkError(f"what was to run beside commits failed: {errors[0]}") from errors[0]


def _median(values: Sequence[float]) -> float:
    return float(np.median(values))


def _tail(values: Sequence[float]) -> float:
    return float(np.percentile(values, 99))


def _figure(name: str, value: float, unit: str, asked: float | None = None) -> dict[str, Any]:
    found = {"name": name, "value": float(value), "unit": unit}
    return found if asked is None else {**found, "asked": asked}


if __name__ == "__main__":
    answer(measure(Task(**task())))

"""One measurement of `commit`: many commits of one kind, their time by part, and the calls that they take.

Run in its own process.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from time import thread_time_ns
from typing import Any

import numpy as np
import pyarrow as pa

from ivm.benchmarks.commit_parts import PARTS, calls_of, watched
from ivm.benchmarks.engine import connect
from ivm.benchmarks.process import BenchmarkError, answer, task
from ivm.tpch import queries
from ivm.tpch.reader import open_stream
from ivm.tpch.schema import ddl

ROWS = ("apply", "upsert", "insert", "update")
"""Kinds of commits of one row of a table with a key."""
_TABLE = "CREATE TABLE sale (id BIGINT PRIMARY KEY, city VARCHAR NOT NULL, price DECIMAL(9,2) NOT NULL)"
_VIEW = "CREATE MATERIALIZED VIEW revenue AS SELECT city, sum(price) AS total FROM sale GROUP BY city"
_SHOPS = "CREATE TABLE sale (id BIGINT PRIMARY KEY, shop INTEGER NOT NULL, price DECIMAL(9,2) NOT NULL)"
_SHOP = "CREATE MATERIALIZED VIEW {view} AS SELECT * FROM sale WHERE shop = {shop}"
_KEPT = 100
"""Rows that are updated again and again."""
_KEYS = 1_000
"""Of the rows on either side of an ASOF JOIN."""
_COUNTED = 32
"""Commits whose calls are counted."""

Commit = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Task:
    """Commits of one `kind`: of one row (see `ROWS`) under `views` sums, or of a stream ("stream").

    "wanted": of one row that one of the `views` wants, each of which filters by another constant. "quote": of a late
    row on the right of an ASOF JOIN with so many `rows` there, and a tenth as many on the left. "tick": of time that
    passes, so that 100 of `rows` enter each of the `views` over the last hours, and 100 leave it.
    Of the stream in `directory` each takes `times` logical times, under `views` of TPC-H. `warm_up` commits come first;
    then `commits` whose time is measured, as many by part, and some whose calls are counted; fewer of a short stream.
    """

    kind: str
    views: tuple[str, ...]
    commits: int
    warm_up: int
    directory: str = ""
    times: int = 1
    rows: int = 0


def measure(asked: Task) -> dict[str, Any]:
    """Medians: microseconds of a commit, those of its parts, and its calls; of the whole the 99th percentile, too.

    They are those of the thread on its processor.
    """
    pa.set_cpu_count(1)
    works = {"stream": _of_stream, "wanted": _of_wanted, "quote": _of_quotes, "tick": _of_ticks}
    work = works.get(asked.kind, _of_rows)(asked)
    there = list(itertools.islice(work, asked.warm_up + 2 * asked.commits + _COUNTED))
    some = min(asked.commits, len(there) // 3)
    if not some:
        raise BenchmarkError(f"cannot measure {asked}: there are {len(there)} commits; take a larger scale factor")
    commits = iter(there)
    for commit in itertools.islice(commits, min(asked.warm_up, len(there) - 3 * some)):
        commit()
    whole = [_timed(commit) for commit in itertools.islice(commits, some)]
    parts: dict[str, list[int]] = {part: [] for part in (*PARTS, "around")}
    with watched() as watch:
        for commit in itertools.islice(commits, some):
            watch.nanoseconds = dict.fromkeys(PARTS, 0)
            took = _timed(commit)
            for part, spent in watch.nanoseconds.items():
                parts[part].append(spent)
            parts["around"].append(took - sum(watch.nanoseconds.values()))
    calls = [calls_of(commit) for commit in commits]
    return {
        "commits": len(whole),
        "microseconds": float(np.median(whole)) / 1e3,
        "p99_microseconds": float(np.percentile(whole, 99)) / 1e3,
        "parts": {part: float(np.median(spent)) / 1e3 for part, spent in parts.items()},
        "calls": float(np.median([python for python, _ in calls])),
        "calls_of_c": float(np.median([c for _, c in calls])),
    }


def _timed(commit: Commit) -> int:
    begun = thread_time_ns()
    commit()
    return thread_time_ns() - begun


def _of_rows(asked: Task) -> Iterator[Commit]:
    """Commits of one row, without end."""
    db = connect()
    db.sql(_TABLE)
    for view in asked.views:
        db.sql(_VIEW.replace("revenue", view))
    db.apply({"sale": [_row(number) for number in range(_KEPT)]})
    for number in itertools.count(_KEPT):
        if asked.kind == "apply":
            yield partial(db.apply, {"sale": [_row(number)]})
        elif asked.kind == "upsert":
            yield partial(db.apply, {"sale": [_row(number % _KEPT, number)]}, mode="upsert")
        elif asked.kind == "insert":
            yield partial(db.sql, f"INSERT INTO sale VALUES ({number}, 'Bern', 2.50)")
        else:
            yield partial(db.sql, f"UPDATE sale SET price = {number % 999}.25 WHERE id = {number % _KEPT}")


def _of_wanted(asked: Task) -> Iterator[Commit]:
    """Commits of one row of one shop, without end, where each view has those of another shop."""
    db = connect()
    db.sql(_SHOPS)
    for shop, view in enumerate(asked.views):
        db.sql(_SHOP.format(view=view, shop=shop))
    for number in itertools.count():
        row = {"id": number, "shop": number * 37 % len(asked.views), "price": Decimal(number % 999)}
        yield partial(db.apply, {"sale": [row]})


def _of_quotes(asked: Task) -> Iterator[Commit]:
    """Commits of one late row each, without end."""
    db, few = connect(), asked.rows // 10
    db.sql("CREATE TABLE quote (id BIGINT PRIMARY KEY, k INTEGER NOT NULL, t BIGINT NOT NULL, p DOUBLE)")
    db.sql("CREATE TABLE trade (id BIGINT PRIMARY KEY, k INTEGER NOT NULL, t BIGINT NOT NULL)")
    db.sql(f"INSERT INTO quote SELECT i, hash(i) % {_KEYS}, 10 * i, 0.5 * i FROM range({asked.rows}) r(i)")
    db.sql(f"INSERT INTO trade SELECT i, hash(i + 7) % {_KEYS}, 100 * i FROM range({few}) r(i)")
    for view in asked.views:
        db.sql(
            f"CREATE MATERIALIZED VIEW {view} AS SELECT trade.id, p FROM trade ASOF LEFT JOIN quote"
            " ON trade.k = quote.k AND trade.t >= quote.t"
        )
    for number in itertools.count():
        late = number * 7_919 % (10 * asked.rows)
        yield partial(db.apply, {"quote": [{"id": asked.rows + number, "k": number % _KEYS, "t": late, "p": 1.0}]})


def _of_ticks(asked: Task) -> Iterator[Commit]:
    """Ticks, without end."""
    db, begun = connect(), datetime(2030, 1, 1)
    db.sql("CREATE TABLE due (id BIGINT PRIMARY KEY, at TIMESTAMP NOT NULL)")
    db.sql(
        f"INSERT INTO due SELECT i, TIMESTAMP '{begun}' - INTERVAL 1 HOUR + to_seconds(i) FROM range({asked.rows}) r(i)"
    )
    db.tick(begun)
    for view in asked.views:
        db.sql(
            f"CREATE MATERIALIZED VIEW {view} AS SELECT * FROM due WHERE at <= now() AND at > now() - INTERVAL 1 HOUR"
        )
    for number in itertools.count(1):
        yield partial(db.tick, begun + timedelta(seconds=100 * number))


def _row(number: int, price: int = 2) -> dict[str, Any]:
    return {"id": number, "city": "Bern", "price": Decimal(price % 999)}


def _of_stream(asked: Task) -> Iterator[Commit]:
    """The commits of a stream; one of `load` reads the relations of its views alone, and lineitem without any."""
    stream, db = open_stream(Path(asked.directory)), connect()
    db.sql(ddl())
    base = stream.base()
    wanted = None if base else sorted({name for view in asked.views for name in queries.reads(view)}) or ["lineitem"]
    if base:
        db.apply(base)
        del base
    for view in asked.views:
        db.sql(queries.view_sql(view))
    for batch in stream.batches(asked.times, wanted, coalesce=True, ahead=False):
        if batch.tables:
            yield partial(db.apply, batch.tables)


if __name__ == "__main__":
    answer(measure(Task(**task())))

"""One measurement of `cluster`: commits over so many shards of one process. Run in its own process."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa

import ivm
from ivm.benchmarks.cluster_apart import connect
from ivm.benchmarks.far_folder import FarFolder
from ivm.benchmarks.process import Steps, answer, task

_DDL = """
CREATE TABLE customer (c BIGINT PRIMARY KEY, nation BIGINT);
CREATE TABLE orders (o BIGINT PRIMARY KEY, c BIGINT, day BIGINT, status VARCHAR);
CREATE TABLE line (o BIGINT, l BIGINT, part BIGINT, quantity BIGINT, PRIMARY KEY (o, l));
CREATE MATERIALIZED VIEW by_nation AS
    SELECT nation, sum(quantity) AS quantity, count(*) AS n
    FROM line JOIN orders ON line.o = orders.o JOIN customer ON orders.c = customer.c GROUP BY nation;
CREATE MATERIALIZED VIEW by_part AS SELECT part, sum(quantity) AS quantity FROM line GROUP BY part;
CREATE MATERIALIZED VIEW by_customer AS SELECT c, max(day) AS last, count(*) AS n FROM orders GROUP BY c;
CREATE MATERIALIZED VIEW by_status AS SELECT status, count(DISTINCT c) AS customers FROM orders GROUP BY status
"""
_CUSTOMERS, _NATIONS, _PARTS, _LINES = 20_000, 25, 5_000, 4
_WARM = 2
Tables = dict[str, pa.Table]


@dataclass(frozen=True, slots=True)
class Task:
    """Commits of each of these numbers of `changes`, so many `commits` of each, over `shards`.

    Messages are those of as many `processes`, at most; `wait`: the seconds of a call of the folder that is far.
    """

    shards: int
    changes: Sequence[int]
    commits: int
    processes: int
    wait: float


def measure(asked: Task) -> dict[str, Any]:
    """Of each number of changes the seconds of commits in memory, and of commits as of several processes; what those
    send; and their seconds where each call of the folder waits.
    """
    steps = Steps()
    found: dict[str, Any] = {str(changes): {} for changes in asked.changes}
    with ivm.connect(shards=asked.shards) as db:
        _prepare(db)
        for changes in asked.changes:
            steps.tell(f"{changes:,} changes, {asked.shards} shards in memory")
            found[str(changes)]["seconds"] = _seconds(db, changes, asked.commits)
    with tempfile.TemporaryDirectory(prefix="ivm-apart-") as directory:
        folder = FarFolder(directory)
        spread, carrier = connect(folder, asked.shards, asked.processes)
        with spread:
            _prepare(spread)
            for changes in asked.changes:
                steps.tell(f"{changes:,} changes, {asked.shards} shards apart")
                each, count = found[str(changes)], _WARM + _even(asked.commits)
                before = carrier.messages, carrier.bytes, folder.files, folder.bytes
                each["apart"] = _seconds(spread, changes, asked.commits)
                after = carrier.messages, carrier.bytes, folder.files, folder.bytes
                names = ("messages", "bytes", "files", "file_bytes")
                each |= {name: (b - a) / count for name, a, b in zip(names, before, after, strict=True)}
                folder.wait = asked.wait
                each["far"] = _seconds(spread, changes, asked.commits)
                folder.wait = 0.0
    return found


def _prepare(db: ivm.Database) -> None:
    db.sql(_DDL)
    keys = np.arange(_CUSTOMERS)
    db.apply({"customer": pa.table({"c": keys, "nation": keys % _NATIONS})})


def _seconds(db: ivm.Database, changes: int, commits: int) -> list[float]:
    """Of commits in which the same rows come and go by turns, after the first ones."""
    tables, found = _rows(changes), list[float]()
    for number in range(_WARM + _even(commits)):
        given = {name: _signed(rows, 1 - 2 * (number % 2)) for name, rows in tables.items()}
        began = perf_counter()
        db.apply(given)
        found.append(perf_counter() - began)
    return found[_WARM:]


def _even(commits: int) -> int:
    """As many, or one more: what has come goes."""
    return commits + commits % 2


def _rows(changes: int) -> Tables:
    chance = np.random.default_rng(1)
    orders = changes // (_LINES + 1)
    lines = changes - orders
    numbers = np.arange(lines)
    return {
        "orders": pa.table(
            {
                "o": np.arange(orders),
                "c": chance.integers(_CUSTOMERS, size=orders),
                "day": chance.integers(1_000, size=orders),
                "status": pa.array(["F", "O", "P"]).take(pa.array(chance.integers(3, size=orders))),
            }
        ),
        "line": pa.table(
            {
                "o": numbers // _LINES,
                "l": numbers % _LINES,
                "part": chance.integers(_PARTS, size=lines),
                "quantity": chance.integers(50, size=lines),
            }
        ),
    }


def _signed(rows: pa.Table, diff: int) -> pa.Table:
    return rows.append_column("_diff", pa.array(np.full(rows.num_rows, diff)))


if __name__ == "__main__":
    answer(measure(Task(**task())))

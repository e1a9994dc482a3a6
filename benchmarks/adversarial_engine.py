"""One measurement of `adversarial`: what hurts extremes and top-k, one row at a time. Run in its own process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

import ivm
from ivm.benchmarks.engine import Commits, connect
from ivm.benchmarks.machine import peak_bytes
from ivm.benchmarks.process import answer, task
from ivm.benchmarks.statistics import latency, quantiles

_TABLE = "CREATE TABLE t (id BIGINT PRIMARY KEY, g INTEGER NOT NULL, v BIGINT NOT NULL)"
_MAX = "SELECT g, max(v) AS most FROM t GROUP BY g"
_TOP = "SELECT id, v FROM t ORDER BY v DESC, id LIMIT {k}"
_ATTAINED = "SELECT id FROM t WHERE v = (SELECT max(v) FROM t)"
_ABOVE = "SELECT id, v FROM t WHERE v > (SELECT max(b) FROM bound)"
_BOUND = "CREATE TABLE bound (b BIGINT NOT NULL)"
_TIES = 1_000  # distinct values where nearly all rows are ties


@dataclass(frozen=True, slots=True)
class Task:
    """`commits` commits of one change each to a table of `rows` rows; `warm_up` further ones are not counted."""

    case: str
    rows: int
    commits: int
    warm_up: int = 20


Changes = Callable[[int, int], Iterator[dict[str, pa.Table]]]


@dataclass(frozen=True, slots=True)
class Case:
    """A view, the values of the rows 0, 1, .. of one group, and what each commit does in turn.

    `changes` takes the number of rows and of commits. `bound` are the values that the table `bound` begins with; there
    is one if there are any.
    """

    title: str
    view: str
    values: Callable[[int], pa.Array]
    changes: Changes
    bound: list[int] = field(default_factory=list)


def _ascending(rows: int) -> pa.Array:
    """Every row has a value of its own, in no order: row i has that of the permuted place i."""
    return pa.array(np.random.default_rng(7).permutation(rows))


def _equal(rows: int) -> pa.Array:
    return pa.array(np.full(rows, 5))


def _few(rows: int) -> pa.Array:
    return pa.array(np.arange(rows) % _TIES)


def _table(ids: list[int], values: list[int], diffs: list[int]) -> dict[str, pa.Table]:
    group = pa.array(np.zeros(len(ids), np.int32))
    return {"t": pa.table({"id": ids, "g": group, "v": values, "_diff": diffs})}


def _from_the_top(rows: int, commits: int) -> Iterator[dict[str, pa.Table]]:
    values = _ascending(rows).to_numpy()
    for i in np.argsort(values)[::-1].tolist():
        yield _table([i], [int(values[i])], [-1])


def _one_of_equal(rows: int, commits: int) -> Iterator[dict[str, pa.Table]]:
    for i in range(rows):
        yield _table([i], [5], [-1])


def _ties_from_the_top(rows: int, commits: int) -> Iterator[dict[str, pa.Table]]:
    """Rows of the largest value go one by one; each such value is shared by rows / `_TIES` rows."""
    for value in range(_TIES - 1, -1, -1):
        for i in range(value, rows, _TIES):
            yield _table([i], [value], [-1])


def _empty_and_refill(rows: int, commits: int) -> Iterator[dict[str, pa.Table]]:
    """All rows of the group go at once, and come again."""
    ids, values = list(range(rows)), _ascending(rows).to_pylist()
    while True:
        yield _table(ids, values, [-1] * rows)
        yield _table(ids, values, [1] * rows)


def _sweep(rows: int, commits: int) -> Iterator[dict[str, pa.Table]]:
    """The bound goes up over all rows and down again, in as many steps as there are commits, and once more."""
    step = -(-2 * rows // commits)
    at = -1
    while True:
        for way, end in ((1, rows - 1), (-1, -1)):
            while at != end:
                old, at = at, min(at + step, end) if way > 0 else max(at - step, end)
                yield {"bound": pa.table({"b": [old, at], "_diff": [-1, 1]})}


CASES = {
    "delete-max": Case("the maximum of one group goes", _MAX, _ascending, _from_the_top),
    "all-equal": Case("one of the group's equal values goes", _MAX, _equal, _one_of_equal),
    "ties": Case("one of the rows that share the maximum goes", _ATTAINED, _few, _ties_from_the_top),
    "refill": Case("the group empties or refills (rows / 1,000)", _MAX, _ascending, _empty_and_refill),
    "top-10": Case("the first row of a top 10 goes", _TOP.format(k=10), _ascending, _from_the_top),
    "top-10000": Case("the first row of a top 10,000 goes", _TOP.format(k=10_000), _ascending, _from_the_top),
    "sweep": Case("a bound moves on, over all rows and back", _ABOVE, _ascending, _sweep, [-1]),
}
"""The cases by name."""

_SMALLER = {"refill": 1_000}


def measure(asked: Task) -> dict[str, Any]:
    """Latencies of the commits, on one thread; where there is a bound, also rows visited, and rows that crossed it."""
    pa.set_cpu_count(1)
    case, rows = CASES[asked.case], max(asked.rows // _SMALLER.get(asked.case, 1), 1)
    db = connect()
    db.sql(_TABLE)
    if case.bound:
        db.sql(_BOUND)
        db.apply({"bound": pa.table({"b": case.bound})})
    db.sql(f"CREATE MATERIALIZED VIEW w AS {case.view}")
    ids = np.arange(rows)
    db.apply({"t": pa.table({"id": ids, "g": np.zeros(rows, np.int32), "v": case.values(rows)})})
    changes = case.changes(rows, asked.commits)
    commits = Commits()
    before = (0, 0)
    for number in range(asked.warm_up + asked.commits):
        if number == asked.warm_up:
            before, commits = _work(db), Commits()
        change = next(changes, None)
        if change is None:
            break
        commits.apply(db, change)
    seconds = commits.measured
    result: dict[str, Any] = {
        "rows": rows,
        "commits": len(commits.seconds) + len(commits.compiled),
        **latency(seconds),
        "quantiles_ms": quantiles([each * 1e3 for each in seconds]),
        **commits.apart(),
        "peak_bytes": peak_bytes(),
    }
    if case.bound:
        work = zip(("visited", "crossed"), before, _work(db), strict=True)
        result |= {name: after - was for name, was, after in work}
    return result


def _work(db: ivm.Database) -> tuple[int, int]:
    """Rows that joins have visited so far, and changes of the view."""
    found = db.sql("SELECT operator, updates_in, visited FROM ivm_operators").arrow().to_pylist()
    visited = sum(each["visited"] for each in found if each["operator"] == "join")
    return visited, sum(each["updates_in"] for each in found if each["operator"] == "view w")


if __name__ == "__main__":
    answer(measure(Task(**task())))

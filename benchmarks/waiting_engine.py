"""One measurement of `waiting`: a view created over a large table while others commit and read. In its own process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

import ivm
from ivm.benchmarks.compilations import compilations
from ivm.benchmarks.engine import connect
from ivm.benchmarks.process import answer, task
from ivm.benchmarks.statistics import latency, quantiles

SCHEMA = """
CREATE TABLE big (id BIGINT PRIMARY KEY, g BIGINT NOT NULL, o BIGINT NOT NULL, v BIGINT NOT NULL, s VARCHAR NOT NULL);
CREATE TABLE half (id BIGINT PRIMARY KEY, g BIGINT NOT NULL, o BIGINT NOT NULL, v BIGINT NOT NULL);
CREATE TABLE lookup (id BIGINT PRIMARY KEY, w BIGINT NOT NULL);
CREATE TABLE apart (id BIGINT PRIMARY KEY, x BIGINT NOT NULL);
CREATE MATERIALIZED VIEW present AS SELECT count(*) AS n, sum(x) AS s FROM apart
"""
"""The tables of all kinds, and a view that reads none of those that they read."""

_GROUPS = 10_000  # values of `o`; there are half as many values of `g` as rows
_TEXTS = 100_000
_WARM_ROWS = 4_000
_REST_SECONDS = 0.002
_LEAD_SECONDS = 0.2

KINDS = {
    "filter": "SELECT id, v FROM big WHERE v > 100",
    "join": "SELECT b.id, b.v, l.w FROM big b JOIN lookup l ON b.o = l.id",
    "many-to-many": "SELECT a.id, b.id AS c FROM big a JOIN half b ON a.g = b.g AND a.o = b.o",
    "left-join": "SELECT b.id, b.v, h.v AS w FROM big b LEFT JOIN half h ON b.id = h.id",
    "full-join": "SELECT b.id, b.v, h.v AS w FROM big b FULL JOIN half h ON b.g = h.g AND b.o = h.o",
    "group-by": "SELECT g, count(*) AS n, sum(v) AS s FROM big GROUP BY g",
    "extremes": "SELECT o, min(v) AS a, max(v) AS b FROM big GROUP BY o",
    "distinct": "SELECT DISTINCT g, o FROM big",
    "top-k": "SELECT id, v FROM big ORDER BY v DESC LIMIT 100",
    "top-k-each": "SELECT id, o, v FROM big QUALIFY row_number() OVER (PARTITION BY o ORDER BY v DESC, id) <= 3",
    "window": "SELECT id, row_number() OVER w AS r, sum(v) OVER (w ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS s "
    "FROM big WINDOW w AS (PARTITION BY o ORDER BY v)",
    "over-window": "SELECT r, count(*) AS k "
    "FROM (SELECT row_number() OVER (PARTITION BY g ORDER BY v) AS r FROM big) AS t GROUP BY r",
    "union": "SELECT g, v FROM big UNION SELECT g, v FROM half",
    "union-all": "SELECT id, v FROM big UNION ALL SELECT id, v FROM half",
    "intersect": "SELECT g, o FROM big INTERSECT SELECT g, o FROM half",
    "except": "SELECT g, o FROM big EXCEPT ALL SELECT g, o FROM half",
    "correlated": "SELECT b.id FROM big b WHERE b.v > (SELECT avg(c.v) FROM big c WHERE c.o = b.o)",
    "not-exists": "SELECT id FROM big b WHERE NOT EXISTS (SELECT 1 FROM half h WHERE h.g = b.g)",
    "scalar": "SELECT l.id, (SELECT max(v) FROM big b WHERE b.o = l.id) AS m FROM lookup l",
    "stacked": "SELECT n, count(*) AS k FROM (SELECT g, count(*) AS n FROM big GROUP BY g) AS t GROUP BY n",
    "string-agg": "SELECT g, string_agg(s, ',' ORDER BY s) AS x FROM big GROUP BY g",
    "median": "SELECT o, median(v) AS m FROM big GROUP BY o",
    "threshold": "SELECT id, v FROM big WHERE v > (SELECT avg(v) FROM big)",
    "text": "SELECT id, upper(s) || '!' AS u FROM big WHERE s LIKE '%7%'",
}
"""A view of each kind, by name."""


@dataclass(frozen=True, slots=True)
class Task:
    """Create the view of `kind` over a table of `rows` rows."""

    kind: str
    rows: int


def measure(asked: Task) -> dict[str, Any]:
    """Seconds that creating the view takes; how long one-row commits and reads took meanwhile, and how many.

    `compilations` says how much was compiled meanwhile, although a small table came before.
    """
    pa.set_cpu_count(1)
    _waits(KINDS[asked.kind], min(asked.rows, _WARM_ROWS))
    return _waits(KINDS[asked.kind], asked.rows)


def _waits(query: str, rows: int) -> dict[str, Any]:
    db = connect()
    db.sql(SCHEMA)
    made = _Made(rows)
    db.apply({"big": made.big(rows), "half": made.big(rows // 2).drop_columns("s"), "lookup": made.lookup()})
    others = {"apart": _Other(lambda: made.commit_apart(db)), "same": _Other(lambda: made.commit_same(db))}
    others["read"] = _Other(lambda: db.view("present").fetchall())
    for other in others.values():
        other.start()
    time.sleep(_LEAD_SECONDS)
    compiled = compilations()
    begun = time.perf_counter()
    try:
        db.sql(f"CREATE MATERIALIZED VIEW created AS {query}")
        ended = time.perf_counter()
    finally:
        for other in others.values():
            other.stop()
    waits = {name: other.between(begun, ended) for name, other in others.items()}
    found = {
        name: {"count": len(each), **latency(each), "quantiles_ms": quantiles([wait * 1e3 for wait in each])}
        for name, each in waits.items()
    }
    return {"seconds": ended - begun, "compilations": compilations() - compiled, "waits": found}


class _Made:
    """Rows in no order, from one seed."""

    def __init__(self, rows: int) -> None:
        self._rng = np.random.default_rng(7)
        self._rows = rows
        self._next = {"apart": 10 * rows, "big": 10 * rows}
        self._last: pa.Table | None = None

    def big(self, rows: int) -> pa.Table:
        """The first `rows` rows of the table `big`."""
        return self._of(self._rng.permutation(rows), self._rng)

    def lookup(self) -> pa.Table:
        """What the column `o` refers to."""
        return pa.table({"id": np.arange(_GROUPS), "w": np.arange(_GROUPS)})

    def commit_apart(self, db: ivm.Database) -> None:
        """One row more in a table that the view does not read."""
        self._next["apart"] += 1
        db.apply({"apart": pa.table({"id": [self._next["apart"]], "x": [1]})})

    def commit_same(self, db: ivm.Database) -> None:
        """One row more in the table that the view reads, or the last one gone again."""
        if self._last is not None:
            row, self._last = self._last.append_column("_diff", pa.array([-1])), None
        else:
            self._next["big"] += 1
            row = self._last = self._of(np.array([self._next["big"]]), np.random.default_rng(self._next["big"]))
        db.apply({"big": row})

    def _of(self, ids: Any, rng: np.random.Generator) -> pa.Table:
        numbers = {"g": max(self._rows // 2, 1), "o": _GROUPS, "v": 1_000_000}
        columns = {name: rng.integers(0, most, len(ids)) for name, most in numbers.items()}
        texts = [f"t{number}" for number in rng.integers(0, _TEXTS, len(ids)).tolist()]
        return pa.table({"id": ids, **columns, "s": texts})


class _Other:
    """Another thread, which does the same again and again; keeps when it began each time, and how long it took."""

    def __init__(self, act: Callable[[], object]) -> None:
        self._act = act
        self._found: list[tuple[float, float]] = []
        self._stopped = threading.Event()
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End after what is being done; raises what it raised."""
        self._stopped.set()
        self._thread.join()
        if self._error is not None:
            raise self._error

    def between(self, begun: float, ended: float) -> list[float]:
        """How long those took of which a part lay between these moments; a zero if there was none."""
        return [took for start, took in self._found if start + took > begun and start < ended] or [0.0]

    def _run(self) -> None:
        while not self._stopped.is_set():
            started = time.perf_counter()
            try:
                self._act()
            except Exception as error:  # noqa: BLE001  raised by `stop`
                self._error = error
                return
            self._found.append((started, time.perf_counter() - started))
            time.sleep(_REST_SECONDS)


if __name__ == "__main__":
    answer(measure(Task(**task())))

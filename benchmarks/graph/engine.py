"""One workload of `ivm graph bench`: its programs side by side over one graph. Run in its own process."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import numpy as np

import ivm
from ivm.benchmarks.engine import Commits, connect
from ivm.benchmarks.graph.maintain import held, install, load
from ivm.benchmarks.graph.programs import PROGRAMS
from ivm.benchmarks.graph.recompute import compare
from ivm.benchmarks.graph.stream import Changes, open_stream
from ivm.benchmarks.process import Steps, answer, task
from ivm.benchmarks.statistics import quantiles

_WARM_UP = 10


@dataclass(frozen=True, slots=True)
class Task:
    """Maintain `programs` over the stream in `directory`, `batch` changes a commit, one after the other.

    With a `rate`: so many changes are offered in a second, whether or not those before are done; a commit is all that
    are due, and a latency is that of one change, from when it was due. The first tenth of the changes is not measured.
    `compared`: whether each view is held against DuckDB at the end.
    """

    directory: str
    programs: tuple[str, ...]
    batch: int
    rate: float
    compared: bool
    threads: int = 1


def measure(asked: Task) -> dict[str, Any]:
    """Seconds of filling, rows, bytes of state, latencies and the joins' part of each change in milliseconds, and
    DuckDB's seconds for all views again.
    """
    steps, stream = Steps(), open_stream(Path(asked.directory))
    programs = [PROGRAMS[name] for name in asked.programs]
    reads = tuple(dict.fromkeys(name for program in programs for name in program.reads))
    db = connect(asked.threads)
    steps.tell("loading")
    base_rows = load(db, stream, reads)
    fill = sum(install(db, program, steps.tell) for program in programs)
    filled, _ = held(db, programs)
    changes = stream.changes(reads)
    warm_up = len(changes) // _WARM_UP
    for number in range(0, warm_up, asked.batch):
        db.apply(changes.between(number, min(number + asked.batch, warm_up)))
    left, joining = range(warm_up, len(changes)), _joining(db)
    if asked.rate:
        latencies = _offered(db, changes, left, asked.rate, steps)
    else:
        latencies = _one_by_one(db, changes, left, asked.batch, steps)
    millis, joining = [seconds * 1e3 for seconds in latencies], _joining(db) - joining
    rows, state = held(db, programs)
    steps.tell("again in DuckDB")
    again = sum(compare(db, program) for program in programs) if asked.compared else 0.0
    return {
        "base_rows": base_rows,
        "fill_seconds": fill,
        "filled": filled,
        "rows": rows,
        "state_bytes": state,
        "mean_ms": float(np.mean(millis)),
        "joining_ms": joining / len(left),
        "quantiles_ms": quantiles(millis),
        "measured": len(millis),
        "again_seconds": again,
    }


def _joining(db: ivm.Database) -> float:
    """How many milliseconds joins have taken so far."""
    found: float = db.sql("SELECT coalesce(sum(millis), 0) FROM ivm_operators WHERE operator = 'join'").fetchall()[0][0]
    return found


def _one_by_one(db: ivm.Database, changes: Changes, which: range, batch: int, steps: Steps) -> list[float]:
    """Commit these changes, so many at a time; the seconds of each commit that compiled nothing."""
    commits = Commits()
    for first in range(which.start, which.stop, batch):
        commits.apply(db, changes.between(first, min(first + batch, which.stop)))
        steps.tell("changes", first - which.start, len(which))
    return commits.measured


def _offered(db: ivm.Database, changes: Changes, which: range, rate: float, steps: Steps) -> list[float]:
    """Commit these changes as they become due, all that are due at once; of each the seconds from then to its end."""
    begun, first = perf_counter(), which.start
    latencies: list[float] = []
    while first < which.stop:
        sleep(max(0.0, begun + len(latencies) / rate - perf_counter()))
        end = min(which.start + int((perf_counter() - begun) * rate) + 1, which.stop)
        db.apply(changes.between(first, end))
        done = perf_counter() - begun
        latencies += [done - (number - which.start) / rate for number in range(first, end)]
        first = end
        steps.tell("changes", len(latencies), len(which))
    return latencies


if __name__ == "__main__":
    answer(measure(Task(**task())))

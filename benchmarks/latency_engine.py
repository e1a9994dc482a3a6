"""One measurement of commits under all views: of `refresh-latency` and `concurrent`. Run in its own process."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

import ivm
from ivm.benchmarks.compilations import compilations
from ivm.benchmarks.engine import Commits, connect
from ivm.benchmarks.footprint import release
from ivm.benchmarks.machine import peak_bytes
from ivm.benchmarks.process import Steps, answer, task
from ivm.benchmarks.statistics import latency, quantiles
from ivm.benchmarks.warm_up import warm_up
from ivm.kernels.memory.allocator import resident_bytes
from ivm.tpch import queries
from ivm.tpch.reader import Stream, open_stream
from ivm.tpch.schema import ddl

_SAMPLES = 100
_MOST_AT_ONCE = 5_000


@dataclass(frozen=True, slots=True)
class Task:
    """`commits` commits (0: all there are) of `times` logical times each, over the base of the stream in `directory`.

    On the stream `refresh` a time is an order with its lineitems. They are made one time if `coalesce`. `warm_up`
    further commits come before them and are not counted.
    """

    directory: str
    views: tuple[str, ...]
    times: int
    commits: int
    warm_up: int
    coalesce: bool = True
    threads: int = 1


def measure(asked: Task) -> dict[str, Any]:
    """Latencies and rows of the commits, memory meanwhile, and how long loading and hydrating took."""
    pa.set_cpu_count(1)
    steps = Steps()
    steps.tell("compiling kernels")
    stream = open_stream(Path(asked.directory))
    base = stream.base()
    warm_up(stream, base, asked.views, coalesce=asked.coalesce, threads=asked.threads)
    batches, total = _batches(stream, asked)
    db = connect(asked.threads, seen=0 if asked.coalesce else asked.times)
    db.sql(ddl())
    started = time.perf_counter()
    if base:
        db.apply(base)
    loaded = time.perf_counter()
    del base
    before = compilations()
    for view in asked.views:
        steps.tell(f"installing {view}")
        db.sql(queries.view_sql(view))
    hydrated, compiled = time.perf_counter(), compilations() - before
    return {
        **_commits(db, batches, total, asked.warm_up, steps),
        "load_seconds": loaded - started,
        "hydrate_seconds": hydrated - loaded,
        "hydrate_compilations": compiled,
        "peak_bytes": peak_bytes(),
    }


def _batches(stream: Stream, asked: Task) -> tuple[Iterator[dict[str, pa.Table]], int]:
    """The batches, and how many there are; decoded before where they are few, since that takes the caches."""
    there = -(-stream.manifest.times // asked.times)
    total = min(asked.warm_up + asked.commits, there) if asked.commits else there
    read = stream.batches(asked.times, coalesce=asked.coalesce, ahead=False)
    batches = (batch.tables for batch in itertools.islice(read, total))
    return (iter(list(batches)) if asked.commits and total <= _MOST_AT_ONCE else batches), total


def _commits(
    db: ivm.Database, batches: Iterator[dict[str, pa.Table]], total: int, warm_up: int, steps: Steps
) -> dict[str, Any]:
    """What `measure` answers of the commits. Memory is looked at now and then, after so many seconds in commits."""
    for tables in itertools.islice(batches, warm_up):
        db.apply(tables)
    found, rows = Commits(), 0
    release()
    memory = [(0.0, resident_bytes())]
    every = max(1, total // _SAMPLES)
    for number, tables in enumerate(batches, start=1):
        found.apply(db, tables)
        rows += sum(table.num_rows for table in tables.values())
        steps.tell("commits", number, total - warm_up)
        if number % every == 0:
            memory.append((sum(found.seconds), resident_bytes()))
    return {
        "commits": len(found.seconds) + len(found.compiled),
        "rows": rows,
        "rows_per_commit": rows / (len(found.seconds) + len(found.compiled)),
        "seconds": sum(found.measured),
        **latency(found.measured),
        "quantiles_ms": quantiles([seconds * 1e3 for seconds in found.measured]),
        **found.apart(),
        "memory": memory,
    }


if __name__ == "__main__":
    answer(measure(Task(**task())))

"""One measurement of `streaming`: the engine, one view alone, over a preloaded stream. Run in its own process."""

from __future__ import annotations

import gc
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

import ivm
from ivm.benchmarks.engine import Commits, connect
from ivm.benchmarks.machine import peak_bytes, reset_peak
from ivm.benchmarks.process import answer, task
from ivm.benchmarks.statistics import latency, quantiles
from ivm.kernels.memory.allocator import resident_bytes
from ivm.tpch import queries
from ivm.tpch.reader import open_stream
from ivm.tpch.schema import ddl
from ivm.trace.time import LAST

_WARM_UP_BATCHES = 3
_WARM_UP_ROWS = 5_000


@dataclass(frozen=True, slots=True)
class Task:
    """Maintain `view` alone over the `load` stream in `directory`, in batches of `batch` logical times (0: all of it).

    They are made one time if `coalesce`, else every time is kept, and can be read until the next batch comes.
    """

    directory: str
    view: str
    batch: int
    passes: int = 3
    coalesce: bool = True
    threads: int = 1


def measure(asked: Task) -> dict[str, Any]:
    """Engine seconds, tuples/s, latencies and memory.

    Only the relations that the query reads are loaded. Kernels are compiled, or loaded from their cache, by a first
    run over a few rows in a database that is then dropped. Then the stream is run `passes` + 1 times, each into a new
    database: figures are those of the median of the later passes; `cold_seconds` is that of the first, which also pays
    for memory that the process, and a virtual machine, never touched before. Commits that compiled something
    nevertheless are left out of all these, and counted apart. `peak_bytes` is that of the process, which holds the
    whole stream; `grown_bytes` is how much more that is than before the first commit; `state_bytes` is what the engine
    counts as its own, also where it keeps the Arrow data that it was given instead of a copy.
    """
    started = time.perf_counter()
    pa.set_cpu_count(1)
    stream = open_stream(Path(asked.directory))
    times = asked.batch or stream.manifest.times
    read = stream.batches(times, queries.reads(asked.view), coalesce=asked.coalesce)
    batches = [batch.tables for batch in read if batch.tables]
    decode_seconds = time.perf_counter() - started
    _warm_up(asked, batches)
    before = resident_bytes()
    reset_peak()
    cold, rows, state_bytes = _pass(asked, batches)
    peak = peak_bytes()
    later = [_pass(asked, batches)[0] for _ in range(asked.passes)]
    median = sorted(later, key=lambda each: sum(each.measured))[len(later) // 2]
    tuples = sum(table.num_rows for tables in batches for table in tables.values())
    passes = (cold, *later)
    return {
        "tuples": tuples,
        "commits": len(batches),
        "passes": asked.passes,
        "seconds": sum(median.measured),
        "pass_seconds": [sum(each.measured) for each in later],
        "cold_seconds": sum(cold.measured),
        "tuples_per_second": tuples / sum(median.measured),
        "cold_tuples_per_second": tuples / sum(cold.measured),
        **latency(median.measured),
        "quantiles_ms": quantiles([seconds * 1e3 for each in later for seconds in each.measured]),
        "measured_commits": sum(len(each.measured) for each in later),
        "compiled_commits": sum(len(each.compiled) for each in passes),
        "compiled_seconds": sum(sum(each.compiled) for each in passes),
        "decode_seconds": decode_seconds,
        "view_rows": rows,
        "state_bytes": state_bytes,
        "peak_bytes": peak,
        "grown_bytes": peak - before,
    }


def _pass(asked: Task, batches: list[dict[str, pa.Table]]) -> tuple[Commits, int, int]:
    """The commits of the whole stream into a new database, the view's rows and its state's bytes."""
    db = _database(asked)
    commits = Commits()
    for tables in batches:
        commits.apply(db, tables)
    rows, state_bytes = db.sql("SELECT rows, state_bytes FROM ivm_views").fetchall()[0]
    del db
    gc.collect()
    return commits, int(rows), int(state_bytes)


def _warm_up(asked: Task, batches: list[dict[str, pa.Table]]) -> None:
    db = _database(asked)
    for tables in batches[:_WARM_UP_BATCHES]:
        db.apply({name: table.slice(0, _WARM_UP_ROWS) for name, table in tables.items()})


def _database(asked: Task) -> ivm.Database:
    db = connect(asked.threads, seen=0 if asked.coalesce else asked.batch or LAST)
    db.sql(ddl())
    db.sql(queries.view_sql(asked.view))
    return db


if __name__ == "__main__":
    answer(measure(Task(**task())))

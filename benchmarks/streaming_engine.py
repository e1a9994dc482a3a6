"""One measurement of `streaming`: the engine, one view alone, over a preloaded stream. Run in its own process."""

from __future__ import annotations

import gc
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

import ivm
from benchmarks.machine import peak_bytes, reset_peak
from benchmarks.process import answer, task
from benchmarks.statistics import latency
from ivm.kernels.memory.allocator import resident_bytes
from tpch import queries
from tpch.reader import open_stream
from tpch.schema import ddl

_WARM_UP_BATCHES = 3
_WARM_UP_ROWS = 5_000


@dataclass(frozen=True, slots=True)
class Task:
    """Maintain `view` alone over the `load` stream in `directory`, in coalesced batches of `batch` logical times."""

    directory: str
    view: str
    batch: int
    passes: int = 3


def measure(asked: Task) -> dict[str, Any]:
    """Engine seconds, tuples/s, latencies and memory, on one thread.

    Only the relations that the query reads are loaded. Kernels are compiled, or loaded from their cache, by a first
    run over a few rows in a database that is then dropped. Then the stream is run `passes` + 1 times, each into a new
    database: figures are those of the median of the later passes; `cold_tuples_per_second` is that of the first, which
    also pays for memory that the process, and a virtual machine, never touched before. `peak_bytes` is that of the
    process, which holds the whole stream; `grown_bytes` is how much more that is than before the first commit;
    `state_bytes` is what the engine counts as its own, also where it keeps the Arrow data that it was given instead
    of a copy.
    """
    pa.set_cpu_count(1)
    started = time.perf_counter()
    stream = open_stream(Path(asked.directory))
    read = stream.batches(asked.batch, queries.reads(asked.view), coalesce=True)
    batches = [batch.tables for batch in read if batch.tables]
    decode_seconds = time.perf_counter() - started
    _warm_up(asked.view, batches)
    before = resident_bytes()
    reset_peak()
    cold, rows, state_bytes = _pass(asked.view, batches)
    peak = peak_bytes()
    passes = sorted((_pass(asked.view, batches)[0] for _ in range(asked.passes)), key=sum)
    commits = passes[len(passes) // 2]
    tuples = sum(table.num_rows for tables in batches for table in tables.values())
    return {
        "tuples": tuples,
        "commits": len(commits),
        "passes": asked.passes,
        "seconds": sum(commits),
        "tuples_per_second": tuples / sum(commits),
        "cold_tuples_per_second": tuples / sum(cold),
        **latency(commits),
        "decode_seconds": decode_seconds,
        "view_rows": rows,
        "state_bytes": state_bytes,
        "peak_bytes": peak,
        "grown_bytes": peak - before,
    }


def _pass(view: str, batches: list[dict[str, pa.Table]]) -> tuple[list[float], int, int]:
    """Seconds of each commit of the whole stream into a new database, the view's rows and its state's bytes."""
    db = _database(view)
    commits = [_commit(db, tables) for tables in batches]
    rows, state_bytes = db.sql("SELECT rows, state_bytes FROM ivm_views").fetchall()[0]
    del db
    gc.collect()
    return commits, int(rows), int(state_bytes)


def _warm_up(view: str, batches: list[dict[str, pa.Table]]) -> None:
    db = _database(view)
    for tables in batches[:_WARM_UP_BATCHES]:
        db.apply({name: table.slice(0, _WARM_UP_ROWS) for name, table in tables.items()})


def _database(view: str) -> ivm.Database:
    db = ivm.connect(compile="wait")
    db.sql(ddl())
    db.sql(queries.view_sql(view))
    return db


def _commit(db: ivm.Database, tables: dict[str, pa.Table]) -> float:
    started = time.perf_counter()
    db.apply(tables)
    return time.perf_counter() - started


if __name__ == "__main__":
    answer(measure(Task(**task())))

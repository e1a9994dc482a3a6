"""One measurement of `installing`: views created while another thread commits. Run in its own process."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

import ivm
from ivm.benchmarks.engine import Commits, connect
from ivm.benchmarks.machine import peak_bytes, reset_peak
from ivm.benchmarks.process import answer, task
from ivm.benchmarks.statistics import latency, quantiles
from ivm.benchmarks.warm_up import warm_up
from ivm.kernels.memory.allocator import resident_bytes
from ivm.tpch import queries
from ivm.tpch.reader import open_stream
from ivm.tpch.schema import ddl


@dataclass(frozen=True, slots=True)
class Task:
    """Create `views` in turn over the base of a `refresh` stream, while commits of `orders` orders go on."""

    directory: str
    views: tuple[str, ...]
    orders: int


def measure(asked: Task) -> dict[str, Any]:
    """For each view: seconds, memory before, at its peak and after, and the latencies of the commits meanwhile."""
    pa.set_cpu_count(1)
    stream = open_stream(Path(asked.directory))
    db = connect()
    db.sql(ddl())
    base = stream.base()
    warm_up(stream, base, asked.views)
    db.apply(base)
    del base
    batches = (batch.tables for batch in stream.batches(asked.orders, coalesce=True))
    return {"views": [_install(db, view, batches) for view in asked.views]}


def _install(db: ivm.Database, view: str, batches: Iterator[dict[str, pa.Table]]) -> dict[str, Any]:
    found = Commits()
    ended = threading.Event()

    def commit() -> None:
        for tables in batches:
            found.apply(db, tables)
            if ended.is_set():
                break

    before = resident_bytes()
    reset_peak()
    thread = threading.Thread(target=commit)
    thread.start()
    started = time.perf_counter()
    db.sql(queries.view_sql(view))
    seconds = time.perf_counter() - started
    ended.set()
    thread.join()
    memory = {"before_bytes": before, "peak_bytes": peak_bytes(), "after_bytes": resident_bytes()}
    waits = found.measured or [0.0]
    millis = quantiles([wait * 1e3 for wait in waits])
    made = {"commits": len(found.seconds) + len(found.compiled), **latency(waits), "quantiles_ms": millis}
    return {"view": view, "seconds": seconds, **memory, **made, **found.apart()}


if __name__ == "__main__":
    answer(measure(Task(**task())))

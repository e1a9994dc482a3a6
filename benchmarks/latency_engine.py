"""One measurement of `refresh-latency`: small commits with all views installed. Run in its own process."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import ivm
from benchmarks.machine import peak_bytes
from benchmarks.process import answer, task
from benchmarks.statistics import latency
from tpch import queries
from tpch.reader import open_stream
from tpch.schema import ddl


@dataclass(frozen=True, slots=True)
class Task:
    """`commits` commits of `orders` orders each, with their lineitems, over the base of a `refresh` stream.

    `warm_up` further commits come before them and are not counted.
    """

    directory: str
    views: tuple[str, ...]
    orders: int
    commits: int
    warm_up: int


def measure(asked: Task) -> dict[str, Any]:
    """Latencies, the rows of a commit, and how long loading and hydrating took, on one thread."""
    pa.set_cpu_count(1)
    stream = open_stream(Path(asked.directory))
    read = stream.batches(asked.orders, coalesce=True)
    batches = [batch.tables for batch in itertools.islice(read, asked.warm_up + asked.commits)]
    db = ivm.connect(compile="wait")
    db.sql(ddl())
    base = stream.base()
    started = time.perf_counter()
    db.apply(base)
    loaded = time.perf_counter()
    del base
    for view in asked.views:
        db.sql(queries.view_sql(view))
    hydrated = time.perf_counter()
    seconds = [_commit(db, tables) for tables in batches][asked.warm_up :]
    rows = [sum(table.num_rows for table in tables.values()) for tables in batches][asked.warm_up :]
    return {
        "commits": len(seconds),
        "rows_per_commit": float(np.mean(rows)),
        **latency(seconds),
        "load_seconds": loaded - started,
        "hydrate_seconds": hydrated - loaded,
        "peak_bytes": peak_bytes(),
    }


def _commit(db: ivm.Database, tables: dict[str, pa.Table]) -> float:
    started = time.perf_counter()
    db.apply(tables)
    return time.perf_counter() - started


if __name__ == "__main__":
    answer(measure(Task(**task())))

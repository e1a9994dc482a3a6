"""The other side of `streaming`: DuckDB appends each batch and runs the query again. Run in its own process."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from ivm.benchmarks.machine import peak_bytes
from ivm.benchmarks.process import answer, task
from ivm.tpch import queries
from ivm.tpch.reader import open_stream
from ivm.tpch.schema import relations


@dataclass(frozen=True, slots=True)
class Task:
    """What a user would do without the engine: append each batch to DuckDB, then run query `view` again.

    The query is run after at most `samples` evenly spaced batches, and the time for all of them estimated from these:
    after each of 6,000 batches it would take hours. A batch of 0 is all of the stream.
    """

    directory: str
    view: str
    batch: int
    samples: int


def measure(asked: Task) -> dict[str, Any]:
    """Seconds to append all batches, to run the query after each of them, and to run it once at the end.

    On one thread. The tables have no keys, which makes appending faster than the engine's checked tables allow.
    """
    pa.set_cpu_count(1)
    db = duckdb.connect(config={"threads": 1})
    for relation in queries.reads(asked.view):
        empty = relations()[relation].schema.empty_table()
        db.register("empty", empty)
        db.execute(f"CREATE TABLE {relation} AS FROM empty")
    batches = list(_batches(asked))
    sampled = {round((i + 1) * len(batches) / asked.samples) - 1 for i in range(asked.samples)}
    appends: list[float] = []
    runs: list[float] = []
    for number, tables in enumerate(batches):
        appends.append(_append(db, tables))
        if number in sampled:
            runs.append(_query(db, asked.view))
    after_each = sum(runs) / len(runs) * len(batches)
    return {
        "commits": len(batches),
        "query_once_seconds": _query(db, asked.view),
        "append_seconds": sum(appends),
        "query_runs_measured": len(runs),
        "query_after_each_seconds": after_each,
        "seconds": sum(appends) + after_each,
        "peak_bytes": peak_bytes(),
    }


def _batches(asked: Task) -> Iterator[dict[str, pa.Table]]:
    stream = open_stream(Path(asked.directory))
    for batch in stream.batches(asked.batch or stream.manifest.times, queries.reads(asked.view), coalesce=True):
        if batch.tables:
            yield batch.tables


def _append(db: duckdb.DuckDBPyConnection, tables: dict[str, pa.Table]) -> float:
    started = time.perf_counter()
    for relation, table in tables.items():
        db.register("batch", table)
        db.execute(f"INSERT INTO {relation} FROM batch")
        db.unregister("batch")
    return time.perf_counter() - started


def _query(db: duckdb.DuckDBPyConnection, view: str) -> float:
    started = time.perf_counter()
    db.execute(queries.text(view)).fetchall()
    return time.perf_counter() - started


if __name__ == "__main__":
    answer(measure(Task(**task())))

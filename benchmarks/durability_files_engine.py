"""One measurement of `durability`: a database of a whole stream, what it takes on the disk, a checkpoint under load."""

from __future__ import annotations

import itertools
import os
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import ivm
from ivm.benchmarks.durability_engine import log_bytes_of
from ivm.benchmarks.engine import Commits, connect
from ivm.benchmarks.process import Steps, answer, task
from ivm.benchmarks.statistics import latency, quantiles
from ivm.tpch import queries
from ivm.tpch.reader import open_stream
from ivm.tpch.schema import ddl

_AROUND = 200
"""Commits before a checkpoint that are measured, too."""
_AFTER = 20


@dataclass(frozen=True, slots=True)
class Task:
    """Load the stream in `load` under `views` into a database in `folder`, in batches of 100,000, and close it.

    Or, with `refresh`: commit batches of `orders` of that stream into what is there, with a checkpoint meanwhile; then
    larger ones, until the log has `log_bytes`; and end as if killed.
    """

    load: str
    views: tuple[str, ...]
    folder: str
    refresh: str = ""
    orders: int = 20
    log_bytes: int = 0
    threads: int = 1


def place_of(folder: str) -> Path:
    """Where the database is."""
    return Path(folder) / "whole.ivm"


def measure(asked: Task) -> dict[str, Any]:
    """What was measured, by name."""
    pa.set_cpu_count(1)
    return _under_load(asked) if asked.refresh else _filled(asked)


def _filled(asked: Task) -> dict[str, Any]:
    """Seconds of the last checkpoint, bytes of tables and of what views keep, bytes of the same rows in Parquet."""
    steps, place = Steps(), place_of(asked.folder)
    db = connect(asked.threads, path=str(place), durability="off")
    db.sql(ddl())
    for view in asked.views:
        db.sql(queries.view_sql(view))
    for number, batch in enumerate(open_stream(Path(asked.load)).batches(100_000, None, coalesce=True)):
        steps.tell("loading, batch", number)
        if batch.tables:
            db.apply(batch.tables)
    steps.tell("rows in Parquet")
    parquet = sum(_in_parquet(db, table.name) for table in db.tables())
    steps.tell("closing")
    began = perf_counter()
    db.close()
    seconds = perf_counter() - began
    files = {kind: sum(file.stat().st_size for file in place.glob(f"{kind}-*")) for kind in ("rows", "living", "state")}
    return {"closing": seconds, "tables": files["rows"] + files["living"], "states": files["state"], "parquet": parquet}


def _in_parquet(db: ivm.Database, table: str) -> int:
    """The bytes of a table's rows in Parquet, with zstd."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.parquet"
        pq.write_table(db.sql(f'SELECT * FROM "{table}"').arrow(), file, compression="zstd")
        return file.stat().st_size


def _under_load(asked: Task) -> dict[str, Any]:
    """Latencies of commits without and during a checkpoint, and its seconds; the bytes of log that are left."""
    steps, place = Steps(), place_of(asked.folder)
    db = connect(asked.threads, path=str(place), durability="interval")
    stream = open_stream(Path(asked.refresh)).batches(asked.orders, None, coalesce=True, ahead=False)
    batches = (batch.tables for batch in stream if batch.tables)
    without, during, seconds = Commits(), Commits(), [0.0]

    def checkpoint() -> None:
        began = perf_counter()
        db.sql("CHECKPOINT")
        seconds[0] = perf_counter() - began

    for tables in itertools.islice(batches, _AROUND // 4):
        db.apply(tables)
    steps.tell("commits without a checkpoint")
    for tables in itertools.islice(batches, _AROUND):
        without.apply(db, tables)
    steps.tell("commits during a checkpoint")
    beside = threading.Thread(target=checkpoint)
    beside.start()
    for tables in itertools.takewhile(lambda _: beside.is_alive(), batches):
        during.apply(db, tables)
    beside.join()
    for tables in itertools.islice(batches, _AFTER):
        without.apply(db, tables)
    found: dict[str, Any] = {"checkpoint": seconds[0]}
    for name, commits in (("without", without), ("during", during)):
        took = commits.measured or [0.0]
        found[name] = {**latency(took), "quantiles_ms": quantiles([each * 1e3 for each in took]), "count": len(took)}
    begun = log_bytes_of(place)
    for number, tables in enumerate(batches):
        if log_bytes_of(place) - begun >= asked.log_bytes:
            break
        steps.tell("commits for the log", number)
        db.apply(tables)
    sleep(1)  # what commits do not wait for is written
    found["log_bytes"], found["time"] = log_bytes_of(place), db.time
    return found


if __name__ == "__main__":
    answer(measure(Task(**task())))
    os._exit(0)

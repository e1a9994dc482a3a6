"""One measurement of `durability`: one view over a preloaded stream, in memory and on disk. Run in its own process."""

from __future__ import annotations

import gc
import shutil
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import pyarrow as pa

from ivm.benchmarks.engine import Commits, connect
from ivm.benchmarks.process import Steps, answer, task
from ivm.tpch import queries
from ivm.tpch.reader import open_stream
from ivm.tpch.schema import ddl

MEMORY = "memory"
MODES = (MEMORY, "off", "interval", "commit")
"""Where the database is: in memory, or on disk with that durability."""


@dataclass(frozen=True, slots=True)
class Task:
    """Maintain `view` alone over the `load` stream in `directory`, in batches of `batch` logical times made one.

    Databases on disk are put into `folder`.
    """

    directory: str
    view: str
    batch: int
    passes: int
    folder: str
    threads: int = 1


def measure(asked: Task) -> dict[str, Any]:
    """Of each mode the seconds in commits, and with what closing the database took, pass by pass.

    Each pass is into a new database. Modes take turns, so that what changes on the machine meets all of them; a first
    pass of each, which touches memory and files for the first time, is left out.
    """
    pa.set_cpu_count(1)
    steps = Steps()
    stream = open_stream(Path(asked.directory))
    read = stream.batches(asked.batch, queries.reads(asked.view), coalesce=True)
    batches = [batch.tables for batch in read if batch.tables]
    found: dict[str, dict[str, list[float]]] = {mode: {"seconds": [], "whole": []} for mode in MODES}
    for number in range(asked.passes + 1):
        for mode in MODES:
            steps.tell(f"{mode}, pass {number}")
            seconds, whole = _pass(asked, mode, batches)
            if number > 0:
                found[mode]["seconds"].append(seconds)
                found[mode]["whole"].append(whole)
    tuples = sum(table.num_rows for tables in batches for table in tables.values())
    return {"modes": found, "tuples": tuples, "commits": len(batches)}


def _pass(asked: Task, mode: str, batches: list[dict[str, pa.Table]]) -> tuple[float, float]:
    """The seconds in commits, and these with those of closing."""
    place = Path(asked.folder) / "passes.ivm"
    db = connect(asked.threads) if mode == MEMORY else connect(asked.threads, path=str(place), durability=mode)
    db.sql(ddl())
    db.sql(queries.view_sql(asked.view))
    commits = Commits()
    for tables in batches:
        commits.apply(db, tables)
    began = perf_counter()
    db.close()
    closing = perf_counter() - began
    shutil.rmtree(place, ignore_errors=True)
    del db
    gc.collect()
    return sum(commits.measured), sum(commits.measured) + closing


def log_bytes_of(place: Path) -> int:
    """The bytes of the log of a database in a directory; 0 if there is none."""
    return sum(file.stat().st_size for file in place.glob("*.log"))


if __name__ == "__main__":
    answer(measure(Task(**task())))

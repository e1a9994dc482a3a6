"""One measurement of `durability`: opening a database, to its first answer and to all. Run in its own process."""

from __future__ import annotations

import os
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import psutil
import pyarrow as pa

from ivm.benchmarks.engine import connect
from ivm.benchmarks.machine import peak_bytes
from ivm.benchmarks.process import answer, task


@dataclass(frozen=True, slots=True)
class Task:
    """Open the database at `path`, read `views`, the first of them first.

    `opened` says how it was left, and `number` how often it was opened since, so that no measurement is taken for
    another one by whoever keeps them.
    """

    path: str
    views: tuple[str, ...]
    opened: str
    number: int
    threads: int = 1


def measure(asked: Task) -> dict[str, Any]:
    """Seconds until the first view was read, and all; bytes of memory then, and at most until then; the time."""
    pa.set_cpu_count(1)
    began = perf_counter()
    db = connect(asked.threads, path=asked.path, durability="interval")
    db.view(asked.views[0]).fetchall()
    first = perf_counter() - began
    for view in asked.views:
        db.view(view).arrow()
    everything = perf_counter() - began
    after = psutil.Process().memory_info().rss
    return {"first": first, "all": everything, "memory": after, "peak": peak_bytes(), "time": db.time}


if __name__ == "__main__":
    answer(measure(Task(**task())))
    os._exit(0)

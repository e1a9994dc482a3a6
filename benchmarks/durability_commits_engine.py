"""One measurement of `durability`: small commits in memory, and the same on disk. Run in its own process."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import pyarrow as pa

from ivm.benchmarks.durability_engine import log_bytes_of
from ivm.benchmarks.engine import Commits, connect
from ivm.benchmarks.process import Steps, answer, task
from ivm.benchmarks.statistics import latency, quantiles
from ivm.benchmarks.warm_up import warm_up
from ivm.storage.open_directory import DirectoryFile
from ivm.tpch import queries
from ivm.tpch.reader import open_stream
from ivm.tpch.schema import ddl


@dataclass(frozen=True, slots=True)
class Task:
    """`commits` commits of `times` logical times each, made one, over the base of the stream `refresh` in `directory`.

    `warm_up` further ones come before them and are not counted. The database on disk is put into `folder`.
    """

    directory: str
    views: tuple[str, ...]
    times: int
    commits: int
    warm_up: int
    folder: str
    threads: int = 1


def measure(asked: Task) -> dict[str, Any]:
    """Latencies of the commits in a database in memory and in one that syncs each, of the syncs, and of all but these.

    Each batch goes into one and then into the other, so that both are as large, and what changes on the machine meets
    both.
    """
    pa.set_cpu_count(1)
    steps, syncs = Steps(), _measured_syncs()
    steps.tell("compiling kernels")
    stream = open_stream(Path(asked.directory))
    base = stream.base()
    warm_up(stream, base, asked.views)
    place = Path(asked.folder) / "commits.ivm"
    both = (connect(asked.threads), connect(asked.threads, path=str(place)))
    for db in both:
        db.sql(ddl())
        db.apply(base)
        for view in asked.views:
            steps.tell(f"installing {view}")
            db.sql(queries.view_sql(view))
    del base
    read = stream.batches(asked.times, coalesce=True, ahead=False)
    batches = [batch.tables for batch in itertools.islice(read, asked.warm_up + asked.commits)]
    for tables in batches[: asked.warm_up]:
        for db in both:
            db.apply(tables)
    both[1].sql("CHECKPOINT")  # none comes meanwhile, and the log is that of the commits
    memory, disk, log = Commits(), Commits(), log_bytes_of(place)
    syncs.clear()
    for tables in batches[asked.warm_up :]:
        memory.apply(both[0], tables)
        disk.apply(both[1], tables)
    found = {
        "commit in memory": memory.measured,
        "commit on disk": disk.measured,
        "its sync": syncs,
        "commit on disk without its sync": [a - b for a, b in zip(disk.measured, syncs, strict=False)],
    }
    counted: dict[str, Any] = {
        "commits": len(disk.measured),
        "rows": sum(table.num_rows for tables in batches[asked.warm_up :] for table in tables.values()),
        "log_bytes": log_bytes_of(place) - log,
    }
    both[1].close()
    for name, seconds in found.items():
        counted[name] = {**latency(seconds), "quantiles_ms": quantiles([each * 1e3 for each in seconds])}
    return counted


def _measured_syncs() -> list[float]:
    """The seconds of all syncs of files from now on."""
    seconds: list[float] = []
    plain = DirectoryFile.sync

    def sync(self: DirectoryFile) -> None:
        began = perf_counter()
        plain(self)
        seconds.append(perf_counter() - began)

    DirectoryFile.sync = sync  # type: ignore[method-assign]
    return seconds


if __name__ == "__main__":
    answer(measure(Task(**task())))

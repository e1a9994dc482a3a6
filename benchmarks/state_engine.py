"""One measurement of `state`: what all views hold after a stream, and what hydrating them takes. In its own process."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import pyarrow as pa

import ivm
from ivm.benchmarks.compilations import compilations
from ivm.benchmarks.engine import Commits, connect
from ivm.benchmarks.footprint import footprint, release
from ivm.benchmarks.machine import peak_bytes, reset_peak
from ivm.benchmarks.phases import clocked
from ivm.benchmarks.process import Steps, answer, task
from ivm.benchmarks.warm_up import warm_up
from ivm.kernels.memory.allocator import resident_bytes
from ivm.tpch import queries
from ivm.tpch.reader import Stream, open_stream
from ivm.tpch.schema import ddl


@dataclass(frozen=True, slots=True)
class Task:
    """Load the stream in `directory` in coalesced batches of `batch` logical times, under all of `views`.

    `first`: the views are installed before the stream; else after it, so that each is hydrated.
    """

    directory: str
    views: tuple[str, ...]
    sharing: bool
    batch: int
    first: bool


def measure(asked: Task) -> dict[str, Any]:
    """Seconds, memory and every piece of state, on one thread.

    `load_seconds` is the engine's time for the stream, each batch decoded before; `load_peak_bytes` the process's
    peak meanwhile. `installs` has the milliseconds of each phase of each installation, `install_peak_bytes` is the peak
    during all of them. `held` is what is held at the end, when no input batch is.
    """
    pa.set_cpu_count(1)
    steps = Steps()
    steps.tell("compiling kernels")
    stream = open_stream(Path(asked.directory))
    base = stream.base()
    warm_up(stream, base, asked.views, sharing=asked.sharing, coalesce=True)
    release()
    empty = resident_bytes()
    db = connect(sharing=asked.sharing)
    db.sql(ddl())
    installed = _install(db, asked.views, steps) if asked.first else None
    if base:
        db.apply(base)
    del base
    loaded = _load(db, stream, asked.batch, steps)
    installed = installed or _install(db, asked.views, steps)
    held = footprint(db)
    return {
        "empty_bytes": empty,
        **loaded,
        **installed,
        "held": asdict(held),
        "arrangements": db.sql("SELECT * FROM ivm_arrangements ORDER BY bytes DESC, arrangement, key")
        .arrow()
        .to_pylist(),
        "view_state": db.sql("SELECT view, rows, state_rows, state_bytes FROM ivm_views").arrow().to_pylist(),
    }


def _load(db: ivm.Database, stream: Stream, times: int, steps: Steps) -> dict[str, Any]:
    release()
    reset_peak()
    commits = Commits()
    decoding, done = 0.0, 0
    for batch in stream.batches(times, coalesce=True, ahead=False):
        commits.apply(db, batch.tables)
        decoding += batch.decode_seconds
        done += batch.rows
        steps.tell("loading", done, stream.manifest.rows)
    return {
        "load_seconds": sum(commits.seconds) + sum(commits.compiled),
        **commits.apart(),
        "decode_seconds": decoding,
        "changes": done,
        "load_peak_bytes": peak_bytes(),
    }


def _install(db: ivm.Database, views: tuple[str, ...], steps: Steps) -> dict[str, Any]:
    release()
    reset_peak()
    installs: list[dict[str, Any]] = []
    before = compilations()
    with clocked() as clock:
        for view in views:
            steps.tell(f"installing {view}")
            clock.lap(0.0)
            started = perf_counter()
            db.sql(queries.view_sql(view))
            installs.append({"view": view, **clock.lap(perf_counter() - started), "resident_bytes": resident_bytes()})
    seconds = sum(each["total"] for each in installs) / 1e3
    return {
        "install_seconds": seconds,
        "install_compilations": compilations() - before,
        "installs": installs,
        "install_peak_bytes": peak_bytes(),
    }


if __name__ == "__main__":
    answer(measure(Task(**task())))

"""One measurement of `sharing`: views come and go while a stream runs. Run in its own process.

The setting of "Shared Arrangements", section 6.1.1.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import pyarrow as pa

import ivm
from ivm.benchmarks.compilations import compilations
from ivm.benchmarks.engine import Commits, connect
from ivm.benchmarks.footprint import footprint, release
from ivm.benchmarks.machine import peak_bytes, reset_peak
from ivm.benchmarks.phases import Clock, clocked
from ivm.benchmarks.pinned import pinned
from ivm.benchmarks.process import Steps, answer, task
from ivm.benchmarks.warm_up import warm_up
from ivm.session.core import engine_of
from ivm.session.database import core_of
from ivm.tpch import queries
from ivm.tpch.reader import Stream, StreamBatch, open_stream
from ivm.tpch.schema import ddl


@dataclass(frozen=True, slots=True)
class Task:
    """Run a stream in batches of `batch` logical times (made one if `coalesce`) under `active` of `views`.

    After every `every`-th commit (0: never) one of them, chosen at random, retires and another arrives. `commits` is
    how many commits to run at most (0: the whole stream). `again` is how often each view is installed again at the
    end, when every arrangement that it needs exists (without sharing: when none does).
    """

    directory: str
    views: tuple[str, ...]
    sharing: bool
    active: int
    batch: int
    coalesce: bool
    every: int
    commits: int
    again: int
    seed: int


def measure(asked: Task) -> dict[str, Any]:
    """Latencies of installing and of commits, and memory over time, on one thread.

    `seconds` is the engine's time: commits, installing and retiring. Each batch is decoded before the clock runs.
    Kernels are compiled, or loaded from their cache, by a first run over a few rows in a database that is then dropped.
    """
    pa.set_cpu_count(1)
    steps = Steps()
    steps.tell("compiling kernels")
    stream = open_stream(Path(asked.directory))
    base = stream.base()
    warm_up(stream, base, asked.views, sharing=asked.sharing, coalesce=asked.coalesce)
    db = connect(sharing=asked.sharing, seen=0 if asked.coalesce else asked.batch)
    db.sql(ddl())
    if base:
        db.apply(base)
    del base
    with clocked() as clock:
        run = _Run(asked, db, clock, steps)
        run.over(stream)
        peak, end = run.peak, footprint(run.db)
        again = run.reinstall()
    return {
        "commits": run.number,
        **run.commits.apart(),
        "changes": run.changes,
        "seconds": run.seconds,
        "commit_seconds": sum(run.commits.seconds) + sum(run.commits.compiled),
        "decode_seconds": run.decode_seconds,
        "peak_bytes": peak,
        "end": asdict(end),
        "installs": run.installs,
        "again": again,
        "commit_ms": [round(seconds * 1e3, 4) for seconds in run.commits.measured],
        "drop_ms": [round(seconds * 1e3, 4) for seconds in run.drops],
        "memory": run.memory,
    }


@dataclass(slots=True)
class _Run:
    """One database while views come and go; what was measured of it so far."""

    asked: Task
    db: ivm.Database
    clock: Clock
    steps: Steps
    active: list[str] = field(default_factory=list)
    commits: Commits = field(default_factory=Commits)
    drops: list[float] = field(default_factory=list)
    installs: list[dict[str, Any]] = field(default_factory=list)
    memory: list[dict[str, float]] = field(default_factory=list)
    number: int = 0
    changes: int = 0
    seconds: float = 0.0
    decode_seconds: float = 0.0
    peak: int = 0

    def over(self, stream: Stream) -> None:
        """Apply the stream; views come and go on the way."""
        chance = random.Random(self.asked.seed)
        release()
        reset_peak()
        for view in chance.sample(self.asked.views, self.asked.active):
            self._arrive(view)
        self._sample()
        times = self.asked.batch
        total = min(-(-stream.manifest.times // times), self.asked.commits or stream.manifest.times)
        read = stream.batches(times, coalesce=self.asked.coalesce, ahead=False)
        for number, batch in enumerate(itertools.islice(read, total), start=1):
            self._commit(batch)
            self.number = number
            self.steps.tell("commits", number, total)
            if self.asked.every and number % self.asked.every == 0:
                self._retire(chance.choice(self.active))
                self._arrive(chance.choice([view for view in self.asked.views if view not in self.active]))
                self._sample()
        self._sample()

    def reinstall(self) -> list[dict[str, Any]]:
        """Install each view again, all others being there and every arrangement that it needs; without sharing none."""
        others = [view for view in self.asked.views if view not in self.active] if self.asked.sharing else []
        for view in others:
            self.db.sql(queries.view_sql(view))
        again = [entry for view in self.asked.views for entry in self._again(view)]
        for view in others:
            self.db.sql(f"DROP VIEW {view}")
        return again

    def _again(self, view: str) -> Iterator[dict[str, Any]]:
        self.steps.tell(f"installing {view} again")
        there = view in self.active or self.asked.sharing
        with pinned(self.db):
            for _ in range(self.asked.again):
                if there:
                    self.db.sql(f"DROP VIEW {view}")
                yield self._installed(view)
                if not there:
                    self.db.sql(f"DROP VIEW {view}")

    def _commit(self, batch: StreamBatch) -> None:
        self.seconds += self.commits.apply(self.db, batch.tables)
        self.decode_seconds += batch.decode_seconds
        self.changes += batch.rows

    def _arrive(self, view: str) -> None:
        self.steps.tell(f"installing {view}")
        self.active.append(view)
        self.installs.append(self._installed(view))
        self.seconds += self.installs[-1]["total"] / 1e3

    def _installed(self, view: str) -> dict[str, Any]:
        """Install `view` and read it: the milliseconds of each phase and of reading, and what was new."""
        before, compiled = self._indexes(), compilations()
        statement = queries.view_sql(view)
        self.clock.lap(0.0)
        started = perf_counter()
        self.db.sql(statement)
        ready = perf_counter()
        rows = self.db.view(view).arrow().num_rows
        read = perf_counter()
        return {
            "view": view,
            "commit": self.number,
            "compiled": compilations() - compiled,
            "rows": rows,
            "indexed": len(self._indexes() - before),
            **self.clock.lap(ready - started),
            "read": (read - ready) * 1e3,
            "first_result": (read - started) * 1e3,
        }

    def _indexes(self) -> set[int]:
        return {id(each) for store in engine_of(core_of(self.db)).tables.values() for each in store.arrangements()}

    def _retire(self, view: str) -> None:
        self.active.remove(view)
        started = perf_counter()
        self.db.sql(f"DROP VIEW {view}")
        self.drops.append(perf_counter() - started)
        self.seconds += self.drops[-1]

    def _sample(self) -> None:
        peak = peak_bytes()
        self.peak = max(self.peak, peak)
        reset_peak()
        held = asdict(footprint(self.db))
        self.memory.append({"seconds": self.seconds, "changes": self.changes, "peak_bytes": peak, **held})


if __name__ == "__main__":
    answer(measure(Task(**task())))

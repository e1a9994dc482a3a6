"""One measurement of `cluster`: commits over shards on Spark, and processes of it killed. Run in its own process."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, cycle
from pathlib import Path
from time import perf_counter, sleep
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ivm.benchmarks.process import Steps, answer, task
from ivm.cluster.driver.driver import Driver
from ivm.cluster.protocol.questions import Question
from ivm.session.database import core_of
from ivm.tpch import queries
from ivm.tpch.cluster import on_spark
from ivm.tpch.reader import Stream, open_stream
from ivm.tpch.schema import DIFF, ddl
from ivm.tpch.spark import parquet

if TYPE_CHECKING:
    from ivm.spark import SparkDatabase

_IN_A_COMMIT = 0.3
"""The share of a usual commit after which a process is killed in one."""
_WARM = 3
_PATIENCE = 90.0
"""Seconds for an executor to come back."""
Tables = dict[str, pa.Table]


@dataclass(frozen=True, slots=True)
class Task:
    """Commits of `orders` with their lineitems of a `refresh` stream, `commits` of each kind, under q3, then `views`.

    `large`: the changes of the large commits, about. `passes`: how many of those, and of kills of each kind.
    """

    directory: str
    views: tuple[str, ...]
    master: str
    shards: int
    orders: int
    commits: int
    large: int
    passes: int


def measure(asked: Task) -> dict[str, Any]:
    """Seconds of commits, and of each those that its busiest shard took in its engine; see `_Run`."""
    stream = open_stream(Path(asked.directory))
    steps = Steps()
    steps.tell("starting Spark")
    with tempfile.TemporaryDirectory(prefix="ivm-cluster-") as folder, on_spark(asked.master, None, asked.shards) as db:
        run = _Run(asked, db, stream, Path(folder), steps)
        return run.all()


class _Run:
    """What is measured of one database, one after the other."""

    def __init__(self, asked: Task, db: SparkDatabase, stream: Stream, folder: Path, steps: Steps) -> None:
        self._asked = asked
        self._db = db
        self._stream = stream
        self._folder = folder
        self._steps = steps
        self._batches = _there_and_back(stream, asked.orders)
        self._spread_over = len(self._executors())

    def all(self) -> dict[str, Any]:
        """Everything."""
        db, asked = self._db, self._asked
        self._steps.tell("loading the base")
        db.sql(ddl())
        db.apply(self._stream.base())
        db.sql(queries.view_sql("q3"))
        found: dict[str, Any] = {"q3": self._small("q3"), "large": self._large()}
        for number, view in enumerate(each for each in asked.views if each != "q3"):
            self._steps.tell("installing views", number, len(asked.views))
            db.sql(queries.view_sql(view))
        found["all"] = self._small("all views")
        found["kills"] = self._kills(found["all"]["rows"]["seconds"])
        self._steps.tell("verifying")
        db.verify()
        return found

    def _small(self, views: str) -> dict[str, Any]:
        """Small commits, of rows that the driver has, and of DataFrames."""
        forms: dict[str, Callable[[Tables], dict[str, Any]]] = {"rows": dict, "frames": self._frames}
        return {name: self._commits(f"{views}, {name}", form) for name, form in forms.items()}

    def _commits(self, what: str, form: Callable[[Tables], dict[str, Any]]) -> dict[str, Any]:
        seconds, rows, times = list[float](), list[int](), list[int]()
        for number in range(_WARM + self._asked.commits):
            self._steps.tell(f"commits, {what}", number, _WARM + self._asked.commits)
            tables = next(self._batches)
            seconds.append(self._timed(form(tables)))
            rows.append(_rows(tables))
            times.append(self._db.time)
        return {
            "seconds": seconds[_WARM:],
            "engine_seconds": self._in_engines(times[_WARM:]),
            "rows": sum(rows[_WARM:]) / self._asked.commits,
        }

    def _timed(self, changes: dict[str, Any]) -> float:
        started = perf_counter()
        self._db.apply(changes)
        return perf_counter() - started

    def _in_engines(self, times: Sequence[int]) -> list[float]:
        """The seconds that the busiest shard worked on each of these commits."""
        engine = cast(Driver, core_of(self._db).engine)
        most = dict.fromkeys(times, 0.0)
        for part in engine.ask(Question("relation", "ivm_commits")):
            for commit in part.to_pylist():
                if commit["time"] in most:
                    most[commit["time"]] = max(most[commit["time"]], commit["millis"] / 1e3)
        return list(most.values())

    def _frames(self, tables: Tables) -> dict[str, Any]:
        """Changes as DataFrames, of files that tasks read."""
        return {name: parquet(self._written(name, rows)) for name, rows in tables.items()}

    def _written(self, name: str, rows: pa.Table) -> Path:
        """A folder of rows, in as many files as there are shards: each is a task's."""
        folder = Path(tempfile.mkdtemp(prefix=name, dir=self._folder))
        size = -(-rows.num_rows // self._asked.shards)
        for start in range(0, rows.num_rows, size):
            pq.write_table(rows.slice(start, size), folder / f"{start}.parquet")
        return folder

    def _large(self) -> dict[str, Any]:
        """Commits that give another quantity to many lineitems, and take it back."""
        old = self._db.sql("SELECT * FROM lineitem").arrow().slice(0, self._asked.large // 2)
        place = old.column_names.index("l_quantity")
        more = pc.add(old.column(place), 1).cast(old.schema.field(place).type)
        new = old.set_column(place, old.schema.field(place), more)
        seconds, times = list[float](), list[int]()
        for number in range(1 + self._asked.passes):
            self._steps.tell("large commits", number, 1 + self._asked.passes)
            goes, comes = (old, new) if number % 2 == 0 else (new, old)
            changes = self._frames({"lineitem": pa.concat_tables([_signed(goes, -1), _signed(comes, 1)])})
            seconds.append(self._timed(changes))
            times.append(self._db.time)
        return {
            "changes": 2 * old.num_rows,
            "first_seconds": seconds[0],
            "seconds": seconds[1:],
            "engine_seconds": self._in_engines(times[1:]),
        }

    def _kills(self, usual: Sequence[float]) -> dict[str, list[float]]:
        """Seconds of commits during which, or before which, a process was killed; each verified."""
        wait = sorted(usual)[len(usual) // 2] * _IN_A_COMMIT
        kinds: dict[str, tuple[Callable[[], int], float]] = {
            "a worker between commits": (lambda: _worker(self._db.places[0]), 0.0),
            "a worker in a commit": (lambda: _worker(self._db.places[0]), wait),
            "an executor in a commit": (lambda: _executor(self._db.places[0]), wait),
        }
        return {name: [self._killed(name, *kind) for _ in range(self._asked.passes)] for name, kind in kinds.items()}

    def _killed(self, name: str, victim: Callable[[], int], wait: float) -> float:
        self._steps.tell(f"killing {name}")
        self._recover()
        killing = threading.Timer(wait, os.kill, (victim(), signal.SIGKILL))
        if wait:
            killing.start()
        else:
            killing.run()
        seconds = self._timed(next(self._batches))
        if wait:
            killing.join()
        self._db.verify()
        return seconds

    def _recover(self) -> None:
        """Commit until all shards are warm, where they are to stay: a successor of an executor has to start first."""
        until = perf_counter() + _PATIENCE
        self._db.apply(next(self._batches))
        while len(self._executors()) < self._spread_over and perf_counter() < until:
            sleep(1)
            self._db.apply(next(self._batches))
        self._db.apply(next(self._batches))

    def _executors(self) -> set[str]:
        return {place.rpartition("/")[0] for place in self._db.places.values()}


def _there_and_back(stream: Stream, orders: int) -> Iterator[Tables]:
    """The batches of a stream, then the same the other way round, over and over."""
    there = [batch.tables for batch in stream.batches(orders, coalesce=True)]
    back = [{name: _negated(rows) for name, rows in tables.items()} for tables in reversed(there)]
    return cycle(chain(there, back))


def _negated(rows: pa.Table) -> pa.Table:
    if DIFF not in rows.column_names:
        return _signed(rows, -1)
    place = rows.column_names.index(DIFF)
    return rows.set_column(place, rows.schema.field(place), pc.negate(rows.column(place)))


def _signed(rows: pa.Table, diff: int) -> pa.Table:
    return rows.append_column(DIFF, pa.array([diff] * rows.num_rows, pa.int64()))


def _rows(tables: Tables) -> int:
    return sum(rows.num_rows for rows in tables.values())


def _worker(place: str) -> int:
    return int(place.split("/")[2])


def _executor(place: str) -> int:
    """What has started the process that forked the worker."""
    status = Path(f"/proc/{place.split('/')[1]}/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("PPid:"))


if __name__ == "__main__":
    answer(measure(Task(**task())))

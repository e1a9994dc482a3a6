"""Run a stream through the engine: load its base, install the views, apply the batches, verify on the way."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np

import ivm
from ivm.duck import Use, connection
from ivm.progress import Tell
from ivm.tpch import queries
from ivm.tpch.alone import Alone, Watch, middle
from ivm.tpch.keeping import KeptStream, begin
from ivm.tpch.reader import Stream

_RUNS = 3


@dataclass(frozen=True, slots=True)
class Settings:
    """What to run: the views, the logical times per physical batch, and whether a batch is made one logical time.

    `every` = n verifies all views after every n-th batch, 0 only at the end.
    """

    views: tuple[str, ...]
    times: int
    every: int = 0
    coalesce: bool = False


@dataclass(frozen=True, slots=True)
class Latency:
    """The time of commits in milliseconds."""

    p50: float
    p99: float
    max: float


@dataclass(frozen=True, slots=True)
class ViewReport:
    """What happened to one view.

    `changes`: changes of the relations that it reads. `busy_seconds`: time in the operators that it needs while they
    were applied, also in those that it shares. `state_rows`, `state_bytes`: all state that it needs, also what it
    shares. `verified`: how often it was found equal; `ever_filled`: whether there was at least once something to
    compare.
    """

    view: str
    title: str
    rows: int
    changes: int
    busy_seconds: float
    state_rows: int
    state_bytes: int
    install_ms: float
    verified: int
    ever_filled: bool


@dataclass(frozen=True, slots=True)
class State:
    """What tables and views hold: rows and bytes, the bytes that several views use, and the bytes that there would be
    if each view had what it uses to itself.
    """

    rows: int
    bytes: int
    shared_bytes: int
    alone_bytes: int


@dataclass(frozen=True, slots=True)
class Spread:
    """Over how many shards a database is spread, and how evenly: the work of the busiest (updates into operators, out
    of them, and rows that they visited) by that of the mean. One engine is a single shard.
    """

    shards: int
    busiest: float


@dataclass(frozen=True, slots=True)
class Report:
    """A whole run.

    `seconds` is engine time (applying the batches), `decode_seconds` that of the reading thread, `rerun_seconds`
    what DuckDB takes to run the views' queries once, over the tables as they are at the end. `reached`: up to which
    time of the stream everything was there before (0: nothing was), and is not counted. `latency` is that of batches,
    without the steps that were committed one by one, of which `alone` tells; None if there was nothing to commit.
    """

    stream: str
    sf: float
    seed: int
    times_per_batch: int
    coalesced: bool
    reached: int
    base_rows: int
    base_seconds: float
    install_seconds: float
    commits: int
    logical_times: int
    changes: int
    seconds: float
    decode_seconds: float
    verify_seconds: float
    verifications: int
    latency: Latency
    alone: Alone | None
    rerun_seconds: float
    state: State
    spread: Spread
    views: tuple[ViewReport, ...]


def run(
    stream: Stream,
    settings: Settings,
    progress: Tell = lambda step, done, total: None,
    db: ivm.Database | None = None,
    *,
    is_kept: bool = False,
) -> Report:
    """Apply the whole stream and verify every view against DuckDB at the end, and on the way if `settings` say so.

    `db`: an empty one, by default one engine in memory; or one where the stream `is_kept`, so that what it has of it is
    left out. StreamError if it has something else.
    Raises ivm.VerificationError, naming view and time, as soon as a view differs. Cost: that of the engine, and of
    DuckDB recomputing each query whenever it is verified.
    """
    db = db or ivm.connect()
    kept = begin(db, stream.manifest, is_kept=is_kept)
    reached = kept.reached(db)
    base_rows, base_seconds = _load_base(db, stream, kept, progress) if not reached else (0, 0.0)
    install_seconds = _install(db, settings.views, progress)
    checks = _Checks(db)
    busy = _busy(db)
    commits, alone = _apply(db, stream, settings, kept, checks, progress)
    busy = {view: millis - busy[view] for view, millis in _busy(db).items()}
    progress("comparing with DuckDB", 0, 0)
    checks.verify()
    progress("running the queries in DuckDB", 0, 0)
    return Report(
        stream=stream.manifest.stream,
        sf=stream.manifest.sf,
        seed=stream.manifest.seed,
        times_per_batch=settings.times,
        coalesced=settings.coalesce,
        reached=reached,
        base_rows=base_rows,
        base_seconds=base_seconds,
        install_seconds=install_seconds,
        commits=len(commits),
        logical_times=len(commits) if settings.coalesce else stream.manifest.times_after(reached),
        changes=sum(sum(commit.changes.values()) for commit in commits),
        seconds=sum(commit.seconds for commit in commits),
        decode_seconds=sum(commit.decode_seconds for commit in commits),
        verify_seconds=checks.seconds,
        verifications=checks.done,
        latency=_latency([commit for commit in commits if not commit.is_alone] or commits),
        alone=alone,
        rerun_seconds=_rerun_seconds(db, settings.views),
        state=_state(db),
        spread=_spread(db),
        views=_view_reports(db, settings.views, commits, checks, busy),
    )


@dataclass(frozen=True, slots=True)
class _Commit:
    changes: dict[str, int]
    seconds: float
    decode_seconds: float
    is_alone: bool


class _Checks:
    """Verifies the views and remembers what was seen."""

    def __init__(self, db: ivm.Database) -> None:
        self._db = db
        self.done = 0
        self.seconds = 0.0
        self.filled: set[str] = set()

    def verify(self) -> None:
        started = time.perf_counter()
        try:
            found = self._db.verify()
        except ivm.VerificationError as error:
            raise ivm.VerificationError(f"at time {self._db.time}: {error}") from None
        self.filled |= {verified.view for verified in found if not verified.empty}
        self.done += 1
        self.seconds += time.perf_counter() - started


def _load_base(db: ivm.Database, stream: Stream, kept: KeptStream, progress: Tell) -> tuple[int, float]:
    progress("reading the rows to begin with", 0, 0)
    base = stream.base()
    rows = sum(table.num_rows for table in base.values())
    if not base:
        return 0, 0.0
    progress(f"loading {rows:,} rows", 0, 0)
    started = time.perf_counter()
    db.apply(base, **kept.options(stream.manifest.first_time - 1))
    return rows, time.perf_counter() - started


def _install(db: ivm.Database, views: Sequence[str], progress: Tell) -> float:
    started = time.perf_counter()
    there = {view.name for view in db.views()}
    for view in views:
        if view in there:
            continue
        progress(f"creating {view}", 0, 0)
        db.sql(queries.view_sql(view), progress=lambda now: progress(f"creating {now.view}", now.rows, now.expected))
    return time.perf_counter() - started


def _busy(db: ivm.Database) -> dict[str, float]:
    """The seconds that each view's operators have taken so far."""
    return dict(db.sql("SELECT view, sum(millis) / 1000 FROM ivm_operators GROUP BY view").fetchall())


def _state(db: ivm.Database) -> State:
    held = "SELECT rows, bytes, len(views) AS views FROM ivm_arrangements WHERE kind <> 'process'"
    found = db.sql(f"""
        SELECT sum(rows)::BIGINT, sum(bytes)::BIGINT,
            coalesce(sum(bytes) FILTER (WHERE views > 1), 0)::BIGINT, sum(bytes * greatest(views, 1))::BIGINT
        FROM ({held})
    """)
    return State(*found.fetchall()[0])


def _spread(db: ivm.Database) -> Spread:
    operators = db.sql("SELECT * FROM ivm_operators").arrow()
    if "shard" not in operators.column_names:
        return Spread(1, 1.0)
    with connection(Use.OWN) as other:
        other.register("operators", operators)
        work = "SELECT sum(updates_in + updates_out + visited) AS work FROM operators GROUP BY shard"
        ((count, busiest),) = other.execute(
            f"SELECT count(*), max(work) / greatest(avg(work), 1) FROM ({work})"
        ).fetchall()
    return Spread(count, busiest)


def _apply(
    db: ivm.Database, stream: Stream, settings: Settings, kept: KeptStream, checks: _Checks, progress: Tell
) -> tuple[list[_Commit], Alone | None]:
    commits: list[_Commit] = []
    total, done, batches, reached = stream.manifest.rows, 0, 0, kept.reached(db)
    watch = Watch(db, settings.views, middle(stream.manifest, reached))
    for batch in stream.batches(settings.times, coalesce=settings.coalesce, after=reached, alone=watch.times):
        is_alone = watch.watches(batch.first_time)
        started = time.perf_counter()
        db.apply(batch.tables, **kept.options(batch.last_time))
        seconds = time.perf_counter() - started
        changes = {name: table.num_rows for name, table in batch.tables.items()}
        commits.append(_Commit(changes, seconds, batch.decode_seconds, is_alone))
        done += batch.rows
        progress("applying changes", done, total)
        batches += not is_alone
        if is_alone:
            watch.step(batch.last_time, batch.tables, seconds)
        elif settings.every and batches % settings.every == 0:
            progress("comparing with DuckDB", done, total)
            checks.verify()
    return commits, watch.best()


def _latency(commits: Sequence[_Commit]) -> Latency:
    if not commits:
        return Latency(0.0, 0.0, 0.0)
    return Latency(*np.percentile([commit.seconds * 1e3 for commit in commits], (50, 99, 100)).tolist())


def _view_reports(
    db: ivm.Database, views: Sequence[str], commits: Sequence[_Commit], checks: _Checks, busy: dict[str, float]
) -> tuple[ViewReport, ...]:
    rows: list[dict[str, Any]] = db.sql("SELECT * FROM ivm_views").arrow().to_pylist()
    installed = {row["view"]: row for row in rows}
    return tuple(
        ViewReport(
            view=view,
            title=queries.title(view).split(",", 1)[1].split(".", 1)[0].strip(),
            rows=installed[view]["rows"],
            changes=sum(commit.changes.get(relation, 0) for relation in queries.reads(view) for commit in commits),
            busy_seconds=busy[view],
            state_rows=installed[view]["state_rows"],
            state_bytes=installed[view]["state_bytes"],
            install_ms=installed[view]["installed_ms"],
            verified=checks.done,
            ever_filled=view in checks.filled,
        )
        for view in views
    )


def _rerun_seconds(db: ivm.Database, views: Sequence[str]) -> float:
    """What it would cost without the engine: the time in which DuckDB runs the queries of `views` once, one after the
    other, over the present tables.

    The median of _RUNS runs, after one that is not counted, on all cores and over DuckDB's own tables: as a user would
    run them who keeps the data there. Cost: a copy of the tables that the views read, and the runs.
    """
    with connection(Use.OWN) as other:
        for relation in sorted({name for view in views for name in queries.reads(view)}):
            other.register("present", db.sql(f"SELECT * FROM {relation}").arrow())
            other.execute(f"CREATE TEMP TABLE {relation} AS FROM present")
            other.unregister("present")
        _answer_once(other, views)
        return statistics.median(_answer_once(other, views) for _ in range(_RUNS))


def _answer_once(other: duckdb.DuckDBPyConnection, views: Sequence[str]) -> float:
    started = time.perf_counter()
    for view in views:
        other.execute(queries.text(view)).fetchall()
    return time.perf_counter() - started

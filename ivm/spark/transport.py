"""Runs the levels of a commit on a Spark cluster: by the processes of shards, or by a job with a shuffle between them.

It knows nothing of SQL or of engines. What runs is named: a module that Spark's workers import has

    task(order: bytes, group: int, groups: int, level: int, payloads: list[bytes])
        -> (iterable of (to, payload), status: bytes)
    ingest(order: bytes, groups: int, table: str, batches: Iterator[pa.RecordBatch], room: int | None)
        -> iterable of (to, payload), in which payloads have no more bytes than that altogether, unless None
    rows(argument: bytes) -> iterator of pa.RecordBatch, where tasks are to read rows themselves

A group has the shards of a task, those with the same remainder by the number of groups; it is whom messages are for.
Spark runs a task again wherever it likes when a worker, an executor or a fetch fails, also after others have read what
it sent. So what a task sends and answers must follow from its arguments and from what is stored, and running it twice
must be harmless; the order of payloads means nothing.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import SparkSession

from ivm.catalog.errors import ClusterError, InterfaceError
from ivm.spark import direct
from ivm.spark.anchor import anchor, executors, is_balanced, most_tasks, profile_of
from ivm.spark.bringing import Bringer, Changes, Functions, together
from ivm.spark.failure import as_one_error
from ivm.spark.heartbeat import EVERY, Heartbeat
from ivm.spark.home import Home
from ivm.spark.keepers import Keepers, Unreached
from ivm.spark.pool import Pool, release, taken
from ivm.spark.sessions import is_running, own_session, scheduled_apart, settings_of, tell_once
from ivm.spark.settings import check, is_kept, side_by_side
from ivm.spark.worker import (
    FRAMES,
    PLACES,
    STATUSES,
    LevelTask,
    Message,
    Read,
    Round,
    named,
    versions,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MOST_GIVEN = 1 << 20
"""Bytes of the driver's own messages that go to workers with the task; more of them are shuffled as any others."""
FILLING = 0.7
"""Seconds for which each task keeps its slot while shards are placed, so that they spread over the executors."""
PATIENCE = 300.0
"""Seconds after placing shards before it is tried again where it did not get them balanced."""


class Status(NamedTuple):
    """What a group said at a level."""

    group: int
    level: int
    status: bytes


class SparkTransport:
    """Shards on the executors of a Spark session.

    Commits run in a session of their own, so that no setting of the user's queries matters to them, nor theirs to the
    user. Close it: its workers end a minute later, unless they are another one's by then.
    """

    def __init__(self, spark: SparkSession, shards: int, functions: Functions, *, heartbeat: float = EVERY) -> None:
        """Check the settings, place the shards, and have each worker import what it needs: some seconds.

        Raises UnsupportedError for settings or a version of Spark that this cannot work with, ClusterError for workers
        that have another Python or another ivm than the driver.
        """
        self._settings = settings_of(spark)
        check(self._settings, spark.version)
        tell_once(self._settings)
        self.shards = shards
        self.tasks = 1
        """How many tasks a stage has: each goes through the level of several shards, one after the other."""
        self.places: Mapping[int, str] = {}
        self._functions = functions
        self.session = spark
        """The user's."""
        self._session = own_session(spark, shards)
        self._width = str(self._session.conf.get(_PARTITIONS))
        imports = tuple(sorted({name.rpartition(".")[0] for name in functions if name}))
        self._pool = Pool(taken(), imports, is_kept(self._settings), side_by_side(self._settings))
        self._bringer = Bringer(self._session, functions)
        self._keepers = direct.keepers_of(self._settings)
        self._profile = profile_of(self._settings)
        self._number = next(_numbers)
        self._anchor = self._anchor_of(self._session)
        self._patient_until = 0.0
        self._lock = threading.Lock()
        self._is_closed = False
        try:
            self._place()
        except BaseException:
            if self._keepers is not None:
                self._keepers.close()
            release(self._pool.name)
            raise
        self._heartbeat = Heartbeat(self._beat, heartbeat)

    @as_one_error("cannot run a commit on the cluster")
    def run(self, order: bytes, levels: int, changes: Changes) -> list[Status]:
        """One commit: every status of every group and level, by group and level. Raises ClusterError if the job fails.

        The first level gets what `ingest` makes of the changes, each further one what the level before sent. Cost: a
        request to each keeper and level, and before them, for rows that are Spark's, a job that makes messages of
        them. Where keepers are not all reached a Spark job of `levels` stages, and one more for DataFrames. Nothing
        grows with the rows on the driver but what it holds.
        """
        with self._working():
            if not self._is_balanced():
                self._place()
            held, changes = self._brought(order, changes)
            statuses = self._by_keepers(order, levels, held) if changes.are_here else None
            if statuses is None:
                rows = self._chain(order, levels, changes, held).collect()
                places = {row.dst: row.place for row in rows}
                self.places = {s: places[s % self.tasks] for s in range(self.shards) if s % self.tasks in places}
                statuses = sorted(Status(row.dst, row.level, bytes(row.payload)) for row in rows)
            groups = self.tasks
        if len(statuses) != groups * levels:
            raise ClusterError(f"{len(statuses)} statuses came back of {groups} groups at {levels} levels")
        return statuses

    def read(self, function: str, argument: bytes, schema: Any, session: SparkSession | None = None) -> DataFrame:
        """What `function(argument, shard)` gives, as a DataFrame of a session, made where the shards are.

        `function`: a dotted name; it gives record batches of `schema`, which is Spark's. It is called when the
        DataFrame is used, each time anew, and perhaps more than once. `session`: the user's own, if None.
        """
        self._check_open()
        return self._among_shards(session or self.session, Read(function, argument, versions()), schema)

    def answers(self, function: str, argument: bytes, schema: Any) -> list[pa.Table]:
        """What `read` would give of all shards, brought here; where they are reached without a job, without one."""
        what = Read(function, argument, versions())
        self._check_open()
        if (keepers := self._reached()) is not None:
            try:
                found = direct.read(keepers, self.places, what)
                return [pa.ipc.open_stream(stream).read_all() for _, stream in found]
            except Unreached as error:
                direct.told(error)
        return [self.read(function, argument, schema, self._session).toArrow()]

    def apart(self, settings: Mapping[str, str]) -> SparkSession:
        """A new session beside the user's, with these settings of queries."""
        session = self.session.newSession()
        for name, value in settings.items():
            session.conf.set(name, value)
        return session

    def anew(self, shards: int) -> SparkTransport:
        """So many other shards of the same session, beside these, in workers of their own; see `__init__`."""
        return SparkTransport(self.session, shards, self._functions)

    def close(self) -> None:
        """Stop the heartbeat and let go of the places. Further calls do nothing."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
        self._heartbeat.stop()
        if is_running(self._session):
            self._anchor.unpersist()
        if self._keepers is not None:
            self._keepers.close()
        release(self._pool.name)

    def _anchor_of(self, session: SparkSession) -> DataFrame:
        return anchor(session, self.shards, self.tasks, self._number)

    def _among_shards(self, session: SparkSession, function: Any, schema: Any) -> DataFrame:
        """What a function gives at each shard."""
        with self._pool.of(session.sparkContext):
            return self._anchor_of(session).mapInArrow(function, schema, profile=self._profile)

    def _reached(self) -> Keepers | None:
        """The processes of all shards, if the driver can ask them."""
        keepers = self._keepers
        return keepers if keepers is not None and keepers.are_there(self.places.values()) else None

    def _brought(self, order: bytes, changes: Changes) -> tuple[list[Message], Changes]:
        """The messages that the driver holds, and the changes that are none yet. Where levels need no job, rows that
        are Spark's are such messages by now.

        They stay these whatever happens at a level: a DataFrame that is used again might have other rows.
        """
        held = self._held(order, changes)
        if changes.are_here or self._reached() is None:
            return held, changes
        brought = self._bringer.messages(order, self.tasks, changes)
        return (held, changes) if brought is None else ([*held, *brought], Changes({}, {}))

    def _by_keepers(self, order: bytes, levels: int, held: Sequence[Message]) -> list[Status] | None:
        """The same as a job, without one; None if somebody cannot be reached."""
        if (keepers := self._reached()) is None:
            return None
        stages = [self._stage(order, level, levels, {}) for level in range(1, levels + 1)]
        places = {group: self.places[group] for group in range(self.tasks)}
        try:
            found = direct.run(keepers, places, stages, _by_group(held))
        except Unreached as error:  # by Spark it goes on whatever has died
            direct.told(error)
            return None
        return sorted(Status(*each) for each in found)

    def _stage(self, order: bytes, level: int, levels: int, given: Mapping[int, Sequence[bytes]]) -> LevelTask:
        return LevelTask(self._functions.task, order, self.tasks, level, level == levels, versions(), given, self._home)

    @property
    def _home(self) -> Home | None:
        return None if self._keepers is None else self._keepers.home

    def _chain(self, order: bytes, levels: int, changes: Changes, held: Sequence[Message]) -> DataFrame:
        """The job of a commit: its stages, one behind the other."""
        frames, given = self._first(order, changes, held)
        for level in range(1, levels + 1):
            stage = self._stage(order, level, levels, given if level == 1 else {})
            source = self._anchor
            if frames is not None:
                # Its hint says that the anchor is held in memory; messages pass by. Its being left, that this is our
                # session's query, whosever frames they are.
                routed = frames.repartitionById(self.tasks, "dst")
                source = source.hint("shuffle_hash").join(routed, "dst", "left")
            with self._pool.of(self._session.sparkContext):
                frames = source.mapInArrow(stage, STATUSES if stage.is_last else FRAMES, profile=self._profile)
        assert frames is not None
        return frames

    def _first(
        self, order: bytes, changes: Changes, held: Sequence[Message]
    ) -> tuple[DataFrame | None, dict[int, list[bytes]]]:
        """The messages of the first level: as a frame, and those that go with the task."""
        frames = self._bringer.frames(order, self.tasks, changes)
        if sum(len(payload) for _, payload in held) > MOST_GIVEN:
            frames.append(self._bringer.of_driver(held))
            held = ()
        return together(frames) if frames else None, _by_group(held)

    def _held(self, order: bytes, changes: Changes) -> list[Message]:
        """What the driver has for groups itself, and what shards have."""
        ingest = named(self._functions.ingest)
        made = (ingest(order, self.tasks, table, iter(rows.to_batches()), None) for table, rows in changes.rows.items())
        return [*changes.messages(self.tasks), *itertools.chain.from_iterable(made)]

    @contextmanager
    def _working(self) -> Iterator[None]:
        """One job at a time, and no heartbeat meanwhile or soon after."""
        with self._lock:
            self._check_open()
            try:
                with scheduled_apart(self._session):
                    yield
            finally:
                self._heartbeat.note()

    def _check_open(self) -> None:
        if self._is_closed:
            raise InterfaceError("cannot use a cluster that is closed; connect again")

    @as_one_error("cannot place the shards on the cluster")
    def _place(self) -> None:
        """Place all shards anew, balanced over the executors that there are. What moves is loaded where it comes to."""
        self._anchor.unpersist(blocking=True)
        self.tasks = self._most_tasks()
        # Spark shuffles what is one partition again, for each join, into as many as this says.
        self._session.conf.set(_PARTITIONS, "1" if self.tasks == 1 else self._width)
        self._anchor = self._anchor_of(self._session)
        self._anchor.persist(StorageLevel.MEMORY_AND_DISK)
        self._round(FILLING)
        if not self._has_balance():
            self._patient_until = time.monotonic() + PATIENCE

    def _round(self, seconds: float) -> None:
        """A stage of tasks that do nothing for some seconds."""
        work = Round(tuple(filter(None, self._functions)), seconds, versions(), self._home)
        self.places = {row.dst: row.place for row in self._among_shards(self._session, work, PLACES).collect()}

    def _is_balanced(self) -> bool:
        """False if shards should be placed anew: some executor has too many, or none, and that was not just tried.

        One that is lost has a successor soon, as a rule: so there may be more tasks than executors, until a pause.
        """
        return time.monotonic() < self._patient_until or self._has_balance()

    def _has_balance(self) -> bool:
        return self.tasks >= self._most_tasks() and is_balanced(self.places.values(), executors(self._session))

    def _most_tasks(self) -> int:
        return min(self.shards, most_tasks(self._session, self._settings))

    def _beat(self) -> None:
        """Something to do for each worker, and the time to see whether shards are balanced; unless a commit runs."""
        if not self._lock.acquire(blocking=False):
            return
        try:
            if not self._is_closed and is_running(self._session):
                with scheduled_apart(self._session):
                    self._rest()
        finally:
            self._lock.release()

    def _rest(self) -> None:
        """What is done between commits. What fails here fails again, and is told, in the next commit."""
        try:
            is_patient = time.monotonic() < self._patient_until
            if is_patient or (self._has_balance() and self.tasks == self._most_tasks()):
                if self._reached() is None:
                    self._round(0)
            else:
                self._place()
        except Exception:  # noqa: BLE001  of Spark, or of what is left of it
            self._patient_until = time.monotonic() + PATIENCE


_PARTITIONS = "spark.sql.shuffle.partitions"
_numbers = itertools.count(1, 1 << 20)
"""What tells anchors of one Spark application apart."""


def _by_group(messages: Sequence[Message]) -> dict[int, list[bytes]]:
    found: dict[int, list[bytes]] = {}
    for to, payload in messages:
        found.setdefault(to, []).append(payload)
    return found

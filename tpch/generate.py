"""Generate TPC-H change streams: tables, then each stream, then, when everything is there, its final name."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from ivm.progress import Tell
from ivm.tpch import manifest
from ivm.tpch.errors import GenerateError
from ivm.tpch.manifest import Entry, File, Manifest
from ivm.tpch.options import DEFAULT_SEED, DEFAULTS, SMALLEST_SCALE, STREAMS, Options
from ivm.tpch.schema import DIFF, TIME, relations, update_columns
from ivm.tpch.source import Generated, generate_tables
from ivm.tpch.spark import session, watched
from ivm.tpch.streams import churn, load, refresh, window
from ivm.tpch.streams.plan import BASE_TIME, INSERT, Plan, RelationChanges, updates

_ROWS_PER_FILE = 1_500_000
_LONG = 0.1
"""From this scale factor on Spark works for so long that Java's better compiler pays."""


def generate(
    sf: float,
    streams: Sequence[str],
    out: Path,
    seed: int = DEFAULT_SEED,
    options: Options = DEFAULTS,
    progress: Tell = lambda step, done, total: None,
) -> dict[str, Manifest]:
    """Make `out`/<stream> for each of `streams` at scale factor `sf`; the manifests by stream.

    Deterministic for (sf, seed, options), whatever the number of parts or machines. Raises GenerateError if a
    parameter is out of range or a target exists, SetupError if Java or the generator is missing; nothing half-made
    stays. Cost at scale factor 1 on 2 cores: one to three minutes per stream, at most 4 GB of memory.
    """
    _check(sf, streams, out, options)
    out.mkdir(parents=True, exist_ok=True)
    making_place = tempfile.TemporaryDirectory(prefix=".making-", dir=out, ignore_cleanup_errors=True)
    with making_place as scratch, session(brief=sf < _LONG) as spark, _explained():
        progress("tables", 0, 0)
        source = generate_tables(spark, sf, Path(scratch, "tables"), options.parts)
        plans = {stream: _plan(stream, source, sf, seed, options) for stream in streams}
        making = _Making(source, Path(scratch), progress, _total_rows(source, plans))
        made = {stream: making.stream(stream, plan, sf, seed) for stream, plan in plans.items()}
        for stream in streams:
            Path(scratch, stream).rename(out / stream)
    return made


@contextlib.contextmanager
def _explained() -> Iterator[None]:
    """Turn what Spark raises, a page of traces around the cause, into one line."""
    try:
        yield
    except PySparkException as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        causes = [line for line in lines if "Error: " in line or line.startswith("Caused by")]
        raise GenerateError(f"generation failed in Spark: {(causes or lines)[-1]}") from error


def _check(sf: float, streams: Sequence[str], out: Path, options: Options) -> None:
    if not sf >= SMALLEST_SCALE:
        raise GenerateError(f"scale factor {sf:g} is too small; the smallest is {SMALLEST_SCALE}")
    unknown = [stream for stream in streams if stream not in STREAMS]
    if unknown or not streams:
        raise GenerateError(f"{', '.join(unknown) or 'nothing'} is not a stream; they are {', '.join(STREAMS)}")
    for name in ("parts", "pairs", "updates", "window"):
        value = getattr(options, name)
        if value is not None and value < 1:
            raise GenerateError(f"{name} = {value} is out of range; give at least 1")
    for stream in streams:
        if (out / stream).exists():
            raise GenerateError(f"{out / stream} exists already; remove it or choose another directory")


def _plan(stream: str, source: Generated, sf: float, seed: int, options: Options) -> Plan:
    if stream == "load":
        return load.plan(source)
    if stream == "refresh":
        return refresh.plan(source, sf, seed, options.pairs)
    if stream == "churn":
        return churn.plan(source, sf, seed, options.updates)
    return window.plan(source, options.window)


def _total_rows(source: Generated, plans: dict[str, Plan]) -> int:
    """About how many rows will be written: each base relation once, and all changes."""
    base = {relation for plan in plans.values() for relation in plan.base}
    changes = sum(change.rows for plan in plans.values() for change in plan.changes)
    return changes + sum(source.rows(relation) for relation in base)


@dataclass(slots=True)
class _Making:
    """One run: base snapshots are the same in every stream, so that each relation's is written once and linked."""

    source: Generated
    scratch: Path
    progress: Tell
    total: int
    done: int = 0
    bases: dict[str, tuple[File, ...]] = field(default_factory=dict)

    def stream(self, name: str, plan: Plan, sf: float, seed: int) -> Manifest:
        directory = self.scratch / name
        directory.mkdir()
        base = {relation: self._base(relation, name) for relation in plan.base}
        changes: dict[str, tuple[File, ...]] = {}
        for change in plan.changes:
            with self._step(f"{name}: {change.relation}", change.rows):
                changes[change.relation] = _write_changes(change, directory)
        grows = {change.relation: change.append_only for change in plan.changes}
        entries = {
            name: Entry(update_columns(relation), grows.get(name, True), base.get(name, ()), changes.get(name, ()))
            for name, relation in relations().items()
        }
        made = Manifest(manifest.FORMAT, name, sf, seed, plan.parameters, plan.first_time, plan.last_time, entries)
        manifest.write(made, directory)
        self.progress(f"{name}: done", self.done, self.total)
        return made

    def _base(self, relation: str, stream: str) -> tuple[File, ...]:
        if relation not in self.bases:
            with self._step(f"{stream}: {relation} before", self.source.rows(relation)):
                self.bases[relation] = _write_base(self.source, relation, self.scratch / "snapshot")
        _link(self.bases[relation], self.scratch / "snapshot", self.scratch / stream)
        return self.bases[relation]

    @contextlib.contextmanager
    def _step(self, step: str, rows: int) -> Iterator[None]:
        """Report a piece of work that writes about `rows` rows while it goes on, and when it is done."""

        def tell(share: float) -> None:
            self.progress(step, self.done + int(share * rows), self.total)

        tell(0.0)
        with watched(self.source.spark.sparkContext, tell):
            yield
        self.done += rows


def _write_changes(changes: RelationChanges, directory: Path) -> tuple[File, ...]:
    """Write `changes` into `directory`/changes; the files in time order. Cost: a Spark job, with a sort if needed."""
    frame = changes.frame
    if not changes.in_order:
        files = -(-changes.rows // _ROWS_PER_FILE)
        key = relations()[changes.relation].primary_key
        frame = frame.repartitionByRange(files, TIME).sortWithinPartitions(TIME, DIFF, *key)
    made = directory / f"{changes.relation}.making"
    frame.write.parquet(str(made))
    return _gather(made, directory, f"changes/{changes.relation}")


def _write_base(source: Generated, relation: str, directory: Path) -> tuple[File, ...]:
    """Write all generated rows of `relation`, at time 1, into `directory`/base."""
    made = directory / f"{relation}.making"
    updates(source.frame(relation), relation, F.lit(BASE_TIME), INSERT).write.parquet(str(made))
    return _gather(made, directory, f"base/{relation}")


def _link(files: Sequence[File], origin: Path, directory: Path) -> None:
    """Put files that exist under `origin` under `directory` too, as further names of the same data where possible."""
    for file in files:
        target = directory / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(origin / file.path, target)
        except OSError:  # a file system without hard links
            shutil.copyfile(origin / file.path, target)


def _gather(made: Path, directory: Path, place: str) -> tuple[File, ...]:
    """Move what Spark wrote to its final names, in the order of time and, where that is equal, of the first column.

    The first column leads the primary key, which the generator counts up: so a base snapshot, all at one time, keeps
    the generator's order, although Spark numbers its partitions by their size.
    """
    (directory / place).mkdir(parents=True)
    found = [_Written(path, pq.read_metadata(path)) for path in made.glob("*.parquet")]
    files: list[File] = []
    for written in sorted((written for written in found if written.meta.num_rows), key=_Written.order):
        first, last = written.bounds(TIME)
        if files and first < files[-1].last_time:
            raise GenerateError(f"{place}: the times of two files overlap; please report this as a defect")
        name = f"{place}/{len(files):05}.parquet"
        os.rename(written.path, directory / name)
        files.append(File(name, written.meta.num_rows, (directory / name).stat().st_size, first, last))
    shutil.rmtree(made)
    return tuple(files)


@dataclass(frozen=True, slots=True)
class _Written:
    """A file as Spark left it, with its footer."""

    path: Path
    meta: pq.FileMetaData

    def bounds(self, column: str) -> tuple[int, int]:
        """The lowest and the highest value of an integer column, by the statistics of the row groups."""
        position = self.meta.schema.names.index(column)
        found = [self.meta.row_group(group).column(position).statistics for group in range(self.meta.num_row_groups)]
        return min(int(stats.min) for stats in found), max(int(stats.max) for stats in found)

    def order(self) -> tuple[int, int]:
        """What the files of a relation are sorted by."""
        return self.bounds(TIME)[0], self.bounds(self.meta.schema.names[0])[0]

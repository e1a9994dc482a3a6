"""Write the updates of one relation as Parquet files whose names, and rows, are in the order of time."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import functions as F

from tpch.errors import GenerateError
from tpch.manifest import File
from tpch.schema import DIFF, TIME, relations
from tpch.source import Generated
from tpch.streams.plan import BASE_TIME, INSERT, RelationChanges, updates

_ROWS_PER_FILE = 1_500_000


def write_changes(changes: RelationChanges, directory: Path) -> tuple[File, ...]:
    """Write `changes` into `directory`/changes; the files in time order. Cost: a Spark job, with a sort if needed."""
    frame = changes.frame
    if not changes.in_order:
        files = -(-changes.rows // _ROWS_PER_FILE)
        key = relations()[changes.relation].primary_key
        frame = frame.repartitionByRange(files, TIME).sortWithinPartitions(TIME, DIFF, *key)
    made = directory / f"{changes.relation}.making"
    frame.write.parquet(str(made))
    return _gather(made, directory, f"changes/{changes.relation}")


def write_base(source: Generated, relation: str, directory: Path) -> tuple[File, ...]:
    """Write all generated rows of `relation`, at time 1, into `directory`/base."""
    made = directory / f"{relation}.making"
    updates(source.frame(relation), relation, F.lit(BASE_TIME), INSERT).write.parquet(str(made))
    return _gather(made, directory, f"base/{relation}")


def link(files: Sequence[File], origin: Path, directory: Path) -> None:
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

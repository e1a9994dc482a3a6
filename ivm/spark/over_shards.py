"""Views of a database over shards, in a cluster's folder, as the data source `ivm` reads them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from ivm.catalog.errors import BindError
from ivm.catalog.schema import View
from ivm.cluster.files.files import Files
from ivm.cluster.files.folders import folder_of
from ivm.cluster.following.following import Changes, Contents, Following
from ivm.spark.asked import BEFORE_ALL, Asked, marked_changes


@dataclass
class Part(InputPartition):
    """What one task reads: files of changes, or what a shard held."""

    asked: Asked
    found: Changes | Contents

    def rows(self) -> Iterator[pa.Table]:
        """The rows, from their files; no shard is asked."""
        for changes in self.found.rows(Files(folder_of(self.asked.path))):
            rows = marked_changes(changes)
            yield rows if self.asked.changes else rows.select(range(rows.num_columns - 2))


class OverShards:
    """See `ivm.spark.source.Origin`: here pages are read, and in tasks the files that they name."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._following = Following(Files(folder_of(asked.path)))

    def known(self) -> tuple[int, View]:
        """See `Origin.known`. BindError for a view whose changes nobody writes down."""
        time, catalog = self._following.known()
        view = self._asked.view_of(catalog)
        if not view.change_feed:
            raise BindError(
                f"cannot read view {view.name} of {self._asked.path}: what changes in it is not written down; create "
                f"it by CREATE OR REPLACE MATERIALIZED VIEW {view.name} WITH (change_feed = true) AS SELECT ..."
            )
        return time, view

    def parts(self, after: int, until: int, mark: str) -> Sequence[InputPartition]:
        """One for each shard, or one in all, where they tell halves of changes."""
        _, view = self.known()
        if view.mark != mark:
            raise self._asked.created_anew()
        if not self._asked.changes or after == BEFORE_ALL:
            return [Part(self._asked, each) for each in self._following.contents(view, until)]
        return [Part(self._asked, each) for each in self._following.changes(view, after, until)]

"""Views of a database in one piece, in a directory, as the data source `ivm` reads them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import InputPartition

import ivm
from ivm.arguments import MOST
from ivm.catalog.schema import View
from ivm.durable.outline import outline
from ivm.session.database import core_of
from ivm.spark.asked import BEFORE_ALL, Asked, marked, marked_changes


@dataclass
class Part(InputPartition):
    """What one task reads: the changes after one time up to another; the rows there are at that, if `after` is -1.

    `mark`: of the view that it is of, which may have been created anew since.
    """

    asked: Asked
    after: int
    until: int
    mark: str

    def rows(self) -> Iterator[pa.Table]:
        """The rows. Cost: the directory is opened, see `ivm.connect`."""
        asked = self.asked
        with ivm.connect(asked.path, read_only=True, history=MOST, compile="off") as db:
            view = db.view(asked.view)
            if core_of(db).catalog.view(asked.view).mark != self.mark:
                raise asked.created_anew()
            if not asked.changes:
                yield view.arrow()
            elif self.after == BEFORE_ALL:
                rows = view.arrow(as_of=self.until)
                ones = np.ones(rows.num_rows, np.int64)
                yield marked(rows, ones * self.until, ones)
            else:
                yield marked_changes(view.changes(self.after, self.until))


@dataclass
class OnePiece:
    """See `ivm.spark.source.Origin`: each task opens the directory."""

    asked: Asked

    def known(self) -> tuple[int, View]:
        """See `Origin.known`. Cost: the log since the last checkpoint is read."""
        found = outline(self.asked.path)
        return found.time, self.asked.view_of(found.catalog)

    def parts(self, after: int, until: int, mark: str) -> Sequence[InputPartition]:
        """One: the view is put together in one place."""
        return [Part(self.asked, after, until, mark)]

"""Loads files by all executors: the rows of a query over them go from tasks that read them to the shards."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial

from ivm.catalog.schema import Table
from ivm.cluster.driver.loader import Load, Loader
from ivm.cluster.protocol.terms import Unlike
from ivm.cluster.queries.file_parts import FileParts, columns_of, parts_of
from ivm.cluster.queries.file_queries import file_query
from ivm.spark.cluster import carrier_of

LARGE_FILES = 1 << 22
"""Files of so many bytes are read by tasks: of fewer, several jobs take longer than one process that reads all."""
_told = logging.getLogger("ivm")


class FileLoader(Loader):
    """See `Loader`. For files: a job as that of a commit, and two more that ask how many rows there are."""

    def columns_of(self, query: str) -> Sequence[str] | None:
        """See `Loader.columns_of`."""
        own = super().columns_of(query)
        if own is not None or not self.core.external_access:
            return own
        return columns_of(query) if file_query(query) is not None else None

    def load(self, table: Table, query: str, text: str, load: Load) -> int | None:
        """See `Loader.load`."""
        loaded = super().load(table, query, text, load)
        if loaded is not None or not self.core.external_access:
            return loaded
        parts = self._parts(text)
        if parts is None:
            return None
        with self.core.lock:
            carrier_of(self.driver).declared = {table.name: table}
            return _unless_unlike(partial(load, table, parts))

    def _parts(self, query: str) -> FileParts | None:
        """The parts of a query over files that are so large that it saves something."""
        with self.core.lock:
            readers = carrier_of(self.driver).readers
        found = parts_of(query, readers)
        if found is None or found.bytes < LARGE_FILES:
            return None
        return None if any(self.core.catalog.find(path) is not None for path in found.paths) else found


def _unless_unlike(load: Callable[[], int | None]) -> int | None:
    """What a load gives; None, and nothing has happened, if the files cannot be read alike everywhere."""
    try:
        return load()
    except Unlike as error:
        _told.warning("cannot load files by all executors: %s; so the driver reads them", error)
        return None

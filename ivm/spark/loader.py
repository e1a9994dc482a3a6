"""Loads files by all executors: the rows of a query over them go from tasks that read them to the shards."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial

from ivm.catalog.errors import ClusterError, Error
from ivm.catalog.schema import Table
from ivm.cluster.database import ShardedCore
from ivm.cluster.driver import Driver
from ivm.cluster.file_parts import FileParts, columns_of, parts_of
from ivm.cluster.file_queries import file_query
from ivm.cluster.protocol import Unlike
from ivm.spark.cluster import carrier_of
from ivm.spark.scans import LARGE_SCAN

_told = logging.getLogger("ivm")


class Loader:
    """See `ivm.session.serving.Loads`.

    Cost: a job as that of a commit, and two more that ask how many rows there are.
    """

    def __init__(self, core: ShardedCore) -> None:
        self._core = core

    def insert(self, table: Table, query: str, form: Callable[[Sequence[str]], str]) -> int | None:
        """See `ivm.session.serving.Loads`."""
        columns = columns_of(query) if file_query(query) is not None else None
        parts = None if columns is None else self._parts(form(columns))
        if parts is None:
            return None
        with self._core.lock:
            return _unless_unlike(partial(self._insert, table, parts))

    def create(self, table: Table, query: str, create: Callable[[], None]) -> int | None:
        """See `ivm.session.serving.Loads`."""
        parts = self._parts(query)
        if parts is None:
            return None
        with self._core.lock:
            return _unless_unlike(partial(self._create, table, parts, create))

    def _insert(self, table: Table, parts: FileParts) -> int | None:
        core, driver = self._core, self._core.driver
        if core.catalog.find(table.name) is not table:
            return None
        carrier_of(driver).declared = {table.name: table}
        before = driver.tables[table.name].count
        driver.commit_frames({table.name: parts}, "insert")
        return _rows_of(driver, table.name) - before

    def _create(self, table: Table, parts: FileParts, create: Callable[[], None]) -> int:
        driver = self._core.driver
        carrier_of(driver).declared = {table.name: table}
        driver.beginnings = {table.name: parts}
        try:
            create()
        finally:
            driver.beginnings = {}
        return _rows_of(driver, table.name)

    def _parts(self, query: str) -> FileParts | None:
        """The parts of a query over files that are so large that it saves something."""
        with self._core.lock:
            readers = carrier_of(self._core.driver).readers
        found = parts_of(query, readers)
        if found is None or found.bytes < LARGE_SCAN:
            return None
        return None if any(self._core.catalog.find(path) is not None for path in found.paths) else found


def _rows_of(driver: Driver, table: str) -> int:
    """How many rows a table has now. ClusterError, which says that they are there, if shards cannot tell."""
    try:
        return driver.tables[table].count
    except Error as error:
        raise ClusterError(
            f"all rows were loaded into table {table}, but cannot be counted now: {error}; do not load them again"
        ) from error


def _unless_unlike(load: Callable[[], int | None]) -> int | None:
    """What a load gives; None, and nothing has happened, if the files cannot be read alike everywhere."""
    try:
        return load()
    except Unlike as error:
        _told.warning("cannot load files by all executors: %s; so the driver reads them", error)
        return None

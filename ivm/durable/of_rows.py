"""A database's directory that is made of rows, which come from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from ivm.catalog.catalog import Catalog
from ivm.durable.files import Files
from ivm.durable.manifest import Manifest, Part, TableFiles, write_manifest
from ivm.durable.payload import definition_of
from ivm.durable.rows import PART_ROWS
from ivm.storage.certain import NAME as CERTAIN
from ivm.storage.certain import note
from ivm.storage.directory import Directory
from ivm.storage.log import log_name


class DirectoryOfRows:
    """Writes an empty directory full: rows of tables, in any order of these, and at last what exists.

    Whoever opens it fills its views.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._tables: dict[str, list[Part]] = {}

    def __enter__(self) -> DirectoryOfRows:
        self._storage = Directory(self._path)
        self._files = Files(self._storage, 1)
        return self

    def __exit__(self, *error: object) -> None:
        self._storage.close()

    def write(self, table: str, rows: pa.Table) -> None:
        """More rows of a table, with its columns. StorageError if they cannot be written."""
        for first in range(0, rows.num_rows, PART_ROWS):
            some = rows.slice(first, PART_ROWS)
            written = self._files.write("rows", some.to_batches())
            self._tables.setdefault(table, []).append(Part(written, some.num_rows))

    def end(self, catalog: Catalog, time: int, batches: Mapping[str, int]) -> None:
        """Let it be a database with these tables and views, at a logical time, after these batches of sources.

        OSError, or StorageError, if that is not possible.
        """
        self._storage.put(log_name(1), [])
        self._storage.put(CERTAIN, [note(0)])
        tables = {
            each.name: TableFiles(self._tables.get(each.name, ()), None, time, None)
            for each in catalog.lasting().tables
        }
        defined = definition_of(catalog.lasting())
        write_manifest(self._storage, Manifest(0, time, self._files.next, batches, defined, {}, {}, tables, {}))

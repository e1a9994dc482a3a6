"""What a directory holds, as far as it can be told without opening it."""

from __future__ import annotations

from contextlib import closing
from os import PathLike
from typing import NamedTuple

import pyarrow as pa

from ivm.catalog.catalog import Catalog
from ivm.catalog.errors import StorageError
from ivm.durable.manifest import read_manifest
from ivm.durable.payload import COMMIT, catalog_of, read_head
from ivm.storage.certain import check_end
from ivm.storage.directory import Directory
from ivm.storage.log import first_of, log_files
from ivm.storage.pinned import pinned
from ivm.storage.record import Torn, records
from ivm.storage.storage import read_file


class Outline(NamedTuple):
    """The logical time of the last commit, and what exists."""

    time: int
    catalog: Catalog


def outline(path: str | PathLike[str]) -> Outline:
    """Those of the database in a directory, whoever writes to it meanwhile.

    StorageError for a directory that holds none, or cannot be read. Cost: reads the log since the last checkpoint.
    """
    with closing(Directory(path, writable=False)) as directory:
        storage = pinned(directory)
    manifest = read_manifest(storage)
    record, time, catalog = 0, 0, Catalog()
    if manifest is not None:
        record, time, catalog = manifest.record, manifest.time, catalog_of(manifest.defined)
    for name in log_files(storage):
        first, where = first_of(name), storage.where(name)
        for found in records(read_file(storage, name), first, where) if first > record else ():
            if isinstance(found, Torn):
                break
            record = found.number
            try:
                head, _ = read_head(found.payload)
                time = int(head["time"])
                if found.kind != COMMIT:
                    catalog = catalog_of(head, catalog)
            except (KeyError, TypeError, ValueError, pa.ArrowException) as error:
                raise StorageError(
                    f"cannot read {where}: record {found.number} is not understood: {error!r}; see `ivm check`"
                ) from error
    check_end(storage, record)
    return Outline(time, catalog)

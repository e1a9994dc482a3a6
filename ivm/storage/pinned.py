"""The files of a storage as they were at one moment, while another process writes and replaces them."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from contextlib import suppress

import pyarrow as pa

from ivm.catalog.errors import StorageError
from ivm.storage.certain import NAME as CERTAIN
from ivm.storage.log import first_of, log_files
from ivm.storage.record import Gap, whole_records
from ivm.storage.storage import Readable

_TRIES = 100


class Pinned:
    """See `ivm.storage.storage.Readable`. What is removed meanwhile can be read all the same."""

    def __init__(self, storage: Readable, files: Mapping[str, pa.Buffer | OSError]) -> None:
        self._storage = storage
        self._files = files

    def where(self, name: str = "") -> str:
        """See `Readable.where`."""
        return self._storage.where(name)

    def names(self) -> list[str]:
        """See `Readable.names`."""
        return sorted(self._files)

    def read(self, name: str, *, mapped: bool = True) -> pa.Buffer:
        """See `Readable.read`."""
        found = self._files.get(name)
        if found is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        if isinstance(found, OSError):
            raise found
        return found


def pinned(storage: Readable) -> Pinned:
    """The files of a storage as they are now. StorageError if they are replaced again and again meanwhile.

    If all that was there when it began is there when it ends, and nothing else, it was all there at one time; what is
    replaced as a whole (the manifest) says nothing that is not there. It is read before the files that it names, in the
    order of names, so that these were whole. Files of a log may be cut off, so they are read; the others are never
    changed, and mapped. How far the log is certain is read before it, which only goes on. Cost: reads the log, and sums
    up its last file.
    """
    for _ in range(_TRIES):
        names = storage.names()
        logs = log_files(storage)
        try:
            in_turn = sorted(names, key=lambda name: name != CERTAIN)
            files = {name: _read(storage, name, mapped=name not in (CERTAIN, *logs)) for name in in_turn}
            files |= {name: _met(storage, name, files[name]) for name in logs[-1:]}
        except FileNotFoundError:
            continue
        if storage.names() == names:
            return Pinned(storage, files)
    raise StorageError(
        f"cannot read {storage.where()}: its files were replaced {_TRIES} times while they were read; try again when "
        "less is written"
    )


def _read(storage: Readable, name: str, *, mapped: bool) -> pa.Buffer | OSError:
    try:
        return storage.read(name, mapped=mapped)
    except FileNotFoundError:
        raise
    except OSError as error:
        return error


def _met(storage: Readable, name: str, read: pa.Buffer | OSError) -> pa.Buffer | OSError:
    """What was read of the file of a log that is written, without what never was so.

    Reading takes a while, in which the commit that was under way may be decided, and others follow: then its place is
    as it was before, and what is behind it as it is now, which looks like damage. Read again it is whole; what is not
    is damaged.
    """
    before = None
    for _ in range(_TRIES):
        gap = None if isinstance(read, OSError) else _first_gap(read, first_of(name))
        if gap is None or gap == before:
            break
        read, before = _read(storage, name, mapped=False), gap
    return read


def _first_gap(data: pa.Buffer, first: int) -> int | None:
    """The number of the first record that is damaged in the middle of a log's file; None if none is."""
    with suppress(StorageError):  # which whoever reads it is told
        return next((found.number for found in whole_records(data, first) if isinstance(found, Gap)), None)
    return None

"""The files of a storage as they were at one moment, while another process writes and replaces them."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from typing import NoReturn

import pyarrow as pa

from catalog.errors import StorageError
from ivm.storage.certain import NAME as CERTAIN
from ivm.storage.log import log_files
from ivm.storage.storage import Storage

_TRIES = 100


class Pinned:
    """See `ivm.storage.storage.Storage`. Nothing can be changed; what is removed meanwhile can be read all the same."""

    writable = False

    def __init__(self, storage: Storage, files: Mapping[str, pa.Buffer | OSError]) -> None:
        self._storage = storage
        self._files = files

    def where(self, name: str = "") -> str:
        """See `Storage.where`."""
        return self._storage.where(name)

    def names(self) -> list[str]:
        """See `Storage.names`."""
        return sorted(self._files)

    def read(self, name: str, *, mapped: bool = True) -> pa.Buffer:
        """See `Storage.read`."""
        found = self._files.get(name)
        if found is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        if isinstance(found, OSError):
            raise found
        return found

    def create(self, name: str) -> NoReturn:
        """Not here: OSError."""
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    def open(self, name: str) -> NoReturn:
        """Not here: OSError."""
        self.create(name)

    def rename(self, old: str, new: str) -> None:
        """Not here: OSError."""
        self.create(new)

    def remove(self, name: str) -> None:
        """Not here: OSError."""
        self.create(name)

    def sync_names(self) -> None:
        """There is nothing to sync."""

    def close(self) -> None:
        """There is nothing to close."""


def pinned(storage: Storage) -> Pinned:
    """The files of a storage as they are now. StorageError if they are replaced again and again meanwhile.

    If all that was there when it began is there when it ends, and nothing else, it was all there at one time; what is
    replaced as a whole (the manifest) says nothing that is not there. It is read before the files that it names, in the
    order of names, so that these were whole. Files of a log may be cut off, so they are read; the others are never
    changed, and mapped. How far the log is certain is read before it, which only goes on. Cost: reads the log.
    """
    for _ in range(_TRIES):
        names = storage.names()
        logs = log_files(storage)
        try:
            in_turn = sorted(names, key=lambda name: name != CERTAIN)
            files = {name: _read(storage, name, mapped=name not in (CERTAIN, *logs)) for name in in_turn}
        except FileNotFoundError:
            continue
        if storage.names() == names:
            return Pinned(storage, files)
    raise StorageError(
        f"cannot read {storage.where()}: its files were replaced {_TRIES} times while they were read; try again when "
        "less is written"
    )


def _read(storage: Storage, name: str, *, mapped: bool) -> pa.Buffer | OSError:
    try:
        return storage.read(name, mapped=mapped)
    except FileNotFoundError:
        raise
    except OSError as error:
        return error

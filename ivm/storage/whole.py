"""Whole files, each written once: what a checkpoint needs of the place where its files are."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from typing import Protocol

from ivm.storage.storage import Readable, Storage

_SYNC_BYTES = 1 << 23
"""So many bytes are synced at a time, since a sync of the log may have to wait for them."""


class WholeFiles(Readable, Protocol):
    """Files that are never changed. Any thread reads; OSError, or StorageError, where a call is not possible."""

    def put(self, name: str, pieces: Iterable[bytes | memoryview]) -> None:
        """A new file of these, one after the other. Its bytes are certain on return; its name need not be."""
        ...

    def remove(self, name: str) -> None:
        """Let a file go, if it is there."""
        ...


class InStorage:
    """See `WholeFiles`: those of a storage. `Storage.sync_names` makes their names certain."""

    def __init__(self, storage: Storage) -> None:
        self.where = storage.where
        self.read = storage.read
        self.remove = storage.remove
        self._create = storage.create

    def put(self, name: str, pieces: Iterable[bytes | memoryview]) -> None:
        """See `WholeFiles.put`. Cost: a sync for every 8 MiB."""
        at = synced = 0
        with closing(self._create(name)) as file:
            for piece in pieces:
                file.write(at, [piece])
                at += len(piece)
                if at - synced >= _SYNC_BYTES:
                    file.sync()
                    synced = at
            file.sync()

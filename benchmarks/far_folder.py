"""A directory of which each call takes as long as one of an object store does, and whose calls are counted."""

from __future__ import annotations

import threading
import time
from os import PathLike

from ivm.storage.directory_folder import DirectoryFolder


class FarFolder(DirectoryFolder):
    """See `ivm.storage.folder.Folder`. Each call waits so many seconds, as long as `wait` says at that time.

    `files`: how many were written; `bytes`: how many these have.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        super().__init__(path)
        self.wait = 0.0
        self.files = 0
        self.bytes = 0
        self._counting = threading.Lock()

    def put(self, name: str, data: bytes) -> None:
        """See `Folder.put`."""
        self._written(data)
        super().put(name, data)

    def put_new(self, name: str, data: bytes) -> bool:
        """See `Folder.put_new`."""
        self._written(data)
        return super().put_new(name, data)

    def get(self, name: str) -> bytes:
        """See `Folder.get`."""
        time.sleep(self.wait)
        return super().get(name)

    def names(self, under: str) -> list[str]:
        """See `Folder.names`."""
        time.sleep(self.wait)
        return super().names(under)

    def remove(self, name: str) -> None:
        """See `Folder.remove`."""
        time.sleep(self.wait)
        super().remove(name)

    def _written(self, data: bytes) -> None:
        with self._counting:
            self.files += 1
            self.bytes += len(data)
        time.sleep(self.wait)

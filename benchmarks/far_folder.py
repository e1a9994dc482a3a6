"""A directory of which each call takes as long as one of an object store does, and whose calls are counted."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from os import PathLike

import pyarrow as pa

from ivm.storage.directory_folder import DirectoryFolder


class FarFolder(DirectoryFolder):
    """See `ivm.storage.storage.Shared`. Each call waits so many seconds, as long as `wait` says at that time.

    `files`: how many were written; `bytes`: how many these have.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        super().__init__(path)
        self.wait = 0.0
        self.files = 0
        self.bytes = 0
        self._counting = threading.Lock()

    def put(self, name: str, pieces: Iterable[bytes | memoryview]) -> None:
        """See `Shared.put`."""
        whole = b"".join(pieces)
        self._written(whole)
        super().put(name, [whole])

    def put_new(self, name: str, data: bytes) -> bool:
        """See `Shared.put_new`."""
        self._written(data)
        return super().put_new(name, data)

    def read(self, name: str, *, mapped: bool = True) -> pa.Buffer:
        """See `Shared.read`."""
        time.sleep(self.wait)
        return super().read(name)

    def names(self, under: str = "") -> list[str]:
        """See `Shared.names`."""
        time.sleep(self.wait)
        return super().names(under)

    def remove(self, name: str) -> None:
        """See `Shared.remove`."""
        time.sleep(self.wait)
        super().remove(name)

    def _written(self, data: bytes) -> None:
        with self._counting:
            self.files += 1
            self.bytes += len(data)
        time.sleep(self.wait)

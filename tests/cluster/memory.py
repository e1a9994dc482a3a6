"""A folder in memory."""

from __future__ import annotations

from collections.abc import Iterable
from threading import Lock

import pyarrow as pa


class MemoryFolder:
    """A folder in memory, for tests."""

    def __init__(self) -> None:
        self._folders: dict[str, dict[str, bytes]] = {}
        self._lock = Lock()

    def where(self, name: str = "") -> str:
        """See `Shared.where`."""
        return f"memory/{name}" if name else "memory"

    def put(self, name: str, pieces: Iterable[bytes | memoryview]) -> None:
        """See `Shared.put`."""
        self._beside(name)[name] = b"".join(pieces)

    def put_new(self, name: str, data: bytes) -> bool:
        """See `Shared.put_new`."""
        with self._lock:
            beside = self._beside(name)
            if name in beside:
                return False
            beside[name] = data
            return True

    def read(self, name: str, *, mapped: bool = True) -> pa.Buffer:
        """See `Shared.read`."""
        try:
            return pa.py_buffer(self._beside(name)[name])
        except KeyError:
            raise FileNotFoundError(2, "No such file", name) from None

    def names(self, under: str = "") -> list[str]:
        """See `Shared.names`."""
        return sorted(self._folders.get(under, ()))

    def remove(self, name: str) -> None:
        """See `Shared.remove`."""
        self._beside(name).pop(name, None)

    def remove_under(self, under: str) -> None:
        """See `Shared.remove_under`."""
        for name in self.all():
            if name.startswith(f"{under}/"):
                self.remove(name)

    def all(self) -> list[str]:
        """The names of all files, sorted."""
        return sorted(name for files in self._folders.values() for name in files)

    def _beside(self, name: str) -> dict[str, bytes]:
        """All files in the folder of a name."""
        return self._folders.setdefault(name.rpartition("/")[0], {})

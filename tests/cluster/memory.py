"""A folder in memory."""

from __future__ import annotations

from threading import Lock


class MemoryFolder:
    """A folder in memory, for tests."""

    def __init__(self) -> None:
        self._folders: dict[str, dict[str, bytes]] = {}
        self._lock = Lock()

    def where(self, name: str = "") -> str:
        """See `Folder.where`."""
        return f"memory/{name}" if name else "memory"

    def put(self, name: str, data: bytes) -> None:
        """See `Folder.put`."""
        self._beside(name)[name] = data

    def put_new(self, name: str, data: bytes) -> bool:
        """See `Folder.put_new`."""
        with self._lock:
            beside = self._beside(name)
            if name in beside:
                return False
            beside[name] = data
            return True

    def get(self, name: str) -> bytes:
        """See `Folder.get`."""
        try:
            return self._beside(name)[name]
        except KeyError:
            raise FileNotFoundError(2, "No such file", name) from None

    def names(self, under: str) -> list[str]:
        """See `Folder.names`."""
        return sorted(self._folders.get(under, ()))

    def remove(self, name: str) -> None:
        """See `Folder.remove`."""
        self._beside(name).pop(name, None)

    def all(self) -> list[str]:
        """The names of all files, sorted."""
        return sorted(name for files in self._folders.values() for name in files)

    def _beside(self, name: str) -> dict[str, bytes]:
        """All files in the folder of a name."""
        return self._folders.setdefault(name.rpartition("/")[0], {})

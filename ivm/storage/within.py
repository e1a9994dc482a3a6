"""A part of a folder, under a name of its own, as a folder."""

from __future__ import annotations

from ivm.storage.folder import Folder, remove_under


class Within:
    """See `ivm.storage.folder.Folder`: the files of another folder whose names begin with `under` and a slash."""

    def __init__(self, folder: Folder, under: str) -> None:
        self._folder = folder
        self._under = under

    def where(self, name: str = "") -> str:
        """See `Folder.where`."""
        return self._folder.where(self._of(name) if name else self._under)

    def put(self, name: str, data: bytes) -> None:
        """See `Folder.put`."""
        self._folder.put(self._of(name), data)

    def put_new(self, name: str, data: bytes) -> bool:
        """See `Folder.put_new`."""
        return self._folder.put_new(self._of(name), data)

    def get(self, name: str) -> bytes:
        """See `Folder.get`."""
        return self._folder.get(self._of(name))

    def names(self, under: str) -> list[str]:
        """See `Folder.names`."""
        return [name.removeprefix(f"{self._under}/") for name in self._folder.names(self._of(under))]

    def remove(self, name: str) -> None:
        """See `Folder.remove`."""
        self._folder.remove(self._of(name))

    def remove_under(self, under: str) -> None:
        """See `Emptying.remove_under`."""
        remove_under(self._folder, self._of(under))

    def _of(self, name: str) -> str:
        return f"{self._under}/{name}"

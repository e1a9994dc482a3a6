"""A part of a folder, under a name of its own, as a folder."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from ivm.storage.storage import Shared


class Within:
    """See `ivm.storage.storage.Shared`: the files of another folder whose names begin with `under` and a slash."""

    def __init__(self, folder: Shared, under: str) -> None:
        self._folder = folder
        self._under = under

    def where(self, name: str = "") -> str:
        """See `Shared.where`."""
        return self._folder.where(self._of(name))

    def put(self, name: str, pieces: Iterable[bytes | memoryview]) -> None:
        """See `Shared.put`."""
        self._folder.put(self._of(name), pieces)

    def put_new(self, name: str, data: bytes) -> bool:
        """See `Shared.put_new`."""
        return self._folder.put_new(self._of(name), data)

    def read(self, name: str, *, mapped: bool = True) -> pa.Buffer:
        """See `Shared.read`."""
        return self._folder.read(self._of(name), mapped=mapped)

    def names(self, under: str = "") -> list[str]:
        """See `Shared.names`."""
        return [name.removeprefix(f"{self._under}/") for name in self._folder.names(self._of(under))]

    def remove(self, name: str) -> None:
        """See `Shared.remove`."""
        self._folder.remove(self._of(name))

    def remove_under(self, under: str) -> None:
        """See `Shared.remove_under`."""
        self._folder.remove_under(self._of(under))

    def _of(self, name: str) -> str:
        return f"{self._under}/{name}" if name else self._under

"""Storage: a flat folder of named files, by the few calls whose order decides what survives a loss of power.

Nothing is certain to be there after one but what `File.sync` and `Storage.sync_names` had returned from: bytes that
were written may be missing in part or altogether, and a name may still be the old one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import pyarrow as pa

from ivm.catalog.errors import StorageError


class File(Protocol):
    """A file that grows at its end. One thread at a time may use it, but for `sync`, which any may call meanwhile."""

    def write(self, at: int, data: Sequence[bytes | memoryview]) -> None:
        """Put `data`, one piece after the other, from byte `at` on. OSError if not all of it could be written."""
        ...

    def truncate(self, size: int) -> None:
        """Let everything go from byte `size` on. OSError if that is not possible."""
        ...

    def sync(self) -> None:
        """Return when everything that was written by now survives a loss of power. OSError: nobody knows."""
        ...

    def close(self) -> None:
        """Let the file go; what was not synced is written some time."""
        ...


class Named(Protocol):
    """Files that a user can be told of."""

    def where(self, name: str = "") -> str:
        """What a user calls the folder, or a file of it, in messages."""
        ...


class Readable(Named, Protocol):
    """Files that can be read."""

    def read(self, name: str, *, mapped: bool = True) -> pa.Buffer:
        """The bytes of a file, mapped where that is possible: read when they are first looked at.

        Not `mapped` they are read now. So is what another process may cut off meanwhile: no map survives that.
        """
        ...


class Storage(Readable, Protocol):
    """Named files. Names are made of letters, digits, dashes and dots."""

    @property
    def writable(self) -> bool:
        """Whether anything may be changed; if not, another process may change it meanwhile."""
        ...

    def names(self) -> list[str]:
        """The names of all files, sorted. What is no file, such as a link, is among them: OSError for who reads it."""
        ...

    def create(self, name: str) -> File:
        """A new, empty file, in place of the one of its name."""
        ...

    def open(self, name: str) -> File:
        """A file that is there, to be written further."""
        ...

    def rename(self, old: str, new: str) -> None:
        """Call a file by another name, in place of the one of that name, in one step."""
        ...

    def remove(self, name: str) -> None:
        """Let a file go, if it is there."""
        ...

    def sync_names(self) -> None:
        """Return when the names, as they are now, survive a loss of power."""
        ...

    def close(self) -> None:
        """Let others use the folder."""
        ...


def read_file(storage: Readable, name: str, *, mapped: bool = True) -> pa.Buffer:
    """See `Readable.read`. StorageError, which names the file, if that is not possible."""
    try:
        return storage.read(name, mapped=mapped)
    except OSError as error:
        raise StorageError(
            f"cannot read {storage.where(name)}: {error.strerror or error}; restore it from a backup"
        ) from error

"""Places for files: folders of whole files, each written once, and storages, in which a file may grow besides.

A folder is what any place for files can be: a directory, one that several machines mount, an object store. A file in it
is never changed; what is said anew is said under another name. A storage is a flat folder that one process has to
itself, by the few calls whose order decides what survives a loss of power: nothing is certain to be there after one but
what `File.sync` and `Storage.sync_names` had returned from. Bytes that were written may be missing in part or
altogether, and a name may still be the old one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from typing import Protocol

import pyarrow as pa

from ivm.catalog.errors import StorageError

_ASIDE = "."
"""What the last part of a name begins with while its file is being written."""
_SYNC_BYTES = 1 << 23
"""So many bytes are synced at a time, since a sync of the log may have to wait for them."""


class Readable(Protocol):
    """Files that can be read. Any thread calls. Names are made of letters, digits, dashes and dots."""

    def where(self, name: str = "") -> str:
        """What a user calls the folder, or a file of it, in messages."""
        ...

    def names(self) -> list[str]:
        """The names of all files, sorted, without those that are only being written.

        What is no file, such as a link, may be among them: OSError for who reads it.
        """
        ...

    def read(self, name: str, *, mapped: bool = True) -> pa.Buffer:
        """The bytes of a file, mapped where that is possible: read when they are first looked at. FileNotFoundError if
        it is not there.

        Not `mapped` they are read now. So is what another process may cut off meanwhile: no map survives that.
        """
        ...


class Folder(Readable, Protocol):
    """Whole files. OSError, or StorageError, where a call is not possible."""

    def put(self, name: str, pieces: Iterable[bytes | memoryview]) -> None:
        """A new file of these, one after the other. It survives a loss of power on return, and all can read it; that of
        a storage does once its names are synced.
        """
        ...

    def remove(self, name: str) -> None:
        """Let a file go, if it is there."""
        ...


class Shared(Folder, Protocol):
    """What several machines share. A name may have parts, with a slash between.

    A file is whole, or not there. An OSError of a call that writes tells nothing: it may have been done, or be done
    later. The same call again, with the same bytes, does no harm.
    """

    def names(self, under: str = "") -> list[str]:
        """The names of all files whose names have `under` and a slash in front of their last part, sorted."""
        ...

    def put_new(self, name: str, data: bytes) -> bool:
        """As `put`, if nothing has that name, and whether that was so. Of all who call, one is told so, at most.

        Nobody may be told so whose file is there all the same: an answer was lost, and the call made again.
        """
        ...

    def remove_under(self, under: str) -> None:
        """Let all files go whose names have `under` and a slash in front, and what the place has noted of that name."""
        ...


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


class Storage(Folder, Protocol):
    """A folder that one process has to itself. What writes whole files does it by the other calls."""

    def create(self, name: str) -> File:
        """A new, empty file, in place of the one of its name."""
        ...

    def open(self, name: str) -> File:
        """A file that is there, to be written further."""
        ...

    def rename(self, old: str, new: str) -> None:
        """Call a file by another name, in place of the one of that name, in one step."""
        ...

    def sync_names(self) -> None:
        """Return when the names, as they are now, survive a loss of power."""
        ...

    def close(self) -> None:
        """Let others use the folder."""
        ...

    def put(self, name: str, pieces: Iterable[bytes | memoryview]) -> None:
        """See `Folder.put`. Cost: a sync for every 8 MiB."""
        at = synced = 0
        with closing(self.create(name)) as file:
            for piece in pieces:
                file.write(at, [piece])
                at += len(piece)
                if at - synced >= _SYNC_BYTES:
                    file.sync()
                    synced = at
            file.sync()

    def replace(self, name: str, data: bytes) -> None:
        """A file of these bytes, in place of the one of its name, at once: it survives a loss of power on return.

        Cost: two syncs.
        """
        aside = aside_of(name)
        self.put(aside, [data])
        self.rename(aside, name)
        self.sync_names()


def aside_of(name: str, mark: str = "") -> str:
    """What a file is called while it is being written; of several who write it each has a `mark`."""
    under, slash, last = name.rpartition("/")
    return f"{under}{slash}{_ASIDE}{last}{mark}.new"


def is_aside(name: str) -> bool:
    """Whether the last part of a name is that of a file that is only being written."""
    return name.rpartition("/")[2].startswith(_ASIDE)


def read_file(place: Readable, name: str) -> pa.Buffer:
    """See `Readable.read`. StorageError, which names the file, if that is not possible."""
    try:
        return place.read(name)
    except OSError as error:
        raise StorageError(
            f"cannot read {place.where(name)}: {error.strerror or error}; restore it from a backup"
        ) from error

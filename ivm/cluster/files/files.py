"""Files of a cluster's root: written once, found again as they were, though the place where they are fails at times."""

from __future__ import annotations

import logging
import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from secrets import token_hex
from threading import Event
from typing import TypeVar

import pyarrow as pa

from ivm.catalog.errors import StorageError
from ivm.cluster.files.several import each
from ivm.storage.storage import Shared
from ivm.storage.stored import Form, Stored, read_stored
from ivm.storage.within import Within

S = TypeVar("S")
T = TypeVar("T")

PAGE = Form("ivm cluster", 3)
PAUSES = (0.05, 0.2, 0.5, 1.0, 2.0)
"""Seconds between tries: a place for files refuses for a while, or shows only later what was written."""
AT_ONCE = 16
"""So many calls at once, of work that is done beside other work."""
_told = logging.getLogger("ivm")


class Files:
    """See `ivm.storage.storage.Folder`: files of a shared one, tried again where a call fails. StorageError names the
    file it is about.
    """

    def __init__(
        self,
        folder: Shared,
        pauses: Sequence[float] = PAUSES,
        at_once: int = 1,
        wait: Callable[[float], bool | None] = time.sleep,
    ) -> None:
        """`at_once`: how many calls `each` and what removes files make at once. `wait`: waits for so many seconds, and
        tells whether no more calls are to be made.
        """
        self._folder = folder
        self._pauses = pauses
        self._at_once = at_once
        self._wait = wait

    def beside(self, ended: Event) -> Files:
        """The same for work that is done beside other work: many calls at once, and StorageError from `ended` on."""
        return Files(self._folder, self._pauses, AT_ONCE, ended.wait)

    def where(self, name: str = "") -> str:
        """What a user calls the folder, or a file of it."""
        return self._folder.where(name)

    def within(self, under: str) -> Files:
        """The files under a name, as files of a folder of their own."""
        return Files(Within(self._folder, under), self._pauses, self._at_once, self._wait)

    def names(self, under: str = "") -> list[str]:
        """See `Shared.names`."""
        return self._tried(f"list {self.where(under)}", lambda: self._folder.names(under))

    def write(self, name: str, data: bytes) -> Stored:
        """A new file, under a name that no other ever has. It is certain on return."""
        self.put(name, [data])
        return Stored(name, len(data), zlib.crc32(data))

    def put(self, name: str, pieces: Iterable[bytes | memoryview]) -> None:
        """See `Folder.put`. Cost: memory for all of them."""
        whole = b"".join(pieces)  # a try may be the second one
        self._tried(f"write {self.where(name)}", lambda: self._folder.put(name, [whole]))

    def put_new(self, name: str, data: bytes) -> bool:
        """Whether a file of these bytes is there by this call, and not another's."""

        def put() -> bool:
            # An answer may have been lost: then it is ours, though the call that succeeds says that one was there.
            return self._folder.put_new(name, data) or self._folder.read(name).to_pybytes() == data

        return self._tried(f"write {self.where(name)}", put)

    def read(self, name: str, *, mapped: bool = True) -> pa.Buffer:
        """See `Folder.read`: the bytes of a file, whatever they are."""
        return self._tried(f"read {self.where(name)}", lambda: self._folder.read(name, mapped=mapped))

    def bytes_of(self, stored: Stored) -> bytes:
        """The bytes of a file. StorageError if they are not those that were written."""
        return read_stored(self, stored).to_pybytes()

    def each(self, work: Callable[[S], T], over: Sequence[S]) -> list[T]:
        """What `work` gives for each, by calls of this side by side; what it raises is raised."""
        return each(work, over, self._at_once)

    def remove(self, name: str) -> None:
        """Let a file go. One that cannot be removed now is there the next time; the log of `ivm` says so."""
        self.remove_all([name])

    def remove_all(self, names: Sequence[str]) -> None:
        """Let files go, likewise."""
        self._removed(names, self._folder.remove)

    def remove_under(self, names: Sequence[str]) -> list[bool]:
        """Let the files under each of these names go, likewise; of each whether it was done."""
        return self._removed(names, self._folder.remove_under)

    def _removed(self, names: Sequence[str], remove: Callable[[str], None]) -> list[bool]:
        """Call `remove` for each; for which it was done."""

        def tried(name: str) -> OSError | None:
            if self._wait(0):
                return InterruptedError()
            try:
                remove(name)
            except OSError as error:
                return error
            return None

        errors = self.each(tried, names)
        failed = [(name, error) for name, error in zip(names, errors, strict=True) if error is not None]
        if failed and not self._wait(0):
            name, error = failed[0]
            _told.warning(
                "cannot remove %d of %d files that nobody needs any more, such as %s: %s; they stay for the time being",
                *(len(failed), len(names), self.where(name), error.strerror or error),
            )
        return [error is None for error in errors]

    def _tried(self, what: str, call: Callable[[], T]) -> T:
        for pause in (*self._pauses, None):
            if self._wait(0):
                raise StorageError(f"cannot {what}: the database was closed")
            try:
                return call()
            except OSError as error:
                if pause is None:
                    raise StorageError(
                        f"cannot {what}: {error.strerror or error}; see to it that it can be reached, and try again"
                    ) from error
                self._wait(pause)
        raise AssertionError


def fresh() -> str:
    """A part of a name that nobody else draws."""
    return token_hex(8)


def bundle_of(pieces: Sequence[bytes]) -> bytes:
    """One file of several pieces: how many, the length of each, as 8 bytes, least first, and the pieces."""
    lengths = [len(pieces), *map(len, pieces)]
    return b"".join([*(each.to_bytes(8, "little") for each in lengths), *pieces])


def pieces_of(bundle: bytes) -> list[bytes]:
    """The pieces that `bundle_of` made one file of, whose sum was checked."""
    count = int.from_bytes(bundle[:8], "little")
    at, found = 8 * (count + 1), []
    for i in range(1, count + 1):
        length = int.from_bytes(bundle[8 * i : 8 * i + 8], "little")
        found.append(bundle[at : at + length])
        at += length
    return found

"""The log: files of records to which commits are appended, and which say when they are certain to survive.

A record is made by `put` before its commit is decided, and counts once it is kept: only then is it there whole. One of
many bytes is `put_ahead`: all but its header is written meanwhile, so that whoever reads the file, or finds it after a
crash, takes it for nothing until `keep` writes that. Whoever acknowledges a commit waits for its record to be
`settled`.

Each file is named by the number of its first record, and only the last one is written. A file without a byte says
nothing, wherever it is: making it may have been given up.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Literal, NamedTuple

from ivm.catalog.errors import StorageError
from ivm.storage.certain import Certain
from ivm.storage.record import UNDECIDED, written
from ivm.storage.storage import File, Readable, Storage

Durability = Literal["commit", "interval", "off"]


SUFFIX = ".log"
_NAME = re.compile(r"\d{20}\.log", re.ASCII)


def log_name(first: int) -> str:
    """The name of the file of a log whose first record has this number."""
    return f"{first:020}{SUFFIX}"


def first_of(name: str) -> int:
    """The number of the first record of such a file."""
    return int(name.removesuffix(SUFFIX))


def log_files(storage: Readable) -> list[str]:
    """The names of a log's files, in their order."""
    return [name for name in storage.names() if _NAME.fullmatch(name)]


def begun(storage: Storage, name: str) -> File:
    """A new, empty file that survives a loss of power; none on any error, or one that says nothing."""
    file = storage.create(name)
    try:
        file.sync()
        storage.sync_names()
    except BaseException:
        file.close()
        with suppress(OSError):
            storage.remove(name)
        raise
    return file


class Draft(NamedTuple):
    """A record that is to be written: its kind, the logical time that it is of, and what makes its payload."""

    kind: int
    time: int
    payload: Callable[[], Sequence[bytes | memoryview]]


class End(NamedTuple):
    """Where a log ends: the number of its last record, the byte behind that in the file that is written."""

    number: int
    byte: int
    file: File
    where: str


class Put(NamedTuple):
    """A record that does not count yet: where the log ends with it, what is to be written where so that it does."""

    end: End
    at: int
    left: Sequence[bytes | memoryview]


class Log:
    """The end of a log. `settle` is called by any thread, all else under the lock of commits.

    `number` is that of the last record that was kept, `settled` that of the last one that survives a loss of power.
    """

    def __init__(self, storage: Storage, name: str, file: File, number: int, size: int) -> None:
        """`name` is that of the file that is written, `size` the byte behind record `number` in it; all is synced."""
        self.settled = number
        self._storage = storage
        self._kept = End(number, size, file, storage.where(name))
        self._ahead = False
        self._broken: str = ""
        self._syncs = threading.Lock()
        self._certain = Certain(storage, number)

    @property
    def number(self) -> int:
        """The number of the last record that was kept."""
        return self._kept.number

    @property
    def where(self) -> str:
        """What a user calls the file that is written."""
        return self._kept.where

    @property
    def size(self) -> int:
        """How many bytes the file that is written has."""
        return self._kept.byte

    @property
    def is_pending(self) -> bool:
        """Whether there may be something of a record in the file that is neither kept nor taken back."""
        return self._ahead

    def put(self, draft: Draft) -> Put:
        """Make the record behind those that were kept; `keep` writes it. StorageError if nothing is written any more.

        Cost: a pass over its bytes for their checksum, a copy of them where they are few.
        """
        self.check()
        number, at, file, where = self._kept
        data = written(draft.kind, number + 1, self.settled, draft.payload())
        return Put(End(number + 1, at + sum(map(len, data)), file, where), at, data)

    def put_ahead(self, draft: Draft) -> Put:
        """As `put`, but all of it is written that readers do not take for a record; `keep` writes the few bytes left.

        StorageError if that is not possible: then nothing of it is there. Until it is kept or taken back no other
        record is. Cost: a pass over its bytes for their checksum, one for the operating system.
        """
        put = self.put(draft)
        header, *rest = put.left
        self._ahead = True
        try:
            put.end.file.write(put.at, [UNDECIDED, *rest])
        except OSError as error:
            self.take_back()
            raise _full(put, error) from error
        return put._replace(left=[header])

    def keep(self, put: Put) -> None:
        """The record is there, and counts. It may be interrupted, and called again.

        StorageError if it cannot be written: then it is not there, and what was there is.
        """
        try:
            self._keep(put)
        except OSError as error:
            raise _full(put, error) from error

    def append(self, draft: Draft) -> None:
        """Put and keep a record. StorageError if nothing is written any more; OSError, and it is not there."""
        self._keep(self.put(draft))

    def take_back(self) -> None:
        """What was written ahead and not kept goes. It cannot fail, and may be called again."""
        if not self._ahead:
            return
        try:
            self._kept.file.truncate(self._kept.byte)
        except OSError as error:
            self._break(f"{self._kept.where} cannot be cut back to what was committed: {reason(error)}")
        self._ahead = False

    def check(self) -> None:
        """StorageError if nothing is written any more."""
        if self._broken:
            raise StorageError(
                f"cannot commit: {self._broken}. What the disk holds of the last commits is not known, so nothing more "
                "is written; close the database and open it again, which shows what is there"
            )

    def settle(self, number: int) -> None:
        """Return when record `number` survives a loss of power; threads that wait together are served by one sync.

        StorageError if the disk fails: then nobody knows whether it does, and nothing is written any more.
        """
        if self.settled < number:
            with self._syncs:
                if self.settled < number:
                    self._sync()

    def begin_file(self) -> int:
        """Put further records into a new file, and let all that were kept survive; the number of the last of these.

        The new file is there for good, as is its name. A file that has no record yet is kept. StorageError if that is
        not possible: then records go where they went.
        """
        self.check()
        self.settle(self.number)
        old = self._kept
        if old.byte == 0:
            return old.number
        name = log_name(old.number + 1)
        try:
            file = begun(self._storage, name)
        except OSError as error:
            raise StorageError(
                f"cannot begin a file of the log: {self._storage.where(name)} cannot be made: {reason(error)}; "
                "commits go on without it. Make room"
            ) from error
        with self._syncs:
            self._kept = End(old.number, 0, file, self._storage.where(name))
        old.file.close()
        return old.number

    def close(self) -> None:
        """Let the file go."""
        self._kept.file.close()
        self._certain.close()

    def _keep(self, put: Put) -> None:
        if put.end.number > self.number:
            self._ahead = True
            try:
                put.end.file.write(put.at, put.left)
            except OSError:
                self.take_back()
                raise
            self._kept = put.end
            self._ahead = False

    def _sync(self) -> None:
        self.check()
        upto, _, file, where = self._kept
        try:
            file.sync()
        except OSError as error:
            self._break(f"{where} could not be synced: {reason(error)}")
            self.check()
        self.settled = upto
        self._certain.tell(upto)

    def _break(self, why: str) -> None:
        self._broken = self._broken or why


def _full(put: Put, error: OSError) -> StorageError:
    return StorageError(
        f"cannot commit: {put.end.where} cannot be written: {reason(error)}; nothing was changed. Make room, and "
        "commit again"
    )


def reason(error: OSError) -> str:
    """What the operating system said."""
    return error.strerror or str(error)

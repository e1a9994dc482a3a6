"""The log: a file of records to which commits are appended, and which says when they are certain to survive.

A record is `put` before its commit takes effect, and `kept` or `taken_back` after that is decided: of one that was put
and not kept nothing is left. Whoever acknowledges a commit waits for its record to be `settled` before.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Literal, NamedTuple

from catalog.errors import StorageError
from ivm.storage.record import written
from ivm.storage.storage import File, Storage

Durability = Literal["commit", "interval", "off"]


class Put(NamedTuple):
    """A record that is in the file, and not yet kept: its number, and the byte behind it."""

    number: int
    end: int


class Log:
    """The end of a log. `put`, `keep` and `take_back` are called under the lock of commits, `settle` by any thread.

    `number` is that of the last record that was kept, `size` the byte behind it, `settled` the number of the last one
    that survives a loss of power.
    """

    def __init__(self, storage: Storage, name: str, file: File, number: int, size: int) -> None:
        self.number, self.size, self.settled = number, size, number
        self._where = storage.where(name)
        self._file = file
        self._put = False
        self._broken: str = ""
        self._syncs = threading.Lock()

    @property
    def is_pending(self) -> bool:
        """Whether a record was put and is neither kept nor taken back."""
        return self._put

    def put(self, kind: int, payload: Sequence[bytes | memoryview]) -> Put:
        """Write a record behind those that were kept.

        StorageError if that is not possible: then it is not there, and what was there is. Cost: a pass over its bytes
        for their checksum, one for the operating system.
        """
        self._check()
        number = self.number + 1
        data = written(kind, number, self.settled, payload)
        self._put = True
        try:
            self._file.write(self.size, data)
        except OSError as error:
            self.take_back()
            raise StorageError(
                f"cannot commit: {self._where} cannot be written: {_reason(error)}; nothing was changed. Make "
                "room, and commit again"
            ) from error
        return Put(number, self.size + sum(map(len, data)))

    def keep(self, put: Put) -> None:
        """The record counts. It may be interrupted, and called again."""
        if put.number > self.number:
            self.size = put.end
            self.number = put.number
            self._put = False

    def take_back(self) -> None:
        """What was put and not kept goes. It cannot fail, and may be called again."""
        if not self._put:
            return
        try:
            self._file.truncate(self.size)
        except OSError as error:
            self._break(f"{self._where} cannot be cut back to what was committed: {_reason(error)}")
        self._put = False

    def settle(self, number: int) -> None:
        """Return when record `number` survives a loss of power; threads that wait together are served by one sync.

        StorageError if the disk fails: then nobody knows whether it does, and nothing is written any more.
        """
        if self.settled < number:
            with self._syncs:
                if self.settled < number:
                    self._sync()

    def close(self) -> None:
        """Let the file go."""
        self._file.close()

    def _sync(self) -> None:
        self._check()
        upto = self.number
        try:
            self._file.sync()
        except OSError as error:
            self._break(f"{self._where} could not be synced: {_reason(error)}")
            self._check()
        self.settled = upto

    def _break(self, why: str) -> None:
        self._broken = self._broken or why

    def _check(self) -> None:
        if self._broken:
            raise StorageError(
                f"cannot commit: {self._broken}. What the disk holds of the last commits is not known, so nothing more "
                "is written; close the database and open it again, which shows what is there"
            )


def _reason(error: OSError) -> str:
    return error.strerror or str(error)

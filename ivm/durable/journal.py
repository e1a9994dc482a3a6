"""The journal: what of a database is put into its log, and when a caller may be told that it is there for good."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from os import PathLike

from catalog.catalog import Catalog
from catalog.errors import StorageError
from ivm.durable.copying import back_up
from ivm.durable.payload import COMMIT, DEFINITION, Batch, commit_payload, definition_payload
from ivm.durable.streams import Streams
from ivm.storage.log import Durability, Log, Put
from ivm.storage.storage import Storage
from ivm.trace.exported import ArrowRows
from ivm.transaction import Change


class Journal:
    """Writes down each commit, and each change of what exists, before it takes effect.

    All but `settle`, `copy` and `close` are called under the database's lock. Cost of a commit: some 50 microseconds, a
    copy of the rows, a checksum of it and a call of the operating system.
    """

    def __init__(self, storage: Storage, log: Log, durability: Durability, interval: float) -> None:
        """`interval`: seconds between two syncs, where commits do not wait for theirs."""
        self._storage = storage
        self._log = log
        self._streams = Streams()
        self._waits = durability == "commit"
        self._end = threading.Event()
        if durability == "interval":
            threading.Thread(target=self._sync_now_and_then, args=(interval,), name="ivm-sync", daemon=True).start()

    def commit(self, changes: Sequence[Change], time: int, batch: Batch | None) -> Put:
        """Put down a commit that is about to take effect. StorageError if that is not possible."""
        return self._log.put(COMMIT, commit_payload(changes, time, batch, self._streams))

    def define(self, old: Catalog, new: Catalog, time: int, made: Mapping[str, ArrowRows | None]) -> Put:
        """Put down that `new` is what exists, with tables `made` of rows. StorageError if that is not possible."""
        return self._log.put(DEFINITION, definition_payload(old, new, time, made, self._streams))

    def keep(self, put: Put) -> None:
        """What was put down has taken effect. It may be interrupted, and called again."""
        self._log.keep(put)

    @property
    def is_pending(self) -> bool:
        """Whether something was put down of which it is not decided whether it takes effect."""
        return self._log.is_pending

    def take_back(self) -> None:
        """What was put down last has not taken effect. It cannot fail."""
        self._log.take_back()

    def settle(self) -> None:
        """Return when all that has taken effect by now survives a loss of power, if commits wait for that."""
        if self._waits:
            self._log.settle(self._log.number)

    @property
    def record(self) -> int:
        """The number of the last record that has taken effect."""
        return self._log.number

    def copy(self, path: str | PathLike[str], record: int) -> None:
        """Make a copy of the files at `path`, as they were after a record that has taken effect; see `back_up`."""
        self._log.settle(record)
        back_up(self._storage, path, record)

    def begin_file(self) -> int:
        """Let all that has taken effect survive a loss of power, and write what comes into a new file of the log.

        Returns the number of the last record of the files before it; its first one is the next. See `Log.begin_file`.
        """
        return self._log.begin_file()

    def close(self) -> None:
        """Sync what is there, and let the storage go. Once is enough."""
        if self._end.is_set():
            return
        self._end.set()
        try:
            self._log.settle(self._log.number)
        finally:
            self._log.close()
            self._storage.close()

    def _sync_now_and_then(self, interval: float) -> None:
        while not self._end.wait(interval):
            with suppress(StorageError, ValueError):  # the next commit is told
                self._log.settle(self._log.number)

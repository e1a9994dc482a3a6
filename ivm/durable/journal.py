"""The journal: what of a database is put into its log, and when a caller may be told that it is there for good."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from os import PathLike
from time import monotonic

from ivm.catalog.errors import StorageError
from ivm.durable.copying import back_up
from ivm.durable.grouping import LARGE, draft_of, records_of
from ivm.durable.names import write_names
from ivm.durable.payload import (
    ALTERATION,
    DEFINITION,
    TRANSACTION,
    Batch,
    Commit,
    Defining,
    Pieces,
    definition_payload,
    transaction_payload,
)
from ivm.durable.streams import Streams, size_of
from ivm.engine.transaction import Change
from ivm.storage.backlog import Backlog, Handed
from ivm.storage.log import Draft, Durability, Log, Put
from ivm.storage.pinned import pinned
from ivm.storage.storage import Storage
from ivm.subscriptions.names import Named, Names
from ivm.trace.helpers import Errand, Helpers

_FEW = 1 << 10
_ROW_BYTES = 1 << 8
"""So many bytes a row is taken to have, where there are few."""
Written = Put | Handed[Commit | Draft]
"""What is to be put down once it is decided; of many rows most is in the log already."""


class Journal:
    """Writes down each commit, and each change of what exists: as it takes effect, or soon after.

    Where commits wait for the disk, it is at once: some 50 microseconds, a copy of the rows, a checksum of it and a
    call of the operating system; of many rows beside what else is done for the commit, but for the few bytes without
    which that is no record. What cannot be written does not take effect. Where they do not wait, a commit
    hands its rows over, to which nobody writes, and a thread of its own puts them down afterwards, several commits in
    one record.

    All but `settle`, `finish`, `copy`, `close` and what writes names are called under the database's lock.
    """

    def __init__(self, storage: Storage, log: Log, durability: Durability, interval: float) -> None:
        """`interval`: seconds between two syncs, where commits do not wait for theirs."""
        self._storage = storage
        self._log = log
        self._streams = Streams()
        self._over = threading.Event()
        self._names: Names | None = None
        self._backlog = None if durability == "commit" else Backlog(log, partial(records_of, streams=self._streams))
        self._helpers = Helpers(2)
        self._begun: Errand[Put] | None = None
        if durability == "interval":
            sync = threading.Thread(target=_sync_now_and_then, args=(log, interval, self._over), name="ivm-sync")
            sync.daemon = True
            sync.start()

    def begin(self, changes: Sequence[Change], time: int, batch: Batch | None) -> None:
        """Begin to write a commit of many rows that is worked on, so that another thread does it meanwhile."""
        if self._backlog is None and sum(change.data.num_rows for change in changes) >= LARGE:
            commit = _commit_of(changes, time, batch)
            self._begun = Errand(partial(self._log.put_ahead, draft_of(commit, self._streams)))
            self._helpers.put(self._begun)

    def commit(self, changes: Sequence[Change], time: int, batch: Batch | None) -> Written:
        """What `keep` is to put down of a commit that is about to take effect. StorageError if nothing is any more."""
        if self._backlog is not None:
            return self._backlog.put(_commit_of(changes, time, batch), _bytes_of(changes))
        if self._begun is None:
            return self._log.put(draft_of(_commit_of(changes, time, batch), self._streams))
        put = self._begun.get()
        self._begun = None
        return put

    def define(self, to: Defining) -> Written:
        """As `commit`: that something else exists; nothing of what is temporary.

        Its time is that of the last commit; rows of tables that were not there are one more.
        """
        there = {each.table.name for each in to.altered}
        is_more = any(rows is not None and rows.num_rows > 0 for name, rows in to.made.items() if name not in there)
        to = to.lasting()._replace(time=to.time + is_more)
        return self._put(ALTERATION if to.altered else DEFINITION, to.time, definition_payload(to, self._streams))

    def transaction(self, to: Defining, changes: Sequence[Change]) -> Written:
        """As `commit`: that something else exists from then on, too, with tables that begin without rows."""
        to, commit = to.lasting(), _commit_of(changes, to.time, None)
        pieces = transaction_payload(to, commit, self._streams)
        return self._put(ALTERATION if to.altered else TRANSACTION, to.time, pieces)

    def _put(self, kind: int, time: int, pieces: Pieces) -> Written:
        draft = Draft(kind, time, lambda: pieces)
        return self._log.put(draft) if self._backlog is None else self._backlog.put(draft, sum(map(len, pieces)))

    def keep(self, written: Written) -> None:
        """It is decided, and put down. It may be interrupted, and called again.

        StorageError if it cannot be written: then it is not there, and is not to take effect.
        """
        if isinstance(written, Put):
            self._log.keep(written)
        elif self._backlog is not None:
            self._backlog.keep(written)

    @property
    def is_pending(self) -> bool:
        """Whether there may be something in the log of what does not take effect."""
        return self._backlog is None and (self._begun is not None or self._log.is_pending)

    def take_back(self) -> None:
        """What was begun last does not take effect. It cannot fail; it may be interrupted, and called again."""
        if self._begun is not None:
            self._begun.wait()
            self._begun = None
        if self._backlog is None:
            self._log.take_back()

    def settle(self) -> None:
        """Return when all that has taken effect by now survives a loss of power, if commits wait for that.

        If not, return when what is left to be written is not too much.
        """
        if self._backlog is None:
            self._log.settle(self._log.number)
        else:
            self._backlog.make_room()

    def certain(self) -> None:
        """As `settle`, for those who read, where a commit would wait; they go on where the disk has failed."""
        if self._backlog is None:
            with suppress(StorageError):
                self._log.settle(self._log.number)

    def finish(self) -> int:
        """Return when all that has taken effect is written, so that the end of the process does no harm.

        Returns the number of the last record of it.
        """
        if self._backlog is not None:
            self._backlog.finish()
        return self._log.number

    def sync(self) -> None:
        """Return when all that has taken effect survives a loss of power; StorageError if that is not known."""
        self._log.settle(self.finish())

    @property
    def size(self) -> int:
        """How long the file is that is written."""
        return self._log.size

    def copy(self, path: str | PathLike[str], record: int) -> None:
        """Make a copy of the files at `path`, as they were after a record that is written; see `back_up`."""
        self._log.settle(record)
        back_up(pinned(self._storage), path, record)

    def keep_names(self, names: Names) -> None:
        """Write down what the names of subscriptions have acknowledged, from now on."""

        def write(now: Callable[[], Mapping[str, Named]], become: Callable[[], None]) -> None:
            self.sync()  # so that nothing is acknowledged that is lost
            write_names(self._storage, now())
            become()

        names.write_by(write)
        self._names = names

    def begin_file(self) -> int:
        """Let all that has taken effect survive a loss of power, and write what comes into a new file of the log.

        Returns the number of the last record of the files before it; its first one is the next. See `Log.begin_file`.
        """
        self.finish()
        return self._log.begin_file()

    def close(self) -> None:
        """Write and sync what is left, and let the storage go; StorageError if it could not be. Once is enough."""
        if self._over.is_set():
            return
        try:
            try:
                if self._names is not None:
                    self._names.close()
            finally:
                if self._backlog is not None:
                    self._backlog.end()
            self._log.settle(self._log.number)
            if self._backlog is not None:
                self._backlog.check()
        finally:
            self._over.set()
            self._helpers.close()
            self._log.close()
            self._storage.close()


def _commit_of(changes: Sequence[Change], time: int, batch: Batch | None) -> Commit:
    """A single commit, without changes of what is temporary."""
    return Commit.of([change for change in changes if not change.table.temporary], time, batch)


def _bytes_of(changes: Sequence[Change]) -> int:
    """The bytes that a commit takes in the log, roughly."""
    rows = sum(change.data.num_rows for change in changes)
    return rows * _ROW_BYTES if rows < _FEW else sum(size_of(change.data) for change in changes)


def _sync_now_and_then(log: Log, interval: float, over: threading.Event) -> None:
    due = monotonic() + interval
    while not over.wait(max(due - monotonic(), 0)):
        due = monotonic() + interval
        with suppress(StorageError, ValueError):  # the next commit is told
            log.settle(log.number)

"""A database that is only read follows the one that writes its directory: along the log, commit by commit.

What a commit changes, and what is new, goes through views as it did there. Where that is not enough, since something
was dropped, altered or replaced, or the log of some commits is gone, the directory is read anew, beside what there is,
which the new one replaces at once. So nothing is ever seen that was not there.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from itertools import count
from threading import Event, Lock, Thread
from time import sleep
from typing import NamedTuple
from weakref import finalize, ref

import pyarrow as pa

from ivm.catalog.errors import Error, InterfaceError, StorageError
from ivm.durable.payload import COMMIT, catalog_of, read_head
from ivm.durable.recovery import Known, Reached, reached
from ivm.durable.restore import install_at_once
from ivm.engine.backend import Backend
from ivm.results.difference import replaced
from ivm.session.core import Core, engine_of
from ivm.session.succession import reason_to_end
from ivm.storage.directory import Directory
from ivm.storage.log import first_of, log_files, log_name
from ivm.storage.open_directory import DirectoryFile
from ivm.storage.pinned import pinned
from ivm.storage.record import Gap, Record, whole_records
from ivm.subscriptions.piece import piece_of

_log = logging.getLogger("ivm")
EVERY = 0.02
"""After so many seconds a follower looks again."""
_RECORDS, _BYTES = 1 << 10, 1 << 23
"""So much of the log takes effect together."""
_TRIES = 20


class Behind(NamedTuple):
    """How far a follower is: the logical time and the record, how many bytes of the log it has not applied, and why it
    does not go on, if it does not.
    """

    time: int
    record: int
    bytes: int
    error: str


class Following:
    """Follows the log of a directory. Any thread may call. Nothing is written."""

    def __init__(self, core: Core, new: Callable[[], Core], directory: Directory, there: Reached) -> None:
        """`new` makes empty databases of the same kind; `there` is how far `core` is."""
        self._core, self._new, self.directory = core, new, directory
        self._turn = Lock()
        self._tail: DirectoryFile | None = None
        self._is_lost = False
        """Whether what was to take effect may have done so in part, and all is to be read anew."""
        self._error = ""
        self._be_at(there)

    def refresh(self) -> int:
        """Have all commits that the directory has by now; the time of the last one.

        StorageError if the log is damaged, or gone: what there was before can still be read, and the next call looks
        again.
        """
        with self._turn:
            try:
                if self._is_lost:
                    self._read_anew()
                while self._goes_on():
                    self._core.settle()
                self._error = ""
            except (Error, OSError) as error:
                self._error = str(error)
                if isinstance(error, Error):
                    raise
                raise StorageError(f"cannot follow database {self.directory.where()}: {error}") from error
        return self._core.engine.time

    @property
    def behind(self) -> Behind:
        """How far it is."""
        left = 0
        with self._turn, suppress(OSError):
            names = log_files(self.directory)
            left += sum(self._bytes(name) for name in names if first_of(name) > self._number and name != self._name)
            left += 0 if self._tail is None else max(self._tail.size - self._at, 0)
        return Behind(self._core.engine.time, self._number, left, self._error)

    def close(self) -> None:
        """Let go of the files. Once is enough."""
        with self._turn:
            if self._tail is not None:
                self._tail.close()
            self._tail = None
            self.directory.close()

    def _be_at(self, there: Reached) -> None:
        self._known = Known(self._core, 0, None, install_at_once)
        self._number, self._is_lost = there.number, False
        self._go_to(there.name, there.size)

    def _go_to(self, name: str, at: int) -> None:
        """Read a file from a byte on, if it is there: a checkpoint may have removed it."""
        if self._tail is not None:
            self._tail.close()
        self._tail, self._name, self._at = None, name, at
        with suppress(FileNotFoundError):
            self._tail = self.directory.tail(name) if name else None

    def _bytes(self, name: str) -> int:
        """How many bytes a file has; none if it is not there."""
        with suppress(FileNotFoundError), closing(self.directory.tail(name)) as tail:
            return tail.size
        return 0

    def _goes_on(self) -> bool:
        """Have some more commits, or go on to the next file; whether there may be more."""
        if self._tail is None:
            return self._goes_on_elsewhere()
        if self._tail.size < self._at:
            raise StorageError(
                f"cannot follow database {self.directory.where()}: its log is shorter than it was; open it again"
            )
        is_any = False
        for chunk in _chunks(self._whole()):
            if not self._has_taken(chunk):
                self._read_anew()
                return True
            is_any = True
        return is_any or self._goes_on_elsewhere()

    def _whole(self) -> Iterator[Record]:
        """The records that are whole by now behind those that were taken.

        What looks damaged may be a commit that is decided just then: it is looked at again. StorageError if it stays.
        """
        assert self._tail is not None, "there is a file"
        for tried in count():
            found = list(whole_records(self._tail.read(self._at), self._number + 1))
            gap = next((each for each in found if isinstance(each, Gap)), None)
            if gap is not None and tried == _TRIES:
                raise StorageError(
                    f"cannot follow database {self.directory.where()}: record {gap.number} of its log is damaged, and "
                    f"record {gap.found} behind it is whole; see `ivm check`"
                )
            if gap is None:
                break
            sleep(0.001 * tried)
        return (each for each in found if isinstance(each, Record))

    def _has_taken(self, records: Sequence[Record]) -> bool:
        """Let some records take effect, at once; False if that is not possible, and some of them may have."""
        core, self._is_lost = self._core, True
        with core.definitions, core.lock:
            for record in records:
                if record.kind != COMMIT and not self._only_adds(record):
                    return False
                self._known.add(record)
                if record.kind != COMMIT:
                    self._known.finish()
            self._known.flush()
            self._number = records[-1].number
            self._at += records[-1].end - records[0].start
        self._is_lost = False
        return True

    def _only_adds(self, record: Record) -> bool:
        """Whether all that there was stays as it is when a record takes effect that defines something."""
        head, _ = read_head(record.payload)
        there = self._core.catalog.content
        content = catalog_of(head, self._core.catalog.fixed()).content
        made = {each["table"] for each in head.get("made", ())}
        is_kept = all(content.get(name) is entry for name, entry in there.items())
        return is_kept and "altered" not in head and made.isdisjoint(engine_of(self._core).tables)

    def _goes_on_elsewhere(self) -> bool:
        """Go on to the file behind the one that is at its end, if there is one; whether there may be more."""
        names, following = log_files(self.directory), log_name(self._number + 1)
        if following in names and following != self._name and self._bytes(following):  # else its making may be given up
            self._go_to(following, 0)
            return True
        if self._tail is not None and self._tail.size > self._at and any(True for _ in self._whole()):
            return True  # it was written to before the names were looked at
        if any(first_of(name) > self._number + 1 for name in names):  # a checkpoint has removed what is in between
            self._read_anew()
            return True
        if not names:
            raise StorageError(f"cannot follow database {self.directory.where()}: its log is gone; open it again")
        return False

    def _read_anew(self) -> None:
        """Be what the directory is now."""
        fresh = self._new()
        try:
            fresh.functions.declared.update(self._core.functions.declared)
            there = reached(fresh, pinned(self.directory), None)
            with self._core.definitions, self._core.lock:
                _become(self._core, fresh)
        except BaseException:
            _let_go(fresh.engine)
            raise
        self._be_at(there)


def _chunks(records: Iterator[Record]) -> Iterator[list[Record]]:
    chunk = list[Record]()
    for record in records:
        chunk.append(record)
        if len(chunk) >= _RECORDS or chunk[-1].end - chunk[0].start >= _BYTES:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _become(core: Core, other: Core) -> None:
    """Let what another database has be what this one has; who listens is told what that changes. Both are only read."""
    old, new, listeners = core.engine, other.engine, core.engine.listeners
    changes = dict[str, pa.Table | None]()
    for name in [name for name in old.views if listeners.of(name)]:
        reason = reason_to_end(core.catalog.view(name), other.catalog.find(name))
        if reason:
            core.end_subscriptions(name, reason)
        else:
            there, to_be = (engine.contents(name).changes(new.time) for engine in (old, new))
            changes[name] = replaced(there, to_be)
    new.listeners = listeners
    new.begin_with(core.functions, core.clock.present)
    core.engine = new
    core.catalog.become(other.catalog)
    mark = os.urandom(8).hex()  # it may be made anew twice at one time
    for name, found in changes.items():
        listened = listeners.to(name)
        if found is not None and listened is not None:
            listened.push(piece_of(found, new.time), mark)
    listeners.tell((), new.time)
    _let_go(old)


def _let_go(engine: Backend) -> None:
    for compiler in engine.compilers:
        compiler.close()


def follow_on(core: Core, following: Following) -> None:
    """Let a database follow by itself, until it is closed or nobody has it any more."""
    core.follows = following
    finalize(core, following.directory.close)
    Thread(target=_follow_on, args=(ref(core), core.clock.ended, EVERY), name="ivm-follow", daemon=True).start()


def _follow_on(of: ref[Core], ended: Event, every: float) -> None:
    """What fails is told, and tried again, ever more seldom."""
    wait = every
    while True:
        is_over, core = ended.wait(wait), of()
        if core is None or core.follows is None:
            return
        if is_over or core.lock.closed:
            core.follows.close()
            return
        try:
            core.follows.refresh()
            wait = every
        except InterfaceError:
            continue  # it was closed meanwhile
        except Error as error:
            if wait == every:
                _log.warning("a database that follows another process has to wait: %s", error)
            wait = min(max(2 * wait, 1.0), 60.0)
        del core

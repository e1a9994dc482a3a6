"""Checkpoints: the state of a database in files, so that its log can begin anew."""

from __future__ import annotations

import logging
import os
import sys
import threading
from contextlib import suppress

from ivm.catalog.errors import Error
from ivm.durable.files import SUFFIX, Files
from ivm.durable.journal import Journal
from ivm.durable.manifest import Manifest, write_manifest
from ivm.durable.moment import Moment, identify, moment_of
from ivm.durable.on_disk import OnDisk, write_moment
from ivm.plan.identity import Identities
from ivm.session.core import Core, engine_of
from ivm.storage.log import first_of, log_files
from ivm.storage.storage import Storage
from ivm.trace.turns import Turns

_LEAST_LOG = 1 << 26
_SHARE = 4
_NICER = 10
_told = logging.getLogger("ivm")


class Checkpoints:
    """Makes checkpoints of a database, one at a time; commits go on meanwhile."""

    def __init__(self, core: Core, storage: Storage, journal: Journal, on_disk: OnDisk) -> None:
        self._core = core
        self._storage = storage
        self._journal = journal
        self._on_disk = on_disk
        self._identities = Identities()
        self._turn = Turns()
        self._aside: threading.Thread | None = None
        self._due_at = self._longest()

    def make(self) -> None:
        """Write down what has changed since the last checkpoint, and begin a new log. StorageError, and the last one
        counts, if that is not possible.

        Cost: a few milliseconds in which nobody commits; then, beside others, what has come is written, and what nodes
        keep, if it has changed.
        """
        moment = self._moment()
        if moment is None:
            return
        with self._turn:
            try:
                if not self._has(moment.record):  # somebody else may have been faster
                    if threading.current_thread() is self._aside:
                        _give_way()
                    self._write(moment)
            finally:  # where it has failed, it is not tried again at once
                self._due_at = self._journal.size + self._longest()

    def make_if_due(self) -> None:
        """Begin one aside, if the log has become long. Cost: none, mostly."""
        if self._journal.size >= self._due_at and (self._aside is None or not self._aside.is_alive()):
            self._due_at = self._journal.size + self._longest()
            self._aside = threading.Thread(target=self._make_aside, name="ivm-checkpoint", daemon=True)
            self._aside.start()

    def close(self) -> None:
        """The last one. What cannot be written is said, and is in the log."""
        if self._aside is not None:
            self._aside.join()
        self._make_aside()

    def _make_aside(self) -> None:
        try:
            self.make()
        except Error as error:
            _told.warning("%s", error)

    def _longest(self) -> int:
        """How long a log may become."""
        return max(_LEAST_LOG, self._on_disk.bytes // _SHARE)

    def _has(self, record: int) -> bool:
        """Whether the last checkpoint has all up to this record."""
        return self._on_disk.record >= record and not self._on_disk.lacks

    def _moment(self) -> Moment | None:
        """What there is now, the log going on in a new file; None if that is on disk already."""
        core, on_disk = self._core, self._on_disk
        self._journal.sync()  # so that there is little to write and to sync while nobody commits
        with core.definitions:
            core.begin_defining(None)
            identify(engine_of(core), self._identities)
            with core.lock:
                if self._has(self._journal.finish()):
                    return None
                record = self._journal.begin_file()
                return moment_of(engine_of(core), core.catalog, record, self._identities, on_disk.updates)

    def _write(self, moment: Moment) -> None:
        known, files = self._on_disk, Files(self._storage, self._on_disk.next)
        try:
            manifest, on_disk = write_moment(files, moment, known)
        except BaseException:
            files.remove()  # or each try would take more of a disk that has no room
            raise
        finally:
            known.next = files.next  # no name is given again
        write_manifest(self._storage, manifest)
        self._on_disk = on_disk
        remove_others(self._storage, manifest)


def _give_way() -> None:
    """Let this thread, which ends soon, run where no other has more to do: commits are waited for, it is not."""
    if sys.platform == "linux":  # elsewhere this would be of the whole process
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICER)


def remove_others(storage: Storage, manifest: Manifest | None) -> None:
    """Let files go that belong neither to this checkpoint nor to the log since. What cannot be removed stays."""
    record = 0 if manifest is None else manifest.record
    used = {written.file for _, written in manifest.files()} if manifest is not None else set()
    with suppress(OSError):
        logs = log_files(storage)
        for name in storage.names():
            is_old = name in logs and first_of(name) <= record
            if is_old or (name.endswith(SUFFIX) and name not in used):
                with suppress(OSError):
                    storage.remove(name)

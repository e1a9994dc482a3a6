"""Recovery: a database as the last commit left it that its log has."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, NamedTuple

import pyarrow as pa

from ivm.catalog.catalog import Catalog
from ivm.catalog.errors import ConstraintError, Error, MissingFunctionError, NumericError, StorageError
from ivm.catalog.names import key
from ivm.catalog.schema import View
from ivm.durable.checkpoint import Checkpoints, remove_others
from ivm.durable.journal import Journal
from ivm.durable.manifest import read_manifest
from ivm.durable.names import read_names
from ivm.durable.on_disk import OnDisk
from ivm.durable.payload import (
    COMMIT,
    KINDS,
    catalog_of,
    read_altered,
    read_commit,
    read_head,
    read_made,
)
from ivm.durable.remains import keep_remains
from ivm.durable.replay import Replay
from ivm.durable.restore import install_again, install_nothing, restore
from ivm.engine.declaring import declared
from ivm.engine.installing import Progress
from ivm.intake.incoming import default_values
from ivm.session.core import Core, engine_of
from ivm.storage.certain import check_end
from ivm.storage.log import Durability, Log, begun, first_of, log_files, log_name, reason
from ivm.storage.record import Record, Torn, records
from ivm.storage.storage import Readable, Storage, read_file

_told = logging.getLogger("ivm")


class _End(NamedTuple):
    """Where a file of the log ends: the number of its last record, the byte behind that, and what else was there."""

    number: int
    size: int
    torn: Torn | None


Told = Callable[[Progress], None]
_SAID_BYTES = 1 << 20


def open_storage(
    core: Core, storage: Storage, durability: Durability, interval: float, progress: Told | None = None
) -> None:
    """Let a new, empty database be the one in `storage`, and outlive the process; see `recover`."""
    try:
        there = read_names(storage)
        engine_of(core).listeners.names.begin(there)
        log, on_disk = recover(core, storage, progress)
        journal = engine_of(core).journal = Journal(storage, log, durability, interval)
        journal.keep_names(engine_of(core).listeners.names)
        core.checkpoints = Checkpoints(core, storage, journal, on_disk)
    except BaseException:
        storage.close()
        raise


class Reached(NamedTuple):
    """Where a database ends: what there is of its checkpoint, the file of the log that is written, "" if there is none,
    what that has, the number of its last record, the byte behind that, and what else was there.
    """

    on_disk: OnDisk
    name: str
    data: pa.Buffer | None
    number: int
    size: int
    torn: Torn | None


def recover(core: Core, storage: Storage, progress: Told | None = None) -> tuple[Log, OnDisk]:
    """Bring a new, empty database to where `storage` ends, see `reached`.

    Returns the log, to be written further, and what there is of the checkpoint. What a crash left behind the last whole
    record is cut off, kept beside, and said.
    """
    there = reached(core, storage, progress)
    if there.data is None:
        return Log(storage, log_name(1), begun(storage, log_name(1)), 0, 0), there.on_disk
    file = storage.open(there.name)
    if there.torn is not None:
        _cut_off(storage, there.name, there.data, there.number, there.size)
        file.truncate(there.size)
    file.sync()  # whoever wrote it may not have come to that, and from now on somebody sees it
    storage.sync_names()  # a manifest may have its name for a moment only
    remove_others(storage, read_manifest(storage))
    return Log(storage, there.name, file, there.number, there.size), there.on_disk


def reached(core: Core, storage: Readable, progress: Told | None, *, fills: bool = True) -> Reached:
    """Bring a new, empty database to where `storage` ends: to the last checkpoint, and along the log since.

    Nothing is written. StorageError for what is wrong, but for what a crash may leave at the end of a log, and for one
    that ends before what is known to have been certain. `progress` is told how many bytes were read, as of a view
    without a name, and how far views are that are filled; if it raises, so does this. `fills`: see `restore`.
    Cost: that of `restore`, reads the log; the changes of many commits are applied together, each at its times. Views
    that are new since are filled last; where history is kept, when they were defined.
    """
    manifest = read_manifest(storage)
    record = 0 if manifest is None else manifest.record
    files = {name: read_file(storage, name) for name in log_files(storage) if first_of(name) > record}
    if not files and (manifest is not None or storage.names()):
        raise StorageError(
            f"cannot open database {storage.where()}: {log_name(record + 1)} is missing, with which its log begins; "
            "restore it from a backup"
        )
    on_disk = OnDisk() if manifest is None else restore(core, storage, manifest, fills=fills)
    if not files:
        return Reached(on_disk, "", None, record, 0, None)
    install = install_again if fills else install_nothing
    known = Known(core, sum(data.size for data in files.values()), progress, install)
    end, last = _End(record, 0, None), min(files)
    for name, data in files.items():
        first = first_of(name)
        if first <= end.number + (end.torn is not None) and data.size == 0:
            continue  # its making was given up
        if first != end.number + 1 or end.torn is not None:
            raise StorageError(
                f"cannot open database {storage.where()}: its log ends at record {end.number} and goes on in {name}; a "
                "file is damaged or missing; restore it from a backup"
            )
        end, last = _read(data, storage, name, end.number, known), name
    check_end(storage, end.number)
    try:
        known.finish()
    except MissingFunctionError:
        raise
    except (ConstraintError, NumericError) as error:
        raise StorageError(
            f"cannot open database {storage.where()}: what its log has up to record {end.number} cannot be applied: "
            f"{error}. Earlier releases could leave a commit there that they were about to refuse: `ivm recover --to` "
            "the time before that makes a copy without it"
        ) from error
    return Reached(on_disk, last, files[last], *end)


def _cut_off(storage: Storage, name: str, data: pa.Buffer, number: int, size: int) -> None:
    """Keep what is behind the end of a log's file, and say that it is not of the log any more."""
    where, left = storage.where(name), data.size - size
    try:
        kept = keep_remains(storage, number + 1, data.slice(size))
        beside = f", and kept as {storage.where(kept)}" if kept else ": zeros"
    except OSError as error:
        beside = f", and could not be kept: {reason(error)}"
    _told.warning("%s: the last %d bytes are of a commit that a crash interrupted; cut off%s", where, left, beside)


def _read(data: pa.Buffer, storage: Readable, name: str, number: int, known: Known) -> _End:
    """Take over the records of a file, which follow record `number`."""
    where, size = storage.where(name), 0
    for record in records(data, number + 1, where):
        if isinstance(record, Torn):
            return _End(number, size, record)
        try:
            known.add(record)
        except MissingFunctionError:
            raise
        except (Error, KeyError, TypeError, ValueError, pa.ArrowException) as error:
            raise StorageError(
                f"cannot open database {storage.where()}: record {record.number} of {where} cannot be applied: {error}"
            ) from error
        known.tell(record.end - size)
        number, size = record.number, record.end
    return _End(number, size, None)


class Known:
    """What exists by the records that were read so far. Tables are there already; views that are new come last.

    `install` installs one of these; see `install_again`.
    """

    def __init__(
        self,
        core: Core,
        size: int,
        progress: Told | None,
        install: Callable[[Core, Catalog, View], None] = install_again,
    ) -> None:
        self._core, self._install = core, install
        self._size, self._done, self._told = size, 0, 0
        self._progress = progress
        self._catalog = core.catalog.fixed()
        self._replay = Replay(engine_of(core))

    def add(self, record: Record) -> None:
        """Take over a record."""
        head, at = read_head(record.payload)
        if record.kind == COMMIT:
            self._replay.add(read_commit(head, record.payload, at))
        elif record.kind in KINDS:
            self._replay.flush()
            self._define(head, read_made(head, record.payload, at))
            if "changes" in head:
                self._replay.add(read_commit(head, record.payload, at))
            if self._keeps_past:  # so that it is known what has changed in new views since
                self.finish()
        else:
            raise StorageError(
                f"it is of kind {record.kind}, which this release of ivm does not know; open it with the release that "
                "wrote it, or a later one"
            )

    def tell(self, size: int) -> None:
        """So many bytes more were read."""
        self._done += size
        if self._progress is not None and (self._done - self._told >= _SAID_BYTES or not self._told):
            self._told = self._done
            self._progress(Progress("", self._done, self._size))

    def flush(self) -> None:
        """Have all commits take effect."""
        self._replay.flush()

    def finish(self) -> None:
        """Fill the views that are not there yet, each after those that it reads."""
        self._replay.flush()
        core, catalog = self._core, self._catalog
        there = core.catalog.content
        core.begin_defining(self._progress)
        core.catalog.become(catalog)
        for view in catalog.views:
            if there.get(key(view.name)) is not view:
                self._install(core, catalog, view)
        core.begin_defining(None)

    @property
    def _keeps_past(self) -> bool:
        engine = engine_of(self._core)
        keeps = bool(engine.past.history or engine.listeners.names)
        return keeps or any(view.history for view in self._catalog.views)

    def _define(self, head: dict[str, Any], made: dict[str, pa.Table | None]) -> None:
        core, catalog = self._core, catalog_of(head, self._catalog)
        engine, there = engine_of(core), core.catalog.fixed()
        emptied = [table for table, rows in made.items() if rows is None and table in engine.tables]
        anew = {key(view.name) for table in emptied for view in there.dependents(table)}  # all rows come again
        for name, entry in [*there.content.items()]:
            if isinstance(entry, View) and (name in anew or catalog.content.get(name) is not entry):
                engine.put(entry.name, None, None)
                there.content = {each: kept for each, kept in there.content.items() if each != name}
        core.catalog.become(there)
        changes = read_altered(head, self._catalog, catalog)
        altered = {each.table.name: (each, default_values(each.table, each.new)) for each in changes}
        others = [table["name"] for table in head["tables"]]
        put = declared(engine.tables, catalog, made, altered, others, head["time"])
        for name in {*engine.tables} - {table.name for table in catalog.tables if table.name not in made}:
            engine.put_table(name, None)
        for name, table in put.items():
            engine.put_table(name, table)
        self._catalog = catalog

"""Recovery: a database as the last commit left it that its log has."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, NamedTuple

import pyarrow as pa

from catalog.catalog import Catalog
from catalog.errors import Error, StorageError
from catalog.names import key
from catalog.plain import table_of, type_of, view_of
from ivm.core import Core
from ivm.defining import install
from ivm.durable.journal import Journal
from ivm.durable.payload import COMMIT, DEFINITION, read_changes, read_head, read_made
from ivm.durable.replay import Replay
from ivm.engine import Progress
from ivm.storage.log import Durability, Log, first_of, log_files, log_name
from ivm.storage.record import Record, Torn, records
from ivm.storage.storage import Storage
from sql.bind import bind, with_names

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
        log = recover(core, storage, progress)
    except BaseException:
        storage.close()
        raise
    if log is not None:
        core.engine.journal = Journal(storage, log, durability, interval)


def recover(core: Core, storage: Storage, progress: Told | None = None) -> Log | None:
    """Bring a new, empty database to where the log in `storage` ends; the log, to be written further, if it may be.

    What a crash left behind the last whole record is cut off, and said; where nothing may be written it is left alone,
    since another process may just be writing it. StorageError for anything else that is wrong. `progress` is told how
    many bytes of the log were read, as of a view without a name, and how far views are; if it raises, so does this.
    Cost: reads the log; the changes of many commits are applied together, each at its times. Views are filled last.
    """
    files = {name: storage.read(name, mapped=storage.writable) for name in log_files(storage)}
    if not files:
        return _begin(storage) if storage.writable else None
    known = _Known(core, sum(data.size for data in files.values()), progress)
    end, last = _End(0, 0, None), min(files)
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
    known.finish()
    if not storage.writable:
        return None
    file = storage.open(last)
    if end.torn is not None:
        where = storage.where(last)
        _told.warning("%s: the last %d bytes are of a commit that a crash interrupted; cut off", where, end.torn.bytes)
        file.truncate(end.size)
        file.sync()
    return Log(storage, last, file, end.number, end.size)


def _begin(storage: Storage) -> Log:
    """A log without records."""
    name = log_name(1)
    file = storage.create(name)
    file.sync()
    storage.sync_names()
    return Log(storage, name, file, 0, 0)


def _read(data: pa.Buffer, storage: Storage, name: str, number: int, known: _Known) -> _End:
    """Take over the records of a file, which follow record `number`."""
    where, size = storage.where(name), 0
    for record in records(data, number + 1, where):
        if isinstance(record, Torn):
            return _End(number, size, record)
        try:
            known.add(record)
        except (Error, KeyError, TypeError, ValueError, pa.ArrowException) as error:
            raise StorageError(
                f"cannot open database {storage.where()}: record {record.number} of {where} cannot be applied: {error}"
            ) from error
        known.tell(record.end - size)
        number, size = record.number, record.end
    return _End(number, size, None)


class _Known:
    """What exists by the records that were read so far; the tables are there already, views come last."""

    def __init__(self, core: Core, size: int, progress: Told | None) -> None:
        self._core = core
        self._size, self._done, self._told = size, 0, 0
        self._progress = progress
        self._catalog = Catalog()
        self._replay = Replay(core.engine)

    def add(self, record: Record) -> None:
        """Take over a record."""
        head, at = read_head(record.payload)
        if record.kind == COMMIT:
            self._replay.add(head, list(read_changes(head, record.payload, at)))
        elif record.kind == DEFINITION:
            self._replay.flush()
            self._define(head, read_made(head, record.payload, at))
        else:
            raise StorageError(f"it is of kind {record.kind}, which this release of ivm does not know")

    def tell(self, size: int) -> None:
        """So many bytes more were read."""
        self._done += size
        if self._progress is not None and (self._done - self._told >= _SAID_BYTES or not self._told):
            self._told = self._done
            self._progress(Progress("", self._done, self._size))

    def finish(self) -> None:
        """Fill the views, each after those that it reads."""
        self._replay.flush()
        core, catalog = self._core, self._catalog
        core.begin_defining(self._progress)
        core.catalog.become(catalog)
        for view in catalog.views:
            bound = bind(view.unnamed or view.sql, catalog)
            if view.unnamed:
                bound = with_names(bound, view.name, [field.name for field in view.schema])
            install(core, catalog, view, bound)
        core.begin_defining(None)

    def _define(self, head: dict[str, Any], made: dict[str, pa.Table | None]) -> None:
        engine, tables = self._core.engine, [table_of(plain) for plain in head["tables"]]
        entries = dict(self._catalog.content)
        entries |= {key(table.name): table for table in tables}
        entries |= {key(view.name): view for view in map(view_of, head["views"])}
        catalog = Catalog()
        for name, type_ in head["types"].items():
            catalog.add_type(name, type_of(type_))
        catalog.content = {key(name): entries[key(name)] for name in head["names"]}
        for name in [*engine.tables]:
            if catalog.content.get(key(name)) is None or catalog.content[key(name)].name != name or name in made:
                engine.put_table(name, None)
        for table in tables:
            new = table.name in made
            rows = made.get(table.name)
            declared = engine.tables.made(table, rows, engine.time + 1) if new else engine.tables.indexed(table)
            engine.put_table(table.name, declared)
        self._catalog = catalog

"""Restoring: a new, empty database brought to where a checkpoint was made."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa

from ivm.catalog.catalog import Catalog
from ivm.catalog.errors import BindError, Error, MemoryLimitError, MissingFunctionError, StorageError
from ivm.catalog.schema import Table, View
from ivm.dataflow.node import Node
from ivm.durable.files import Reading
from ivm.durable.manifest import Manifest
from ivm.durable.moment import of_view
from ivm.durable.on_disk import OnDisk, WrittenState
from ivm.durable.payload import catalog_of
from ivm.durable.rows import as_read, read_rows
from ivm.engine.declaring import referred_first
from ivm.engine.engine import Engine
from ivm.plan.arrangement import ArrangementPlan
from ivm.plan.identity import Identities
from ivm.plan.node import Plan
from ivm.session.core import Core, engine_of
from ivm.session.defining import install
from ivm.sql.bind import BoundQuery, bind, with_names
from ivm.storage.storage import Readable
from ivm.storage.stored import Stored
from ivm.trace.columns.segment import Segment
from ivm.trace.index.arrangement import Arrangement

_told = logging.getLogger("ivm")


def restore(core: Core, storage: Readable, manifest: Manifest, *, fills: bool = True) -> OnDisk:
    """Bring a new, empty database to where the checkpoint was made; what there is of it on disk.

    `fills`: False leaves views out, which are known all the same.
    StorageError if a table cannot be read. Views whose state cannot, or was not kept by the same plan, are filled anew,
    which is said. Cost: reads all files once; rows of tables stay where they are mapped, indexes are made anew.
    """
    try:
        with Reading(storage, (written for _, written in manifest.files())) as reading:
            return _restored(core, reading, manifest, fills)
    except (StorageError, MemoryLimitError, BindError, MissingFunctionError):
        raise
    except (Error, AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise StorageError(
            f"cannot open database {storage.where()}: what its manifest says does not fit together: {error!r}; restore "
            "it from a backup"
        ) from error


def _restored(core: Core, reading: Reading, manifest: Manifest, fills: bool) -> OnDisk:
    catalog, on_disk, engine = catalog_of(manifest.defined, core.catalog), OnDisk.of(manifest), engine_of(core)
    engine.begin_at(manifest.time)
    engine.batches.update(manifest.batches)
    views = catalog.views if fills else ()
    _expect_functions(core, views)
    bound = {view.name: bound_again(view, catalog) for view in views}  # while files are checked
    restore_tables(engine, reading, manifest, catalog.tables, on_disk)
    indexes = made_indexes(engine, manifest) if views else []
    saved = Saved(reading, manifest.states)
    core.catalog.become(catalog)
    for view in views:
        on_disk.lacks |= _restore_view(core, catalog, view, bound[view.name], manifest.planned.get(view.name), saved)
    indexes.clear()  # views have those that they need
    if engine.past.history:  # each table and view knows by itself since when it can be read
        kept = [view.log.sealed.since for view in engine.views.values()]
        kept += [store.begins for store in engine.tables.values()]
        engine.begin_at(manifest.time, max(0, min(kept, default=manifest.time)))
    on_disk.states = saved.restored
    return on_disk


def install_again(core: Core, catalog: Catalog, view: View) -> None:
    """Install a view that was defined once; see `ivm.session.defining.install`."""
    _expect_functions(core, [view])
    install(core, catalog, view, bound_again(view, catalog), rehearsed=False)


def install_nothing(core: Core, catalog: Catalog, view: View) -> None:
    """As `install_again`, where nobody asks for a view."""


def install_at_once(core: Core, catalog: Catalog, view: View) -> None:
    """As `install_again`, but nobody comes in between; the caller has the lock."""
    _expect_functions(core, [view])
    bound, engine = bound_again(view, catalog), engine_of(core)
    planned = engine.planned(bound.relation) if view.maintained else None
    installed = None if planned is None else engine.installed(view, planned, lambda progress: None)
    engine.put(view.name, installed, bound.oracle_sql)


def _expect_functions(core: Core, views: Iterable[View]) -> None:
    """Have the functions that views call. BindError if one is not as it was."""
    for view in views:
        for each in view.calls:
            core.functions.expect(each, view.name)


def bound_again(view: View, catalog: Catalog) -> BoundQuery:
    """The query of a view that was defined once."""
    bound = bind(view.unnamed or view.sql, catalog, zone=view.zone)
    return with_names(bound, view.name, [field.name for field in view.schema]) if view.unnamed else bound


class Unusable(Exception):
    """What was saved of a state cannot be used."""


class Saved:
    """The states that a checkpoint has, by the identities of plans, each in as many files as its node has states.

    `restored`: those that nodes have taken. `missed`: the plans of which nothing was there.
    """

    def __init__(self, reading: Reading, states: Mapping[str, Sequence[Stored]]) -> None:
        self._reading = reading
        self._states = dict(states)
        self._identities = Identities()
        self.restored: dict[str, WrittenState] = {}
        self.missed: list[str] = []

    def __call__(self, plan: Plan | ArrangementPlan, node: Node, contents: bool) -> bool:
        """Give a new node what was kept of its states; False if nothing was. `contents`: it holds those of a view."""
        identity = self._identities.of(plan)
        if contents:
            identity = of_view(identity)
        files, states = self._states.get(identity, ()), node.operator.states
        if len(files) != len(states):
            self.missed.append(identity)
            return False
        try:
            for state, written in zip(states, files, strict=True):
                state.restore(map(Segment, self._reading.batches(written)))
        except Exception as error:  # whatever it is, the state can be made again
            del self._states[identity]
            raise Unusable(f"{', '.join(each.file for each in files)}: {error}") from error
        self.restored[identity] = WrittenState(node.number, node.updates_in, tuple(files))
        return True


def restore_tables(
    engine: Engine, reading: Reading, manifest: Manifest, tables: Iterable[Table], on_disk: OnDisk
) -> None:
    """Give a new engine the tables that a checkpoint has, and `on_disk` what there is of them.

    StorageError for one that cannot be read. Cost: rows stay where they are mapped.
    """
    for table in referred_first(tables):
        _restore_table(engine, reading, manifest, table, on_disk)


def _restore_table(engine: Engine, reading: Reading, manifest: Manifest, table: Table, on_disk: OnDisk) -> None:
    files, declared = manifest.tables[table.name], engine.tables.made(table)
    batches, dead, lives = read_rows(reading, files, table)
    keeps = bool(engine.past.history)
    try:
        numbering = declared.store.load(batches, dead, manifest.time, lives if keeps else None)
    except (Error, pa.ArrowException, KeyError, TypeError, ValueError) as error:
        names = ", ".join(part.written.file for part in files.parts)
        raise StorageError(f"cannot read table {table.name} from {names}: {error}; restore it from a backup") from error
    if keeps:
        declared.store.begins = lives.since
    engine.put_table(table.name, declared)
    on_disk.tables[table.name] = as_read(files, numbering, [field.name for field in table.fields], len(dead))


def made_indexes(engine: Engine, manifest: Manifest) -> list[Arrangement]:
    """The indexes that tables had, made side by side; they go when nobody has them."""
    found = []
    for name, keys in manifest.indexes.items() if engine.renderer.sharing else ():
        table = engine.tables[name]
        found += [table.arrangement(tuple(key)) for key in keys]
        table.store.columns.settle(sorted({column for key in keys for column in key}))
    with ThreadPoolExecutor(2, "ivm-index") as beside:
        for _ in beside.map(lambda index: deque(index.fill(), maxlen=0), found):
            pass
    return found


def _restore_view(
    core: Core, catalog: Catalog, view: View, bound: BoundQuery, planned: Mapping[str, float] | None, saved: Saved
) -> bool:
    """Install a view with the states that were saved; where some cannot be read, without these. Whether some lacked.

    `planned`: by which sizes it was planned; None: it was not there, and nothing was saved.
    """
    renderer, known = engine_of(core).renderer, False
    while True:
        saved.missed.clear()
        renderer.saved = saved
        try:
            install(core, catalog, view, bound, planned or {}, rehearsed=False)
        except Unusable as error:
            if not known:
                _told.warning("view %s is filled anew, since what was saved of it cannot be used: %s", view.name, error)
            known = True
            continue
        finally:
            renderer.saved = None
        if saved.missed and not known and planned is not None:
            _told.warning("view %s is filled anew: what was saved is of another plan than it has now", view.name)
        return known or bool(saved.missed)

"""What a shard answers when it is asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from ivm.catalog.errors import BindError
from ivm.cluster.filling import Done
from ivm.cluster.questions import Question
from ivm.cluster.resident import Resident
from ivm.cluster.tables import parts_of
from ivm.cluster.wire import changes_payload
from ivm.distribute.placement import is_repeated
from ivm.engine.transaction import Change
from ivm.engine.view import Installed
from ivm.session.conflicts import met_by
from ivm.session.introspection import RELATIONS
from ivm.trace.rows.table_store import TableStore

_ROWS = 1 << 18
"""Of a table in a message at most."""


def answer(resident: Resident, question: Question) -> pa.Table:
    """What a shard says, of rows that each shard has only what the first one says."""
    engine = resident.engine
    match question.kind:
        case "table":
            table = resident.catalog.table(question.name)
            rows = _table(resident, question).reading(question.as_of)()
            return rows.slice(0, 0) if table.replicated and resident.number else rows
        case "meeting":
            given = pa.ipc.open_stream(bytes.fromhex(question.given)).read_all()
            keys = [tuple(key) for key in question.keys]
            rows = met_by(_table(resident, question), engine.dictionary, keys, given, question.as_of)
            return rows.slice(0, 0) if resident.catalog.table(question.name).replicated and resident.number else rows
        case "view":
            part = _part(resident, question.name, question.as_of)
            rows = part.shown(part.log.sealed, engine.dictionary.now(), question.as_of).rows()
            return rows.slice(0, 0) if _is_repeated(resident, question.name) else rows
        case "changes":
            found = resident.teller.told.get(question.name)  # a commit that does not reach it stops at a lower level
            return engine.contents(question.name).no_changes() if found is None else found
        case "history":
            assert question.as_of is not None, "it says up to when"
            part = _part(resident, question.name, question.after)
            rows = part.changed(part.log.sealed, engine.dictionary.now(), question.after, question.as_of)
            return rows.slice(0, 0) if _is_repeated(resident, question.name) else rows
        case "nulls":
            ((column,),) = question.keys
            is_ours = not (resident.number and resident.catalog.table(question.name).replicated)
            return pa.table({"nulls": pa.array([engine.tables[question.name].nulls(column) * is_ours], pa.int64())})
        case "sizes":
            names = [name for name, _ in _sizes(resident)]
            return pa.table({"name": names, "rows": pa.array([rows for _, rows in _sizes(resident)], pa.int64())})
        case "fill":
            return pa.table([[each] for each in resident.work(question.millis / 1e3)], names=list(Done._fields))
        case "relation":
            return RELATIONS[question.name](engine)()
    raise AssertionError(f"nobody asks for {question.kind}")


def _table(resident: Resident, question: Question) -> TableStore:
    """A shard's rows of a table. BindError where it does not know what there was at a time."""
    store = resident.engine.tables[question.name]
    if question.as_of is not None and question.as_of < store.begins:
        raise BindError(
            f"cannot read table {question.name} as of time {question.as_of}: it was created, or shard "
            f"{resident.number} loaded, since, and it is known from time {store.begins} on; read a later one"
        )
    return store


def _part(resident: Resident, view: str, as_of: int | None) -> Installed:
    """A shard's part of a view. BindError where it does not know what there was at a time."""
    part = resident.engine.views[view]
    if as_of is not None and as_of < part.log.sealed.since:
        raise BindError(
            f"cannot read view {view} as of time {as_of}: it was created, or shard {resident.number} loaded, since, "
            f"and it is known from time {part.log.sealed.since} on; read a later one"
        )
    return part


def rows_for(resident: Resident, tables: Sequence[str], shards: int) -> Iterator[tuple[int, bytes]]:
    """A shard's rows of tables as messages of a commit to so many others, each with its number; see `answer`."""
    for name in tables:
        table = resident.catalog.table(name)
        for batch in answer(resident, Question("table", name)).to_batches(max_chunksize=_ROWS):
            for to, part in parts_of(Change(table, batch), shards):
                yield to, changes_payload([part], 0)


def _sizes(resident: Resident) -> Iterator[tuple[str, int]]:
    for name, store in resident.engine.tables.items():
        if not (resident.number and resident.catalog.table(name).replicated):
            yield name, store.count
    for name, installed in resident.engine.views.items():
        if not _is_repeated(resident, name):
            yield name, len(installed.log)


def _is_repeated(resident: Resident, view: str) -> bool:
    """Whether another shard has the same rows, and gives them."""
    return is_repeated(resident.views[view].placement, resident.number)

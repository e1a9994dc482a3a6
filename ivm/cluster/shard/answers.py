"""What a shard answers when it is asked."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pyarrow as pa

from ivm.cluster.protocol.questions import Question
from ivm.cluster.protocol.selection import Reads
from ivm.cluster.protocol.wire import Said, said_of
from ivm.cluster.shard.filling import Done
from ivm.cluster.shard.held import part_of, repeats, rows_of_table, rows_of_view, store_of
from ivm.cluster.shard.resident import Resident
from ivm.engine.lasting import known_since
from ivm.engine.transaction import Change
from ivm.session.conflicts import met_by

_ROWS = 1 << 18
"""Of a table in a message at most."""


def answer(resident: Resident, question: Question) -> pa.Table:
    """What a shard says, of rows that each shard has only what the first one says."""
    engine = resident.engine
    match question.kind:
        case "table":
            return rows_of_table(resident, question.name, question.as_of)
        case "meeting":
            given = pa.ipc.open_stream(bytes.fromhex(question.given)).read_all()
            keys = [tuple(key) for key in question.keys]
            store = store_of(resident, question.name, question.as_of)
            rows = met_by(store, engine.dictionary, keys, given, question.as_of)
            return rows.slice(0, 0) if resident.catalog.table(question.name).replicated and resident.number else rows
        case "view":
            return rows_of_view(resident, question.name, question.as_of)
        case "changes":
            found = resident.teller.told.get(question.name)  # a commit that does not reach it stops at a lower level
            return engine.contents(question.name).no_changes() if found is None else found
        case "history":
            assert question.as_of is not None, "it says up to when"
            part = part_of(resident, question.name, question.after)
            rows = part.changed(part.log.sealed, engine.dictionary.now(), question.after, question.as_of)
            return rows.slice(0, 0) if repeats(resident, question.name) else rows
        case "since":
            since = known_since(engine.views[question.name], engine.since, engine.time)
            return pa.table({"since": pa.array([since], pa.int64())})
        case "nulls":
            ((column,),) = question.keys
            is_ours = not (resident.number and resident.catalog.table(question.name).replicated)
            return pa.table({"nulls": pa.array([engine.tables[question.name].nulls(column) * is_ours], pa.int64())})
        case "sizes":
            names = [name for name, _ in _sizes(resident)]
            return pa.table({"name": names, "rows": pa.array([rows for _, rows in _sizes(resident)], pa.int64())})
        case "write":
            from ivm.cluster.shard.selecting import written  # noqa: PLC0415  DuckDB, which others need not load

            said = json.loads(question.given)
            return written(resident, Reads.of(said["query"]), **said["file"])
        case "fill":
            return pa.table([[each] for each in resident.work(question.millis / 1e3)], names=list(Done._fields))
        case "relation":
            return engine.relations()[question.name]()()
    raise AssertionError(f"nobody asks for {question.kind}")


def rows_for(resident: Resident, name: str, part: int, of: int) -> Iterator[list[Said]]:
    """One of so many parts of a shard's rows of a table, as what is said in a commit to other shards, some at a time;
    of rows that each shard has only what the first one says.
    """
    table = resident.catalog.table(name)
    if not (resident.number and table.replicated):
        for batch in resident.engine.tables[name].part(part, of).to_batches(max_chunksize=_ROWS):
            yield said_of([Change(table, batch)])


def _sizes(resident: Resident) -> Iterator[tuple[str, int]]:
    for name, store in resident.engine.tables.items():
        if not (resident.number and resident.catalog.table(name).replicated):
            yield name, store.count
    for name, installed in resident.engine.views.items():
        if not repeats(resident, name):
            yield name, len(installed.log)

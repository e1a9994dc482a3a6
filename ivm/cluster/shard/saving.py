"""A shard in pieces, and back: rows of tables as they are kept, what the nodes of its dataflow keep, and their plans.

The first piece is a head in JSON, which says what the others are. Living rows lie in ranges of their numbers, so that
full ones of which none has died are the same at the next time. The last piece is the plans, in JSON too: they were made
beside other views, which may be gone by now, so nobody could make them again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from ivm.catalog.catalog import Catalog
from ivm.catalog.errors import StorageError
from ivm.catalog.plain import Plain
from ivm.catalog.schema import Table
from ivm.cluster.planning.guards import at_home
from ivm.cluster.shard.shard import Shard
from ivm.dataflow.node import Node
from ivm.distribute.distribute import Distributed
from ivm.distribute.exchange import Channel
from ivm.durable.moment import nodes_that_keep, of_view
from ivm.durable.payload import catalog_of, definition_of
from ivm.durable.rows import batches_of
from ivm.engine.declaring import referred_first
from ivm.engine.engine import Engine
from ivm.plan.arrangement import ArrangementPlan
from ivm.plan.identity import Identities
from ivm.plan.node import Plan
from ivm.plan.plain import plain_plans, plans_of
from ivm.sql.ir.relation import Relation
from ivm.trace.columns.segment import Segment
from ivm.trace.rows.rows_reader import RowsReader

RANGE = 1 << 16
"""So many rows are a piece."""
_OPTIONS = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=False)


def saved(
    engine: Shard,
    catalog: Catalog,
    planned: Mapping[str, Any],
    editions: Mapping[str, int],
    cut: Mapping[str, Channel | Distributed],
) -> Iterator[bytes]:
    """The pieces, of what there is now; another thread may read them while commits go on.

    `planned`: plain values by which each view was distributed. `editions`: see `Channels`. `cut`: what came of
    that, by the names of channels and views. Cost now: that of the number of tables and states.
    """
    identities = Identities()
    tables: dict[str, RowsReader] = {}
    states: dict[str, list[list[Segment]]] = {}
    for name, store in engine.tables.items():
        tables[name] = store.reader()
    for plan, node in nodes_that_keep(engine, identities):
        states.setdefault(plan, [list(state.segments()) for state in node.operator.states])
    head = {
        "time": engine.time,
        "defined": definition_of(catalog),
        "planned": planned,
        "editions": dict(editions),
        "tables": {name: -(-reader.rows // RANGE) for name, reader in tables.items()},
        "states": {plan: [len(state) for state in each] for plan, each in states.items()},
    }
    names = {table.name: [field.name for field in table.fields] for table in catalog.tables}
    plans = {name: (cut[name].relation, plan) for name, plan in engine.plans().items()}
    return _pieces(json.dumps(head).encode(), names, tables, states, plans)


def _pieces(
    head: bytes,
    names: Mapping[str, list[str]],
    tables: Mapping[str, RowsReader],
    states: Mapping[str, list[list[Segment]]],
    plans: Mapping[str, tuple[Relation, Plan]],
) -> Iterator[bytes]:
    yield head
    for name, reader in tables.items():
        for first in range(0, reader.rows, RANGE):
            yield _stream(batches_of(reader, names[name], first, min(first + RANGE, reader.rows)))
    for each in states.values():
        for state in each:
            for segment in state:
                yield _stream([segment.batch])
    identities = Identities()
    of = {name: identities.of(relation) for name, (relation, _) in plans.items()}
    yield json.dumps({"of": of} | plain_plans({name: plan for name, (_, plan) in plans.items()})).encode()


def loaded(
    engine: Shard,
    pieces: Iterable[bytes],
    plan_again: Callable[[Catalog, Mapping[str, Any], Mapping[str, int]], None],
) -> Catalog:
    """Bring a new engine to where it was saved; what exists there. `plan_again` makes the views, as they were planned.

    StorageError where the pieces are of another release, which plans otherwise. Earlier ones kept no plans: what they
    saved is planned by the same sizes beside the views that there are, which need not lead to the same plans.
    """
    left = iter(pieces)
    head = json.loads(next(left))
    catalog = catalog_of(head["defined"])
    engine.begin_at(head["time"])
    read = {name: _all_batches(left, count) for name, count in head["tables"].items()}
    for table in referred_first(catalog.tables):
        _load_table(engine, at_home(table, catalog.table), read[table.name], head["time"])
    states = {
        plan: [[Segment(batch) for batch in _all_batches(left, count)] for count in each]
        for plan, each in head["states"].items()
    }
    engine.renderer.saved, plans = _Saved(states), next(left, None)
    engine.planned_once = None if plans is None else _Plans(json.loads(plans))
    try:
        plan_again(catalog, head["planned"], head.get("editions", {}))  # which earlier releases did not know
    finally:
        engine.renderer.saved = engine.planned_once = None
    return catalog


class _Saved:
    """Gives new nodes what was saved of their plans."""

    def __init__(self, states: Mapping[str, list[list[Segment]]]) -> None:
        self._states = states
        self._identities = Identities()

    def __call__(self, plan: Plan | ArrangementPlan, node: Node, contents: bool) -> bool:
        """True; there is nothing else that a node could be filled from. StorageError where nothing was saved."""
        identity = self._identities.of(plan)
        found = self._states.get(of_view(identity) if contents else identity)
        if found is None or len(found) != len(node.operator.states):
            raise _others()
        for state, segments in zip(node.operator.states, found, strict=True):
            state.restore(segments)
        return True


class _Plans:
    """Gives views, and fragments of channels, the plans that they had."""

    def __init__(self, plain: Plain) -> None:
        try:
            self._of, self._plans = plain["of"], plans_of(plain)
        except (KeyError, TypeError, ValueError) as error:
            raise _others() from error
        self._identities = Identities()

    def __call__(self, name: str, relation: Relation) -> Plan:
        """StorageError where it was that of something else: so this release cuts a view otherwise."""
        if self._of.get(name) != self._identities.of(relation):
            raise _others()
        return self._plans[name]


def _others() -> StorageError:
    return StorageError("what was saved is of other plans than this release of ivm makes; use the one that wrote it")


def _load_table(engine: Engine, table: Table, rows: list[pa.RecordBatch], time: int) -> None:
    declared = engine.tables.made(table)
    declared.store.load(rows, np.empty(0, np.int64), time)
    engine.put_table(table.name, declared)


def _all_batches(pieces: Iterator[bytes], count: int) -> list[pa.RecordBatch]:
    return [batch for piece in islice(pieces, count) for batch in _batches(piece)]


def _batches(piece: bytes) -> list[pa.RecordBatch]:
    source, found = pa.BufferReader(piece), list[pa.RecordBatch]()
    while source.tell() < len(piece):
        found += pa.ipc.open_stream(source)
    return found


def _stream(batches: Iterable[pa.RecordBatch]) -> bytes:
    """Batches, in as many streams as it takes: some have texts in dictionaries, some have not."""
    sink, writer, schema = pa.BufferOutputStream(), None, None
    for batch in batches:
        if writer is None or batch.schema != schema:
            if writer is not None:
                writer.close()
            schema = batch.schema
            writer = pa.ipc.new_stream(sink, schema, options=_OPTIONS)
        writer.write_batch(batch)
    if writer is not None:
        writer.close()
    return bytes(sink.getvalue())

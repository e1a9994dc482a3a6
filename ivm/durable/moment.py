"""A moment: all that a checkpoint writes down, as it was between two commits, while others go on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ivm.catalog.catalog import Catalog
from ivm.dataflow.node import Node
from ivm.engine.engine import Engine
from ivm.plan.identity import Identities
from ivm.trace.columns.segment import Segment
from ivm.trace.rows.rows_reader import RowsReader


@dataclass(frozen=True, slots=True)
class SavedNode:
    """What a node keeps, by its number: a sequence of segments for each of its states. None where that was written
    already.
    """

    node: int
    updates: int
    segments: Sequence[Iterable[Segment]] | None


@dataclass(frozen=True, slots=True)
class Moment:
    """What there was after the commit of record `record`. Rows of tables by name, what nodes keep by their plans."""

    record: int
    time: int
    catalog: Catalog
    batches: Mapping[str, int]
    planned: Mapping[str, Mapping[str, float]]
    indexes: Mapping[str, Sequence[Sequence[int]]]
    tables: Mapping[str, tuple[RowsReader, int]]
    """With the time since which it is known what was there."""
    states: Mapping[str, SavedNode]


def moment_of(
    engine: Engine, catalog: Catalog, record: int, identities: Identities, written: Mapping[str, tuple[int, int]]
) -> Moment:
    """What there is now; the caller has the lock. What has not changed since it was `written` is not looked at.

    Cost: that of the number of tables, plans and states.
    """
    states: dict[str, SavedNode] = {}
    for plan, node in nodes_that_keep(engine, identities):
        if plan not in states:
            same = written.get(plan) == (node.number, node.updates_in)
            segments = None if same else [state.segments() for state in node.operator.states]
            states[plan] = SavedNode(node.number, node.updates_in, segments)
    tables = {name: store for name, store in engine.tables.items() if not store.table.temporary}
    return Moment(
        record,
        engine.time,
        catalog.lasting(),
        dict(engine.batches),
        {name: each.sizes for name, each in engine.views.items() if not each.definition.temporary},
        {name: [each.key for each in store.arrangements()] for name, store in tables.items()},
        {name: (store.reader(), max(engine.since, store.begins, 0)) for name, store in tables.items()},
        states,
    )


def identify(engine: Engine, identities: Identities) -> None:
    """Find the identities of all plans, while others commit, but nobody defines anything; forget those of others."""
    identities.forget()
    for _ in nodes_that_keep(engine, identities):
        pass


def of_view(plan: str) -> str:
    """By what the contents of a view are known, of whose plan this is the identity."""
    return f"{plan}-contents"


def nodes_that_keep(engine: Engine, identities: Identities) -> Iterator[tuple[str, Node]]:
    """The nodes that keep anything, by the identities of their plans; tables keep their indexes themselves. Those that
    serve temporary views alone are left out. Of views of one plan that comes first which knows its past best.
    """
    ending = {name for name, installed in engine.views.items() if installed.definition.temporary}
    users = engine.users_of_nodes() if ending else {}
    for plan, node in engine.rendered():
        if node.operator.states and not (users.get(id(node)) and ending.issuperset(users[id(node)])):
            yield identities.of(plan), node
    for name, installed in sorted(engine.views.items(), key=lambda each: each[1].log.sealed.since):
        if name in ending:
            continue
        yield of_view(identities.of(installed.plan)), installed.node

"""A shard as the version protocol knows it: it is told what to do in bytes, and answers with messages in bytes.

What exists it learns from definitions, which it plans as every other shard and the driver do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from catalog.catalog import Catalog
from catalog.errors import NumericError
from catalog.schema import Table, View
from ivm.cluster import orders
from ivm.cluster.protocol import Message, Order
from ivm.cluster.reading import no_changes
from ivm.cluster.routing import arrived, routed
from ivm.cluster.saving import loaded, saved
from ivm.cluster.shard import Sent, Shard
from ivm.cluster.tables import placement_of
from ivm.cluster.wire import changes_in, channels_in, channels_payload
from ivm.distribute.distribute import Distributed, distribute
from ivm.distribute.exchange import Channel, Channels
from ivm.distribute.placement import Replicated
from ivm.durable.restore import bound_again
from ivm.render.scalars.compiler import Compiler
from ivm.tables import Declared
from ivm.trace.delta import Delta
from ivm.trace.exported import ArrowRows
from ivm.transform.pipeline import optimize
from ivm.view import Installed
from ivm.view_changes import view_changes

Boxes = dict[int, dict[str, list[pa.RecordBatch]]]
"""What is said to each shard, by channel."""


@dataclass(slots=True)
class _Defining:
    """A definition under way: the catalog that it leads to, what is new and what goes."""

    catalog: Catalog
    time: int
    gone: Sequence[str]
    tables: Mapping[str, Declared]
    sizes: Mapping[str, float]
    view: View | None = None
    distributed: Distributed | None = None
    installed: Installed | None = None
    oracle_sql: str = ""
    planned: tuple[Mapping[str, float], orders.Values] = field(default_factory=lambda: ({}, {}))


class Resident:
    """See `ivm.cluster.protocol.Shard`. `number` is its own, of so many `shards`."""

    def __init__(
        self, number: int, shards: int, compiler: Compiler | None = None, history: int = 0, *, sharing: bool = True
    ) -> None:
        self.engine = Shard(compiler, history, sharing=sharing)
        self.catalog = Catalog()
        self.views: dict[str, Distributed] = {}
        """How each maintained view is distributed."""
        self.number = number
        self._planned: dict[str, tuple[Mapping[str, float], orders.Values]] = {}
        """The sizes and values that each maintained view was planned by."""
        self.told: dict[str, pa.Table] = {}
        """The changes of views that the last commit was asked to tell."""
        self._shards = shards
        self._channels = Channels()
        self._defining: _Defining | None = None
        self._committing = False

    def step(self, order: Order, level: int, payloads: Sequence[bytes]) -> Sequence[Message]:
        """Go through a level. Error: something is wrong with what the user asked for."""
        what = orders.read(order.what)
        if isinstance(what, orders.Definition):
            return self._define(what, level, payloads)
        return self._commit(what, level, payloads)

    def undo(self) -> None:
        """Everything is as at the last `keep`."""
        if self._committing:
            self.engine.undo()
            self._committing = False
        if self._defining is not None:
            self.engine.sweep()
            self._tidy()
            self._defining = None

    def keep(self) -> None:
        """What was stepped is final."""
        if self._committing:
            self.engine.ready()
            self.engine.keep()
            self.engine.tidy_texts()
            self._committing = False
        if self._defining is not None:
            self._defined(self._defining)
            self._defining = None

    def save(self) -> Iterator[bytes]:
        """All that is here, in pieces; see `saving.saved`."""
        planned = {
            name: [dict(sizes), [[*place, value] for place, value in values.items()]]
            for name, (sizes, values) in self._planned.items()
        }
        return saved(self.engine, self.catalog, planned)

    def load(self, pieces: Iterable[bytes]) -> None:
        """Be what was saved."""
        self.catalog = loaded(self.engine, pieces, self._plan_again)

    def _plan_again(self, catalog: Catalog, planned: Mapping[str, Any]) -> None:
        """Make all views, as they were planned; what their nodes keep is at hand."""
        for view in catalog.views:
            if view.maintained:
                sizes, values = planned[view.name]
                known = {(name, column): value for name, column, value in values}
                defining = self._planned_view(_Defining(catalog, self.engine.time, (), {}, sizes), view, known)
                found = defining.distributed
                assert found is not None, "it was planned"
                for channel in found.channels:
                    self._open(channel, ())
                    self.engine.send(channel, defining.sizes)
                defining.installed = self.engine.view_of(view, found.relation, defining.sizes)
                self._defined(defining)
            else:
                self.engine.oracle_sql[view.name] = bound_again(view, catalog).oracle_sql

    def _commit(self, commit: orders.Commit, level: int, payloads: Sequence[bytes]) -> list[Message]:
        try:
            if level == 1:
                self.told = {}
                changes = changes_in(payloads, self.catalog)
                self._committing = True
                sent = self.engine.begin(changes, commit.time, commit.are_apart)
            else:
                sent = self.engine.go_on(level, self._arrived(channels_in(payloads)))
        except NumericError as error:
            names = ", ".join(self._views_of(self.engine.failed()))
            raise NumericError(f"cannot commit: view {names}: {error}; nothing was changed") from error
        for view in commit.watched:
            if self.views[view].level == level:
                self.told[view] = self._changes(view)
        boxes: Boxes = {}
        for name, delta in sent.items():
            self._post(boxes, self._channels.by_name[name], delta)
        return _messages(boxes)

    def _changes(self, view: str) -> pa.Table:
        """What has changed of a view, of which its level is done; nothing where another shard tells the same."""
        part, is_repeated = self.engine.views[view], self.number and isinstance(self.views[view].placement, Replicated)
        delta = None if is_repeated else self.engine.changed(view)
        found = view_changes(part.definition, delta, self.engine.dictionary)
        return no_changes(part, self.engine.dictionary) if found is None else found

    def _define(self, definition: orders.Definition, level: int, payloads: Sequence[bytes]) -> list[Message]:
        if level == 1:
            self._defining = self._begun(definition, payloads)
        defining = self._defining
        assert defining is not None, "the first level comes first"
        found, view = defining.distributed, defining.view
        if found is None or view is None:
            return []
        try:
            return self._filled(defining, found, view, level, payloads)
        except NumericError as error:
            what = f"cannot create view {view.name} over the rows there are"
            raise NumericError(f"{what}: {error.__cause__ or error}") from error

    def _filled(
        self, defining: _Defining, found: Distributed, view: View, level: int, payloads: Sequence[bytes]
    ) -> list[Message]:
        """A level of filling a new view: take in what has arrived, and let each fragment of the level send its rows."""
        boxes: Boxes = {}
        rows = channels_in(payloads) if level > 1 else {}
        for channel in found.channels:
            if channel.level + 1 == level:
                self._open(channel, rows.get(channel.name, ()))
        for channel in found.channels:
            if channel.level == level:
                self.engine.send(channel, defining.sizes)
                for delta in self.engine.sent(channel.name):
                    self._post(boxes, channel, delta)
        if level == found.level:
            defining.installed = self.engine.view_of(view, found.relation, defining.sizes)
        return _messages(boxes)

    def _begun(self, definition: orders.Definition, payloads: Sequence[bytes]) -> _Defining:
        catalog, old = definition.catalog(self.catalog), self.catalog
        new = [entry for name, entry in catalog.content.items() if old.content.get(name) is not entry]
        gone = [entry.name for name, entry in old.content.items() if name not in catalog.content]
        rows = {change.table.name: change.data for change in changes_in(payloads, catalog)}
        tables = {
            each.name: self._declared(each, rows.get(each.name), definition.time)
            for each in new
            if isinstance(each, Table)
        }
        views = [each for each in new if isinstance(each, View) and each.maintained]
        defining = _Defining(catalog, definition.time, gone, tables, definition.sizes)
        if not views:
            return defining
        (view,) = views
        return self._planned_view(defining, view, definition.values)

    def _planned_view(self, defining: _Defining, view: View, values: orders.Values) -> _Defining:
        """With a view that is to be there."""
        catalog, sizes = defining.catalog, defining.sizes
        bound = bound_again(view, catalog)
        channels = self._channels.copy()
        placed = {each.name: (placement_of(each), 1) for each in catalog.tables}
        placed |= {name: (each.placement, each.level) for name, each in self.views.items()}
        found = distribute(optimize(bound.relation), placed, sizes, values, channels)
        self._channels = channels
        return replace(
            defining,
            view=view,
            distributed=found,
            oracle_sql=bound.oracle_sql,
            planned=(sizes, values),
            sizes=dict(sizes) | {each.name: each.rows for each in channels.by_name.values()},
        )

    def _declared(self, table: Table, rows: ArrowRows | None, time: int) -> Declared:
        """A new table, or the one there is with other indexes."""
        known = self.catalog.find(table.name)
        if isinstance(known, Table) and known.fields == table.fields and known.name in self.engine.tables:
            return self.engine.tables.indexed(table)
        return self.engine.tables.made(table, rows, time)

    def _defined(self, defining: _Defining) -> None:
        """The definition takes effect. It may be interrupted, and called again."""
        for name in defining.gone:
            if name in self.views or name in self.engine.views:
                self.engine.put(name, None, None)
                self.views.pop(name, None)
                self._planned.pop(name, None)
            else:
                self.engine.put_table(name, None)
        for name, declared in defining.tables.items():
            self.engine.put_table(name, declared)
        self.engine.reach(defining.time)
        if defining.view is not None and defining.distributed is not None:
            self.engine.put(defining.view.name, defining.installed, defining.oracle_sql)
            self.views[defining.view.name] = defining.distributed
            self._planned[defining.view.name] = defining.planned
        self.catalog = defining.catalog
        self._tidy()

    def _tidy(self) -> None:
        """Let go of channels that no view needs, and of the rows that were sent to fill what is new."""
        needed = self._channels.needed(each.relation for each in self.views.values())
        self._channels = Channels(needed.values())
        for name in self.engine.arriving:
            self.engine.arrive(name, ())
        self.engine.forget([n for n in (*self.engine.arriving, *self.engine.leaving) if n not in needed])

    def _open(self, channel: Channel, batches: Sequence[pa.RecordBatch]) -> None:
        self.engine.open(channel, channel.level + 1)
        types = [column.type for column in channel.relation.schema]
        rows = arrived(batches, types, self.engine.dictionary)
        self.engine.arrive(channel.name, () if rows is None else (rows,))

    def _arrived(self, boxes: Mapping[str, Sequence[pa.RecordBatch]]) -> Sent:
        found = {}
        for name, batches in boxes.items():
            types = [column.type for column in self._channels.by_name[name].relation.schema]
            delta = arrived(batches, types, self.engine.dictionary)
            if delta is not None:
                found[name] = delta
        return found

    def _post(self, boxes: Boxes, channel: Channel, delta: Delta) -> None:
        if isinstance(channel.placement, Replicated) and self.number:
            return
        fields = channel.relation.schema
        for to, batch in routed(delta, fields, channel.to, self._shards, self.engine.dictionary):
            boxes.setdefault(to, {}).setdefault(channel.name, []).append(batch)

    def _views_of(self, names: Sequence[str]) -> Iterator[str]:
        """The views that need what is called so, views and channels."""
        for name, found in sorted(self.views.items()):
            if name in names or any(each.name in names for each in found.channels):
                yield name


def _messages(boxes: Boxes) -> list[Message]:
    return [Message(to, channels_payload(box)) for to, box in sorted(boxes.items())]

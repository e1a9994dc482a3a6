"""A shard as the version protocol knows it: it is told what to do in bytes, and says rows to others.

What exists it learns from definitions, which it plans as every other shard and the driver do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from ivm.catalog.catalog import Catalog
from ivm.catalog.errors import NumericError, StorageError
from ivm.catalog.names import key
from ivm.cluster.planning.guards import Guard, guarded_anew, guards_of
from ivm.cluster.planning.planning import Gone, is_kept
from ivm.cluster.protocol import orders
from ivm.cluster.protocol.routing import arrived, routed
from ivm.cluster.protocol.terms import Order, Unwritten
from ivm.cluster.protocol.wire import Heard, Said, changes_in, channels_in
from ivm.cluster.shard.declaring import declared_here
from ivm.cluster.shard.defining import Defining, over_rows
from ivm.cluster.shard.filling import Done, Filling
from ivm.cluster.shard.saving import Saving, Snapshots, load
from ivm.cluster.shard.shard import KeptForNames, Sent, Shard
from ivm.cluster.shard.telling import Teller
from ivm.distribute.distribute import Distributed
from ivm.distribute.exchange import Channel, Channels
from ivm.distribute.placement import is_repeated
from ivm.durable.restore import bound_again
from ivm.engine.past import History
from ivm.engine.transaction import Change
from ivm.operators.exchange import nothing
from ivm.render.scalars.compiler import Compiler
from ivm.results.view_changes import view_changes
from ivm.storage.storage import Readable
from ivm.trace.delta import Delta
from ivm.trace.helpers import Helpers


class Resident:
    """See `ivm.cluster.protocol.terms.Shard`. `number` is its own, of so many `shards`."""

    def __init__(
        self, number: int, shards: int, compiler: Compiler | None = None, history: History = 0, *, sharing: bool = True,
        helpers: Helpers | None = None,
    ) -> None:  # fmt: skip
        self.engine = Shard(compiler, history, sharing=sharing, helpers=helpers)
        self.catalog = Catalog()
        self.views: dict[str, Distributed] = {}
        """How each maintained view is distributed."""
        self.number = number
        self.teller = Teller(self.engine, number, self.views)
        self.guards: dict[str, Guard] = {}
        """Those of the views that have to stay empty."""
        self._planned: dict[str, Mapping[str, float]] = {}
        """What each maintained view was planned by, in the order in which they came, or replaced another."""
        self._shards = shards
        self._channels = Channels()
        self._defining: Defining | None = None
        self._committing = False
        self._idle: orders.Commit | None = None
        """The commit under way, as long as nothing of it has come here."""
        self._first = 1
        """The level of the order at which the commit begins that is under way."""
        self._filling: Filling | None = None
        """The view that is filled while commits go on."""
        self._begun: Filling | None = None
        self._snapshots = Snapshots()
        self._is_cancelled = False
        self._kept: KeptForNames | None = None
        """What is to be kept for names, once the order under way is."""

    def step(self, order: Order, level: int, inputs: Sequence[Heard]) -> Sequence[Said]:
        """Go through a level. Error: something is wrong with what the user asked for."""
        what = orders.read(order.what)
        if isinstance(what, orders.Commit):
            self._first = 1
            return self._commit_if_any(what, level, inputs)
        if isinstance(what, orders.Filling):
            return self._fill(what, level, inputs)
        if isinstance(what, orders.Acknowledged):
            self._kept = what.kept
            return []
        if what.stage is orders.Extent.BEGUN:
            return self._begin_filling(what)
        return self._define(what, level, inputs)

    def work(self, seconds: float) -> Done:
        """Work on the view that is filled, if there is one; between commits."""
        return Done(0, True, 0) if self._filling is None else self._filling.work(seconds)

    def undo(self) -> None:
        """Everything is as at the last `keep`."""
        self._is_cancelled, self._kept = False, None
        if self._filling is not None:
            self._filling.undo()
        if self._begun is not None:
            self._begun = None
            self._tidy()
        self._idle = None
        if self._committing:
            self.engine.undo()
            self._committing = False
        if self._defining is not None:
            self._defining.undo(self.engine)
            self._tidy()
            self._defining = None

    def keep(self) -> None:
        """What was stepped is final."""
        if self._filling is not None:
            self._filling.keep()
        if self._is_cancelled:
            self._cancel()
            self._is_cancelled = False
        if self._kept is not None:
            self.engine.keep_for_names(self._kept)
            self._kept = None
        if self._begun is not None:
            self.engine.is_filling = True
            self._filling = self._begun
            self._begun = None
        if self._idle is not None:
            self.engine.reach(self._idle.time)
            self._idle = None
        if self._committing:
            self.engine.keep()
            self.engine.tidy_all_texts()
            self._committing = False
        if self._defining is not None:
            self._defined(self._defining)
            self._defining = None

    def tell(self, order: Order, level: int) -> Sequence[Unwritten]:
        """What the level that was gone through last has changed in views that are followed."""
        changed = self.teller.followed(level - self._first + 1) if self._committing else []
        if self._defining is not None and level == order.levels:
            changed += self.teller.filled(self._defining)
        return changed

    def hold(self) -> Sequence[Unwritten]:
        """All that is in views that are followed."""
        return self.teller.held()

    def save(self) -> Saving | None:
        """All that is here; see `ivm.cluster.shard.saving`. None while a view is filled."""
        if self._filling is not None:
            return None
        cut: dict[str, Channel | Distributed] = {**self._channels.by_name, **self.views}
        return self._snapshots.saving(self.engine, self.catalog, dict(self._planned), self._channels.editions, cut)

    def load(self, head: bytes, place: Readable, name: str) -> None:
        """Be what was saved."""
        self.catalog, on_disk = load(self.engine, head, place, self._plan_again)
        self._snapshots.have(name, on_disk)

    def _plan_again(
        self, catalog: Catalog, planned: Mapping[str, Mapping[str, float]], editions: Mapping[str, int]
    ) -> None:
        """Make all views, as they were planned; what their nodes keep is at hand."""
        self._channels = Channels((), editions)
        guards = {each.name: each for table in catalog.tables for each in guards_of(table, catalog)}
        for name, sizes in planned.items():
            defining = self._made(catalog, self.engine.time, sizes)
            defining.plan(guards.get(name) or catalog.view(name))
            for level in range(1, defining.level + 1):
                defining.fill(self.engine, level, lambda channel: self._open(channel, ()))
            self._defined(defining)
        for view in catalog.views:
            if not view.maintained:
                self.engine.oracle_sql[view.name] = bound_again(view, catalog).oracle_sql

    def _commit_if_any(self, commit: orders.Commit, level: int, inputs: Sequence[Heard]) -> list[Said]:
        """Go through a level of a commit that defines nothing. Cost: as long as nothing comes, next to nothing."""
        if level == 1:
            self.teller.told = {}
            if not inputs and self._filling is None:
                self._idle = commit
                return []
            return self._commit(commit, level, inputs, changes_in(inputs, self.catalog))
        if self._idle is not None:
            if not inputs:
                return []
            self._committing, self._idle = True, None
            self.engine.begin((), commit.time, commit.are_apart)
        return self._commit(commit, level, inputs, ())

    def _commit(
        self, commit: orders.Commit, level: int, inputs: Sequence[Heard], changes: Sequence[Change]
    ) -> list[Said]:
        """Go through a level of a commit: at the first one these are the changes."""
        try:
            if level == 1:
                self.teller.told = {}
                self._committing = True
                sent = self.engine.begin(changes, commit.time, commit.are_apart)
            else:
                rows = channels_in(inputs)
                if self._filling is not None:
                    self._filling.change(commit.time, rows)
                sent = self.engine.go_on(level, self._arrived(rows))
        except NumericError as error:
            names = ", ".join(sorted(self.engine.failed()))
            raise type(error)(f"cannot commit: view {names}: {error}; nothing was changed") from error
        self._check_guards(level)
        self.teller.told |= self.teller.changes(commit.watched, level)
        channels = self._channels_now.by_name
        return [said for name, delta in sent.items() for said in self._said(channels[name], delta)]

    @property
    def _channels_now(self) -> Channels:
        """Those that there are, or are to be with a definition under way."""
        return self._channels if self._defining is None else self._defining.channels

    def _check_guards(self, level: int) -> None:
        """ConstraintError if a guard has rows at a time, of those whose changes are there after this level."""
        defining = self._defining
        new = {} if defining is None else {each.view.name: each for each in defining.new}
        for name, guard in (self.guards if defining is None else defining.guards()).items():
            distributed = new[name].distributed if name in new else self.views[name]
            if distributed.level != level:
                continue
            if name in new:
                rows = self.teller.held_then(new[name], self.engine.under_way.time)
            else:
                rows = view_changes(guard.view, self.engine.changed(name), self.engine.dictionary)
            if rows is not None:
                raise guard.refusal(rows.filter(pc.greater(rows.column("_diff"), 0)))

    def _begin_filling(self, definition: orders.Definition) -> list[Said]:
        """Plan a view that is to be filled while commits go on."""
        self._check_nothing_is_filled()
        (name,) = definition.defined["names"]
        view = definition.catalog(Catalog()).view(name)
        catalog = self.catalog.fixed()
        catalog.content = {**catalog.content, key(name): view}
        defining = self._made(catalog, self.engine.time, definition.sizes)
        defining.plan(view)
        self._channels = defining.channels
        self._begun = Filling(self.engine, self.number, self._shards, defining.new[0], defining.sizes)
        return []

    def _fill(self, step: orders.Filling, level: int, inputs: Sequence[Heard]) -> list[Said]:
        """A step of the filling under way."""
        if step.step is orders.Step.CANCEL:
            self._is_cancelled = True
            return []
        filling = self._under_way()
        try:
            return filling.step(step, level, inputs)
        except NumericError as error:
            raise over_rows([filling.new], error) from error

    def _under_way(self) -> Filling:
        if self._filling is None:
            raise StorageError("cannot go on with a view that is not on its way in; open the database anew")
        return self._filling

    def _check_nothing_is_filled(self) -> None:
        if self._filling is not None:
            raise StorageError(f"view {self._filling.new.view.name} is still on its way in; open the database anew")

    def _cancel(self) -> None:
        """Let go of the view that is filled. It may be interrupted, and called again."""
        if self._filling is not None:
            self._filling.take_back()
        self.engine.is_filling = False
        self._filling = None
        self._tidy()

    def _define(self, definition: orders.Definition, level: int, given: Sequence[Heard]) -> list[Said]:
        if level == 1:
            self._begin(definition, given)
        defining = self._defining
        assert defining is not None, "the first level comes first"
        try:
            if defining.is_filled:
                self._under_way().finish()
                return []
            said = self._filled(defining, level, given) if level <= defining.level else []
        except NumericError as error:
            raise over_rows(defining.new, error) from error
        if definition.commit is None or level < defining.level:
            return said
        if level == defining.level:
            self._first = level
            defining.begin_commit(self.engine, definition.made)
        return self._commit(definition.commit, level - self._first + 1, given, defining.changes)

    def _filled(self, defining: Defining, level: int, given: Sequence[Heard]) -> list[Said]:
        """Fill what is new, a level: take in what has arrived, and let each fragment of the level send its rows."""
        rows = channels_in(given) if level > 1 else {}
        leaving = defining.fill(self.engine, level, lambda channel: self._open(channel, rows.get(channel.name, ())))
        return [
            said
            for channel in leaving
            for delta in self.engine.sent(channel.name)
            for said in self._said(channel, delta)
        ]

    def _made(self, catalog: Catalog, time: int, sizes: Mapping[str, float], anew: Sequence[str] = ()) -> Defining:
        """A definition of which nothing is planned yet."""
        return Defining(catalog, time, sizes, self._shards, self.views, self._channels.copy(anew))

    def _begin(self, definition: orders.Definition, inputs: Sequence[Heard]) -> None:
        catalog, old, anew = definition.catalog(self.catalog), self.catalog, definition.anew
        defining = self._defining = self._made(catalog, definition.time, definition.sizes, anew)
        defining.gone, defining.commit = Gone.between(old, catalog), definition.commit
        defining.changes = changes_in(inputs, catalog)
        rows = {} if defining.commit else {change.table.name: change.data for change in defining.changes}
        defining.tables = declared_here(self.engine.tables, definition, old, catalog, rows)
        if definition.stage is orders.Extent.FILLED:
            defining.is_filled, defining.new = True, [self._under_way().new]
            return
        self._check_nothing_is_filled()
        defining.begin(self.engine, definition.made, anew)
        new = [v for v in catalog.views if v.maintained and (old.find(v.name) is not v or v.name in anew)]
        defining.kept = [view for view in new if is_kept(view, old, anew)]
        for view in new:
            if view not in defining.kept:
                defining.plan(view)
        for table in guarded_anew(old, catalog, anew):
            for guard in guards_of(table, catalog):
                is_there = guard.name in self.guards and table.name not in definition.made
                if not is_there or not set(anew).isdisjoint(guard.view.uses):
                    defining.plan(guard)

    def _defined(self, defining: Defining) -> None:
        """The definition takes effect. It may be interrupted, and called again."""
        if self._filling is not None:
            self._filling.end()
            self.engine.is_filling = False  # from here on what is new is as what is there
            self._filling = None
        kept = defining.guards()
        guards = [each for each in self.guards if each not in kept]
        defining.put(self.engine, guards)
        for name in (*defining.gone.views, *guards):
            for known in (self.views, self.guards, self._planned):
                known.pop(name, None)
        for new in defining.new:
            name = new.view.name
            self.views[name] = new.distributed
            self._planned = {each: by for each, by in self._planned.items() if each != name} | {name: defining.known}
            if new.guard is not None:
                self.guards[name] = new.guard
        self.catalog, self._channels = defining.catalog, defining.channels
        self._tidy()

    def _tidy(self) -> None:
        """Let go of channels that no view needs, and of the rows that were sent to fill what is new."""
        filled = [each.new.distributed for each in (self._filling, self._begun) if each is not None]
        self._channels = self._channels.only(each.relation for each in (*self.views.values(), *filled))
        needed = self._channels.by_name
        self.engine.readers = self._readers()
        if self._filling is None:
            for name in self.engine.arriving:
                self.engine.arrive(name)
        self.engine.forget([n for n in (*self.engine.arriving, *self.engine.leaving) if n not in needed])

    def _readers(self) -> dict[str, list[str]]:
        """Of each channel the views that need it."""
        found: dict[str, list[str]] = {}
        for view, distributed in self.views.items():
            for channel in distributed.channels:
                found.setdefault(channel.name, []).append(view)
        return found

    def _open(self, channel: Channel, batches: Sequence[pa.RecordBatch]) -> None:
        self.engine.open(channel, channel.level + 1)
        rows = self._taken(channel, batches)
        self.engine.arrive(channel.name, nothing if rows is None else lambda time: iter((rows,)))

    def _arrived(self, boxes: Mapping[str, Sequence[pa.RecordBatch]]) -> Sent:
        found = {}
        for name, batches in boxes.items():
            delta = self._taken(self._channels_now.by_name[name], batches)
            if delta is not None:
                found[name] = delta
        return found

    def _taken(self, channel: Channel, batches: Sequence[pa.RecordBatch]) -> Delta | None:
        """What has come by a channel; None if nothing is left of it."""
        return arrived(batches, [column.type for column in channel.relation.schema], self.engine.dictionary)

    def _said(self, channel: Channel, delta: Delta) -> Iterator[Said]:
        """What is sent of a delta by a channel; of rows that each shard has only by the first one."""
        if not is_repeated(channel.placement, self.number):
            fields = channel.relation.schema
            found = routed(delta, fields, channel.to, self.number, self.engine.dictionary)
            if found is not None:
                yield Said(channel.name, *found)

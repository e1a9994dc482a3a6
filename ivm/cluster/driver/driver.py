"""The driver of shards: it has the catalog, the planner and the version, and keeps no row.

Whatever changes is an order, which all shards go through level by level; it
takes effect when its version is published, and never, if that does not happen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import replace
from functools import partial
from time import perf_counter_ns
from typing import Any

import pyarrow as pa

from ivm.catalog.errors import Error
from ivm.catalog.schema import Table, View
from ivm.cluster.driver.definitions import Definitions
from ivm.cluster.driver.explain import explained
from ivm.cluster.driver.filler import Filler
from ivm.cluster.driver.introspection import SHARDED
from ivm.cluster.driver.meeting import some_rows
from ivm.cluster.driver.named import Holding, put_views
from ivm.cluster.driver.shards import Shards
from ivm.cluster.driver.tables import NewTable
from ivm.cluster.driver.transport import Given, Transport
from ivm.cluster.files.files import fresh
from ivm.cluster.files.ledger import Ledger, check_newest
from ivm.cluster.files.versions import Version
from ivm.cluster.planning.levels import levels_over
from ivm.cluster.planning.planning import Beside, Guarding, check_not_followed
from ivm.cluster.planning.reading import (
    Committing,
    PlannedView,
    ShardedView,
    whole_changes,
)  # fmt: skip
from ivm.cluster.protocol import orders
from ivm.cluster.protocol.placing import placement_of
from ivm.cluster.protocol.questions import Question
from ivm.cluster.protocol.terms import Order, Status, raise_failure
from ivm.distribute.exchange import Channels
from ivm.durable.payload import Batch
from ivm.engine.backend import Reading, Section
from ivm.engine.installing import Pause, put_or_drop
from ivm.engine.tables import check_static
from ivm.engine.transaction import Change, last_time
from ivm.engine.under_way import Also
from ivm.sql.ir.relation import Relation
from ivm.subscriptions.audience import Told
from ivm.subscriptions.names import Named
from ivm.subscriptions.piece import Piece, piece_of
from ivm.trace.helpers import Helpers
from ivm.trace.rows.table_store import TableStore
from ivm.trace.text.dictionary import TextDictionary
from ivm.trace.turns import Aside, Turns, at_once


class Driver(Shards):
    """The backend of a database over shards, at one logical time; see `ivm.engine.backend`."""

    def __init__(self, transport: Transport, ledger: Ledger, helpers: Helpers, history: int = 0) -> None:
        super().__init__(transport, ledger, history)
        self.helpers = helpers
        self.journal = Definitions(self)
        self._beside: Beside | None = None
        """The views that come with the next definition."""
        self.beginnings: Mapping[str, Any] = {}
        """What new tables begin with, where the transport has the rows, and the driver not; see `commit_frames`."""
        self.guarding: dict[str, dict[str, ShardedView]] = {}
        """What checks constraints of tables that are others from the next definition on."""
        self._holding = Holding(self.listeners.names)
        self._is_trying = False
        self._under_way: Committing | None = None
        self._filler: Filler | None = None
        self._unsure = False
        """Whether nobody knows if the last order was published."""
        self._decided: tuple[Version, Callable[[], None]] | None = None
        """A version that is published, and what takes effect with it."""

    @property
    def is_installing(self) -> bool:
        """Whether a view is on its way in."""
        return self._filler is not None or self._beside is not None

    def beside(self, tables: Mapping[str, NewTable], views: Set[str]) -> Beside:
        """What plans views that are to be there together, where these `tables` and `views` are others from then on
        under their names; see `Backend.beside`.
        """
        placed = self.placed() | {name: (placement_of(made.table), 1) for name, made in tables.items()}
        anew = frozenset((*tables, *views))
        self._beside = Beside(anew, self.channels.copy(anew), placed, self.transport.shards)
        return self._beside

    def installed(
        self, definition: View, planned: PlannedView, pause: Pause, aside: Aside = at_once,
        renderer: Beside | None = None,
    ) -> ShardedView:  # fmt: skip
        """A view that will be there once its definition is published; see `Definitions`.

        If it reads many rows, it is filled before that, and others commit at each `pause`; but not where it comes with
        others, `beside` those that there are.
        """
        beside = self.beside({}, frozenset()) if renderer is None else renderer
        check_not_followed(definition, self.views.values())
        view = beside.add(definition, planned)
        rows = sum(self.sizes().get(name, 0.0) for name in planned.tables)
        if renderer is None and rows > self.transport.pace.least:
            self._cancel()
            self._filler = Filler(self, view, rows, self.transport.pace)
            try:
                self._filler.fill(pause)
            except BaseException:
                self.sweep()
                raise
        return view

    def put(self, name: str, installed: ShardedView | None, oracle_sql: str | None) -> None:
        """The view of a name is this one from now on; see `put_all`."""
        self._put({name: (installed, oracle_sql)}, self.channels if installed is None else installed.channels)

    def put_all(
        self, views: Mapping[str, tuple[ShardedView | None, str | None]], renderer: Beside | None = None
    ) -> None:
        """See `Backend.put_all`. It may be interrupted, and called again."""
        self._put(views, self.channels if renderer is None else renderer.channels)

    def _put(self, views: Mapping[str, tuple[ShardedView | None, str | None]], channels: Channels) -> None:
        put_views(self.listeners.names, self.time, self.views, self.oracle_sql, views)
        self._keep_channels(channels)

    def put_table(self, name: str, made: NewTable | None) -> None:
        """The table of a name is this one from now on, with its guards; see `put` and `guard`."""
        self.tables.put(name, made, self.time)
        guards = {} if made is None else self.guarding.get(name, {})
        put_or_drop(self.guards, name, guards or None)
        self._keep_channels(self.channels.joined(each.channels for each in guards.values()))

    def guard(self, guarding: Guarding) -> None:
        """These check constraints, of tables that are to be put."""
        self.guarding = guarding

    def _keep_channels(self, channels: Channels) -> None:
        """Those that views and guards need are there from now on."""
        self.channels = channels.only(view.relation for _, view in self.maintained())

    def commit(self, changes: Sequence[Change], batch: Batch | None = None, *, also: Also | None = None) -> int:
        """See `Commits.commit`. StorageError where nobody knows whether it is published."""
        time, are_apart = self._begun(changes)
        if also is not None:
            self._decided = also.written(changes, time), also.work
            self.settle()
            return time
        names, updates = [each.table.name for each in changes], sum(each.data.num_rows for each in changes)
        self._commit(names, changes, {}, "diff", time, are_apart, updates, batch)
        return time

    def check(self, changes: Sequence[Change]) -> Sequence[Told]:
        """See `Backend.check`; what would be told nobody asks the shards."""
        time, are_apart = self._begun(changes)
        names = [each.table.name for each in changes]
        self._tried(orders.Commit(time, are_apart).text(), self.levels(names), changes, {}, "diff")
        self.settle()
        return ()

    def _begun(self, changes: Sequence[Change]) -> tuple[int, bool]:
        """The last time of a commit, and whether somebody asks what holds at each of its times."""
        self._check_static(change.table for change in changes)
        time, are_apart = last_time(changes, self.time + 1)
        return time, are_apart and self._tells_times_apart(change.table.name for change in changes)

    def commit_frames(
        self, frames: Mapping[str, Any], mode: str, batch: Batch | None = None, last: int = 0,
        changes: Sequence[Change] = (),
    ) -> int:  # fmt: skip
        """Apply rows that the transport has, at the next time, or their own up to the `last`; and changes."""
        self._check_static(self.tables[name].table for name in frames)
        are_apart, time = bool(last) and self._tells_times_apart(frames), max(self.time + 1, last)
        names = [*frames, *(each.table.name for each in changes)]
        self._commit(names, changes, frames, mode, time, are_apart, 0, batch)
        return self.time

    def bring(self, names: Sequence[str], changes: Sequence[Change], frames: Mapping[str, Any]) -> None:
        """Bring rows of tables of these names at the time that there is, as long as nobody has seen anything of it:
        those that the driver has, and those that the transport has.
        """
        self._commit(names, changes, frames, "diff", self.time, False, 0, None)

    def hold(self, view: str, names: tuple[Named, ...]) -> None:
        """See `Backend.hold`. Cost: that of a version, where shards do not keep it yet."""
        if self._holding.hold(view, names):
            self.tell_names(dict(self.listeners.names.each()))

    def tell_names(self, names: Mapping[str, Named]) -> None:
        """Publish that these are the names by which somebody listens, and what they have acknowledged. StorageError
        where nobody knows whether it is published.
        """
        said = self._holding.order(names)
        order, statuses = self._gone_through(said.text(), 1, (), {}, "diff")
        self._publish(order, statuses, time=self.time, says_names=True)
        self._holding.told(said)
        self.listeners.names.are_written()

    def settle(self) -> None:
        """Let shards know how the last order ended, and do what takes effect with it; see `Backend.settle`."""
        if self._decided is not None:
            self.version, self._unsure = self._decided[0], False
        if self._is_trying:
            self.transport.settle(self.version)
            if self._under_way is not None and self._under_way.id == self.version.id:
                self._tell(self._under_way)
            self._under_way, self._is_trying = None, False
        if self._decided is not None:
            self._decided[1]()
            self._decided = None

    def sweep(self) -> None:
        """Nothing is left of a view that is not put; where nobody knows it, before the next definition."""
        self._beside = None
        with suppress(Error):
            self._cancel()
        self._filler = None

    def carry(self, what: bytes, levels: int, *, filling: bool) -> None:
        """Publish an order that changes no row. `filling`: whether a view is on its way in then."""
        order, statuses = self._tried(what, levels, (), {}, "diff")
        self._publish(order, statuses, time=self.time, filling=filling)

    def _cancel(self) -> None:
        """Nothing is on its way in, whoever has begun it."""
        if self.version.filling:
            self.carry(orders.Filling(orders.Step.CANCEL).text(), 1, filling=False)

    def close(self) -> None:
        """Let go of the shards, and of threads that help. StorageError if what is new of names cannot be published."""
        try:
            self._tell_names_if_due()
        finally:
            self.ledger.close()
            self.transport.close()
            self.helpers.close()

    def some_rows(
        self, table: Table, keys: Sequence[tuple[int, ...]], rows: pa.Table, as_of: int | None = None
    ) -> tuple[TableStore, TextDictionary]:
        """See `Backend.some_rows`."""
        return some_rows(self, table, keys, rows, as_of)

    def relations(self) -> Mapping[str, Callable[[], Reading]]:
        """See `Backend.relations`."""
        return {name: partial(read, self) for name, read in SHARDED.items()}

    def explained(
        self, relation: Relation, below: Mapping[str, Relation], names: Callable[[str], tuple[str, ...]], lock: Turns
    ) -> Sequence[Section]:
        """See `Backend.explained`."""
        with lock:
            return explained(self, relation)

    def coming(self) -> Beside:
        """What plans the views that come with the next definition; those of another begin anew."""
        found, self._beside = self._beside or self.beside({}, frozenset()), None
        return found

    def published(
        self, definition: orders.Definition, levels: int, given: Given, commit: Committing | None = None
    ) -> Version:
        """Publish what exists from now on, with this `commit`; `reach` is to follow. Raises what filling raises; then
        nothing has changed.

        Cost: that of reading what a new view reads, at all shards side by side, and of sending what is exchanged.
        """
        if self._filler is None:
            self._cancel()
        else:
            definition, levels = definition.at(orders.Extent.FILLED), 1
        frames = {} if commit else self.beginnings
        order, statuses = self._tried(definition.text(), levels, given, frames, "insert")
        self._under_way = None if commit is None else replace(commit, id=order.id)
        self._unsure = True
        time = definition.time if commit is None else commit.time
        return self.ledger.publish(self.version, order, statuses, time=time, is_definition=True)

    def reach(self, version: Version) -> None:
        """Be at a version that was `published`. It may be interrupted, and called again."""
        self.version = version
        self._unsure, self._filler = False, None
        self.settle()

    def leave_for(self, other: Driver) -> None:
        """Publish that what follows is another's, made beside this; `become` is to follow. Raises as `Ledger.move`."""
        self._unsure = True
        self.ledger.move(self.version, other.ledger.name)

    def become(self, other: Driver) -> None:
        """Have the shards of another one, made at the same time from the same; it may be interrupted, and called again.

        Times before cannot be read any more.
        """
        self.transport, self.channels, self.ledger = other.transport, other.channels, other.ledger
        self.views, self.guards = other.views, other.guards
        self.tables.shards = other.transport.shards
        self._sizes = None
        self.past.begin_at(other.time)
        self.version, self._unsure = replace(other.version, again=False), False

    def tidy(self) -> None:
        """Now and then: remove what is needed no more."""
        self.ledger.tidy(self.version)

    def _commit(
        self, names: Sequence[str], given: Given, frames: Mapping[str, Any], mode: str, time: int, are_apart: bool,
        updates: int, batch: Batch | None,
    ) -> None:  # fmt: skip
        started, watched = perf_counter_ns(), self.listeners.views()
        what = orders.Commit(time, are_apart, watched).text()
        order, statuses = self._tried(what, self.levels(names), given, frames, mode)
        self._under_way = Committing(order.id, time, names, updates, started, watched)
        self._publish(order, statuses, time=time, batch=batch)

    def _publish(self, order: Order, statuses: Sequence[Status], **more: Any) -> None:
        """Be at the version that was tried. `more`: see `Ledger.publish`."""
        self._unsure = True
        try:
            self.version = self.ledger.publish(self.version, order, statuses, **more)
            self._unsure = False
        finally:
            with suppress(*(() if self._unsure else (Error,))):  # it is published, and nobody is to repeat it
                self.settle()
        self.tidy()

    def _tell(self, commit: Committing) -> None:
        """Tell who listens of a commit that is published. It may be interrupted, and called again."""
        self.listeners.tell(self.listeners.told(partial(self._changes, commit.time), commit.watched), commit.time)
        self.tables.changed(commit.names, commit.time)
        self.past.note(commit.time, self.since, commit.updates, commit.started)

    def _tried(
        self, what: bytes, levels: int, given: Given, frames: Mapping[str, Any], mode: str
    ) -> tuple[Order, Sequence[Status]]:
        """Take an order through all shards, by which they keep what names need by now; `settle` must follow."""
        self._tell_names_if_due()
        return self._gone_through(what, levels, given, frames, mode)

    def _tell_names_if_due(self) -> None:
        if self.listeners.names and self.listeners.names.is_ahead:
            self.tell_names(dict(self.listeners.names.each()))

    def _gone_through(
        self, what: bytes, levels: int, given: Given, frames: Mapping[str, Any], mode: str
    ) -> tuple[Order, Sequence[Status]]:
        self.be_sure()
        last = self.version
        order = Order(last.version + 1, fresh(), last.id, what, levels, self.transport.shards)
        self._is_trying = True
        try:
            statuses = self.transport.run(order, given, frames, mode)
            raise_failure(statuses)
        except BaseException:
            self.settle()
            raise
        return order, statuses

    def be_sure(self) -> None:
        """If publishing has failed, and nobody knows whether it was done: look; see `check_newest`."""
        if self._unsure:
            check_newest(self.ledger, self.version)
        self._unsure = False

    def levels(self, names: Iterable[str], more: Iterable[ShardedView] = ()) -> int:
        """How many levels a commit of these tables needs. `more`: views that are there then, too."""
        views = [*(view for _, view in self.maintained()), *more]
        if self._filler is not None:
            views.append(self._filler.view)
        return levels_over(names, views, self.channels)

    def _check_static(self, tables: Iterable[Table]) -> None:
        """ConstraintError for a table that is static and read by a view, of which shards may know only channels."""
        for table in tables:
            check_static(table, [name for name, view in self.views.items() if table.name in view.tables])

    def _tells_times_apart(self, tables: Iterable[str]) -> bool:
        """Whether somebody asks what holds at each of a commit's times: who listens or follows, or a constraint."""
        is_followed = any(view.definition.change_feed for view in self.views.values())
        return bool(self.listeners or self.listeners.names) or is_followed or self.tables.tell_times_apart(set(tables))

    def _changes(self, time: int, view: str) -> Piece | None:
        found = whole_changes(self.transport.ask(self.version, Question("changes", view)), self.views[view])
        return None if found is None else piece_of(found, time)

"""A definition on its way through a shard: what is new, and what it was planned by."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ivm.catalog.catalog import Catalog
from ivm.catalog.errors import NumericError
from ivm.catalog.schema import View
from ivm.cluster.planning.guards import Guard, guards_of
from ivm.cluster.planning.planning import Gone
from ivm.cluster.protocol import orders
from ivm.cluster.protocol.placing import placement_of
from ivm.cluster.shard.shard import Shard
from ivm.dataflow.bits import all_of
from ivm.distribute.distribute import Distributed, distribute
from ivm.distribute.exchange import Channel, Channels
from ivm.durable.restore import bound_again
from ivm.engine.tables import Declared
from ivm.engine.transaction import Change
from ivm.engine.view import Installed
from ivm.render.renderer import Renderer
from ivm.transform.pipeline import optimize


@dataclass(slots=True)
class New:
    """A view on its way in; or a guard, which is one that has to stay empty."""

    view: View
    distributed: Distributed
    oracle_sql: str = ""
    guard: Guard | None = None
    installed: Installed | None = None


@dataclass(slots=True)
class Defining:
    """A definition under way: the catalog that it leads to, what is new and what goes.

    `views`: how those are distributed that there are. `channels`: those that there are to be. `tables`: those that are
    others from then on. `kept`: the views that are filled, and have other definitions. `known`: the sizes of the
    definition; `sizes`: those of channels, too. `is_filled`: its view has been filled over many versions. `commit`:
    what comes once all is there that is new, if anything does, with these `changes`.
    """

    catalog: Catalog
    time: int
    known: Mapping[str, float]
    shards: int
    views: Mapping[str, Distributed]
    channels: Channels
    gone: Gone = field(default_factory=Gone)
    tables: Mapping[str, Declared] = field(default_factory=dict)
    kept: Sequence[View] = ()
    is_filled: bool = False
    commit: orders.Commit | None = None
    changes: Sequence[Change] = ()
    new: list[New] = field(default_factory=list)
    sizes: Mapping[str, float] = field(default_factory=dict)
    before: Renderer | None = None
    """What rendered before; meanwhile there is one beside it, which reads what is to be."""
    replaced: dict[str, Declared | None] = field(default_factory=dict)
    """The tables that there were, where those that are to be have been put for a commit; None: there was none."""

    def plan(self, wanted: View | Guard) -> None:
        """Add what is wanted to what is new; after those that it reads."""
        channels = self.channels
        placed = {each.name: (placement_of(each), 1) for each in self.catalog.tables}
        placed |= {name: (each.placement, each.level) for name, each in self.views.items()}
        placed |= {each.view.name: (each.distributed.placement, each.distributed.level) for each in self.new}
        if isinstance(wanted, Guard):
            found = distribute(optimize(wanted.relation), placed, self.known, channels, self.shards)
            self.new.append(New(wanted.view, found, guard=wanted))
        else:
            bound = bound_again(wanted, self.catalog)
            found = distribute(optimize(bound.relation), placed, self.known, channels, self.shards)
            self.new.append(New(wanted, found, bound.oracle_sql))
        self.sizes = dict(self.known) | {each.name: each.rows for each in channels.by_name.values()}

    def guards(self) -> dict[str, Guard]:
        """All that there are to be, by their names."""
        return {each.name: each for table in self.catalog.tables for each in guards_of(table, self.catalog)}

    def needed(self) -> Sequence[Channel]:
        """All channels that what is new needs, each once, inputs first."""
        found = {each.name: each for new in self.new for each in new.distributed.channels}
        return sorted(found.values(), key=lambda each: each.level)

    def begin(self, engine: Shard, made: Sequence[str], anew: Sequence[str]) -> None:
        """From now on what is made reads the tables that are `made` or `anew` as they are to be, and no node of what
        reads what is made `anew`.
        """
        others = {name: declared for name, declared in self.tables.items() if name in made or name in anew}
        self.before = engine.renderer
        engine.renderer = engine.beside(others, set(anew))

    def fill(self, engine: Shard, level: int, opened: Callable[[Channel], None]) -> Sequence[Channel]:
        """Make what is new at a level: the ends of the channels that arrive there, which are `opened`, the views, and
        the beginnings of channels that leave, which are returned. ConstraintError for a guard that has rows.
        """
        channels = self.needed()
        for channel in channels:
            if channel.level + 1 == level:
                opened(channel)
        for new in self.new:
            if new.distributed.level == level:
                self._install(engine, new)
        leaving = [channel for channel in channels if channel.level == level]
        for channel in leaving:
            engine.send(channel, self.sizes)
        return leaving

    def begin_commit(self, engine: Shard, made: Sequence[str]) -> None:
        """All is there that is new, also the tables that are `made`: changes reach it from now on."""
        engine.sweep()  # the installation is over: what a change raises there is the commit's
        engine.coming = {new.view.name: new.installed for new in self.new if new.installed is not None}
        engine.going = {*self.gone.views, *engine.coming}
        puts: dict[str, Declared | None] = {**dict.fromkeys(self.gone.tables), **self.tables}
        self.replaced = {name: engine.tables.there(name) if name in engine.tables else None for name in puts}
        engine.tables.anew = frozenset(name for name in made if self.replaced[name] is not None)
        for name, declared in puts.items():
            engine.tables.put(name, declared)

    def undo(self, engine: Shard) -> None:
        """Nothing is new. It may be interrupted, and called again."""
        if self.before is not None:
            engine.renderer = self.before
        engine.coming, engine.going, engine.tables.anew = {}, (), frozenset()
        for name, declared in self.replaced.items():
            engine.tables.put(name, declared)
        for new in self.new:
            if new.installed is not None and not self.is_filled:
                new.installed.node.owners.pop(new.view.name, None)
        engine.sweep()

    @property
    def level(self) -> int:
        """At which the last of what is new is there."""
        return max((new.distributed.level for new in self.new), default=1)

    def put(self, engine: Shard, guards: Sequence[str]) -> None:
        """What is new takes the place of what there was; these `guards` are gone. It may be interrupted, and called
        again.
        """
        engine.coming, engine.going, engine.tables.anew = {}, (), frozenset()
        for name in (*self.gone.views, *guards):
            engine.put(name, None, None)
        for name in self.gone.tables:
            engine.put_table(name, None)
        for name, declared in self.tables.items():
            engine.put_table(name, declared)
        for view in self.kept:
            engine.views[view.name] = replace(engine.views[view.name], definition=view)
        engine.reach(self.time)
        for new in self.new:
            engine.put(new.view.name, new.installed, new.oracle_sql)
        engine.renderer.tables = engine.tables

    def _install(self, engine: Shard, new: New) -> None:
        new.installed = all_of(engine.view_of(new.view, new.distributed.relation, self.sizes))
        new.installed.node.owners[new.view.name] = None  # nobody sweeps it away when another one is put
        engine.renderer.views[new.view.name] = new.installed.node
        if new.guard is not None and len(new.installed.log) and self.commit is None:
            raise new.guard.refusal(new.installed.contents(engine.dictionary).rows())


def over_rows(new: Sequence[New], error: NumericError) -> NumericError:
    """What is wrong with what is new over the rows there are."""
    names = ", ".join(each.view.name for each in new)
    return type(error)(f"cannot create view {names} over the rows there are: {error.__cause__ or error}")

"""What a driver plans of a definition: its views, and the guards of its tables, over what is to exist then."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter

from ivm.analysis.tables import tables_of
from ivm.catalog.catalog import Catalog
from ivm.catalog.errors import UnsupportedError
from ivm.catalog.schema import View
from ivm.cluster.planning.guards import Guard, check_replaced, guarded_anew, guards_of
from ivm.cluster.planning.reading import PlannedView, ShardedView
from ivm.cluster.protocol.placing import placement_of
from ivm.distribute.distribute import distribute
from ivm.distribute.exchange import Channels, Placed
from ivm.distribute.placement import REPLICATED, Placement
from ivm.sql.ir.relation import Relation
from ivm.transform.pipeline import optimize

Sizes = Mapping[str, float]
"""Those of tables and views, by which views are distributed."""
Guarding = dict[str, dict[str, ShardedView]]
"""Of tables the guards, by their names."""


def planned_over(relation: Relation, placed: Placed, sizes: Sizes, channels: Channels, shards: int) -> PlannedView:
    """How a view is distributed over `shards`; `channels` get those that it needs.

    What is `placed` nowhere yet is taken to be everywhere: that is planned again when it is there.
    """
    started = perf_counter()
    best, tables = optimize(relation), frozenset(tables_of(relation))
    there: Placed = {**dict.fromkeys(tables, (REPLICATED, 1)), **placed}
    known = {**dict.fromkeys(tables, 1.0), **sizes}
    found = distribute(best, there, known, channels, shards)
    millis = (perf_counter() - started) * 1e3
    used = {name: known[name] for name in tables}
    return PlannedView(ShardedView(found, tables, known, channels, millis), tables, used, relation)


@dataclass(slots=True)
class Beside:
    """Views that are to be there with a definition, and how they are distributed over what is there then.

    See `Backend.beside`. `anew`: the tables and views that are others from
    then on under their names. `placed`: where everything is then. `sizes`: what all of its views are planned by.
    """

    anew: frozenset[str]
    channels: Channels
    placed: dict[str, tuple[Placement, int]]
    shards: int
    sizes: Sizes | None = None
    views: dict[str, ShardedView] = field(default_factory=dict)
    level: int = 1
    """At which the last of all is there."""

    def add(self, definition: View, planned: PlannedView) -> ShardedView:
        """A view, as it was planned over what is there; or over what is to be there, where that is something else."""
        if self.sizes is None:
            self.sizes = planned.view.sizes
        if self.anew or self.views:
            planned = planned_over(planned.relation, self.placed, self.sizes, self.channels.copy(), self.shards)
        return self._have(definition, planned)

    def plan(self, definition: View, relation: Relation, sizes: Sizes) -> ShardedView:
        """A view that was defined once, by what it was planned by then."""
        self.sizes = sizes
        return self._have(definition, planned_over(relation, self.placed, sizes, self.channels.copy(), self.shards))

    def guard(
        self, old: Catalog, new: Catalog, there: Guarding, made: Collection[str], estimates: Callable[[], Sizes]
    ) -> Guarding:
        """Plan what checks constraints; the guards of all tables for which they may be others than those `there`.

        `made`: the tables that are new. UnsupportedError for one that is to replace another, if both are checked so.
        """
        found = Guarding()
        for table in new.tables:
            self.placed[table.name] = placement_of(table), 1
        for table in guarded_anew(old, new, self.anew):
            before, guards = there.get(table.name, {}), guards_of(table, new)
            check_replaced(table, before if table.name in made else {}, guards, self.anew)
            kept = {each.name for each in guards if each.name in before and self.anew.isdisjoint(each.view.uses)}
            found[table.name] = {name: before[name] for name in kept}
            for each in guards:
                if each.name not in kept:
                    found[table.name][each.name] = self._guarded(each, estimates)
        return found

    def _guarded(self, guard: Guard, estimates: Callable[[], Sizes]) -> ShardedView:
        if self.sizes is None or not self.sizes.keys() >= set(guard.view.uses):
            self.sizes = {**estimates(), **(self.sizes or {})}
        return self.plan(guard.view, guard.relation, self.sizes)

    def _have(self, definition: View, planned: PlannedView) -> ShardedView:
        view = planned.view.of(definition)
        self.channels = view.channels
        self.placed[definition.name] = view.placement, view.level
        self.views[definition.name] = view
        self.level = max(self.level, view.level)
        return view


@dataclass(frozen=True, slots=True)
class Gone:
    """The tables and views that there are no more, by their names as they were spelled; also a view that is maintained
    no more.
    """

    tables: Sequence[str] = ()
    views: Sequence[str] = ()

    @classmethod
    def between(cls, old: Catalog, new: Catalog) -> Gone:
        """What leads from one catalog to another."""
        tables, views = {table.name for table in new.tables}, {view.name: view.maintained for view in new.views}
        return cls(
            [table.name for table in old.tables if table.name not in tables],
            [view.name for view in old.views if view.name not in views or view.maintained > views[view.name]],
        )


def is_kept(view: View, before: Catalog, anew: Collection[str]) -> bool:
    """Whether a maintained view is the one that there was `before`, and stays filled, whatever its text is by now."""
    old = before.find(view.name)
    return isinstance(old, View) and old.maintained and old.mark == view.mark and view.name not in anew


def check_not_followed(definition: View, there: Collection[ShardedView]) -> None:
    """UnsupportedError for a view that somebody may follow by files, and that is to be filled again."""
    if definition.change_feed and any(each.definition.mark == definition.mark for each in there):
        raise UnsupportedError(
            f"cannot fill view {definition.name} again: it is WITH (change_feed = true), and who follows it could not "
            "go on; drop it first, and create it afterwards"
        )

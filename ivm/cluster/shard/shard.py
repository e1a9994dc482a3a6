"""A shard: an engine that has a part of the rows, and goes through a commit level by level.

At the first level the tables change, at a later one what other shards have sent arrives by channels; all of it at the
commit's times. Between two levels the shard waits, with what it has done so far tentative.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain
from time import perf_counter_ns

from ivm.catalog.schema import View as Definition
from ivm.cluster.planning.guards import is_guard
from ivm.dataflow.bits import Bits, all_of
from ivm.dataflow.hydration import Installation
from ivm.dataflow.node import Node
from ivm.distribute.exchange import Channel
from ivm.engine.engine import Engine
from ivm.engine.installing import Planned
from ivm.engine.past import History
from ivm.engine.transaction import Change
from ivm.engine.under_way import UnderWay
from ivm.engine.view import Installed
from ivm.operators.exchange import Channel as Arriving
from ivm.operators.exchange import Outlet, nothing
from ivm.plan.node import Plan
from ivm.render.scalars.compiler import Compiler
from ivm.sql.ir.relation import Relation
from ivm.subscriptions.names import Named
from ivm.trace.delta import Delta
from ivm.trace.helpers import Helpers
from ivm.trace.time import BEGINNING

Sent = dict[str, Delta]
"""The changes of fragments, by the names of their channels."""
PlannedOnce = Callable[[str, Relation], Plan | None]
"""The plan that a view, or the fragment of a channel, had by its name, for what it is made of now; None: unknown."""


KeptForNames = Mapping[str, Sequence[tuple[int, int]]]
"""Of views times, each with so many changes since then that are kept at most."""


def _on(rows: int) -> None:
    """Go on at once."""


class Shard(Engine):
    """See above. Of a commit it is told `begin`, `go_on` for each further level, then `keep`; or `undo`."""

    def __init__(
        self, compiler: Compiler | None, history: History, *, sharing: bool = True, helpers: Helpers | None = None
    ) -> None:
        super().__init__(compiler, history, sharing=sharing, helpers=helpers)
        self.renderer.graph.gives = True
        self.arriving: dict[str, Node] = {}
        self.leaving: dict[str, Node] = {}
        """The nodes that channels come in by, and those whose changes go out, by the names of the channels."""
        self.fragments: dict[str, Plan] = {}
        """How the fragments of channels are maintained, by the names of these."""
        self.planned_once: PlannedOnce | None = None
        """What knows the plans that there were, while a shard is loaded."""
        self.readers: Mapping[str, Sequence[str]] = {}
        """Of each channel the views that need it."""
        self.kept: KeptForNames = {}
        """What is kept for who listens by a name."""
        self.is_filling = False
        """Whether commits come while a view is filled: history is kept, and what is new fails no commit."""
        self.coming: Mapping[str, Installed] = {}
        """The views that come with the commit under way, by name: they are put once it is kept."""
        self.going: Collection[str] = ()
        """Those that are gone then, or another by their name."""
        self._under_way: UnderWay | None = None
        self._worked = 0
        """For how many nanoseconds, since to wait for others between levels is no work of its own."""

    def open(self, channel: Channel, level: int) -> None:
        """Changes of this name arrive from now on, at a level."""
        source = self.arriving.get(channel.name)
        if source is None:
            source = self.renderer.graph.add(f"channel {channel.name}", Arriving(), level=level)
            self.arriving[channel.name] = source  # first: by this `forget` finds it
            self.renderer.views[channel.name] = source
            self.channels[channel.name] = channel.relation.schema
            source.owners[channel.name] = None

    def arrive(self, name: str, rows: Callable[[int], Iterator[Delta]] = nothing) -> None:
        """All rows of a channel as of a time, as long as what is new is filled from them; none to let go of them."""
        operator = self.arriving[name].operator
        assert isinstance(operator, Arriving), "channels are nothing else"
        operator.arrived = rows

    def send(self, channel: Channel, sizes: Mapping[str, float]) -> None:
        """Maintain the fragment of a channel from now on; what it reads must be there, and its rows at hand."""
        if channel.name in self.leaving:
            return
        node = all_of(self.fragment(channel, sizes))
        self.leaving[channel.name] = node
        node.owners[channel.name] = None
        self.sweep()

    def fragment(self, channel: Channel, sizes: Mapping[str, float]) -> Bits[Node]:
        """A new fragment, of which nothing is sent yet. Others may commit between two bits, if this `is_filling`."""
        plan = self._planned(channel.name, channel.relation, sizes).plan
        node = yield from self.grown(channel.name, plan, Outlet())
        self.fragments[channel.name] = plan
        return node

    def sent(self, name: str) -> Iterator[Delta]:
        """All rows of a fragment, as of now."""
        return self.leaving[name].contents(self.time, _on)

    def forget(self, names: Sequence[str]) -> None:
        """Nothing is sent, or arrives, under these names any more. It may be interrupted, and called again."""
        for name in names:
            self.fragments.pop(name, None)
            for nodes in (self.leaving, self.arriving):
                node = nodes.get(name)
                if node is not None:
                    node.owners.pop(name, None)
                    nodes.pop(name, None)
            self.renderer.views.pop(name, None)
            self.channels.pop(name, None)
        self.sweep()

    def view_of(self, definition: Definition, relation: Relation, sizes: Mapping[str, float]) -> Bits[Installed]:
        """This shard's part of a view, which nobody sees before `put`; see `fragment`."""
        return self.installing(definition, self._planned(definition.name, relation, sizes))

    def keep_for_names(self, kept: KeptForNames) -> None:
        """Keep what has changed in views since these times, as long as it is no more than so many changes. It may be
        interrupted, and called again.
        """
        there = [Named(view, "", 0, since, keep) for view, several in kept.items() for since, keep in several]
        names = self.listeners.names
        names.begin({str(number): each for number, each in enumerate(there)})
        for view, installed in self.views.items():
            if kept.get(view) != self.kept.get(view):
                installed.log.hold(names.of_view(view))
        self.kept = kept

    def plans(self) -> dict[str, Plan]:
        """Those of all views, and of the fragments of all channels that leave."""
        fragments = {name: self.fragments[name] for name in self.leaving}
        return fragments | {name: installed.plan for name, installed in self.views.items()}

    def sweep(self) -> None:
        """See `Engine.sweep`. What a filling has made so far stays its own."""
        graph = self.renderer.graph
        before = graph.installation
        super().sweep()
        if self.is_filling and before is not None:
            nodes = {node: None for node in graph.nodes if node in before.nodes}
            graph.installation = Installation(nodes=nodes, error=before.error)

    def tidy_texts(self) -> int:
        """See `Engine.tidy_texts`."""
        return 0 if self.is_filling else super().tidy_texts()

    def tidy_all_texts(self) -> None:
        """Do all that is owed: nobody waits between two pieces."""
        while self.tidy_texts():
            pass

    def reach(self, time: int) -> None:
        """Nothing has happened here up to this time. It may be interrupted, and called again."""
        if self._decided is None and self.time < time:
            self._decided = UnderWay(time, self.past.since(time), started=perf_counter_ns())
        if self._decided is not None:
            self.settle()

    def begin(self, changes: Sequence[Change], time: int, are_apart: bool) -> Sent:
        """The first level of a commit; what leaves after it. `are_apart`: somebody asks what holds at each time.

        Raises as `Engine.commit` does; `undo` must follow then.
        """
        self._worked, started = 0, perf_counter_ns()
        with self._errands:
            self._under_way = self._begun(changes, time, are_apart)
        return self._leaving(1, started)

    def go_on(self, level: int, arrived: Mapping[str, Delta]) -> Sent:
        """A further level, with what has arrived for it; what leaves after it."""
        started, commit = perf_counter_ns(), self.under_way
        with self._errands:
            given = {self.arriving[name]: delta for name, delta in arrived.items()}
            commit.deltas = self.renderer.graph.step(given, commit.deltas, level)
        return self._leaving(level, started)

    @property
    def under_way(self) -> UnderWay:
        """The commit under way."""
        assert self._under_way is not None, "a commit is under way"
        return self._under_way

    def changed(self, view: str) -> Delta | None:
        """The changes of a view in the commit under way, after its last level."""
        return self.under_way.deltas.get((self.coming.get(view) or self.views[view]).node)

    def keep(self) -> None:
        """All levels are done: make the commit final. It may be interrupted, and called again."""
        commit = self._under_way
        if commit is not None:
            commit.started = perf_counter_ns() - self._worked
            self._decided, self._under_way = commit, None
        self.settle()

    def undo(self) -> None:
        """Everything is as before the commit. It may be interrupted, and called again."""
        self.settle()
        self.renderer.graph.rollback()  # also where all that came waits for a node that is filled
        self._under_way = None

    def users_of_nodes(self) -> dict[int, tuple[str, ...]]:
        """See `Engine.users_of_nodes`: what a channel needs is needed by the views that need the channel."""
        return {node: self._views_of(users) for node, users in super().users_of_nodes().items()}

    def last_nodes(self) -> Iterator[tuple[str, Node]]:
        """Of each view, also of those that are coming, and of each channel that leaves."""
        coming = ((name, each.node) for name, each in self.coming.items())
        return chain(super().last_nodes(), coming, self.leaving.items())

    def _planned(self, name: str, relation: Relation, sizes: Mapping[str, float]) -> Planned:
        """How a view, or the fragment of a channel, is maintained: as it was once, if that is known."""
        return self.planned(relation, sizes, None if self.planned_once is None else self.planned_once(name, relation))

    def _views_of(self, names: Sequence[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(view for name in names for view in self.readers.get(name, (name,))))

    def _kept_since(self, time: int) -> int:
        """See `Engine._kept_since`."""
        return BEGINNING if self.is_filling else self.past.since(time)

    def _leaving(self, level: int, started: int) -> Sent:
        """What leaves after a level that was begun at a moment."""
        if self._errands.out:
            self._errands.finish()
        self._worked += perf_counter_ns() - started
        deltas = self.under_way.deltas
        return {n: deltas[node] for n, node in self.leaving.items() if node.level == level and node in deltas}

    def _readers_of(self, table: str) -> list[str]:
        """The maintained views that read a table, other than those that check it."""
        return [view for view in super()._readers_of(table) if not is_guard(view)]

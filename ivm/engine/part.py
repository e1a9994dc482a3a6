"""What there is, of a database or of a shard's part of it: tables, and the views that are maintained over them.

How a view is planned, filled, put and let go of, and how large all is. What happens to the rows is the engine's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import chain
from time import perf_counter
from types import MappingProxyType

from ivm.analysis.tables import sized_by, tables_of
from ivm.catalog.errors import NumericError
from ivm.catalog.schema import Schema
from ivm.catalog.schema import View as Definition
from ivm.dataflow.bits import Bits, led
from ivm.dataflow.graph import Graph
from ivm.dataflow.hydration import Installation
from ivm.dataflow.node import Node
from ivm.engine.installing import Pause, Planned, Put, beside, check_limit, counting, put_or_drop
from ivm.engine.lasting import hold_for, log_of
from ivm.engine.past import History, Past
from ivm.engine.sampled import sampled
from ivm.engine.tables import Declared, Tables
from ivm.engine.view import Installed
from ivm.operators.arrange import ArrangeTable
from ivm.operators.ends import Sink
from ivm.operators.operator import Operator
from ivm.plan.arrangement import ArrangementPlan
from ivm.plan.estimate import Estimate, total
from ivm.plan.existing import Existing, added_state
from ivm.plan.lower import lower
from ivm.plan.node import Plan
from ivm.render.renderer import Renderer
from ivm.render.scalars.compiler import Compiler
from ivm.sql.ir.relation import Relation
from ivm.subscriptions.listeners import Listeners
from ivm.trace.helpers import Errands, Helpers
from ivm.trace.index.arrangement import Arrangement
from ivm.trace.rows.table_store import TableStore
from ivm.trace.state import State
from ivm.trace.text.dictionary import TextDictionary
from ivm.trace.text.sweep import Sweep
from ivm.trace.turns import Aside, at_once
from ivm.transform.pipeline import optimize

_NONE: Mapping[str, float] = MappingProxyType({})


class Part:
    """Tables and views in one process, at one logical time: all of a database, or what one shard has of it."""

    def __init__(
        self, compiler: Compiler | None, history: History, *, sharing: bool = True, memory_limit: int | None = None,
        helpers: Helpers | None = None,
    ) -> None:  # fmt: skip
        self.dictionary = TextDictionary()
        self.helpers = Helpers(1) if helpers is None else helpers
        self.tables = Tables(self.dictionary, lambda: self.time)
        self.renderer = Renderer(Graph(), self.dictionary, compiler, self.tables)
        self.views: dict[str, Installed] = {}
        self.oracle_sql: dict[str, str] = {}
        self.channels: dict[str, Schema] = {}
        """The columns of what comes from other shards, where this is one."""
        self.past = Past(history)
        self.listeners = Listeners()
        self._ends: dict[State, str] = {}
        self._sharing = sharing
        self._memory_limit = memory_limit
        self._apart: list[Renderer] = []
        self._sweep = Sweep(self.dictionary, lambda: chain(self.tables.items(), self.renderer.graph.states()))

    @property
    def compilers(self) -> Sequence[Compiler]:
        """What compiles the loops of views; nothing where they are interpreted."""
        return () if self.renderer.compiler is None else (self.renderer.compiler,)

    @property
    def time(self) -> int:
        """The logical time of the last commit; 0 before the first."""
        return self.renderer.graph.time

    @property
    def is_installing(self) -> bool:
        """Whether a view is on its way in."""
        return self.renderer.graph.installation is not None

    @property
    def since(self) -> int:
        """The earliest time that can still be read."""
        return self.past.since(self.time)

    def begin_at(self, time: int, since: int | None = None) -> None:
        """Nothing has happened yet at this time, and nothing is known of what was before it, or before `since`."""
        self.renderer.graph.time = time
        self.past.begin_at(time, since)

    def planned(self, relation: Relation, sizes: Mapping[str, float] = _NONE, plan: Plan | None = None) -> Planned:
        """How a view would be maintained. Needs no lock, as long as nobody creates or drops anything.

        `sizes`: of what it reads, where it is to be planned as it was once. `plan`: the one that it had.
        """
        started, sized = perf_counter(), frozenset(sized_by(relation))
        known = {**self.sizes(sized), **sizes}
        plan = plan or lower(optimize(relation), self.renderer.existing.above(known))
        told = {name: known[name] for name in sorted(sized & known.keys())}
        return Planned(plan, frozenset(tables_of(relation)), told, (perf_counter() - started) * 1e3)

    def installed(
        self, definition: Definition, planned: Planned, pause: Pause, aside: Aside = at_once,
        renderer: Renderer | None = None,
    ) -> Installed:  # fmt: skip
        """See `installing`. `pause` is called after each bit, with what tells how far it is."""
        told = counting(definition.name, planned.plan, self.sizes, (renderer or self.renderer).was_there, pause)
        return led(self.installing(definition, planned, aside, renderer), told)

    def installing(
        self, definition: Definition, planned: Planned, aside: Aside = at_once, renderer: Renderer | None = None
    ) -> Bits[Installed]:
        """A view that is maintained, as planned, which nobody sees before `put`, which is to come before any commit.

        On any error nothing is left behind. After each bit of it commits and reads may be made, which see nothing of
        the view; nothing else. They may be made too while `aside` does what it is given; it returns once the caller is
        alone again. `renderer`: see `beside`; it has the view then.
        """
        views, started = {} if renderer is None else renderer.views, perf_counter()
        renderer, plan = renderer or self.renderer, planned.plan
        if self._memory_limit is not None:
            check_limit(definition.name, total(self.estimate(plan).values()), self.state_bytes(), self._memory_limit)
        if not self._sharing:
            renderer = renderer.apart()
            self._apart = [*self._apart, renderer]
        log = log_of(definition, self.dictionary, self.past, self.time)
        views[definition.name] = node = yield from self.grown(definition.name, plan, Sink(log), aside, renderer)
        millis = planned.millis + (perf_counter() - started) * 1e3
        return Installed(definition, plan, planned.tables, planned.sizes, node, log, millis)

    def grown(
        self, name: str, plan: Plan, end: Operator, aside: Aside = at_once, renderer: Renderer | None = None
    ) -> Bits[Node]:
        """A new node at the end of a plan, rendered where it is not there yet; on any error nothing is left behind.

        Others may be let in after each bit. `aside`: see `Installation`.
        """
        renderer = self.renderer if renderer is None else renderer
        try:
            installation = Installation(aside, Errands(self.helpers), self.time)
            renderer.graph.install(installation)
            return (yield from installation.bits(renderer.ended(f"view {name}", plan, end)))
        except BaseException as error:
            self.sweep()
            if isinstance(error, NumericError):
                raise type(error)(f"cannot create view {name} over the rows there are: {error}") from error
            raise

    def put(self, name: str, installed: Installed | None, oracle_sql: str | None) -> None:
        """The view of a name is this one from now on; see `put_all`."""
        self.put_all({name: (installed, oracle_sql)})

    def put_all(self, views: Mapping[str, Put], renderer: Renderer | None = None) -> None:
        """The views of these names are these from now on, in place of those that were there; without SQL there is none.

        None for what is not maintained. `renderer`: in which they were installed `beside` the others, all of whose
        readers are among them. It may be interrupted, and called again.
        """
        for name, (installed, _) in views.items():
            old = self.views.get(name)
            if old is not None and old is not installed:
                old.node.owners.pop(name, None)
                self._ends.pop(old.log, None)
                if installed is None or installed.log is not old.log:
                    self.listeners.names.replace(name, self.time)
        if renderer is not None:
            renderer.tables, self.renderer = self.tables, renderer
            renderer.label_nodes()
        for name, (installed, oracle_sql) in views.items():
            if installed is not None:
                installed.node.owners[name] = None
                self._ends[installed.log] = name
            put_or_drop(self.views, name, installed)
            put_or_drop(self.renderer.views, name, None if installed is None else installed.node)
            put_or_drop(self.oracle_sql, name, oracle_sql)
        hold_for(self.listeners.names, self.views)
        self.sweep()

    def beside(self, tables: Mapping[str, Declared], views: Set[str]) -> Renderer:
        """What renders views that are to take the place of others, and reads these `tables` in place of those of their
        names, and none of what reads those, nor what reads `views`, though they are there. Cost: looks at all nodes.
        """
        stores = {name: each.store for name, each in tables.items()}
        return beside(self.renderer, {**self.tables, **stores}, set(tables), views)

    def sweep(self) -> None:
        """Let go of all that no view needs, and install nothing any more. It may be interrupted, and called again."""
        if self.renderer.graph.installation is not None:
            self.renderer.graph.installation.errands.wait()
        gone = self.renderer.graph.unowned()
        if gone:
            for renderer in (self.renderer, *self._apart):
                renderer.forget(gone)
            self.renderer.graph.remove(gone)
        self._apart = [renderer for renderer in self._apart if renderer.rendered]
        self.renderer.graph.installation = None

    def close(self) -> None:
        """End what compiles, and the threads that help."""
        for compiler in self.compilers:
            compiler.close()
        self.helpers.close()

    def existing(self) -> Existing:
        """What a new view is planned against."""
        return self.renderer.existing.above(self.sizes())  # nothing, where nothing is shared

    def sizes(self, names: Set[str] | None = None) -> dict[str, float]:
        """The rows of tables and, roughly, of maintained views: of those of these names, or of all."""
        asked = {*self.tables, *self.views} if names is None else names
        rows: dict[str, float] = {name: self.tables[name].count for name in self.tables.keys() & asked}
        return rows | {name: len(self.views[name].log) for name in self.views.keys() & asked}

    def state_bytes(self) -> int:
        """The bytes of all tables, text, arrangements, operators' state and views' contents."""
        sizes = [store.size() for store in self.tables.values()]
        sizes += [node.operator.size() for node in self.renderer.graph.nodes]
        sizes += [index.size() for _, index in self.unread()]
        return sum(size.bytes for size in sizes) + self.text_bytes()

    def text_bytes(self) -> int:
        """The bytes of the dictionary of texts, which tables and views share, and of what functions made of them."""
        return self.dictionary.nbytes + sum(memo.nbytes for memo in list(self.dictionary.memos))

    def tidy_texts(self) -> int:
        """After a commit: do a piece of freeing the texts that nobody refers to any more; how many more are owed.

        Not while a view is installed, of which nobody knows yet what it has read. See `Sweep.work`.
        """
        return self._sweep.work() if self.renderer.graph.installation is None else 0

    @property
    def texts_owed(self) -> int:
        """How many pieces of that are owed."""
        return self._sweep.owed

    def unread(self) -> Iterator[tuple[TableStore, Arrangement]]:
        """The indexes of tables, but for those by primary keys, that no view reads, each with its table."""
        operators = [node.operator for node in self.renderer.graph.nodes]
        read = {id(each.arrangement) for each in operators if isinstance(each, ArrangeTable)}
        for store in self.tables.values():
            for index in store.arrangements():
                if id(index) not in read and index is not store.primary:
                    yield store, index

    def estimate(self, plan: Plan) -> dict[Plan | ArrangementPlan | None, Estimate]:
        """The state that installing `plan` would add; under None the view's contents."""
        return added_state(plan, sampled(self.sizes(), self.tables), lambda each: each in self.renderer.rendered)

    def rendered(self) -> Iterator[tuple[Plan | ArrangementPlan, Node]]:
        """Every plan that runs, with its node; a plan occurs once unless nothing is shared."""
        for renderer in (self.renderer, *self._apart):
            yield from renderer.rendered.items()

    def last_nodes(self) -> Iterator[tuple[str, Node]]:
        """Of each view its last node."""
        return ((name, installed.node) for name, installed in self.views.items())

    def users_of_nodes(self) -> dict[int, tuple[str, ...]]:
        """For each node, by identity, the views that need it."""
        return self.renderer.graph.users(self.last_nodes())

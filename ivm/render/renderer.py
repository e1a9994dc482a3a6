"""The renderer: one dataflow node for each distinct plan, however many views ask for it.

What takes more than a line stands in a file beside this one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from ivm.catalog.types import Physical
from ivm.dataflow.bits import Bits
from ivm.dataflow.graph import Graph
from ivm.dataflow.loop import Iterate, LoopResult
from ivm.dataflow.node import Node
from ivm.operators.by_round import ByRound
from ivm.operators.ends import Feed
from ivm.operators.held_back import MfpByRound
from ivm.operators.mfp import Mfp
from ivm.operators.multiplicities import Negate, Passed, Signed, Threshold, Union, Unsigned
from ivm.operators.numbered import Delayed, Numbered
from ivm.operators.operator import Operator
from ivm.operators.round_node import RoundNode
from ivm.plan.arrangement import ArrangementPlan
from ivm.plan.asof import AsofPlan
from ivm.plan.called import CalledPlan
from ivm.plan.existing import Existing
from ivm.plan.iterate import IteratePlan, LoopResultPlan
from ivm.plan.join import JoinPlan
from ivm.plan.mfp import MfpPlan
from ivm.plan.multiplicities import NegatePlan, ThresholdPlan, UnionPlan
from ivm.plan.node import Plan
from ivm.plan.reduce import ReducePlan
from ivm.plan.table import ConstantPlan, TablePlan, ViewPlan
from ivm.plan.top_k import TopKPlan
from ivm.plan.unnest import UnnestPlan
from ivm.plan.window import WindowPlan
from ivm.plan.within_loop import ByRoundPlan, DelayedPlan, EnteredPlan, FedPlan, NumberedPlan, SignedPlan, UnsignedPlan
from ivm.render.arrangement import render_arrangement
from ivm.render.called import called_operator
from ivm.render.context import Outside, RenderContext, types_of
from ivm.render.iterate import nothing, render_loop
from ivm.render.join import render_join
from ivm.render.ordered import asof_operator, top_k_operator, window_operator
from ivm.render.reduce import reduce_operator, round_extreme, round_reduce
from ivm.render.scalars.columns import stored
from ivm.render.unnest import unnest_operator
from ivm.render.wants import wants_of
from ivm.sql.ir.scalar import Value
from ivm.trace.columns.column import DTYPES, Column
from ivm.trace.delta import Delta, delta_of
from ivm.trace.text.dictionary import TextDictionary


@dataclass
class Renderer(RenderContext):
    """Remembers what was rendered, so that equal plans share a node; drops what nobody uses any more.

    `existing`: what is rendered, as the planner sees it.
    """

    existing: Existing = field(default_factory=Existing)

    def apart(self) -> Renderer:
        """One for a single view over the same tables and views, which shares nothing else that it renders."""
        return replace(self, rendered={}, existing=Existing(), sharing=False)

    def within(self, outside: Outside) -> Renderer:
        """One for what runs within a loop, which has a graph of its own."""
        apart = replace(self, graph=Graph(), rendered={}, existing=Existing(), sources={}, views={})
        apart.groups, apart.holding, apart.by_value, apart.later, apart.outside = [], [], {}, [], outside
        return apart

    def node(self, plan: Plan | ArrangementPlan) -> Bits[Node]:
        """The node that carries out `plan`: the one that exists, else a new one, hydrated."""
        if isinstance(plan, ViewPlan) and self.outside is None:
            return self.views[plan.name]
        known = self.rendered.get(plan)
        if known is None:
            known = yield from self._make(plan)
            self.existing.add((plan,))
            self.rendered[plan] = known
        return known

    def ended(self, label: str, plan: Plan, end: Operator) -> Bits[Node]:
        """A new node that ends `plan`, hydrated."""
        node = self.graph.add(label, end, ((yield from self.node(plan)),))
        return (yield from self.fill(plan, node, contents=True)) if end.states else node

    def feed(self, table: str, width: int) -> Node:
        """The node of a table's first `width` columns."""
        feeds = self.sources.setdefault(table, {})
        if width not in feeds:
            feeds[width] = self.graph.add(f"table {table}", Feed(self.tables[table].contents, width))
        return feeds[width]

    def given(self, deltas: Mapping[str, Delta]) -> dict[Node, Delta]:
        """What the nodes of tables are given of their changes, by name."""
        found: dict[Node, Delta] = {}
        sources = self.sources
        for name, delta in deltas.items():
            if name in sources:
                for width, node in sources[name].items():
                    found[node] = delta.first(width)
        return found

    def label_nodes(self) -> None:
        """Nodes of tables and views are labelled by what these are called now."""
        for name, feeds in self.sources.items():
            for node in feeds.values():
                node.label = f"table {name}"
        for name, node in self.views.items():
            node.label = f"view {name}"

    def was_there(self, plan: Plan | ArrangementPlan) -> bool:
        """Whether `plan` ran before the installation that is under way."""
        node, installation = self.rendered.get(plan), self.graph.installation
        return node is not None and (installation is None or node not in installation.nodes)

    def forget(self, nodes: Collection[Node]) -> None:
        """What these nodes carry out is not there any more. It may be interrupted, and called again.

        Cost: looks at every plan that is rendered.
        """
        gone = set(nodes)
        for plan, node in tuple(self.rendered.items()):
            if node in gone:
                self.existing.remove((plan,))
                del self.rendered[plan]
        for name, feeds in tuple(self.sources.items()):
            self.sources[name] = {width: node for width, node in feeds.items() if node not in gone}
            if not self.sources[name]:
                del self.sources[name]

    def _make(self, plan: Plan | ArrangementPlan) -> Bits[Node]:
        collection = plan.collection if isinstance(plan, ArrangementPlan) else plan
        if self.outside is not None and not collection.is_lifted:
            return self.outside(self, plan)
        if isinstance(plan, ArrangementPlan):
            return (yield from render_arrangement(self, plan))
        if isinstance(plan, JoinPlan):
            return (yield from render_join(self, plan))
        if isinstance(plan, TablePlan):  # one feed for all its readers, whatever is declared of its changes
            return self.feed(plan.name, len(plan.row))
        if isinstance(plan, IteratePlan):
            return (yield from render_loop(self, plan))
        if isinstance(plan, LoopResultPlan):
            loop = yield from self.node(plan.input)
            assert isinstance(loop.operator, Iterate), "it carries out a loop"
            return self.graph.add(plan.label, LoopResult(loop.operator, plan.binding), (loop,))
        if isinstance(plan, ByRoundPlan):
            taking = self._by_round(plan)
            self.graph.add(plan.label, taking, ((yield from self.node(plan.input)),))
            giving = self.graph.add(plan.label, nothing())
            self.groups.append((taking, giving))
            return giving
        wants = []
        if isinstance(plan, MfpPlan):
            wants = [wants_of(plan.mfp.predicates, 0, plan.mfp.width, self.dictionary)]
        inputs = yield from self.nodes(plan.below())
        node = self.graph.add(plan.label, self._operator(plan), inputs, wants=wants)
        if node.operator.states:
            # Rows that come in parts would move those that are there, or write anew what shows all of a group.
            whole = isinstance(plan, WindowPlan) or (isinstance(plan, ReducePlan) and bool(plan.shows_all))
            yield from self.fill(plan, node, whole=whole)
        return node

    def _operator(self, plan: Plan) -> Operator:
        """What carries out a plan over the nodes of those below it."""
        match plan:
            case ConstantPlan():
                return _constant_feed(plan, self.dictionary)
            case MfpPlan():
                return self._mfp(plan)
            case ReducePlan():
                return reduce_operator(plan, self.dictionary)
            case TopKPlan():
                return top_k_operator(plan, self.dictionary)
            case WindowPlan():
                return window_operator(plan, self.dictionary)
            case AsofPlan():
                return asof_operator(plan, self.dictionary)
            case UnnestPlan():
                return unnest_operator(self, plan)
            case CalledPlan():
                return called_operator(self, plan)
            case UnionPlan():
                return Union()
            case NegatePlan():
                return Negate()
            case ThresholdPlan():
                return Threshold(types_of(plan.row), self.dictionary)
            case NumberedPlan():
                return Numbered(self.by_value[plan.binding], plan.column)
            case DelayedPlan():
                return Delayed(self.by_value[plan.binding], plan.column)
            case SignedPlan():
                return Signed()
            case UnsignedPlan():
                return Unsigned()
            case EnteredPlan():
                return Passed()
            case FedPlan():
                return nothing()
        raise AssertionError(f"no rendering of {type(plan).__name__}")

    def _mfp(self, plan: MfpPlan) -> Mfp:
        program, types = self.program(plan.mfp, plan.input.row), [column.type for column in plan.input.row]
        if self.outside is None or not plan.is_risky:
            return Mfp(program.run, types, program.stages, program.walk)
        self.holding.append(MfpByRound(program.run, types, program.stages))
        return self.holding[-1]

    def _by_round(self, plan: ByRoundPlan) -> RoundNode:
        """A node of groups within a loop."""
        if plan.adds_up:
            return round_reduce(plan, self.dictionary)
        if plan.is_extreme:
            return round_extreme(plan, self.dictionary)
        given, made = types_of(plan.input.row[:-1]), types_of(plan.row[:-1])
        return ByRound(partial(self._operator, plan.over), given, made, plan.key, plan.key_made, self.dictionary)


def _constant_feed(plan: ConstantPlan, dictionary: TextDictionary) -> Feed:
    """A feed that never changes."""

    def read(time: int) -> Iterator[Delta]:
        if plan.rows:  # encoded each time: nobody else keeps the codes of its texts
            types = [column.type.physical for column in plan.row]
            columns = [_column([row[i] for row in plan.rows], each, dictionary) for i, each in enumerate(types)]
            yield delta_of(columns, time, None, len(plan.rows))

    return Feed(read)


def _column(values: list[Value], physical: Physical, dictionary: TextDictionary) -> Column:
    valid = np.array([v is not None for v in values], np.bool_)
    coded = physical is Physical.CODE
    plain = [0 if v is None else dictionary.code(str(v)) if coded else v for v in values]
    words = np.array(plain, object if physical is Physical.WIDE else DTYPES[physical])
    return Column(stored(words, physical), None if valid.all() else valid)

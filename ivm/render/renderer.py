"""The renderer: one dataflow node for each distinct plan, however many views ask for it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace

from ivm.dataflow.node import Node
from ivm.plan.arrangement import ArrangementPlan
from ivm.plan.constant import ConstantPlan
from ivm.plan.existing import Existing
from ivm.plan.join import JoinPlan
from ivm.plan.mfp import MfpPlan
from ivm.plan.negate import NegatePlan
from ivm.plan.node import Plan
from ivm.plan.reduce import ReducePlan
from ivm.plan.table import TablePlan, ViewPlan
from ivm.plan.threshold import ThresholdPlan
from ivm.plan.top_k import TopKPlan
from ivm.plan.union import UnionPlan
from ivm.plan.window import WindowPlan
from ivm.render.arrangement import render_arrangement
from ivm.render.constant import render_constant
from ivm.render.context import RenderContext
from ivm.render.join import render_join
from ivm.render.mfp import render_mfp
from ivm.render.negate import render_negate
from ivm.render.reduce import render_reduce
from ivm.render.table import render_table
from ivm.render.threshold import render_threshold
from ivm.render.top_k import render_top_k
from ivm.render.union import render_union
from ivm.render.window import render_window


@dataclass
class Renderer(RenderContext):
    """Remembers what was rendered, so that equal plans share a node; drops what nobody uses any more.

    `existing`: what is rendered, as the planner sees it.
    """

    rendered: dict[Plan | ArrangementPlan, Node] = field(default_factory=dict)
    existing: Existing = field(default_factory=Existing)

    def apart(self) -> Renderer:
        """One for a single view over the same tables and views, which shares nothing else that it renders."""
        return replace(self, rendered={}, existing=Existing(), sharing=False)

    def node(self, plan: Plan | ArrangementPlan) -> Node:
        """The node that carries out `plan`: the one that exists, else a new one, hydrated."""
        if isinstance(plan, ViewPlan):
            return self.views[plan.name]
        known = self.rendered.get(plan)
        if known is None:
            known = self._make(plan)
            self.existing.add((plan,))
            self.rendered[plan] = known
        return known

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
        for name, node in tuple(self.sources.items()):
            if node in gone:
                del self.sources[name]

    def _make(self, plan: Plan | ArrangementPlan) -> Node:
        match plan:
            case TablePlan():
                return render_table(self, plan)
            case ConstantPlan():
                return render_constant(self, plan)
            case MfpPlan():
                return render_mfp(self, plan)
            case ArrangementPlan():
                return render_arrangement(self, plan)
            case JoinPlan():
                return render_join(self, plan)
            case ReducePlan():
                return render_reduce(self, plan)
            case TopKPlan():
                return render_top_k(self, plan)
            case WindowPlan():
                return render_window(self, plan)
            case UnionPlan():
                return render_union(self, plan)
            case NegatePlan():
                return render_negate(self, plan)
            case ThresholdPlan():
                return render_threshold(self, plan)
        raise AssertionError(f"no rendering of {type(plan).__name__}")

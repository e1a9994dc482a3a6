"""What the rendering of one plan node may use: the graph, the tables and views, and the nodes of other plans."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

from ivm.dataflow.graph import Graph
from ivm.dataflow.node import Node
from ivm.plan.mfp import Mfp, Row
from ivm.plan.nodes import ArrangementPlan, Plan
from ivm.render.scalars.program import Compiler, MfpProgram
from ivm.trace.dictionary import TextDictionary
from ivm.trace.table_store import TableStore


@dataclass
class Context(ABC):
    """`sharing`: whether table indexes may have more users."""

    graph: Graph
    dictionary: TextDictionary
    compiler: Compiler | None
    tables: dict[str, TableStore] = field(default_factory=dict)
    views: dict[str, Node] = field(default_factory=dict)
    sharing: bool = True

    @abstractmethod
    def node(self, plan: Plan | ArrangementPlan) -> Node:
        """The node that carries out `plan`: the one that exists, else a new one, hydrated."""

    @abstractmethod
    def release(self, node: Node) -> None:
        """Give up one use of `node`, and everything that only it used."""

    def program(self, mfp: Mfp, row: Row) -> MfpProgram:
        """The runnable form of a map-filter-project over `row`."""
        maps, projection = mfp.maps, mfp.projection
        if mfp.gathered:
            passed = tuple(dict.fromkeys(p for p in projection if p < mfp.width))
            places = {p: mfp.width + len(maps) + i for i, p in enumerate(passed)}
            maps += tuple(row[p] for p in passed)
            projection = tuple(places.get(p, p) for p in projection)
        return MfpProgram(
            maps, mfp.predicates, projection, mfp.width, self.dictionary, self.compiler, gathered=mfp.gathered
        )

    def hydrated(self, node: Node) -> Node:
        """The new stateful node, brought up to the present."""
        return self.graph.hydrate(node)

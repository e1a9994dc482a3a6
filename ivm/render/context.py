"""What the rendering of one plan node may use: the graph, the tables and views, and the nodes of other plans."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from weakref import WeakValueDictionary

from ivm.called import Functions
from ivm.catalog.types import SqlType
from ivm.dataflow.bits import Bits
from ivm.dataflow.graph import Graph
from ivm.dataflow.loop import MOST_ROUNDS
from ivm.dataflow.node import Node
from ivm.operators.arrange import ArrangeLater
from ivm.operators.held_back import MfpByRound
from ivm.operators.numbered import ByValue
from ivm.operators.round_node import RoundNode
from ivm.plan.arrangement import ArrangementPlan
from ivm.plan.mfp import Mfp
from ivm.plan.node import Plan
from ivm.render.scalars.compiler import Compiler
from ivm.render.scalars.program import MfpProgram
from ivm.sql.ir.rebuild import Row
from ivm.sql.ir.scalar import Column, Scalar
from ivm.trace.columns.column import Column as Values
from ivm.trace.delta import Delta
from ivm.trace.ordered.ordered_arrangement import Valued
from ivm.trace.rows.table_store import TableStore
from ivm.trace.text.dictionary import TextDictionary

_MOST_RECENT = 256
Saved = Callable[[Plan | ArrangementPlan, Node, bool], bool]
"""Gives a new node that carries out a plan what was saved of its states; False if there is nothing. Last whether it
holds the contents of a view that has the plan."""

Outside = Callable[["RenderContext", Plan | ArrangementPlan], Node]


@dataclass
class RenderContext(ABC):
    """`sources`: the nodes of tables, by name, and by how many columns are read: a table may have got more since.
    `sharing`: whether table indexes may have more users.

    `programs`: those in use. They hold no state, so that views share them whatever else they share. `recent`: those
    asked for of late, which the views that come and go are likely to ask for again; but not what such a program would
    remember of texts, since that grows with these. `saved`: what knows the states of nodes, while a database is opened.
    `rendered`: the nodes there are. `recursion_limit`: before so many rounds a loop without a limit of its own must
    have ended. `outside`: within a loop, what makes a node of a plan that runs outside of it; `groups`: there, what
    takes what comes of each node of groups, and the node at which its changes go on, those that others read first;
    `holding`: the programs that may raise; `by_value`: of its bindings whose rounds go by value, how;
    `looked_up_first`: the arrangements in which only what enters looks up, and `later` what keeps these. `functions`:
    those of the application's.
    """

    graph: Graph
    dictionary: TextDictionary
    compiler: Compiler | None
    tables: dict[str, TableStore] = field(default_factory=dict)
    sources: dict[str, dict[int, Node]] = field(default_factory=dict)
    views: dict[str, Node] = field(default_factory=dict)
    sharing: bool = True
    programs: WeakValueDictionary[Mfp, MfpProgram] = field(default_factory=WeakValueDictionary)
    recent: dict[Mfp, MfpProgram] = field(default_factory=dict)
    saved: Saved | None = None
    rendered: dict[Plan | ArrangementPlan, Node] = field(default_factory=dict)
    outside: Outside | None = None
    recursion_limit: int = MOST_ROUNDS
    groups: list[tuple[RoundNode, Node]] = field(default_factory=list)
    holding: list[MfpByRound] = field(default_factory=list)
    by_value: dict[int, ByValue] = field(default_factory=dict)
    looked_up_first: frozenset[ArrangementPlan] = frozenset()
    later: list[ArrangeLater] = field(default_factory=list)
    functions: Functions = field(default_factory=Functions)

    @abstractmethod
    def node(self, plan: Plan | ArrangementPlan) -> Bits[Node]:
        """The node that carries out `plan`: the one that exists, else a new one, hydrated."""

    @abstractmethod
    def within(self, outside: Outside) -> RenderContext:
        """One for what runs within a loop, which has a graph of its own."""

    def nodes(self, plans: Iterable[Plan | ArrangementPlan]) -> Bits[tuple[Node, ...]]:
        """The nodes that carry out these plans."""
        found = []
        for plan in plans:
            found.append((yield from self.node(plan)))
        return tuple(found)

    def fill(
        self,
        plan: Plan | ArrangementPlan,
        node: Node,
        *,
        contents: bool = False,
        whole: bool = False,
        alone: bool = False,
    ) -> Bits[Node]:
        """Bring a new stateful node up to the present: from what was saved, else from its input; see `hydrate`.

        `contents`: it holds those of a view that has the plan.
        """
        # A loop is filled as a whole.
        if self.outside is None and (self.saved is None or not self.saved(plan, node, contents)):
            yield from self.graph.hydrate(node, whole=whole, alone=alone)
        return node

    def program(self, mfp: Mfp, row: Row) -> MfpProgram:
        """The runnable form of a map-filter-project over `row`; one for all who use it, such as the paths of a join."""
        if mfp.gathered:
            passed = tuple(dict.fromkeys(p for p in mfp.projection if p < mfp.width))
            places = {p: mfp.width + len(mfp.maps) + i for i, p in enumerate(passed)}
            maps, projection = mfp.maps + tuple(row[p] for p in passed), (places.get(p, p) for p in mfp.projection)
            mfp = replace(mfp, maps=maps, projection=tuple(projection))
        known = self.programs.get(mfp)
        if known is None:
            known = self.programs[mfp] = MfpProgram(mfp, self.dictionary, self.compiler)
        self.recent.pop(mfp, None)
        if not known.remembers:
            self.recent[mfp] = known
        if len(self.recent) > _MOST_RECENT:
            del self.recent[next(iter(self.recent))]
        return known

    def valued(self, scalar: Scalar, row: Row) -> Valued:
        """What computes `scalar` for each row of a delta."""
        if isinstance(scalar, Column):
            return lambda delta: delta.column(scalar.index)
        program = self.program(Mfp(len(row), (scalar,), (), (len(row),)), row)

        def computed(delta: Delta) -> Values:
            result = program.run(delta)
            assert result is not None, "a program without predicates passes every row"
            return result.column(0)

        return computed

    def beside(self, scalars: Sequence[Scalar], row: Row) -> tuple[MfpProgram | None, tuple[int, ...]]:
        """What computes `scalars` behind the columns of each row, None if all are columns; which columns they are."""
        width, maps = len(row), tuple(scalar for scalar in scalars if not isinstance(scalar, Column))
        made = iter(range(width, width + len(maps)))
        places = tuple(scalar.index if isinstance(scalar, Column) else next(made) for scalar in scalars)
        return self.program(Mfp(width, maps, (), tuple(range(width + len(maps)))), row) if maps else None, places


def types_of(row: Row) -> tuple[tuple[SqlType, bool], ...]:
    """The type of each column, and whether it can be NULL."""
    return tuple((column.type, column.nullable) for column in row)

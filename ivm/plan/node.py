"""What every node of a plan answers: its text, its expected size, and what a change costs on its way through it.

Equal plans are equal values, so whatever two views have in common is rendered once. `row` of a node lists its output
columns with their types; names play no part in a plan. Each kind of node has a file of its own, which also lowers it.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import ClassVar

from ivm.analysis.expected import Expected, ValuesOf, appended, nobody_knows
from ivm.analysis.selectivity import selectivity
from ivm.plan.estimate import IN_ORDER, Estimate, rows_of
from ivm.sql.ir.rebuild import Row
from ivm.sql.ir.relation import Order
from ivm.sql.ir.scalar import Scalar

Names = tuple[str, ...]
NamesOf = Callable[[str], Names]
"""The column names of a table or view."""

SMALL = 1000
"""A collection that can never hold more rows than this is small: to compare a change with all of it is no cost."""


class Plan(ABC):
    """A node of a plan. Subclasses are frozen; where nothing else is said, a node is as its first input is."""

    row: Row
    state_kind: ClassVar[str | None] = None
    """What its state is called where states are listed; None: it keeps none."""

    def below(self) -> tuple[Plan, ...]:
        """The plans that this one reads directly."""
        return ()

    def read_anew(self) -> tuple[Plan, ...]:
        """The inputs from which each reader computes the rows anew; none for a node that keeps its rows."""
        return () if self.state_kind else self.below()

    @property
    def kind(self) -> str:
        """What this is called in a text."""
        return type(self).__name__.removesuffix("Plan").lower()

    @property
    def label(self) -> str:
        """What the node of the dataflow is called."""
        return self.kind

    @cached_property
    def tables_below(self) -> Names:
        """The tables and views that are read, each once."""
        return tuple(dict.fromkeys(name for each in self.below() for name in each.tables_below))

    def names(self, names_of: NamesOf) -> Names:
        """Readable names of the columns: a table's where they are passed on, else their position."""
        known: Names | None = self.__dict__.get("_known_names")
        if known is None:
            known = self.__dict__["_known_names"] = self.named(names_of)
        return known

    def named(self, names_of: NamesOf) -> Names:
        """See `names`, which asks this once."""
        return self.below()[0].names(names_of)

    def lines(self, names_of: NamesOf) -> list[str]:
        """What EXPLAIN shows of this node, inputs aside."""
        return [self.kind]

    def short_text(self) -> str:
        """A short name of the collection."""
        return f"{self.kind} of {', '.join(self.tables_below)}" if self.tables_below else self.kind

    def called(self) -> str:
        """What this is called in a sentence: the table, or the kind of node and the tables that it reads."""
        return f"the {self.short_text()}"

    @cached_property
    def is_lifted(self) -> bool:
        """Whether it runs within a loop, round by round: it depends on one of the loop's names."""
        return any(each.is_lifted for each in self.below())

    @cached_property
    def is_static(self) -> bool:
        """Whether nothing changes after it has been hydrated: all that it reads is static or constant."""
        return all(each.is_static for each in self.below())

    @cached_property
    def is_append_only(self) -> bool:
        """Whether no update ever has a negative diff, in a commit or in hydration."""
        return all(each.is_append_only for each in self.below())

    @cached_property
    def most_rows(self) -> int | None:
        """How many rows there can be whatever the tables hold; None if there is no bound."""
        bounds = [each.most_rows for each in self.below()]
        known = [bound for bound in bounds if bound is not None]
        return sum(known) if len(known) == len(bounds) else None

    @property
    def unique(self) -> tuple[tuple[int, ...], ...]:
        """Keys of which there is never more than one row: those that a lookup may be by."""
        return ()

    @property
    def is_small(self) -> bool:
        """Whether there are never more than SMALL rows."""
        return self.most_rows is not None and self.most_rows <= SMALL

    def is_constant(self, column: int) -> bool:
        """Whether a column has the same value in all rows, by the text of the query."""
        return False

    def expected(self, sizes: Sizes) -> Expected:
        """The rows and values to expect; ask `Sizes.of`, which remembers them."""
        below = sizes.of(self.below()[0])
        return below if below.width == len(self.row) else appended(below, len(self.row))

    def state(self, sizes: Sizes) -> Estimate | None:
        """The state to expect; None if there is none."""
        return None

    def passed(self, change: Change, rate: float) -> float:
        """The changes that come of `rate` changes of the inputs, what they cost being added to `change`."""
        return rate

    def costs(self) -> Iterator[str]:
        """A sentence for each way in which a change costs more than what follows from it."""
        return iter(())

    def remarks(self) -> Iterator[str]:
        """A sentence for each cost that follows from a change, but may be large."""
        return iter(())


class PlanOver(Plan):
    """A node over one input."""

    input: Plan

    def below(self) -> tuple[Plan, ...]:
        """The input."""
        return (self.input,)

    def state(self, sizes: Sizes) -> Estimate | None:
        """The rows of the input in order, if it keeps any."""
        return rows_of(sizes.count(self.input), self.input.row, IN_ORDER) if self.state_kind else None


@dataclass
class Sizes:
    """Expected sizes over the given ones; `rows` are those of each table and view by name. `values`: of a column of one
    of these, by its place, about how many it has, where that is known.

    See `ivm.analysis.expected`.
    """

    rows: Mapping[str, float]
    values: ValuesOf = nobody_knows
    _known: dict[Plan, Expected] = field(default_factory=dict)

    def of(self, plan: Plan) -> Expected:
        """The rows that a plan is expected to yield, and the values of its columns."""
        known = self._known.get(plan)
        if known is None:
            known = self._known[plan] = plan.expected(self)
        return known

    def count(self, plan: Plan) -> float:
        """The number of rows that a plan is expected to yield."""
        return self.of(plan).rows

    def combinations(self, plan: Plan, columns: tuple[int, ...]) -> float:
        """The number of values that columns of a plan are expected to have together."""
        return self.of(plan).combinations(columns)

    def drawn(self, plan: Plan) -> float:
        """How many rows the contents of a plan are computed from: those of tables, views and stateful nodes."""
        anew = plan.read_anew()
        return sum(map(self.drawn, anew)) if anew else self.count(plan)


@dataclass
class Change:
    """One changed row of `table` on its way through a plan, and what it has cost so far.

    `rates` are the changes that each node passes on for it, `whole` the collections that it visits whole. Without
    `sizes` each lookup is taken to find one row, and each filter to keep it.
    """

    table: str
    sizes: Sizes | None
    lookups: float = 0.0
    visited: float = 0.0
    rates: dict[Plan, float] = field(default_factory=dict)
    whole: dict[str, None] = field(default_factory=dict)

    def follow(self, nodes: tuple[Plan, ...]) -> None:
        """Follow the row through `nodes`, inputs first."""
        for node in nodes:
            rate = sum(self.rates[each] for each in node.below())
            self.rates[node] = node.passed(self, rate) if rate or not node.below() else 0.0

    def kept(self, predicates: tuple[Scalar, ...]) -> float:
        """The share of rows that pass a filter."""
        return 1.0 if self.sizes is None else prod(map(selectivity, predicates))

    def partition(self, plan: Plan, columns: tuple[int, ...]) -> float:
        """The rows of a plan that agree on `columns`, at least 1."""
        if self.sizes is None:
            return 1.0
        return max(1.0, self.sizes.count(plan) / max(1.0, self.sizes.combinations(plan, columns)))


def nodes_of(plan: Plan) -> Iterator[Plan]:
    """Every node of the plan once, inputs first. Cost: linear in the number of different nodes."""
    seen: set[int] = set()
    open_: list[tuple[Plan, Iterator[Plan]]] = [(plan, iter(plan.below()))]
    while open_:
        node, inputs = open_[-1]
        below = next((each for each in inputs if id(each) not in seen), None)
        if below is not None:
            open_.append((below, iter(below.below())))
            continue
        open_.pop()
        if id(node) not in seen:
            seen.add(id(node))
            yield node


def order_text(order: tuple[Order, ...], names: Names) -> str:
    """`a, b desc`."""
    return ", ".join(names[term.column] + (" desc" if term.descending else "") for term in order)

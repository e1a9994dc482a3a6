"""Groups and their aggregates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from math import log2
from typing import ClassVar

from ivm.analysis.expected import Expected, grouped
from ivm.catalog.types import SqlType
from ivm.plan.estimate import GROUP, IN_ORDER, Estimate, rows_of
from ivm.plan.node import Change, Names, NamesOf, Plan, PlanOver, Sizes, order_text
from ivm.sql.ir.aggregate import Aggregate
from ivm.sql.ir.aggregates import ORDERED, Reduction, aggregate_of
from ivm.sql.ir.compared_once import compared_once
from ivm.sql.ir.rebuild import Row, row_of
from ivm.sql.ir.relation import Order, Reduce, Relation
from ivm.sql.ir.scalar import Literal, Scalar
from ivm.sql.ir.text import scalar_text


@compared_once
class AggregatePlan:
    """One aggregate over column `argument` of the input (None for count_star); see `ivm.sql.ir.relation.Aggregate`."""

    function: str
    argument: int | None
    type: SqlType
    others: tuple[int, ...] = ()
    order: tuple[Order, ...] = ()
    parameters: tuple[Literal, ...] = ()

    def text(self, names: Names) -> str:
        """The call, over an input whose columns have these names."""
        arguments = () if self.argument is None else (self.argument, *self.others)
        parts = [*(names[c] for c in arguments), *(scalar_text(literal) for literal in self.parameters)]
        terms = order_text(self.order, names)
        return f"{self.function}({', '.join(parts)}{f' order by {terms}' if terms else ''})"


@compared_once
class ReducePlan(PlanOver):
    """Groups by the first `keys` columns of the input; accumulable aggregates in one pass, extremes in order.

    `append_only`: no row of the input ever goes, so that min and max are accumulable too.
    """

    input: Plan
    keys: int
    aggregates: tuple[AggregatePlan, ...]
    row: Row
    append_only: bool = False
    state_kind: ClassVar[str | None] = "derived"

    def keeps_order(self, aggregate: AggregatePlan) -> bool:
        """Whether the rows of each group are kept in order for an aggregate."""
        reduction = aggregate_of(aggregate.function).reduction
        return reduction in ORDERED or (reduction is Reduction.EXTREME and not self.append_only)

    @property
    def shows_all(self) -> list[str]:
        """The aggregates whose value holds all values of a group, and is written anew with each of them."""
        functions = (each.function for each in self.aggregates)
        return [function for function in functions if aggregate_of(function).reduction is Reduction.ROWS]

    def named(self, names_of: NamesOf) -> Names:
        """Of the keys, those of the input; of aggregates, their place."""
        own = tuple(f"#{self.keys + i}" for i in range(len(self.aggregates)))
        return self.input.names(names_of)[: self.keys] + own

    def lines(self, names_of: NamesOf) -> list[str]:
        """Keys and aggregates."""
        names = self.input.names(names_of)
        aggregates = ", ".join(each.text(names) for each in self.aggregates)
        coming = " of rows that only come" if self.append_only else ""
        return [f"reduce keys=[{', '.join(names[: self.keys])}] aggregates=[{aggregates}]{coming}"]

    @cached_property
    def is_append_only(self) -> bool:
        """If a group comes but never changes: there is no aggregate, and no group of everything."""
        return self.keys > 0 and not self.aggregates and self.input.is_append_only

    @property
    def unique(self) -> tuple[tuple[int, ...], ...]:
        """What it groups by."""
        return (tuple(range(self.keys)),)

    @cached_property
    def most_rows(self) -> int | None:
        """One, of constant keys."""
        return 1 if all(map(self.input.is_constant, range(self.keys))) else self.input.most_rows

    def expected(self, sizes: Sizes) -> Expected:
        """The combinations of keys."""
        return grouped(sizes.of(self.input), self.keys, [(each.function, each.argument) for each in self.aggregates])

    def state(self, sizes: Sizes) -> Estimate | None:
        """The groups, and the rows of the input as often as aggregates keep them in order."""
        groups = rows_of(sizes.count(self), self.row, GROUP)
        ordered = sum(map(self.keeps_order, self.aggregates))
        return Estimate(groups.rows, groups.bytes + ordered * IN_ORDER * sizes.count(self.input))

    def passed(self, change: Change, rate: float) -> float:
        """The group's row goes and comes; of many changes to few groups, once for each group."""
        sizes = change.sizes
        groups = 1.0 if sizes is None else max(1.0, sizes.count(self))
        ordered = 0.0 if sizes is None else log2(1.0 + sizes.count(self.input) / groups)
        change.lookups += rate
        change.visited += rate
        change.visited += rate * ordered * sum(map(self.keeps_order, self.aggregates))
        if self.shows_all:
            change.whole[f"all values of a group of {self.input.called()}"] = None
            change.visited += rate * change.partition(self.input, tuple(range(self.keys)))
        return rate if sizes is None else min(rate, groups) * 2.0

    def remarks(self) -> Iterator[str]:
        """An aggregate that holds all values of a group, so that each of them is written anew with it."""
        for function in self.shows_all:
            yield f"a change of {self.input.called()} writes {function} of its group anew, all its values"


def lower_reduce(reduce: Reduce, lower_mapped: Callable[[Relation, tuple[Scalar, ...]], Plan]) -> ReducePlan:
    """Keys and arguments are computed by the MFP below, each distinct argument once."""
    arguments = tuple(dict.fromkeys(scalar for a in reduce.aggregates for scalar in a.scalars))
    places = {argument: len(reduce.keys) + i for i, argument in enumerate(arguments)}
    aggregates = tuple(_aggregate(a, places) for a in reduce.aggregates)
    below = lower_mapped(reduce.input, (*reduce.keys, *arguments))
    row = row_of((*reduce.keys, *reduce.aggregates))
    return ReducePlan(below, len(reduce.keys), aggregates, row, below.is_append_only)


def _aggregate(aggregate: Aggregate, places: dict[Scalar, int]) -> AggregatePlan:
    assert not aggregate.distinct, "expand_distinct has taken DISTINCT away"
    return AggregatePlan(
        aggregate.function,
        None if aggregate.arg is None else places[aggregate.arg],
        aggregate.type,
        tuple(places[scalar] for scalar in aggregate.others),
        tuple(Order(places[o.scalar], o.descending, o.nulls_first) for o in aggregate.order),
        aggregate.parameters,
    )

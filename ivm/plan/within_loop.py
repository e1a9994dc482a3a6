"""What stands within loops alone: groups by round, and what enters and goes round; see `ivm.plan.lift`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import ClassVar

from ivm.analysis.expected import Expected, unknown
from ivm.catalog.types import BIGINT, Physical
from ivm.plan.lift import ROUND, SIGN, ByRound
from ivm.plan.multiplicities import ThresholdPlan
from ivm.plan.node import Change, Names, NamesOf, Plan, PlanOver, Sizes
from ivm.plan.reduce import ReducePlan, lower_reduce
from ivm.plan.top_k import TopKPlan, lower_top_k
from ivm.plan.window import WindowPlan, lower_window
from ivm.sql.ir.aggregates import Reduction, aggregate_of
from ivm.sql.ir.compared_once import compared_once
from ivm.sql.ir.rebuild import Row, row, row_of
from ivm.sql.ir.relation import Reduce, Relation, Threshold, TopK, Window
from ivm.sql.ir.scalar import Column, Scalar


@compared_once
class FedPlan(Plan):
    """What is fed back of a binding: its changes, each of the round after. State: none."""

    name: str
    row: Row
    is_lifted = True
    is_static = is_append_only = False
    most_rows: ClassVar[None] = None

    def named(self, names_of: NamesOf) -> Names:
        """By their places."""
        return tuple(f"#{i}" for i in range(len(self.row)))

    def lines(self, names_of: NamesOf) -> list[str]:
        """The name of the binding."""
        return [f"{self.name} of the round before"]

    def short_text(self) -> str:
        """The name of the binding."""
        return self.name

    def expected(self, sizes: Sizes) -> Expected:
        """Nobody knows; as many rows as the largest table has."""
        return unknown(max(sizes.rows.values(), default=0.0), len(self.row))


@compared_once
class GivenPlan(Plan):
    """The rows that a node of groups is given for each round."""

    row: Row
    is_static = is_append_only = False
    most_rows: ClassVar[None] = None

    def named(self, names_of: NamesOf) -> Names:
        """By their places."""
        return tuple(f"#{i}" for i in range(len(self.row)))

    def expected(self, sizes: Sizes) -> Expected:
        """Nobody knows."""
        return unknown(0.0, len(self.row))


@compared_once
class EnteredPlan(PlanOver):
    """The input, of which a loop looks up what was there at any time that is kept. State: none."""

    input: Plan
    row: Row


@compared_once
class NumberedPlan(PlanOver):
    """The input, which enters a loop in rounds by a column's value: see `ivm.plan.lift.Numbered`. State: the loop's."""

    input: Plan
    binding: int
    column: int
    row: Row
    is_lifted = True

    def named(self, names_of: NamesOf) -> Names:
        """The input's, and the round."""
        return (*self.input.names(names_of), ROUND.name)

    def lines(self, names_of: NamesOf) -> list[str]:
        """By which column."""
        return [f"enters by {self.input.names(names_of)[self.column]}"]


@compared_once
class DelayedPlan(PlanOver):
    """The input, which comes in rounds by a column's value: see `ivm.plan.lift.Delayed`. State: the loop's."""

    input: Plan
    binding: int
    column: int
    row: Row

    def lines(self, names_of: NamesOf) -> list[str]:
        """By which column."""
        return [f"rounds by {self.input.names(names_of)[self.column]}"]


@compared_once
class SignedPlan(PlanOver):
    """The input with one more column, the sign. State: none."""

    input: Plan
    row: Row

    def named(self, names_of: NamesOf) -> Names:
        """The input's, and the sign."""
        return (*self.input.names(names_of), SIGN.name)


@compared_once
class UnsignedPlan(PlanOver):
    """The input without its last column, a sign, by which its diffs are multiplied. State: none."""

    input: Plan
    row: Row
    is_append_only = False

    def named(self, names_of: NamesOf) -> Names:
        """The input's but the last."""
        return self.input.names(names_of)[:-1]


@compared_once
class ByRoundPlan(PlanOver):
    """What `over`, a node of groups, makes of its input in each round, as changes from round to round.

    `key` are the columns of the input by which groups are told, `key_made` those of the output. State: where it
    `adds_up` sums by round, where it `is_extreme` values in order by round, else input and output with their rounds,
    and of a group that changes in a round all rows up to that round are read.
    """

    input: Plan
    over: Plan
    key: tuple[int, ...]
    key_made: tuple[int, ...]
    row: Row
    settled: bool = False
    state_kind: ClassVar[str | None] = "derived"
    is_append_only = False
    most_rows: ClassVar[None] = None

    @property
    def adds_up(self) -> bool:
        """Whether what a group holds is exact sums, so that those of rounds can be added up."""
        if not isinstance(self.over, ReducePlan):
            return isinstance(self.over, ThresholdPlan)
        row = self.over.input.row
        return all(
            aggregate_of(each.function).reduction is Reduction.ACCUMULABLE
            and (each.argument is None or not row[each.argument].type.is_float)
            for each in self.over.aggregates
        )

    @property
    def is_extreme(self) -> bool:
        """Whether it asks for one least, or greatest, integer of each group, which are kept in order by round."""
        if not isinstance(self.over, ReducePlan) or not self.over.keys or len(self.over.aggregates) != 1:
            return False
        (only,), row = self.over.aggregates, self.over.input.row
        if only.function not in ("min", "max") or only.argument is None:
            return False
        argument = row[only.argument]
        return not argument.nullable and argument.type.physical in (Physical.INT32, Physical.INT64)

    @property
    def has_aggregates(self) -> bool:
        """Whether it is more than which rows there are."""
        return isinstance(self.over, ReducePlan) and bool(self.over.aggregates)

    def named(self, names_of: NamesOf) -> Names:
        """By their places."""
        return tuple(f"#{i}" for i in range(len(self.row)))

    def lines(self, names_of: NamesOf) -> list[str]:
        """What it does, by round."""
        first, *more = self.over.lines(names_of)
        return [f"{'settled' if self.settled else 'by round'}: {first}", *more]

    def expected(self, sizes: Sizes) -> Expected:
        """As many rows as come, of which nothing is known."""
        return unknown(sizes.count(self.input), len(self.row))

    def passed(self, change: Change, rate: float) -> float:
        """A group; where it does not add up, all of its rows."""
        change.lookups += rate
        if self.adds_up or self.is_extreme:
            return rate
        change.lookups += rate
        change.visited += rate * change.partition(self.input, self.key)
        return rate

    def remarks(self) -> Iterator[str]:
        """A group is read whole."""
        if not self.adds_up and not self.is_extreme:
            yield f"a change within a loop reads all rows of its group in {self.over.called()}"


def lower_by_round(
    relation: ByRound, lower: Callable[[Relation], Plan], mapped: Callable[[Relation, tuple[Scalar, ...]], Plan]
) -> ByRoundPlan:
    """The node of groups over rows that it is given, and its input with the rounds."""
    below: list[Plan] = []
    given, over = relation.input, relation.over
    number = Column(len(given.schema) - 1, BIGINT, ROUND.nullable)

    def given_mapped(_: Relation, scalars: tuple[Scalar, ...]) -> Plan:
        below.append(mapped(given, (*scalars, number)))
        return GivenPlan(row_of(scalars))

    def given_whole(read: Relation) -> Plan:
        below.append(lower(given))
        return GivenPlan(row(read))

    plan: ReducePlan | TopKPlan | WindowPlan | ThresholdPlan
    match over:
        case Reduce():
            plan = lower_reduce(over, given_mapped)
            key = tuple(range(plan.keys))
        case TopK():
            plan = lower_top_k(over, given_whole)
            key = over.group
        case Window():
            plan = lower_window(over, given_mapped)
            key = over.partition
        case Threshold():
            plan = ThresholdPlan(given_whole(over.input), row(over))
            key = tuple(range(len(plan.row)))
    (input_,) = below
    return ByRoundPlan(input_, plan, key, key, row_of(relation.schema), relation.settled)

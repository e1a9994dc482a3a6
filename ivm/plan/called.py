"""Rows with what a function of the application's says of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from ivm.analysis.expected import Expected, appended, projected
from ivm.catalog.names import key
from ivm.plan.estimate import Estimate, rows_of
from ivm.plan.node import Names, NamesOf, Plan, PlanOver, Sizes
from ivm.sql.ir.compared_once import compared_once
from ivm.sql.ir.functions.called import is_called, name_of
from ivm.sql.ir.rebuild import Row, row, row_of
from ivm.sql.ir.relation import Relation, Unnest
from ivm.sql.ir.scalar import Call, Scalar

LowerMapped = Callable[[Relation, tuple[Scalar, ...]], Plan]


@compared_once
class CalledPlan(PlanOver):
    """The first `width` columns of the input, and what the `function` answers for the columns at `arguments`, where the
    column behind the first ones is true; NULL elsewhere. State: the answers for arguments that are there.
    """

    input: Plan
    function: str
    width: int
    row: Row
    state_kind: ClassVar[str | None] = "answers"

    @property
    def condition(self) -> int:
        """The column that says where the function is called."""
        return self.width

    @property
    def arguments(self) -> range:
        """The columns of its arguments."""
        return range(self.width + 1, len(self.input.row))

    def read_anew(self) -> tuple[Plan, ...]:
        """The input: what is kept are answers, not rows."""
        return self.below()

    @property
    def unique(self) -> tuple[tuple[int, ...], ...]:
        """The input's, as far as they are passed on."""
        return tuple(key for key in self.input.unique if all(column < self.width for column in key))

    def named(self, names_of: NamesOf) -> Names:
        """The input's; of the answer, its place."""
        return (*self.input.names(names_of)[: self.width], f"#{self.width}")

    def lines(self, names_of: NamesOf) -> list[str]:
        """The call."""
        names = self.input.names(names_of)
        return [f"called {self.function}({', '.join(names[place] for place in self.arguments)})"]

    def expected(self, sizes: Sizes) -> Expected:
        """The input's, and the answers."""
        return appended(projected(sizes.of(self.input), range(self.width)), len(self.row))

    def state(self, sizes: Sizes) -> Estimate | None:
        """An answer for each combination of arguments."""
        count = sizes.combinations(self.input, tuple(self.arguments)) if self.arguments else 1.0
        return rows_of(min(count, sizes.count(self.input)), self.row[self.width :], _OF_PYTHON)


_OF_PYTHON = 200
"""Bytes that a value of Python's and its place take."""


def is_call(unnest: Unnest) -> bool:
    """Whether its one list is a call of a function of the application's."""
    return len(unnest.lists) == 1 and is_called(unnest.lists[0])


def lower_called(unnest: Unnest, lower_mapped: LowerMapped) -> CalledPlan:
    """What the function takes is computed by the MFP below."""
    (call,) = unnest.lists
    assert isinstance(call, Call), "it calls a function"
    given = call.args[1:]
    columns = row(unnest.input)
    below = lower_mapped(unnest.input, (*columns, *given))
    return CalledPlan(below, key(name_of(call)), len(columns), row_of((*columns, *unnest.added)))

"""Rows made of the elements of lists."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

from ivm.analysis.expected import Expected, appended, projected
from ivm.analysis.ranges import can_raise
from ivm.analysis.selectivity import ELEMENTS
from ivm.plan.node import Change, Names, NamesOf, Plan, PlanOver, Sizes
from ivm.sql.ir.compared_once import compared_once
from ivm.sql.ir.functions import function_of, series
from ivm.sql.ir.rebuild import Row, row, row_of
from ivm.sql.ir.relation import Relation, Unnest
from ivm.sql.ir.scalar import Call, Column, Literal, Scalar
from ivm.sql.ir.text import scalar_text

LowerMapped = Callable[[Relation, tuple[Scalar, ...]], Plan]

_MADE = frozenset(function.name for function in series.FUNCTIONS)


@compared_once
class UnnestPlan(PlanOver):
    """The first `width` columns of the input, once for each place in the `lists`, and the elements there. State: none.

    A list is a column of the input, or a function of columns and literals that is not to make the list itself.
    """

    input: Plan
    width: int
    lists: tuple[Scalar, ...]
    numbered: bool
    optional: bool
    row: Row
    most_rows: ClassVar[None] = None

    @property
    def is_risky(self) -> bool:
        """Whether what makes a list can raise."""
        return any(map(can_raise, self.lists))

    def named(self, names_of: NamesOf) -> Names:
        """The input's; of elements, their place."""
        own = tuple(f"#{i}" for i in range(self.width, len(self.row)))
        return self.input.names(names_of)[: self.width] + own

    def lines(self, names_of: NamesOf) -> list[str]:
        """The lists."""
        names = self.input.names(names_of)
        more = (" numbered" if self.numbered else "") + (" optional" if self.optional else "")
        return [f"unnest {', '.join(scalar_text(each, names) for each in self.lists)}{more}"]

    def expected(self, sizes: Sizes) -> Expected:
        """Some for each list."""
        below = projected(sizes.of(self.input), range(self.width))
        return appended(below, len(self.row), ELEMENTS)

    def passed(self, change: Change, rate: float) -> float:
        """A change for each element."""
        return rate if change.sizes is None else rate * ELEMENTS


def lower_unnest(unnest: Unnest, lower_mapped: LowerMapped) -> UnnestPlan:
    """What lists are made of is computed by the MFP below, each expression once."""
    columns = row(unnest.input)
    parts = dict.fromkeys(part for each in unnest.lists for part in _parts(each))
    computed = [part for part in parts if not isinstance(part, Column)]
    places: dict[Scalar, Scalar] = {
        scalar: Column(len(columns) + i, scalar.type, scalar.nullable) for i, scalar in enumerate(computed)
    }
    below = lower_mapped(unnest.input, (*columns, *computed))

    def placed(scalar: Scalar) -> Scalar:
        made = _made_of(scalar)
        if made is None:
            return places.get(scalar, scalar)
        return replace(made, args=tuple(places.get(arg, arg) for arg in made.args))

    lists, output = tuple(map(placed, unnest.lists)), row_of((*columns, *unnest.added))
    return UnnestPlan(below, len(columns), lists, unnest.numbered, unnest.optional, output)


def _made_of(scalar: Scalar) -> Call | None:
    """The call whose elements are made without the list."""
    if not isinstance(scalar, Call):
        return None
    is_made = scalar.function in _MADE or function_of(scalar.function).asked is not None
    return (
        scalar if is_made and not any(isinstance(arg, Literal) and arg.value is None for arg in scalar.args) else None
    )


def _parts(scalar: Scalar) -> tuple[Scalar, ...]:
    """What has to be computed of a list; literals are arguments as they are."""
    made = _made_of(scalar)
    return (scalar,) if made is None else tuple(arg for arg in made.args if not isinstance(arg, Literal))

"""What a plan does that does not follow the size of a change: said in EXPLAIN and in ivm_views, never left silent."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from ivm.analysis.fact import fact
from ivm.plan.nodes import (
    ConstantPlan,
    JoinPlan,
    MfpPlan,
    Plan,
    ReducePlan,
    TablePlan,
    TopKPlan,
    ViewPlan,
    WindowPlan,
    inputs_of,
    nodes_of,
)
from sql.ir.scalar import Literal

SMALL = 1000
"""A collection that can never hold more rows than this is small: to compare a change with all of it is no cost."""


def costs(plan: Plan) -> tuple[str, ...]:
    """A sentence for each way in which a change costs more than what follows from it; empty for an incremental plan.

    That is a join without equality, whose changes on one side are compared with all rows of the other, unless that
    one is small for ever; and a window function for which a partition is read anew. Cost: linear in the plan.
    """
    found: dict[str, None] = {}
    for each in nodes_of(plan):
        if isinstance(each, JoinPlan):
            found.update(dict.fromkeys(_compared(each)))
        if isinstance(each, WindowPlan):
            found.update(dict.fromkeys(_read_anew(each)))
    return tuple(found)


def remarks(plan: Plan) -> tuple[str, ...]:
    """A sentence for each cost that follows from a change, but may be large.

    That is a small collection whose rare change concerns all rows of a large one (x > (SELECT avg ..)), and an
    aggregate that holds all values of a group, so that each of them is written anew with it.
    """
    found: dict[str, None] = {}
    for each in nodes_of(plan):
        if isinstance(each, ReducePlan):
            found.update(dict.fromkeys(_written_anew(each)))
        if isinstance(each, JoinPlan):
            found.update(dict.fromkeys(_visited(each)))
    return tuple(found)


def _compared(join: JoinPlan) -> Iterator[str]:
    for source, target in _unkeyed(join):
        if not is_small(source) and not is_small(target):
            yield f"every change of {called(source)} is compared with all rows of {called(target)}"


def _visited(join: JoinPlan) -> Iterator[str]:
    for source, target in _unkeyed(join):
        # What is constant never changes.
        if is_small(source) and not is_small(target) and not isinstance(source, ConstantPlan):
            yield f"a change of {called(source)} visits all rows of {called(target)}"


def _written_anew(reduce: ReducePlan) -> Iterator[str]:
    for aggregate in reduce.aggregates:
        if aggregate.function in ("string_agg", "list"):
            yield f"a change of {called(reduce.input)} writes {aggregate.function} of its group anew, all its values"


def _unkeyed(join: JoinPlan) -> Iterator[tuple[Plan, Plan]]:
    """The inputs whose changes meet an input by no key and no bound, and that input."""
    for path in join.paths:
        for stage in path.stages:
            if not stage.arrangement.key and stage.bound is None:
                yield join.inputs[path.source], join.inputs[stage.input]


def _read_anew(window: WindowPlan) -> Iterator[str]:
    for function in window.functions:
        if function.reach == "partition":
            yield f"every change of {called(window.input)} computes {function.function} anew for its whole partition"


def is_small(plan: Plan) -> bool:
    """Whether the plan never has more than SMALL rows, whatever the tables hold."""
    bound = _most_rows(plan)
    return bound is not None and bound <= SMALL


@fact
def _most_rows(plan: Plan) -> int | None:
    """How many rows the plan can have whatever the tables hold; None if there is no bound."""
    match plan:
        case ConstantPlan():
            return len(plan.rows)
        case ReducePlan():
            return 1 if all(_is_constant(plan.input, key) for key in range(plan.keys)) else _most_rows(plan.input)
        case TopKPlan() if not plan.group and plan.limit is not None and not plan.ties:
            return plan.limit
        case TablePlan() | ViewPlan():
            return None
    bounds = [_most_rows(each) for each in inputs_of(plan)]
    known = [bound for bound in bounds if bound is not None]
    if len(known) < len(bounds):
        return None
    return prod(known) if isinstance(plan, JoinPlan) else sum(known)


def _is_constant(plan: Plan, column: int) -> bool:
    if not isinstance(plan, MfpPlan | JoinPlan):
        return False
    mfp = plan.mfp if isinstance(plan, MfpPlan) else plan.final
    place = mfp.projection[column]
    return place >= mfp.width and isinstance(mfp.maps[place - mfp.width], Literal)


def called(plan: Plan) -> str:
    """What a plan is called in a sentence: the table, or the kind of node and the tables that it reads."""
    if isinstance(plan, MfpPlan):
        return called(plan.input)
    if isinstance(plan, TablePlan | ViewPlan):
        return plan.name
    kind = type(plan).__name__.removesuffix("Plan").lower()
    names = dict.fromkeys(each.name for each in nodes_of(plan) if isinstance(each, TablePlan | ViewPlan))
    return f"the {kind} of {', '.join(names)}" if names else f"the {kind}"

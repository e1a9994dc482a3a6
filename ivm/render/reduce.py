"""Renders reduces: group table, accumulators and ordered state, as the plan says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

from ivm.catalog.types import Kind
from ivm.operators.accumulable import FIRST, FUNCTIONS, QUANTILES, ROWS, Accumulators, AggregateSpec, Ordered
from ivm.operators.folds import FOLDS
from ivm.operators.reduce import Reduce
from ivm.operators.round_reduce import RoundExtreme, RoundReduce
from ivm.plan.reduce import AggregatePlan, ReducePlan
from ivm.plan.within_loop import ByRoundPlan
from ivm.render.context import types_of
from ivm.sql.ir.aggregates import AGGREGATES, Reduction, aggregate_of
from ivm.sql.ir.relation import Order
from ivm.sql.ir.scalar import Literal
from ivm.trace.ordered.row_order import Term
from ivm.trace.text.dictionary import TextDictionary

_FORMS = {Reduction.FIRST: FIRST, Reduction.QUANTILE: QUANTILES, Reduction.ROWS: ROWS}
_IN_FIELDS = {name for name, each in AGGREGATES.items() if each.reduction in (Reduction.ACCUMULABLE, Reduction.EXTREME)}
_OF_ROWS = {name for name, each in AGGREGATES.items() if each.reduction is Reduction.ROWS} - {"string_agg", "list"}
if alone := (FUNCTIONS.keys() ^ _IN_FIELDS) | (FOLDS.keys() ^ _OF_ROWS):
    raise ImportError(f"aggregates that are declared, or kept by the operators, alone: {alone}")


def reduce_operator(plan: ReducePlan, dictionary: TextDictionary) -> Reduce:
    """The operator that carries out `plan`, still empty."""
    keys, aggregates = types_of(plan.input.row[: plan.keys]), [_spec(plan, each) for each in plan.aggregates]
    return Reduce(keys, aggregates, dictionary, append_only=plan.append_only)


def round_reduce(plan: ByRoundPlan, dictionary: TextDictionary) -> RoundReduce:
    """The operator that carries out a reduce or a threshold within a loop, where it adds up."""
    over, width = plan.over, len(plan.input.row) - 1
    if not isinstance(over, ReducePlan):
        return RoundReduce(types_of(over.row), Accumulators(()), width, dictionary, clamps=True)
    keys, aggregates = types_of(over.input.row[: over.keys]), [_spec(over, each) for each in over.aggregates]
    return RoundReduce(keys, Accumulators(aggregates), width, dictionary, settled=plan.settled)


def round_extreme(plan: ByRoundPlan, dictionary: TextDictionary) -> RoundExtreme:
    """The operator that carries out a reduce within a loop that asks for one least or greatest value."""
    over = plan.over
    assert isinstance(over, ReducePlan), "aggregates are of a reduce"
    (only,) = over.aggregates
    return RoundExtreme(types_of(over.input.row[: over.keys]), only.type, dictionary, largest=only.function == "max")


def _spec(plan: ReducePlan, aggregate: AggregatePlan) -> AggregateSpec:
    argument = None if aggregate.argument is None else plan.input.row[aggregate.argument]
    declared = aggregate_of(aggregate.function)
    return AggregateSpec(
        aggregate.function,
        aggregate.argument,
        None if argument is None else argument.type,
        argument is not None and argument.nullable,
        aggregate.type,
        _ordered(plan, aggregate),
        tuple(_python(literal) for literal in aggregate.parameters),
        aggregate.others[0] if aggregate.others and declared.reduction is Reduction.ACCUMULABLE else None,
    )


def _ordered(plan: ReducePlan, aggregate: AggregatePlan) -> Ordered | None:
    if aggregate_of(aggregate.function).reduction not in _FORMS or aggregate.argument is None:
        return None
    others = [_term(plan, Order(column)) for column in aggregate.others]
    order = [_term(plan, term) for term in aggregate.order]
    return ordered_by(aggregate.function, _term(plan, Order(aggregate.argument)), others, order)


def ordered_by(function: str, argument: Term, others: Sequence[Term], order: Sequence[Term]) -> Ordered:
    """How the rows of an ordered aggregate stand, given the columns that it reads."""
    declared = aggregate_of(function)
    form = _FORMS[declared.reduction]
    required = tuple(dict.fromkeys(t.column for t in (*others, *((argument,) if declared.skips_nulls else ()))))
    if function.startswith("arg_"):
        terms: tuple[Term, ...] = (replace(others[0], descending=function.startswith("arg_max")), argument)
    elif form == QUANTILES:
        terms = (replace(argument, descending=bool(order) and order[0].descending),)
    elif function in FOLDS:
        terms = (argument,)
    else:
        terms = (*order, argument)
    first: dict[int, Term] = {}
    for term in terms:
        # What is required is never NULL among the rows that stand in the set.
        first.setdefault(term.column, replace(term, nullable=False) if term.column in required else term)
    return Ordered(form, tuple(first.values()), required)


def _term(plan: ReducePlan, order: Order) -> Term:
    column = plan.input.row[order.column]
    return Term(order.column, column.type, column.nullable, order.descending, order.nulls_first)


def _python(literal: Literal) -> object:
    """The Python object of a parameter: a Decimal of a DECIMAL, else the value."""
    if literal.type.kind is Kind.DECIMAL:
        return Decimal(int(literal.value or 0)).scaleb(-literal.type.scale)
    return literal.value

"""Aggregates, and GROUPING(); subqueries and window functions as expressions, which are refused."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from catalog.types import BIGINT
from sql.bind.aggregates.calls import AGGREGATES, WRAPPERS, read_call
from sql.bind.aggregates.types import typed_aggregate
from sql.bind.expressions.binder import Binder, Handler
from sql.bind.expressions.operand import Operand
from sql.bind.names.columns import column_name
from sql.ir.aggregates import aggregate_of
from sql.ir.relation import Aggregate
from sql.ir.scalar import Call

__all__ = ["AGGREGATES", "HANDLERS", "bind_aggregate", "bind_grouping"]


def bind_aggregate(binder: Binder, node: exp.Expr) -> Operand:
    """SUM(x) and its like, with DISTINCT, ORDER BY and FILTER; COUNT(*) too."""
    call = read_call(binder, node)
    aggregates = binder.aggregates
    if aggregates is None:
        what = f"the aggregate {call.function}() cannot stand in {binder.clause}"
        binder.fail(call.node, f"{what}; filter on an aggregate in HAVING, or compute it in a subquery in FROM")
    binder.aggregates = None
    windows, binder.windows = binder.windows, None
    outer, binder.clause = binder.clause, f"the argument of {call.function}()"
    try:
        bound = typed_aggregate(binder, call)
    finally:
        binder.aggregates, binder.windows, binder.clause = aggregates, windows, outer
    if aggregates.grouped:
        bound = replace(bound, nullable=bound.nullable and _may_be_null(bound))
    return Operand(node, aggregates.column(bound, column_name(node, binder.source), node))


def _may_be_null(bound: Aggregate) -> bool:
    """Whether a group that has rows may have no value."""
    read = bound.others if bound.function == "list" or bound.arg is None else (bound.arg, *bound.others)
    return aggregate_of(bound.function).null_of_values or any(scalar.nullable for scalar in read)


_MOST_KEYS = 63


def bind_grouping(binder: Binder, node: exp.Expr) -> Operand:
    """GROUPING(a, b): a bit for each key, the last the lowest, 1 where the row's group is not by it."""
    if binder.aggregates is None:
        binder.fail(node, f"GROUPING() cannot stand in {binder.clause}; it tells of the groups of a GROUP BY")
    if len(node.expressions) > _MOST_KEYS:
        binder.fail(node, f"GROUPING() of more than {_MOST_KEYS} keys does not fit in a BIGINT; name fewer")
    aggregates, binder.aggregates = binder.aggregates, None
    keys = tuple(binder.value(key).scalar for key in node.expressions)
    binder.aggregates = aggregates
    return Operand(node, Call("grouping", keys, BIGINT, False))


def _refusal(what: str) -> Handler:
    def bind(binder: Binder, node: exp.Expr) -> Operand:
        binder.refuse(node, what)

    return bind


HANDLERS: dict[type[exp.Expr], Handler] = {
    **dict.fromkeys((*AGGREGATES, *WRAPPERS), bind_aggregate),
    exp.Grouping: bind_grouping,
    exp.GroupingId: bind_grouping,
    exp.Placeholder: _refusal("parameters are not supported yet; write the value"),
    exp.Parameter: _refusal("parameters are not supported yet; write the value"),
    exp.Star: _refusal("* stands only as an item of SELECT and in count(*); name a column"),
}

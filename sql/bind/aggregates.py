"""Aggregates, and what is refused of them; subqueries and window functions as expressions, which are refused."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from catalog.types import BIGINT, BOOLEAN, DOUBLE, HUGEINT, INTEGER, NULL, VARCHAR, Kind, SqlType, decimal
from sql.bind.binder import Binder, Handler
from sql.bind.column_names import column_name
from sql.bind.operand import Operand
from sql.ir.relation import Aggregate
from sql.ir.scalar import Call, Literal, Scalar

_FUNCTIONS: dict[type[exp.Expr], str] = {
    exp.Count: "count",
    exp.CountIf: "count_if",
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
    exp.Stddev: "stddev_samp",
    exp.StddevSamp: "stddev_samp",
    exp.StddevPop: "stddev_pop",
    exp.Variance: "var_samp",
    exp.VariancePop: "var_pop",
}
_OF_TWO = ("stddev_samp", "var_samp")
"""Those that are NULL for a single value."""
AGGREGATES = tuple(_FUNCTIONS)
"""The kinds of nodes that are aggregates."""


def bind_aggregate(binder: Binder, node: exp.Expr) -> Operand:
    """SUM(x) and its like; COUNT(*) too."""
    return _aggregate(binder, node, node, None)


def bind_filter(binder: Binder, node: exp.Expr) -> Operand:
    """An aggregate FILTER (WHERE condition): of the rows that satisfy it, as CASE WHEN condition THEN x END."""
    if type(node.this) not in _FUNCTIONS:
        binder.refuse(node, f"FILTER of {node.this.sql('duckdb')} is not supported")
    return _aggregate(binder, node, node.this, node.expression.this)


def _aggregate(binder: Binder, node: exp.Expr, call: exp.Expr, where: exp.Expr | None) -> Operand:
    function = _FUNCTIONS[type(call)]
    aggregates = binder.aggregates
    if aggregates is None:
        what = f"the aggregate {function}() cannot stand in {binder.clause}"
        binder.fail(call, f"{what}; filter on an aggregate in HAVING, or compute it in a subquery in FROM")
    _check_shape(binder, call, function)
    binder.aggregates = None
    outer, binder.clause = binder.clause, f"the argument of {function}()"
    try:
        bound = _bound(binder, call, function, where)
        if aggregates.grouped and bound.arg and not bound.arg.nullable and function not in _OF_TWO:
            bound = replace(bound, nullable=False)
    finally:
        binder.aggregates, binder.clause = aggregates, outer
    return Operand(node, aggregates.column(bound, column_name(node, binder.source)))


def _check_shape(binder: Binder, call: exp.Expr, function: str) -> None:
    if isinstance(call.this, exp.Distinct):
        what = f"{function}(DISTINCT ...) is not maintained yet"
        binder.refuse(call, f"{what}; aggregate a subquery in FROM that groups by the distinct values")
    if isinstance(call.this, exp.Order | exp.Limit | exp.IgnoreNulls | exp.RespectNulls):
        binder.refuse(call, f"{function}() with ORDER BY or options inside is not supported; leave them out")
    if call.args.get("expressions") or call.args.get("count"):
        binder.refuse(call, f"{function}() of several arguments is not supported; give it one")


def _bound(binder: Binder, call: exp.Expr, function: str, where: exp.Expr | None) -> Aggregate:
    condition = binder.condition(where) if where else None
    if call.this is None or isinstance(call.this, exp.Star):
        if condition is None:
            return Aggregate("count_star", None, BIGINT, nullable=False)
        one = Call("case", (condition, Literal(1, INTEGER), Literal(None, INTEGER)), INTEGER)
        return Aggregate("count", one, BIGINT, nullable=False)
    if function == "count_if":  # DuckDB's is a sum: NULL where no condition is known
        function, operand = "sum", Operand(call.this, binder.condition(call.this))
    else:
        operand = binder.value(call.this)
    arg, type_ = _typed(binder, call, function, operand)
    if condition is not None:
        arg = Call("case", (condition, arg, Literal(None, arg.type)), arg.type)
    if function == "count" and not arg.nullable:
        return Aggregate("count_star", None, BIGINT, nullable=False)
    return Aggregate(function, arg, type_, nullable=function != "count")


def _typed(binder: Binder, call: exp.Expr, function: str, operand: Operand) -> tuple[Scalar, SqlType]:
    """The argument, cast as the aggregate asks for, and the aggregate's type."""
    type_ = operand.type
    if function == "count":
        return operand.scalar, BIGINT
    if function in ("min", "max"):
        return (binder.cast(operand, INTEGER), INTEGER) if type_ == NULL else (operand.scalar, type_)
    if type_ == NULL:
        operand, type_ = Operand(operand.node, Literal(None, BIGINT)), BIGINT
    if type_ == BOOLEAN and function == "sum":
        return binder.cast(operand, INTEGER), HUGEINT
    if not type_.is_numeric:
        instead = "" if type_ == VARCHAR else "; cast it to a number"
        binder.mismatch(call, f"{function}() needs numbers, not {type_}{instead}")
    if function == "sum":
        return operand.scalar, _sum_type(type_)
    if function == "avg":
        return operand.scalar, DOUBLE
    return binder.cast(operand, DOUBLE), DOUBLE


def _sum_type(type_: SqlType) -> SqlType:
    if type_.is_integer:
        return HUGEINT
    return decimal(38, type_.scale) if type_.kind is Kind.DECIMAL else DOUBLE


def _refusal(what: str) -> Handler:
    def bind(binder: Binder, node: exp.Expr) -> Operand:
        binder.refuse(node, what)

    return bind


_SUBQUERY = "is not maintained yet; put the subquery into FROM and join with it"

HANDLERS: dict[type[exp.Expr], Handler] = {
    **dict.fromkeys(_FUNCTIONS, bind_aggregate),
    exp.Filter: bind_filter,
    exp.Window: _refusal("a window function (OVER) is not maintained yet; aggregate with GROUP BY and join"),
    exp.Subquery: _refusal(f"a subquery as a value {_SUBQUERY}"),
    exp.Exists: _refusal(f"EXISTS {_SUBQUERY}"),
    exp.Any: _refusal(f"ANY (SELECT ...) {_SUBQUERY}"),
    exp.All: _refusal(f"ALL (SELECT ...) {_SUBQUERY}"),
    exp.Placeholder: _refusal("parameters are not supported yet; write the value"),
    exp.Parameter: _refusal("parameters are not supported yet; write the value"),
    exp.Star: _refusal("* stands only as an item of SELECT and in count(*); name a column"),
}

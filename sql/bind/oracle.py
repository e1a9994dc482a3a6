"""The text that DuckDB answers as the engine does, written from the syntax tree once that is bound.

Names are in quotes, and every LIMIT, DISTINCT ON, window function and aggregate is told how ties are decided.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlglot import exp

from sql.bind.aggregates.calls import is_windowed
from sql.bind.context import BindContext, Refinement
from sql.duckdb_text import duckdb_text
from sql.tree import nodes_of


def oracle_text(tree: exp.Expr, context: BindContext) -> str:
    """The query in DuckDB's dialect, ORDER BY of each block that is cut extended by all its output columns, ascending,
    NULLs last, window functions refined as told, and the keys of GROUP BY ALL written out. The tree is used up.

    The positions of the columns are written, so that aliases and duplicates do no harm. A block with DISTINCT ON is put
    in parentheses where it stands bare in a set operation, to which its ORDER BY would else belong.
    """
    for window in context.windows:
        _refine(window)
    for group, columns in context.grouped:
        if columns:  # DuckDB sees none in an expression of keys and aggregates
            group.set("all", None)
            group.set("expressions", [exp.Literal.number(column) for column in columns])
    blocks = {id(clause): width for clause, width in context.cut}
    for node in nodes_of(tree):
        if isinstance(node, _ORDERED):
            _order_values(node)
        clause = node.args.get("limit") or node.args.get("offset")
        width = blocks.get(id(clause)) or blocks.get(id(node))
        if width is not None:
            _add_terms(node, (_ascending(exp.Literal.number(i + 1)) for i in range(width)))
        if isinstance(node, exp.SetOperation):
            for side in ("this", "expression"):
                if id(node.args[side]) in blocks:
                    node.set(side, exp.Subquery(this=node.args[side]))
    return duckdb_text(tree, copy=False)


def _ascending(node: exp.Expr, *, nulls_first: bool = False) -> exp.Ordered:
    return exp.Ordered(this=node, nulls_first=nulls_first)


def _add_terms(node: exp.Expr, terms: Iterable[exp.Expr]) -> None:
    order = node.args.get("order")
    node.set("order", exp.Order(expressions=[*(order.expressions if order else ()), *terms]))


_ORDERED = (exp.GroupConcat, exp.ArrayAgg, exp.AnyValue, exp.First, exp.Last, exp.ArgMin, exp.ArgMax, exp.Mode)
"""Aggregates whose value depends on the order in which rows come."""


def _order_values(node: exp.Expr) -> None:
    """Let rows that tie come by the first argument, as the engine has it; the last of them for last(). A constant needs
    no order, and DuckDB takes none.
    """
    value = node.this.this if isinstance(node.this, exp.Order) else node.this
    if isinstance(value, exp.Distinct):
        value = value.expressions[0]
    if value is None or is_windowed(node) or value.find(exp.Column) is None:
        return
    last = next(arg for arg in ("count", "expression", "this") if isinstance(node.args.get(arg), exp.Expr))
    _order_argument(node, last, [_ascending(value.copy(), nulls_first=isinstance(node, exp.Last))])


def _order_argument(call: exp.Expr, arg: str, terms: Sequence[exp.Expr]) -> None:
    """Put the terms at the end of the ORDER BY in the parentheses of a call, which stands with the argument `arg`."""
    given = call.args[arg]
    before = given.expressions if isinstance(given, exp.Order) else []
    bare = given.this if isinstance(given, exp.Order) else given
    call.set(arg, exp.Order(this=bare, expressions=[*before, *terms]))


def _refine(window: Refinement) -> None:
    node, spec = window.node, window.spec
    terms = [term.copy() for term in spec.order] + [_ascending(tie.copy()) for tie in window.ties]
    if window.within:
        call = node.this
        while isinstance(call, exp.IgnoreNulls | exp.RespectNulls | exp.Filter):
            call = call.this
        last = [arg for arg, value in call.args.items() if isinstance(value, exp.Expr)][-1]
        _order_argument(call, last, terms)
        return
    node.set("alias", None)
    node.set("partition_by", [each.copy() for each in spec.partition])
    node.set("order", exp.Order(expressions=terms))
    node.set("spec", spec.frame.copy() if spec.frame is not None else None)

"""A query of DuckDB's in which nothing raises: NULL stands for what has no value."""

from __future__ import annotations

from sqlglot import exp

from ivm.sql.duckdb_text import duckdb_text
from ivm.sql.sql_text import SqlText
from ivm.sql.syntax import query

_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Neg)
_WHOLE = (exp.AggFunc, exp.Query, exp.Window)


def forgiving(text: str) -> str:
    """The query with TRY around arithmetic and casts, but for those of aggregates, windows and subqueries.

    In these a view raises where DuckDB does, so that NULL stands only for what the query does not ask for, and changes
    nothing: a condition that excludes what would raise excludes the NULL too. Functions have limits of their own.
    """
    tree = query(SqlText(text), "duckdb").tree
    for node in list(tree.walk(bfs=False)):
        if node.find_ancestor(exp.Interval) or node.find(*_WHOLE):
            continue
        if isinstance(node, exp.Cast) and not isinstance(node, exp.TryCast):
            node.replace(exp.TryCast(this=node.this, to=node.args["to"]))
        elif isinstance(node, _ARITHMETIC):
            node.replace(exp.Anonymous(this="TRY", expressions=[node.copy()]))
    return duckdb_text(tree)

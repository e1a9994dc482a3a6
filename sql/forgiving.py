"""A query of DuckDB's in which nothing raises: NULL stands for what has no value."""

from __future__ import annotations

from sqlglot import exp

from sql.duckdb_text import duckdb_text
from sql.sql_text import SqlText
from sql.syntax import query

_COMPUTED = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Neg, exp.Func)
_WHOLE = (exp.AggFunc, exp.Query, exp.Window)
_PASSED_ON = (exp.Connector, exp.Case, exp.If, exp.Coalesce, exp.Exists, exp.AggFunc)


def forgiving(text: str) -> str:
    """The query with TRY around each call and each cast, but for aggregates, windows and what holds a subquery.

    It answers as the query does wherever that raises nothing. Where a condition keeps what would raise from being asked
    for, a NULL in its place changes nothing: AND, OR, CASE and COALESCE let it through only if they ask for it.
    """
    tree = query(SqlText(text), "duckdb").tree
    for node in list(tree.walk(bfs=False)):
        if not isinstance(node, (exp.Cast, *_COMPUTED)) or isinstance(node, (exp.TryCast, *_PASSED_ON)):
            continue
        if isinstance(node.parent, exp.Window) or node.find_ancestor(exp.Interval) or node.find(*_WHOLE):
            continue
        if isinstance(node, exp.Cast):
            node.replace(exp.TryCast(this=node.this, to=node.args["to"]))
        else:
            node.replace(exp.Anonymous(this="TRY", expressions=[node.copy()]))
    return duckdb_text(tree)

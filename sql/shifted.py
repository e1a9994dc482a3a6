"""A query of DuckDB's that computes variances and their like of values less one of them.

DuckDB adds up the values themselves, or their powers: where they differ by little beside their size, few of its digits
are right. What is computed does not depend on where zero is, and the differences are as exact as the values.
"""

from __future__ import annotations

import re

from sqlglot import exp

from ivm.sql.duckdb_text import duckdb_text
from ivm.sql.sql_text import SqlText
from ivm.sql.syntax import query

_CALLED: dict[str, str] = {
    **{name: name for name in ("stddev_pop", "stddev_samp", "sem", "skewness", "kurtosis", "kurtosis_pop")},
    "variance_pop": "var_pop",
    "variance": "var_samp",
    "stddev": "stddev_samp",
}
"""What DuckDB calls each of these functions, by what sqlglot calls it."""
_MAY_HOLD = re.compile(r"var|stddev|sem|skewness|kurtosis", re.IGNORECASE)


def shifted(text: str) -> str:
    """The query, with var_pop(x) and its like as those of a list of x - any_value(x); itself if it has none."""
    if not _MAY_HOLD.search(text):
        return text
    tree = query(SqlText(text), "duckdb").tree
    found = [node for node in tree.walk(bfs=False) if isinstance(node, exp.AggFunc) and _called(node) in _CALLED]
    for node in reversed(found):  # what is within others first
        _shift(node)
    return duckdb_text(tree) if found else text


def _called(node: exp.AggFunc) -> str:
    return node.sql_name().lower()


def _shift(node: exp.AggFunc) -> None:
    around: exp.Expr = node
    while isinstance(around.parent, exp.Filter | exp.Window) and around.parent.this is around:
        around = around.parent
    value = node.this.expressions[0] if isinstance(node.this, exp.Distinct) else node.this
    values, one = (_beside(around, node, name, arg) for name, arg in (("list", node.this), ("any_value", value)))
    name = exp.to_identifier("shifted value", quoted=True)
    difference = exp.Lambda(this=exp.Sub(this=name, expression=exp.Paren(this=one)), expressions=[name.copy()])
    moved = exp.Anonymous(this="list_transform", expressions=[values, difference])
    called = exp.Literal.string(_CALLED[_called(node)])
    around.replace(exp.Anonymous(this="list_aggregate", expressions=[moved, called]))


def _beside(around: exp.Expr, node: exp.AggFunc, name: str, arg: exp.Expr) -> exp.Expr:
    """A call of another aggregate with the FILTER and OVER of one."""
    call = exp.Anonymous(this=name, expressions=[arg.copy()])
    if around is node:
        return call
    made = around.copy()
    inner = made
    while not isinstance(inner, exp.AggFunc):
        inner = inner.this
    inner.replace(call)
    return made

"""Queries in DuckDB's dialect as texts of Spark's."""

from __future__ import annotations

from sqlglot import exp, parse_one
from sqlglot.errors import ErrorLevel, SqlglotError

from ivm.catalog.errors import UnsupportedError

_DIVIDED = (exp.Div, exp.Avg)


def spark_text(text: str) -> str:
    """A query, in DuckDB's dialect, in Spark's. UnsupportedError where Spark has nothing for what stands in it.

    Quotients and averages are DOUBLE, as they are there; Spark would give those of decimals some digits.
    """
    try:
        tree = parse_one(text, read="duckdb")
        for node in reversed(list(tree.find_all(*_DIVIDED))):  # what is within others first: they are copied
            for name in ("this", "expression"):
                if node.args.get(name) is not None:
                    node.set(name, _as_double(node.args[name]))
        return tree.sql("spark", unsupported_level=ErrorLevel.RAISE)
    except SqlglotError as error:
        raise UnsupportedError(f"Spark SQL has no such thing: {error}") from error


def _as_double(node: exp.Expr) -> exp.Expr:
    if isinstance(node, exp.Distinct):  # AVG(DISTINCT x)
        node.set("expressions", [_as_double(each) for each in node.expressions])
        return node
    return exp.cast(node, "double")

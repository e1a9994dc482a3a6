"""Expressions that stand for calls: texts of ours, with the arguments of a call in place of their parameters."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB

from sql.reader import parser_of


def written_out(text: str, parameters: Sequence[str], args: Sequence[exp.Expr]) -> exp.Expr:
    """The expression that `text` is with these arguments, which stand in it as they are, each any number of times."""
    given = dict(zip(parameters, args, strict=True))
    return _parsed(text).transform(lambda node: given.get(node.name, node) if isinstance(node, exp.Column) else node)


@cache
def _parsed(text: str) -> exp.Expr:
    dialect = DuckDB()
    (tree,) = parser_of(dialect).parse(dialect.tokenize(f"SELECT {text}"), text)
    assert tree is not None, "it is an expression"
    found: exp.Expr = tree.expressions[0]
    for node in found.walk():
        node.meta.clear()  # places in this text are none in a user's
    return found

"""Expressions that stand for calls: texts of ours, with the arguments of a call in place of their parameters."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB

from ivm.sql.reader import parser_of


def written_out(text: str, parameters: Sequence[str], args: Sequence[exp.Expr]) -> exp.Expr:
    """The expression that `text` is with these arguments, which stand in it as they are, each any number of times.

    Parameters that are not given are left out of the calls in it.
    """
    given = dict(zip(parameters, args, strict=False))
    missing = frozenset(parameters[len(args) :])

    def put(node: exp.Expr) -> exp.Expr | None:
        if not isinstance(node, exp.Column):
            return node
        return None if node.name in missing else given.get(node.name, node)

    found = _parsed(text).transform(put)
    assert found is not None, "it is more than a parameter"
    return found


@cache
def _parsed(text: str) -> exp.Expr:
    dialect = DuckDB()
    (tree,) = parser_of(dialect).parse(dialect.tokenize(f"SELECT {text}"), text)
    assert tree is not None, "it is an expression"
    found: exp.Expr = tree.expressions[0]
    for node in found.walk():
        node.meta.clear()  # places in this text are none in a user's
    return found

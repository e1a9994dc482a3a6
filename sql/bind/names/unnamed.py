"""The names of subqueries in FROM that have none: unnamed_subquery, unnamed_subquery2, .. as in DuckDB."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count

from sqlglot import exp


def name_subqueries(node: exp.Expr, joins: Sequence[exp.Join]) -> None:
    """Give a name to each item of the FROM clause that begins with `node` and is a query or VALUES without one."""
    numbers = count(1)
    for item in _items(node, joins):
        if not item.alias:
            number = next(numbers)
            name = exp.to_identifier(f"unnamed_subquery{number if number > 1 else ''}", quoted=True)
            written = item.args.get("alias")
            columns = written.args.get("columns") if isinstance(written, exp.TableAlias) else None
            item.set("alias", exp.TableAlias(this=name, columns=columns))


def is_joined(node: exp.Expr) -> bool:
    """Whether what stands in parentheses is an item of FROM, with its joins, and not a query."""
    if isinstance(node, exp.Subquery | exp.Values):
        return bool(node.alias or node.args.get("joins")) or (isinstance(node, exp.Subquery) and is_joined(node.this))
    return isinstance(node, exp.Table)


def _items(node: exp.Expr, joins: Sequence[exp.Join]) -> Iterator[exp.Expr]:
    """The queries and VALUES of a FROM clause in the order of the text, also those in parentheses around joins."""
    if isinstance(node, exp.Subquery) and is_joined(node.this) and not node.alias:
        yield from _items(node.this, ())
    elif isinstance(node, exp.Subquery | exp.Values) or isinstance(node.this, exp.Subquery | exp.Values):
        yield node
    for join in (*(node.args.get("joins") or ()), *joins):
        yield from _items(join.this, ())

"""The * and table.* of a SELECT list."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from catalog.names import by_key, key, suggestion
from sql.arguments import refuse_unread
from sql.bind.context import BindContext
from sql.bind.names.scope import Scope


def expand_stars(context: BindContext, scope: Scope, items: Sequence[exp.Expr]) -> list[exp.Expr]:
    """The items with each star replaced by the columns that it stands for; * EXCLUDE (...) leaves some out."""
    expanded: list[exp.Expr] = []
    for item in items:
        star = item.this if isinstance(item, exp.Column) else item
        if isinstance(star, exp.Star):
            table = item.table if isinstance(item, exp.Column) else ""
            expanded.extend(_columns(context, scope, star, table))
        else:
            expanded.append(item)
    if not expanded:
        context.fail(items[0] if items else None, "SELECT * without FROM has no columns; name a table in FROM")
    return expanded


def _columns(context: BindContext, scope: Scope, star: exp.Star, table: str) -> list[exp.Expr]:
    refuse_unread((star,), context.source)
    if table and not scope.has(table):
        context.fail(star, f"there is no table {table!r} in FROM{suggestion(table, scope.tables)}")
    columns = scope.visible(table)
    excluded = by_key((column.name, column.name) for column in star.args.get("except_") or ())
    names = by_key((column.name, column.name) for column in columns)
    for name in (excluded[each] for each in excluded if each not in names):
        context.fail(star, f"* EXCLUDE: there is no column {name!r}{suggestion(name, names.values())}")
    nodes: list[exp.Expr] = []
    for column in columns:
        if key(column.name) not in excluded:
            node = exp.column(exp.to_identifier(column.name, quoted=True), table=_table(column.table))
            node.update_positions(star)
            nodes.append(node)
    return nodes


def _table(name: str) -> exp.Identifier | None:
    return exp.to_identifier(name, quoted=True) if name else None

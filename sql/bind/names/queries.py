"""Subqueries as DuckDB writes them in the names of columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from ivm.catalog.keywords import quoted_if_needed
from ivm.sql.bind.windows.specs import term_name
from ivm.sql.sql_text import text_of
from ivm.sql.tree import ENDINGS

Named = Callable[[exp.Expr], str]
"""How an expression is called."""

_CLAUSES = frozenset(("expressions", "distinct", "from_", "where", "group", "having", *ENDINGS))
_GROUPED = frozenset(("expressions",))
_READ = frozenset(("this", "db", "alias"))


def query_name(node: exp.Expr, named: Named) -> str:
    """A query; one with joins, WITH or set operations is called by sqlglot's text of it."""
    query = node.unnest()
    if not isinstance(query, exp.Select) or not _has_only(query, _CLAUSES):
        return text_of(query)
    table, group = query.args.get("from_"), query.args.get("group")
    read = _read_name(table.this, named) if table is not None else ""
    if read is None or (group is not None and not _has_only(group, _GROUPED)):
        return text_of(query)
    parts = ["SELECT DISTINCT" if query.args.get("distinct") else "SELECT", _list(query.expressions, _item(named))]
    if read:
        parts.append(f"FROM {read}")
    for arg, word in (("where", "WHERE"), ("group", "GROUP BY"), ("having", "HAVING")):
        if query.args.get(arg) is not None:
            clause = query.args[arg]
            parts += [word, _list(clause.expressions if arg == "group" else [clause.this], named)]
    if query.args.get("order") is not None:
        parts.append(f"ORDER BY {_list(query.args['order'].expressions, lambda term: term_name(term, named))}")
    parts += [
        f"{arg.upper()} {named(query.args[arg].expression)}" for arg in ("limit", "offset") if query.args.get(arg)
    ]
    return " ".join(parts)


def _has_only(node: exp.Expr, args: frozenset[str]) -> bool:
    return all(arg in args for arg, value in node.args.items() if value) and not (
        isinstance(node.args.get("distinct"), exp.Distinct) and node.args["distinct"].args.get("on")
    )


def _read_name(node: exp.Expr, named: Named) -> str | None:
    """What stands in FROM; None for what is called by its text."""
    alias = f" AS {quoted_if_needed(node.alias)}" if node.alias else ""
    if isinstance(node, exp.Subquery):
        return f"({query_name(node, named)}){alias}" if _has_only(node, _READ) else None
    if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier) or not _has_only(node, _READ):
        return None
    if alias and node.args["alias"].columns:
        return None
    return ".".join(quoted_if_needed(part.name) for part in node.parts) + alias


def _item(named: Named) -> Named:
    def item(node: exp.Expr) -> str:
        if isinstance(node, exp.Alias):
            return f"{named(node.this)} AS {quoted_if_needed(node.alias)}"
        return "*" if isinstance(node, exp.Star) and not any(node.args.values()) else named(node)

    return item


def _list(nodes: Sequence[exp.Expr], named: Named) -> str:
    return ", ".join(map(named, nodes))

"""Names of tables and views in a tree."""

from __future__ import annotations

from sqlglot import exp

from catalog.errors import UnsupportedError
from sql.source import Source


def table_name(node: exp.Expr | None, source: Source, what: str) -> str:
    """The lower-case name of a table; UnsupportedError if it stands in a catalog or in a schema other than main."""
    if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
        raise UnsupportedError(source.locate(f"{what} needs a plain name; write it as {what} name", node))
    if node.args.get("catalog") or node.db.lower() not in ("", "main"):
        raise UnsupportedError(
            source.locate(f"{what} {node.sql('duckdb')}: there is one schema; write {node.name} alone", node)
        )
    return node.name.lower()


def names_read(tree: exp.Expr) -> tuple[str, ...]:
    """Lower-case names of the tables and views that `tree` reads, in order of appearance, its own CTEs left out."""
    own = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    names = (table.name.lower() for table in tree.find_all(exp.Table) if isinstance(table.this, exp.Identifier))
    return tuple(dict.fromkeys(name for name in names if name not in own))

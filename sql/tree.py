"""What is read of syntax trees: their nodes, the values of rows, the names of tables and views."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ivm.catalog.names import by_key, key, written
from ivm.sql.reader import MUTUALLY
from ivm.sql.sql_text import SqlText, text_of


def values_of(node: exp.Expr) -> list[exp.Expr]:
    """The values of a row in parentheses; of anything else itself, without its parentheses."""
    return list(node.expressions) if isinstance(node, exp.Tuple) else [node.unnest()]


ENDINGS = ("order", "limit", "offset")


def clauses_around(node: exp.Expr) -> dict[str, exp.Expr]:
    """WITH, ORDER BY, LIMIT and OFFSET of a query as a whole, as far as it has them."""
    return {arg: node.args[arg] for arg in ("with_", *ENDINGS) if node.args.get(arg)}


def nodes_of(tree: exp.Expr) -> list[exp.Expr]:
    """Every node, level by level, as `tree.walk()` has them. Cost: a small part of that, in a tree of any size."""
    found = [tree]
    add = found.append
    for node in found:  # which grows meanwhile
        for value in node.args.values():
            if isinstance(value, list):
                for each in value:
                    if isinstance(each, exp.Expr):
                        add(each)
            elif isinstance(value, exp.Expr):
                add(value)
    return found


def table_name(node: exp.Expr | None, source: SqlText, what: str) -> str:
    """The name of a table; BindError if a schema stands in front still, after `ivm.sql.schemas`: there is none."""
    if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
        source.refuse(node, f"{what} needs a plain name; write it as {what} name")
    if node.args.get("catalog") or key(node.db) not in ("", "main"):
        source.fail(node, f"{what} {text_of(node)}: there is no schema {node.db!r}; CREATE SCHEMA makes one")
    return node.name


def names_read(tree: exp.Expr) -> tuple[str, ...]:
    """Names of the tables and views that `tree` reads, each as it is first written; not those of its own WITH.

    DuckDB's relations of what there is, such as information_schema.tables and duckdb_tables(), are `CATALOG`.
    """
    tables = (table for table in nodes_of(tree) if isinstance(table, exp.Table) and not _is_expression(table))
    read = (CATALOG if _is_of_catalog(table) else _name_of(table) for table in tables)
    return tuple(by_key((name, name) for name in read if name).values())


def tables_read(tree: exp.Expr) -> list[exp.Table]:
    """Where the tree names a table or view, to read it or not: no expression of a WITH, nothing of DuckDB's own."""
    tables = (table for table in nodes_of(tree) if isinstance(table, exp.Table) and _name_of(table))
    return [table for table in tables if key(table.db) not in _SCHEMAS and not _is_expression(table)]


CATALOG = "ivm_catalog"
_SCHEMAS = frozenset(["information_schema", "pg_catalog"])
_OBJECTS = "columns constraints databases dependencies functions indexes schemas sequences tables types views"
_FUNCTIONS = frozenset(f"duckdb_{each}" for each in _OBJECTS.split())


def _name_of(table: exp.Table) -> str:
    """The name of a table or view; empty for what a function gives."""
    return table.name if isinstance(table.this, exp.Identifier) else ""


def _is_of_catalog(table: exp.Table) -> bool:
    if isinstance(table.this, exp.Identifier):
        return key(table.db) in _SCHEMAS or isinstance(table.parent, exp.Describe)
    name = key(table.this.name) if isinstance(table.this, exp.Func) else ""
    return name in _FUNCTIONS or name.startswith(("pragma_", "show_"))


def _is_expression(table: exp.Table) -> bool:
    """Whether the name is that of a common table expression in reach: of a WITH around it, or earlier in its own."""
    below: exp.Expr = table
    node = table.parent
    while node is not None and not table.db:
        clause = node.args.get("with_")
        if clause is not None and clause is not below and written(table.name, _names(clause.expressions)):
            return True
        if isinstance(node, exp.With):
            own = next(i for i, each in enumerate(node.expressions) if each is below)
            earlier = node.expressions[: own + 1 if node.args.get("recursive") else own]
            if MUTUALLY in node.meta:
                earlier = node.expressions
            if written(table.name, _names(earlier)):
                return True
        below, node = node, node.parent
    return False


def _names(expressions: Sequence[exp.Expr]) -> list[str]:
    return [each.alias for each in expressions]


def called(node: exp.Expr, name: str) -> exp.Expr:
    """The expression under an alias, whatever that is made of."""
    return exp.Alias(this=node, alias=exp.to_identifier(name, quoted=True))

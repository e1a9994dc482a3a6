"""From the text of a CHECK to its condition, and to what it says of rows."""

from __future__ import annotations

from functools import lru_cache

from sqlglot import exp

from ivm.catalog.schema import Table
from ivm.sql.arguments import refuse_unread
from ivm.sql.bind.expressions.binder import Binder
from ivm.sql.bind.expressions.handlers import HANDLERS
from ivm.sql.bind.names.scope import Scope, ScopeColumn
from ivm.sql.ir.conditions import conjuncts
from ivm.sql.ir.scalar import Column, Scalar
from ivm.sql.ir.zoned import in_zone
from ivm.sql.sql_text import SqlText
from ivm.sql.syntax import query
from ivm.sql.tree import nodes_of

_CLAUSE, _GENERATED = "CHECK", "a generated column"
_NO_FUNCTIONS = {
    _CLAUSE: "let a materialized view over the table call it: where it raises, the commit is refused",
    _GENERATED: "call it in a view over the table, or when rows are inserted",
}


def condition_of(text: str, table: Table) -> Scalar:
    """The condition that a text in DuckDB's dialect writes over the columns of `table`; see `bind_condition`."""
    source = SqlText(f"SELECT {text}", zone=table.zone)
    (item,) = query(source, "duckdb").tree.expressions
    return bind_condition(item, table, source)


def generated_value(text: str, table: Table) -> Scalar:
    """The value of a generated column, a text in DuckDB's dialect over the columns of `table`; see `bind_generated`."""
    source = SqlText(f"SELECT {text}", zone=table.zone)
    (item,) = query(source, "duckdb").tree.expressions
    return bind_generated(item, table, source)


def bind_condition(node: exp.Expr, table: Table, source: SqlText) -> Scalar:
    """The condition that `node` writes over the columns of `table`: a BOOLEAN.

    BindError, TypeMismatchError or UnsupportedError, each with its position: for subqueries, aggregates, and functions
    whose value changes by itself too.
    """
    condition = _binder(node, table, source, _CLAUSE).condition(node)
    refuse_unread(nodes_of(node), source)
    return in_zone(condition, source.zone)


def bind_generated(node: exp.Expr, table: Table, source: SqlText) -> Scalar:
    """The value that `node` computes of the columns of `table`, of those before itself if they are generated too.

    Raises as `bind_condition`.
    """
    value = _binder(node, table, source, _GENERATED).bind(node).stored
    refuse_unread(nodes_of(node), source)
    return in_zone(value, source.zone)


def _binder(node: exp.Expr, table: Table, source: SqlText, clause: str) -> Binder:
    for part in nodes_of(node):
        if isinstance(part, exp.Query | exp.Subquery | exp.Exists):
            what = f"a subquery in {clause} is not supported, it sees one row; declare a foreign key, or keep a view"
            source.refuse(part, what)
    columns = tuple(
        ScopeColumn(table.name, field.name, Column(place, field.type, field.nullable))
        for place, field in enumerate(table.fields)
    )
    return Binder(source, Scope(columns, (table.name,)), HANDLERS, clause, no_functions=_NO_FUNCTIONS[clause])


@lru_cache(512)
def holding(table: Table) -> tuple[Scalar, ...]:
    """What is true of all rows of a table, since its CHECKs are never false of them, and these parts never NULL."""
    found = conjuncts(condition_of(check.condition, table) for check in table.checks)
    return tuple(each for each in found if not each.nullable)

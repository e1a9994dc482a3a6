"""What an INSERT of VALUES computes: expressions among them, what becomes of rows that are there, what it returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from ivm.catalog.errors import Error
from ivm.catalog.names import key, quoted, twice
from ivm.catalog.schema import Field, Schema, Table
from ivm.catalog.types import Kind
from ivm.sql.arguments import refuse_unread
from ivm.sql.bind.certain import CLAUSE, are_certain, at_time
from ivm.sql.bind.expressions.binder import Binder
from ivm.sql.bind.expressions.handlers import HANDLERS
from ivm.sql.bind.names.scope import Scope, ScopeColumn, join, scope_of
from ivm.sql.bind.rows import assigned_row, named_items
from ivm.sql.changes import EXCLUDED, conflict_columns
from ivm.sql.ir.conditions import conjuncts
from ivm.sql.ir.scalar import Column, Scalar
from ivm.sql.parse_changes import conflict_of
from ivm.sql.recent import Recent
from ivm.sql.sql_text import SqlText
from ivm.sql.statements import Conflict
from ivm.sql.syntax import query, statements
from ivm.sql.tree import nodes_of


@dataclass(frozen=True, slots=True)
class InsertEnding:
    """What an INSERT does with rows that are there, None: nothing, and what it returns of those that came or changed.

    `targets`: the columns of the keys by which rows meet, by their places. `predicates` and `after`, all columns of
    what becomes of a row, are over the row that is there and behind it the one that meets it. `outputs`, under
    `names`, are over the row as it became.
    """

    conflict: Conflict | None = None
    targets: tuple[tuple[int, ...], ...] = ()
    predicates: tuple[Scalar, ...] = ()
    after: tuple[Scalar, ...] = ()
    outputs: tuple[Scalar, ...] = ()
    names: tuple[str, ...] = ()


def bind_ending(
    table: Table, called: str, columns: Sequence[str], alternative: str, ending: str, zone: str
) -> InsertEnding | None:
    """What stands behind OR, and behind the rows of an INSERT into these columns of a table, `called` so there.

    None where it is wrong, which others say better, or not certain that the engine computes the very same as DuckDB.
    """
    source = SqlText(
        f"INSERT {'OR ' if alternative else ''}{alternative} INTO {quoted(called)} VALUES (0) {ending}", zone=zone
    )
    try:
        bound = _bound(table, called, columns, source)
    except (Error, RecursionError):
        return None
    scalars = () if bound is None else (*bound.predicates, *bound.after, *bound.outputs)
    return bound if are_certain(scalars, zone) else None


def _bound(table: Table, called: str, columns: Sequence[str], source: SqlText) -> InsertEnding | None:
    (found,) = statements(source, "duckdb")
    tree: exp.Expr = found.tree
    refuse_unread(nodes_of(tree), source)
    own = scope_of(called, table.fields)
    clause: exp.Expr = tree.args.get("conflict") or exp.OnConflict()
    conflict = conflict_of(tree, source)
    predicates: tuple[Scalar, ...] = ()
    after: tuple[Scalar, ...] = ()
    targets = () if conflict is None else conflict_columns(table, conflict)
    if clause.args.get("index_predicate"):
        return None
    if conflict is not None and conflict.action == "replace":
        after = _replaced(table.fields, [name for name in columns if name not in targets[0]])
    elif conflict is not None and conflict.action == "update":
        binder = Binder(source, _both(own, table.fields), HANDLERS, CLAUSE)
        where = clause.args.get("where")
        predicates = conjuncts([binder.condition(where.this)]) if where else ()
        after = assigned_row(clause.expressions, _row(table.fields), table.fields, binder)
        generated = {each.column for each in table.generated}
        if not after or key(called) == EXCLUDED or any(key(n) in generated for n, _ in conflict.assignments):
            return None
    items = tree.args["returning"].expressions if tree.args.get("returning") else ()
    outputs = list(named_items(items, Binder(source, own, HANDLERS, CLAUSE)))
    names = [name for name, _ in outputs if name is not None]
    if twice(names) or len(names) < len(outputs):
        return None
    places = tuple(table.places(target) for target in targets)
    return InsertEnding(conflict, places, predicates, after, tuple(scalar for _, scalar in outputs), tuple(names))


def _row(fields: Schema, first: int = 0) -> tuple[Column, ...]:
    return tuple(Column(first + place, field.type, field.nullable) for place, field in enumerate(fields))


def _both(own: Scope, fields: Schema) -> Scope:
    """The row that is there, and behind it the one that meets it, whose columns are named with their table alone."""
    both = join(own, scope_of(EXCLUDED, fields))
    hidden = (ScopeColumn(EXCLUDED, c.name, c.column, merged=True) for c in both.columns[own.width :])
    return Scope((*both.columns[: own.width], *hidden), both.tables)


def _replaced(fields: Schema, names: Sequence[str]) -> tuple[Column, ...]:
    """The row that is there, with these columns of the one that meets it."""
    pairs = zip(fields, _row(fields), _row(fields, len(fields)), strict=True)
    return tuple(new if field.name in names else old for field, old, new in pairs)


_VALUES: Recent[tuple[str, Field, str], Scalar] = Recent(512)


def bind_value(text: str, field: Field, zone: str, now: int) -> Scalar | None:
    """What an expression of VALUES gives in a column when it is `now`; None as of `bind_ending`."""
    value = _VALUES.get((text, field, zone))
    if value is None:
        try:
            value = _value(text, field, zone)
        except (Error, RecursionError):
            return None
        if value is None:
            return None
        _VALUES.put((text, field, zone), value)
    value = at_time(value, now, zone)
    return value if are_certain((value,), zone) else None


def _value(text: str, field: Field, zone: str) -> Scalar | None:
    source = SqlText(f"SELECT {text}", zone=zone)
    tree = query(source, "duckdb").tree
    refuse_unread(nodes_of(tree), source)
    (item,) = tree.expressions
    if [arg for arg, given in tree.args.items() if given] != ["expressions"]:
        return None  # it ends what it stands in
    binder = Binder(source, Scope(), HANDLERS, CLAUSE)
    operand = binder.bind(item)
    if field.type.kind is Kind.VARCHAR and operand.type.kind not in (Kind.VARCHAR, Kind.NULL):
        return None  # how a number is written depends on its type, which may not be what it is in DuckDB
    return binder.cast(operand, field.type)

"""What a table declares about its columns, before it is in a catalog."""

from __future__ import annotations

from dataclasses import replace

from catalog.errors import BindError
from catalog.names import suggestion, twice, written
from catalog.schema import Table, Unique
from catalog.types import INTERVAL


def check_columns(table: Table) -> None:
    """BindError for columns that stand there twice, and keys and constraints that name others."""
    names = [field.name for field in table.fields]
    what = f"cannot create table {table.name!r}"
    if not names:
        raise BindError(f"{what}: it has no columns; declare at least one")
    again = twice(names)
    if again is not None:
        raise BindError(f"{what}: column {again!r} is declared twice; rename one")
    used = [("primary key", c) for c in table.primary_key]
    used += [("foreign key", c) for each in table.foreign_keys for c in each.columns]
    used += [(str(each), c) for each in table.unique for c in each.columns]
    for kind, column in used:
        if written(column, names) is None:
            raise BindError(f"{what}: its {kind} names column {column!r}, which it has not{suggestion(column, names)}")
        check_key(table, what, kind, column)
    if twice(table.primary_key) is not None:
        raise BindError(f"{what}: its primary key names a column twice")
    for unique in table.unique:
        if twice(unique.columns) is not None:
            raise BindError(f"{what}: {unique} names a column twice")
    called = [*(each.name for each in table.unique), *(each.name for each in table.checks)]
    named = twice(name for name in called if name)
    if named is not None:
        raise BindError(f"{what}: two constraints are called {named!r}; rename one")


def check_key(table: Table, what: str, kind: str, column: str) -> None:
    """BindError for a column that no key can have: `what` is attempted, `kind` is the constraint."""
    if table.fields[table.index(column)].type == INTERVAL:
        why = "of which different ones may be equal; keep its microseconds, epoch_us(..), in a column"
        raise BindError(f"{what}: its {kind} names column {column!r}, an INTERVAL, {why}")


def spelled(table: Table, unique: Unique) -> Unique:
    """The constraint with its columns as they were declared."""
    return replace(unique, columns=tuple(table.fields[table.index(name)].name for name in unique.columns))

"""What tables and views declare about their columns, and what is said of these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ivm.catalog.errors import BindError, UnsupportedError
from ivm.catalog.names import key, suggestion, twice, written
from ivm.catalog.schema import ForeignKey, Schema, Table, Unique, View
from ivm.catalog.types import INTERVAL


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
    """Raise for a column that no key can have: `what` is attempted, `kind` is the constraint."""
    type_ = table.fields[table.index(column)].type
    if type_.is_nested:
        why = "of which there are no keys; keep what tells them apart, such as a text, in a column"
        raise UnsupportedError(f"{what}: its {kind} names column {column!r}, {type_}, {why}")
    if type_ == INTERVAL:
        why = "of which different ones may be equal; keep its microseconds, epoch_us(..), in a column"
        raise BindError(f"{what}: its {kind} names column {column!r}, an INTERVAL, {why}")


def spelled(table: Table, unique: Unique) -> Unique:
    """The constraint with its columns as they were declared."""
    return replace(unique, columns=tuple(table.fields[table.index(name)].name for name in unique.columns))


def completed(table: Table, given: ForeignKey, target: Table, what: str) -> ForeignKey:
    """The foreign key of a table with all its columns as they were declared; BindError if it does not fit its target.

    `what`: what is attempted, for messages.
    """
    referenced = given.referenced or target.primary_key
    if set(map(key, referenced)) != set(map(key, target.primary_key)) or not referenced:
        named, known = ", ".join(referenced), ", ".join(target.primary_key) or "none declared"
        raise BindError(f"{what} must reference the primary key of {target.name!r}, ({known}), not ({named})")
    if len(given.columns) != len(referenced):
        raise BindError(f"{what} has {len(given.columns)} columns, but references {len(referenced)}")
    owns = [table.fields[table.index(name)] for name in given.columns]
    others = [target.fields[target.index(name)] for name in referenced]
    for own, other in zip(owns, others, strict=True):
        if own.type != other.type:
            one, two = f"{own.name!r}, {own.type}", f"{other.name!r}, {other.type}"
            raise BindError(f"{what} compares {one}, with {two}; give both one type")
    return replace(
        given,
        columns=tuple(field.name for field in owns),
        table=target.name,
        referenced=tuple(field.name for field in others),
    )


def seen(entry: Table | View) -> Schema:
    """What a reader sees of a table or view."""
    return entry.fields if isinstance(entry, Table) else entry.schema


def carried(said: Mapping[tuple[str, str], str], old: Table | View, new: Table | View) -> dict[tuple[str, str], str]:
    """What was said, by the keys of names and columns, where `old` has become `new`; columns go by their places."""
    before, now = ([key(field.name) for field in seen(each)] for each in (old, new))
    called = dict(zip(before, now, strict=True)) if len(before) == len(now) else {}
    return {
        (key(new.name), called.get(column, column)) if of == key(old.name) else (of, column): text
        for (of, column), text in said.items()
    }

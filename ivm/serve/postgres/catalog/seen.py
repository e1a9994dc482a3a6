"""Tables, views, keys and indexes as Postgres's clients see them: each with a number, in a schema with a number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ivm.catalog.catalog import Catalog
from ivm.catalog.clock import is_own
from ivm.catalog.keywords import quoted_if_needed
from ivm.catalog.names import TEMP, is_temp
from ivm.catalog.schema import Schema, Table, View
from ivm.serve.postgres.catalog import numbers


@dataclass(frozen=True, slots=True)
class Relation:
    """A table or view. `kind`: r, v, or m for a maintained one."""

    entry: Table | View
    schema: str
    name: str
    kind: str

    @property
    def oid(self) -> int:
        """Its number."""
        return numbers.of_relation(self.schema, self.name)

    @property
    def fields(self) -> Schema:
        """Its columns."""
        return self.entry.fields if isinstance(self.entry, Table) else self.entry.schema


@dataclass(frozen=True, slots=True)
class Key:
    """A constraint, or an index: `kind` is p, u, f or c for these, and i for an index that is no more than that."""

    of: Relation
    name: str
    kind: str
    columns: tuple[int, ...]
    text: str
    to: Relation | None = None
    to_columns: tuple[int, ...] = ()

    @property
    def oid(self) -> int:
        """The number of the constraint."""
        return numbers.number("constraint", self.of.schema, self.of.name, self.name)

    @property
    def index(self) -> int:
        """The number of its index; 0 where it has none."""
        return numbers.of_relation(self.of.schema, self.name) if self.kind in "pui" else 0


def relations(catalog: Catalog) -> list[Relation]:
    """All tables and views but the engine's own."""
    found = []
    for entry in catalog.content.values():
        if not is_own(entry.name):
            kind = "r" if isinstance(entry, Table) else "m" if entry.maintained else "v"
            schema, name = catalog.parts(entry.name)
            found.append(Relation(entry, TEMP if is_temp(schema) else schema, name, kind))
    return found


def keys(catalog: Catalog) -> list[Key]:
    """All constraints and indexes."""
    seen = {each.entry.name: each for each in relations(catalog)}
    return [key for each in seen.values() if isinstance(each.entry, Table) for key in _keys(each, each.entry, seen)]


def _keys(of: Relation, table: Table, seen: dict[str, Relation]) -> Iterator[Key]:
    if table.primary_key:
        named = _named(table.primary_key)
        yield Key(of, f"{of.name}_pkey", "p", _places(table, table.primary_key), f"PRIMARY KEY ({named})")
    for unique in table.unique:
        name = unique.name or f"{of.name}_{'_'.join(unique.columns)}_key"
        yield Key(of, name, "u", _places(table, unique.columns), f"UNIQUE ({_named(unique.columns)})")
    for n, check in enumerate(table.checks):
        name = check.name or f"{of.name}_check{n or ''}"
        yield Key(of, name, "c", (), f"CHECK (({check.condition}))")
    for foreign in table.foreign_keys:
        to = seen.get(foreign.table)
        if to is not None and isinstance(to.entry, Table):
            name, referenced = f"{of.name}_{'_'.join(foreign.columns)}_fkey", _places(to.entry, foreign.referenced)
            words = f"REFERENCES {quoted_if_needed(to.name)}({_named(foreign.referenced)})"
            text = f"FOREIGN KEY ({_named(foreign.columns)}) {words}"
            yield Key(of, name, "f", _places(table, foreign.columns), text, to, referenced)
    for index in table.indexes:
        yield Key(
            of, index.name, "u" if index.unique else "i", _places(table, index.columns), f"({_named(index.columns)})"
        )


def _places(table: Table, columns: tuple[str, ...]) -> tuple[int, ...]:
    return tuple(place + 1 for place in table.places(columns)) if columns else ()


def _named(columns: tuple[str, ...]) -> str:
    return ", ".join(map(quoted_if_needed, columns))

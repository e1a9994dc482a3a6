"""The catalog: which tables and views exist under which name, and who uses whom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from catalog.errors import BindError, UnsupportedError
from catalog.macro import Macro, Macros, macro_called
from catalog.names import MAIN, as_literal, key, quoted, suggestion, twice, written
from catalog.schema import ForeignKey, Index, Table, Unique, View
from catalog.sequence import Sequence, Sequences
from catalog.types import INTERVAL, SqlType, holds

Entry = TypeVar("Entry", Table, View)


class Catalog:
    """Tables and views by name, in one name space and in order of creation. Names are found in any case.

    What is in a schema other than main is called by both names, as s.t, here and wherever a name is told; see `parts`.
    Its content is replaced, never written to: a thread that reads while another adds or drops sees it as before or as
    after. `fixed` holds on to one. Not safe for concurrent writers.
    """

    def __init__(self) -> None:
        self.content: Mapping[str, Table | View] = {}
        """All there is by the keys of its names: another mapping after each change."""
        self.making = ""
        """The view that is being made, which is not there yet, nor any that it is to replace."""
        self.macros: Macros = {}
        self.sequences: Sequences = {}
        """Replaced when a macro comes or goes, as the content is."""
        self.database = "memory"
        """What the database itself is called, in front of schemas."""
        self._types: Mapping[str, tuple[str, SqlType]] = {}  # as they were named, by the keys of these names
        self._schemas: Mapping[str, str] = {}  # the names of those beside main, by their keys

    @property
    def tables(self) -> tuple[Table, ...]:
        """All tables, in order of creation."""
        return tuple(entry for entry in self.content.values() if isinstance(entry, Table))

    @property
    def views(self) -> tuple[View, ...]:
        """All views, in order of creation; a view always stands after what it uses."""
        return tuple(entry for entry in self.content.values() if isinstance(entry, View))

    def find(self, name: Any) -> Table | View | None:
        """The table or view called `name`, or None; BindError if that is no text."""
        if not isinstance(name, str):
            raise BindError(
                f"a table or view is called by its name, a str, not by {name!r} of type {type(name).__name__}"
            )
        return self.content.get(key(name))

    def lookup(self, name: str) -> Table | View:
        """The table or view called `name`; BindError with the closest names if there is none."""
        entry = self.find(name)
        if entry is None:
            if key(name) == key(self.making):
                raise BindError(f"view {name!r} cannot read itself; write WITH RECURSIVE in it, or read another view")
            known = (each.name for each in self.content.values())
            raise BindError(f"there is no table or view {name!r}{suggestion(name, known)}")
        return entry

    def table(self, name: str) -> Table:
        """The table called `name`; BindError if there is none, or if it is a view."""
        entry = self.find(name)
        if isinstance(entry, Table):
            return entry
        if entry is not None:
            raise BindError(f"{name!r} is a view, and a table is needed here; change the tables that it reads instead")
        raise BindError(f"there is no table {name!r}{suggestion(name, (t.name for t in self.tables))}")

    def view(self, name: str) -> View:
        """The view called `name`; BindError if there is none, or if it is a table."""
        entry = self.find(name)
        if isinstance(entry, View):
            return entry
        if entry is not None:
            raise BindError(f"{name!r} is a table, and a view is needed here; read it with SELECT * FROM {name}")
        raise BindError(f"there is no view {name!r}{suggestion(name, (v.name for v in self.views))}")

    def add_table(self, table: Table) -> Table:
        """Add `table` and return it with its keys in the names of their columns, as those were declared.

        Of foreign keys an empty `referenced` becomes the target's key.

        BindError if the name is taken, a column or key column is wrong, or a foreign key does not fit its target.
        """
        self._check_free(table.name, "table")
        _check_columns(table)
        fields = table.fields
        table = replace(
            table,
            primary_key=tuple(fields[i].name for i in table.key_indexes),
            unique=tuple(dict.fromkeys(_spelled(table, each) for each in table.unique)),
        )
        keys = tuple(self._complete(table, each) for each in table.foreign_keys)
        table = replace(table, foreign_keys=keys)
        self.content = {**self.content, key(table.name): table}
        return table

    @property
    def types(self) -> Mapping[str, SqlType]:
        """The types that have names, by the keys of these."""
        return {name: type_ for name, (_, type_) in self._types.items()} if self._types else {}

    def named_types(self) -> tuple[tuple[str, SqlType], ...]:
        """The types that have names, each with its name as it was given."""
        return tuple(self._types.values())

    def add_type(self, name: str, type_: SqlType) -> None:
        """Let `name` stand for a type; BindError if it stands for one."""
        if key(name) in self._types:
            raise BindError(f"cannot create type {name!r}: there is a type of that name; drop it or choose another")
        self._types = {**self._types, key(name): (name, type_)}

    def drop_type(self, name: str) -> None:
        """Forget the name of a type; BindError if there is none, or if a table has columns of that type."""
        found = self._types.get(key(name))
        if found is None:
            known = suggestion(name, (each for each, _ in self._types.values()))
            raise BindError(f"there is no type {name!r}{known}")
        users = tuple(table.name for table in self.tables if any(holds(field.type, found[1]) for field in table.fields))
        if users:
            raise BindError(f"cannot drop type {name!r}: used by {_listed('table', users)}; drop that first")
        self._types = {each: entry for each, entry in self._types.items() if each != key(name)}

    def add_macro(self, macro: Macro) -> None:
        """Have this macro, in place of the one of its key, if there is one."""
        self.macros = {**self.macros, macro.key: macro}

    def drop_macro(self, name: str, *, is_table: bool) -> None:
        """Forget the macro that `macro_called` finds; BindError if there is none."""
        found = macro_called(self.macros, name, is_table=is_table)
        if found is None:
            kind = "table macro" if is_table else "macro"
            known = (each.name for each in self.macros.values() if each.is_table or not is_table)
            raise BindError(f"cannot drop {kind} {name!r}: there is none of that name{suggestion(name, known)}")
        self.macros = {each: macro for each, macro in self.macros.items() if macro is not found}

    @property
    def schemas(self) -> tuple[str, ...]:
        """The schemas that were created, in that order: all but main."""
        return tuple(self._schemas.values())

    def schema(self, name: str) -> str | None:
        """A schema's name as it was given; None if there is none of that name."""
        return MAIN if key(name) == MAIN else self._schemas.get(key(name))

    def parts(self, name: str) -> tuple[str, str]:
        """The schema that what has this name is in, or would be, and what it is called there.

        A name with a dot is that of a schema and one within, if there is such a schema; else there is a dot in it.
        """
        first, dot, rest = name.partition(".")
        found = self._schemas.get(key(first)) if dot and self._schemas else None
        return (MAIN, name) if found is None or not rest else (found, rest)

    def spelled(self, name: str) -> str:
        """The name of a table or view as SQL writes it, in quotes: "s"."t"."""
        schema, own = self.parts(name)
        return quoted(own) if schema == MAIN else f"{quoted(schema)}.{quoted(own)}"

    def within(self, schema: str) -> tuple[Table | View, ...]:
        """The tables and views of a schema, in order of creation."""
        wanted = key(schema)
        return tuple(entry for entry in self.content.values() if key(self.parts(entry.name)[0]) == wanted)

    def add_schema(self, name: str) -> None:
        """Let there be a schema; BindError if there is one of that name, or if its name has a dot."""
        what = f"cannot create schema {name!r}"
        if self.schema(name) is not None or key(name) in _SYSTEM:
            raise BindError(f"{what}: there is a schema of that name; drop it or choose another")
        if "." in name:
            raise BindError(f"{what}: a dot stands between a schema and what is in it; choose a name without")
        taken = [entry.name for entry in self.content.values() if key(entry.name).startswith(f"{key(name)}.")]
        if taken:
            raise BindError(f"{what}: {taken[0]!r} is in main, and would seem to be in it; drop it or choose another")
        self._schemas = {**self._schemas, key(name): name}

    def drop_schema(self, name: str) -> None:
        """Let a schema go; BindError if there is none, or if anything is in it."""
        found = self.schema(name)
        if found is None:
            raise BindError(f"there is no schema {name!r}{suggestion(name, self.schemas)}")
        if found == MAIN:
            raise BindError("cannot drop schema 'main', which is always there; drop what is in it")
        users = tuple(entry.name for entry in self.within(found))
        if users:
            raise BindError(
                f"cannot drop schema {found!r}, which has {', '.join(map(repr, users))}; drop that first, or CASCADE"
            )
        self._schemas = {each: kept for each, kept in self._schemas.items() if each != key(found)}

    def add_sequence(self, sequence: Sequence) -> None:
        """Have this sequence, in place of the one of its name, if there is one."""
        self.sequences = {**self.sequences, sequence.key: sequence}

    def drop_sequence(self, name: str) -> None:
        """Forget a sequence; BindError if there is none, or if it is that of the DEFAULT of a column."""
        found = self.sequences.get(key(name))
        if found is None:
            known = suggestion(name, (each.name for each in self.sequences.values()))
            raise BindError(f"cannot drop sequence {name!r}: there is none of that name{known}")
        called = as_literal(found.key)
        users = (t.name for t in self.tables if any(called in key(each.value) for each in t.defaults))
        if listed := tuple(users):
            raise BindError(
                f"cannot drop sequence {name!r}: a DEFAULT of {_listed('table', listed)} takes its numbers; "
                "ALTER TABLE .. ALTER .. DROP DEFAULT first"
            )
        self.sequences = {each: kept for each, kept in self.sequences.items() if kept is not found}

    def set_indexes(self, name: str, indexes: tuple[Index, ...]) -> Table:
        """Give the table called `name` these indexes, and return it; UnsupportedError for a unique one of lists."""
        table = replace(self.table(name), indexes=indexes)
        for index in indexes:
            for column in index.columns if index.unique else ():
                _check_key(table, f"cannot create index {index.name!r}", "key", column)
        self.content = {**self.content, key(table.name): table}
        return table

    def alter(self, name: str, entry: Table | View) -> None:
        """Let this be what the table or view called `name` has become, in its place and order.

        BindError if it has a new name that is taken, or its columns contradict each other.
        """
        if key(name) != key(entry.name):
            self._check_free(entry.name, "table" if isinstance(entry, Table) else "view")
        if isinstance(entry, Table):
            _check_columns(entry)
        known = self.content
        self.content = {key(entry.name if each == key(name) else each): kept for each, kept in known.items()} | {
            key(entry.name): entry
        }

    def index(self, name: str) -> tuple[Table, Index] | None:
        """The index called `name` with its table, or None. Indexes have a name space of their own."""
        found = ((table, index) for table in self.tables for index in table.indexes if key(index.name) == key(name))
        return next(found, None)

    def add_view(self, view: View) -> None:
        """Add `view`; BindError if its name is taken or something that it uses does not exist."""
        self._check_free(view.name, "view")
        for name in view.uses:
            self.lookup(name)
        self.content = {**self.content, key(view.name): view}

    def drop_table(self, name: str) -> Table:
        """Remove the table and return it; BindError if a view reads it or another table's foreign key names it."""
        return self._dropped(self.table(name), "table")

    def drop_view(self, name: str) -> View:
        """Remove the view and return it; BindError if another view reads it."""
        return self._dropped(self.view(name), "view")

    def _dropped(self, entry: Entry, kind: str) -> Entry:
        self._check_unused(entry.name, kind)
        self.content = {each: kept for each, kept in self.content.items() if each != key(entry.name)}
        return entry

    def dependents(self, name: str) -> tuple[View, ...]:
        """The views that read `name`, through others too, each after those that read it: in the order to drop them."""
        reached = {key(name)}
        found = []
        for view in self.views:
            if any(key(used) in reached for used in view.uses):
                reached.add(key(view.name))
                found.append(view)
        return tuple(reversed(found))

    def users_of(self, name: str) -> tuple[str, ...]:
        """Names of the views that read `name` directly, in order of creation."""
        return tuple(view.name for view in self.views if written(name, view.uses))

    def become(self, other: Catalog) -> None:
        """Have what another catalog has now. It may be interrupted, and called again."""
        self._types, self.macros, self._schemas = other._types, other.macros, other._schemas
        self.sequences = other.sequences
        self.content = other.content

    def is_like(self, other: Catalog) -> bool:
        """Whether there is what another catalog has: the very same entries."""
        same = self.content is other.content and self.macros is other.macros
        return same and self._types is other._types and self._schemas is other._schemas

    def fixed(self) -> Catalog:
        """A catalog of the present content, which nobody else changes. Cost: none."""
        fixed = Catalog()
        fixed.content, fixed._types, fixed.macros = self.content, self._types, self.macros
        fixed.sequences = self.sequences
        fixed._schemas, fixed.database = self._schemas, self.database
        return fixed

    def _check_free(self, name: str, kind: str) -> None:
        taken = self.find(name)
        if taken is not None:
            what = "table" if isinstance(taken, Table) else "view"
            raise BindError(f"cannot create {kind} {name!r}: there is a {what} of that name; drop it or choose another")

    def _check_unused(self, name: str, kind: str) -> None:
        views = self.users_of(name)
        if views:
            users = _listed("view", views)
            raise BindError(
                f"cannot drop {kind} {name!r}: used by {users}; drop what uses it first, or DROP ... CASCADE"
            )
        others = (table for table in self.tables if table.name != name)
        tables = tuple(table.name for table in others if any(each.table == name for each in table.foreign_keys))
        if tables:
            raise BindError(
                f"cannot drop {kind} {name!r}: a foreign key of {_listed('table', tables)} names it; drop that first"
            )

    def _complete(self, table: Table, given: ForeignKey) -> ForeignKey:
        what = f"cannot create table {table.name!r}: its foreign key ({', '.join(given.columns)})"
        target = table if key(given.table) == key(table.name) else self.find(given.table)
        if self.parts(given.table)[0] != self.parts(table.name)[0]:
            raise BindError(f"{what} references {given.table!r}, in another schema; have both tables in one")
        if not isinstance(target, Table):
            known = suggestion(given.table, (t.name for t in self.tables))
            raise BindError(f"{what} references {given.table!r}, which is not a table{known}; create that table first")
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


_SYSTEM = frozenset(["information_schema", "pg_catalog", "temp"])
"""The schemas that are DuckDB's own."""


def _listed(kind: str, names: tuple[str, ...]) -> str:
    return f"{kind}{'s' if len(names) > 1 else ''} {', '.join(repr(name) for name in names)}"


def _check_columns(table: Table) -> None:
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
        _check_key(table, what, kind, column)
    if twice(table.primary_key) is not None:
        raise BindError(f"{what}: its primary key names a column twice")
    for unique in table.unique:
        if twice(unique.columns) is not None:
            raise BindError(f"{what}: {unique} names a column twice")
    called = [*(each.name for each in table.unique), *(each.name for each in table.checks)]
    named = twice(name for name in called if name)
    if named is not None:
        raise BindError(f"{what}: two constraints are called {named!r}; rename one")


def _check_key(table: Table, what: str, kind: str, column: str) -> None:
    type_ = table.fields[table.index(column)].type
    if type_.is_nested:
        why = "of which there are no keys; keep what tells them apart, such as a text, in a column"
        raise UnsupportedError(f"{what}: its {kind} names column {column!r}, {type_}, {why}")
    if type_ == INTERVAL:
        why = "of which different ones may be equal; keep its microseconds, epoch_us(..), in a column"
        raise BindError(f"{what}: its {kind} names column {column!r}, an INTERVAL, {why}")


def _spelled(table: Table, unique: Unique) -> Unique:
    """The constraint with its columns as they were declared."""
    return replace(unique, columns=tuple(table.fields[table.index(name)].name for name in unique.columns))

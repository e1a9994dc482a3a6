"""The catalog: which tables and views exist under which name, and who uses whom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from ivm.catalog.clock import is_own
from ivm.catalog.declared import carried, check_columns, check_key, completed, seen, spelled
from ivm.catalog.errors import BindError
from ivm.catalog.function import PythonFunctions
from ivm.catalog.macro import Macro, Macros
from ivm.catalog.names import MAIN, TEMP, key, listed, quoted, suggestion, written
from ivm.catalog.schema import ForeignKey, Index, Table, View
from ivm.catalog.sequence import Sequence, Sequences, without
from ivm.catalog.types import Kind, SqlType, holds

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
        self.functions: PythonFunctions = {}
        """Those that the application has written in Python, which no log has."""
        self.database = "memory"
        """What the database itself is called, in front of schemas."""
        self._types: Mapping[str, tuple[str, SqlType]] = {}  # as they were named, by the keys of these names
        self._comments: Mapping[tuple[str, str], str] = {}  # by the keys of a name and of a column's, or nothing
        self.schema_names: Mapping[str, str] = {}
        """Those of the schemas beside main, by their keys."""

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
        self._let_in(table)
        check_columns(table)
        fields = table.fields
        table = replace(
            table,
            primary_key=tuple(fields[i].name for i in table.key_indexes),
            unique=tuple(dict.fromkeys(spelled(table, each) for each in table.unique)),
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

    def add_type(self, name: str, type_: SqlType, *, replaces: bool = False) -> None:
        """Let `name` stand for a type; BindError if it stands for one, unless this `replaces` it, not for columns."""
        if key(name) in self._types and not replaces:
            raise BindError(f"cannot create type {name!r}: there is a type of that name; drop it or choose another")
        self._types = {**self._types, key(name): (name, type_)}

    def drop_type(self, name: str) -> None:
        """Forget the name of a type; BindError if there is none, or if it is an ENUM of which a table has columns."""
        found = self._types.get(key(name))
        if found is None:
            known = suggestion(name, (each for each, _ in self._types.values()))
            raise BindError(f"there is no type {name!r}{known}")
        users = tuple(table.name for table in self.tables if any(holds(field.type, found[1]) for field in table.fields))
        if users and found[1].kind is Kind.ENUM:  # of others all columns have the type, not the name
            raise BindError(f"cannot drop type {name!r}: used by {listed('table', users)}; drop that first")
        self._types = {each: entry for each, entry in self._types.items() if each != key(name)}

    def add_macro(self, macro: Macro) -> None:
        """Have this macro, in place of the one of its key, if there is one."""
        self.macros = {**self.macros, macro.key: macro}

    def drop_macro(self, macro: Macro) -> None:
        """Forget a macro that there is."""
        self.macros = {each: kept for each, kept in self.macros.items() if kept is not macro}

    @property
    def comments(self) -> tuple[tuple[Table | View, str, str], ...]:
        """What was said of tables and views, and of their columns: the entry, a column's name or nothing, a text."""
        found = []
        for (name, column), text in self._comments.items():
            entry = self.content.get(name)  # which may be yet to come, where all is made again, one by one
            spelled = written(column, (field.name for field in seen(entry))) if column and entry else ""
            if entry is not None and spelled is not None:  # the column may have gone
                found.append((entry, spelled, text))
        return tuple(found)

    def comment(self, name: str, column: str, text: str | None) -> None:
        """Say this of a table or view, or a column of it; None: nothing. BindError if there is none."""
        entry = self.lookup(name)
        names = [field.name for field in seen(entry)]
        if column and written(column, names) is None:
            raise BindError(f"cannot comment: {entry.name!r} has no column {column!r}{suggestion(column, names)}")
        place = key(entry.name), key(column)
        kept = {each: said for each, said in self._comments.items() if each != place}
        self._comments = kept if text is None else {**kept, place: text}

    @property
    def schemas(self) -> tuple[str, ...]:
        """The schemas that were created, in that order: all but main and temp."""
        return tuple(name for name in self.schema_names.values() if name != TEMP)

    @property
    def has_temporary(self) -> bool:
        """Whether there is a table, view or sequence that ends with the connection."""
        return TEMP in self.schema_names or any(each.temporary for each in self.sequences.values())

    def schema(self, name: str) -> str | None:
        """A schema's name as it was given; None if there is none of that name."""
        return MAIN if key(name) == MAIN else self.schema_names.get(key(name))

    def parts(self, name: str) -> tuple[str, str]:
        """The schema that what has this name is in, or would be, and what it is called there.

        A name with a dot is that of a schema and one within, if there is such a schema; else there is a dot in it.
        """
        first, _, rest = name.partition(".")
        found = self.schema_names.get(key(first)) if rest and self.schema_names else None
        return (MAIN, name) if found is None else (found, rest)

    def place(self, name: str) -> tuple[str, str, str]:
        """The database that it is in, the schema there, and what it is called there, as DuckDB tells it."""
        schema, own = self.parts(name)
        return (TEMP, MAIN, own) if schema == TEMP else (self.database, schema, own)

    def spelled(self, name: str) -> str:
        """The name of a table or view as SQL writes it, in quotes: "s"."t"."""
        schema, own = self.parts(name)
        before = "" if schema == MAIN else f"{quoted(schema)}." if schema != TEMP else f"{quoted(TEMP)}.{quoted(MAIN)}."
        return f"{before}{quoted(own)}"

    def within(self, schema: str) -> tuple[Table | View, ...]:
        """The tables and views of a schema, in order of creation."""
        wanted = key(schema)
        return tuple(entry for entry in self.content.values() if key(self.parts(entry.name)[0]) == wanted)

    def sequences_within(self, schema: str) -> tuple[Sequence, ...]:
        """The sequences of a schema."""
        wanted = key(schema)
        return tuple(each for each in self.sequences.values() if key(self.parts(each.name)[0]) == wanted)

    def macros_within(self, schema: str) -> tuple[Macro, ...]:
        """The macros of a schema that is not main."""
        return tuple(each for each in self.macros.values() if key(each.schema) == key(schema))

    def types_within(self, schema: str) -> tuple[str, ...]:
        """The names of the types of a schema."""
        return tuple(name for name, _ in self.named_types() if key(self.parts(name)[0]) == key(schema))

    def add_schema(self, name: str) -> None:
        """Let there be a schema; BindError if there is one of that name, or if its name has a dot."""
        what = f"cannot create schema {name!r}"
        if self.schema(name) is not None or key(name) in _SYSTEM:
            raise BindError(f"{what}: there is a schema of that name; drop it or choose another")
        self._check_apart(name, what)
        if "." in name:
            raise BindError(f"{what}: a dot stands between a schema and what is in it; choose a name without")
        self.schema_names = {**self.schema_names, key(name): name}

    def _check_apart(self, schema: str, what: str) -> None:
        """BindError if something in main has a name that would be that of something in the schema."""
        taken = [entry.name for entry in self.content.values() if key(entry.name).startswith(f"{key(schema)}.")]
        if taken:
            raise BindError(f"{what}: {taken[0]!r} is in main, and would seem to be in it; drop it or choose another")

    def lasting(self) -> Catalog:
        """What there is without what ends with the connection. Cost: none, if there is nothing of that."""
        kept = self.fixed()
        if any(each.temporary for each in (*self.content.values(), *self.sequences.values())):
            kept.content = {name: entry for name, entry in self.content.items() if not entry.temporary}
            kept.schema_names = {name: schema for name, schema in self.schema_names.items() if name != TEMP}
            kept._comments = {each: said for each, said in self._comments.items() if each[0] in kept.content}
            kept.sequences = {name: each for name, each in self.sequences.items() if not each.temporary}
        if any(macro.temporary for macro in self.macros.values()):
            kept.macros = {each: macro for each, macro in self.macros.items() if not macro.temporary}
        return kept

    def _let_in(self, entry: Table | View) -> None:
        """Have the schema of temporary things, if this is one."""
        if entry.temporary and not is_own(entry.name) and TEMP not in self.schema_names:
            self._check_apart(TEMP, f"cannot create temporary {entry.name!r}")
            self.schema_names = {**self.schema_names, TEMP: TEMP}

    def drop_schema(self, name: str) -> None:
        """Let a schema go; BindError if there is none, or if anything is in it."""
        found = self.schema(name)
        if found is None:
            raise BindError(f"there is no schema {name!r}{suggestion(name, self.schemas)}")
        if found == MAIN:
            raise BindError("cannot drop schema 'main', which is always there; drop what is in it")
        within = (*self.within(found), *self.sequences_within(found), *self.macros_within(found))
        users = (*(each.name for each in within), *self.types_within(found))
        if users:
            raise BindError(
                f"cannot drop schema {found!r}, which has {', '.join(map(repr, users))}; drop that first, or CASCADE"
            )
        self.schema_names = {each: kept for each, kept in self.schema_names.items() if each != key(found)}

    def add_sequence(self, sequence: Sequence) -> None:
        """Have this sequence, in place of the one of its name, if there is one."""
        self.sequences = {**self.sequences, sequence.key: sequence}

    def drop_sequence(self, name: str) -> None:
        """Forget a sequence; BindError if there is none, or if it is that of the DEFAULT of a column."""
        self.sequences = without(self.sequences, name, self.tables)

    def set_indexes(self, name: str, indexes: tuple[Index, ...]) -> Table:
        """Give the table called `name` these indexes, and return it; UnsupportedError for a unique one of lists."""
        table = replace(self.table(name), indexes=indexes)
        for index in indexes:
            for column in index.columns if index.unique else ():
                check_key(table, f"cannot create index {index.name!r}", "key", column)
        self.content = {**self.content, key(table.name): table}
        return table

    def alter(self, name: str, entry: Table | View) -> None:
        """Let this be what the table or view called `name` has become, in its place and order.

        BindError if it has a new name that is taken, or its columns contradict each other.
        """
        if key(name) != key(entry.name):
            self._check_free(entry.name, "table" if isinstance(entry, Table) else "view")
        if isinstance(entry, Table):
            check_columns(entry)
        known, old = self.content, self.content[key(name)]
        self.content = {key(entry.name if each == key(name) else each): kept for each, kept in known.items()} | {
            key(entry.name): entry
        }
        self._comments = carried(self._comments, old, entry)

    def index(self, name: str) -> tuple[Table, Index] | None:
        """The index called `name` with its table, or None. Indexes have a name space of their own."""
        found = ((table, index) for table in self.tables for index in table.indexes if key(index.name) == key(name))
        return next(found, None)

    def add_view(self, view: View) -> None:
        """Add `view`; BindError if its name is taken or something that it uses does not exist."""
        self._check_free(view.name, "view")
        for name in view.uses:
            if self.lookup(name).temporary and not view.temporary:
                raise BindError(
                    f"cannot create view {view.name!r}: it reads {name!r}, which ends with the connection; write "
                    "CREATE TEMP VIEW, or CREATE TEMP MATERIALIZED VIEW"
                )
        self._let_in(view)
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
        self._comments = {each: said for each, said in self._comments.items() if each[0] != key(entry.name)}
        if entry.temporary and not any(each.temporary for each in self.content.values()):
            self.schema_names = {name: schema for name, schema in self.schema_names.items() if name != TEMP}
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
        self._types, self.macros, self.schema_names = other._types, other.macros, other.schema_names
        self._comments, self.sequences = other._comments, other.sequences
        self.content = other.content

    def is_like(self, other: Catalog) -> bool:
        """Whether there is what another catalog has: the very same entries."""
        named = ("content", "macros", "sequences", "_types", "schema_names", "_comments")
        return all(getattr(self, name) is getattr(other, name) for name in named)

    def fixed(self) -> Catalog:
        """A catalog of the present content, which nobody else changes. Cost: none."""
        fixed = Catalog()
        fixed.content, fixed._types, fixed.macros = self.content, self._types, self.macros
        fixed.sequences, fixed._comments, fixed.functions = self.sequences, self._comments, self.functions
        fixed.schema_names, fixed.database = self.schema_names, self.database
        return fixed

    def _check_free(self, name: str, kind: str) -> None:
        taken = self.find(name)
        if taken is not None:
            what = "table" if isinstance(taken, Table) else "view"
            raise BindError(f"cannot create {kind} {name!r}: there is a {what} of that name; drop it or choose another")

    def _check_unused(self, name: str, kind: str) -> None:
        views = self.users_of(name)
        if views:
            users = listed("view", views)
            raise BindError(
                f"cannot drop {kind} {name!r}: used by {users}; drop what uses it first, or DROP ... CASCADE"
            )
        others = (table for table in self.tables if table.name != name)
        tables = tuple(table.name for table in others if any(each.table == name for each in table.foreign_keys))
        if tables:
            raise BindError(
                f"cannot drop {kind} {name!r}: a foreign key of {listed('table', tables)} names it; drop that first"
            )

    def _complete(self, table: Table, given: ForeignKey) -> ForeignKey:
        what = f"cannot create table {table.name!r}: its foreign key ({', '.join(given.columns)})"
        target = table if key(given.table) == key(table.name) else self.find(given.table)
        if self.parts(given.table)[0] != self.parts(table.name)[0]:
            raise BindError(f"{what} references {given.table!r}, in another schema; have both tables in one")
        if not isinstance(target, Table):
            known = suggestion(given.table, (t.name for t in self.tables))
            raise BindError(f"{what} references {given.table!r}, which is not a table{known}; create that table first")
        return completed(table, given, target, what)


_SYSTEM = frozenset(["information_schema", "pg_catalog", "temp"])
"""The schemas that are DuckDB's own."""

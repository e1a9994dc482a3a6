"""The catalog: which tables and views exist under which name, and who uses whom."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from ivm.catalog.declared import carried, check_columns, check_key, completed, seen, spelled
from ivm.catalog.errors import BindError
from ivm.catalog.function import PythonFunctions
from ivm.catalog.macro import Macro, Macros
from ivm.catalog.names import TEMP, is_temp, key, listed, suggestion, written
from ivm.catalog.schema import ForeignKey, Index, Table, View
from ivm.catalog.schemas import Schemas
from ivm.catalog.sequence import Sequence, Sequences, without
from ivm.catalog.types import Kind, SqlType, holds

Entry = TypeVar("Entry", Table, View)


class Catalog(Schemas):
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
            raise BindError(f"there is no table or view {name!r}{suggestion(name, _near(self.content.values()))}")
        return entry

    def table(self, name: str) -> Table:
        """The table called `name`; BindError if there is none, or if it is a view."""
        entry = self.find(name)
        if isinstance(entry, Table):
            return entry
        if entry is not None:
            raise BindError(f"{name!r} is a view, and a table is needed here; change the tables that it reads instead")
        raise BindError(f"there is no table {name!r}{suggestion(name, _near(self.tables))}")

    def view(self, name: str) -> View:
        """The view called `name`; BindError if there is none, or if it is a table."""
        entry = self.find(name)
        if isinstance(entry, View):
            return entry
        if entry is not None:
            raise BindError(f"{name!r} is a table, and a view is needed here; read it with SELECT * FROM {name}")
        raise BindError(f"there is no view {name!r}{suggestion(name, _near(self.views))}")

    def add_table(self, table: Table) -> Table:
        """Add `table` and return it with its keys in the names of their columns, as those were declared.

        Of foreign keys an empty `referenced` becomes the target's key.

        BindError if the name is taken, a column or key column is wrong, or a foreign key does not fit its target.
        """
        self._check_free(table.name, "table")
        self._let_in_if_temporary(table)
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
        if macro.temporary:
            self._let_in(macro.schema)
        self.macros = {**self.macros, macro.key: macro}

    def drop_macro(self, macro: Macro) -> None:
        """Forget a macro that there is."""
        self.macros = {each: kept for each, kept in self.macros.items() if kept is not macro}
        self._let_out(macro.schema)

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

    def lasting(self, temp: str = "") -> Catalog:
        """What there is without what ends with connections, but for what is in this schema `temp` of one of them.

        Cost: none, if there is nothing of that.
        """
        kept, gone = self.fixed(), {each for each in self.schema_names if is_temp(each) and each != temp}
        if gone or any(each.temporary for each in self.content.values()):
            kept.content = {
                each: entry for each, entry in self.content.items()
                if not entry.temporary or self.parts(entry.name)[0] == temp
            }  # fmt: skip
            kept._comments = {each: said for each, said in self._comments.items() if each[0] in kept.content}
        if gone:
            kept.sequences = {each: s for each, s in self.sequences.items() if self.parts(s.name)[0] not in gone}
            kept.macros = {each: macro for each, macro in self.macros.items() if macro.schema not in gone}
            kept.schema_names = {each: schema for each, schema in self.schema_names.items() if each not in gone}
        return kept

    def add_sequence(self, sequence: Sequence) -> None:
        """Have this sequence, in place of the one of its name, if there is one."""
        if sequence.temporary:
            self._let_in(sequence.name.partition(".")[0])
        self.sequences = {**self.sequences, sequence.key: sequence}

    def drop_sequence(self, name: str) -> None:
        """Forget a sequence; BindError if there is none, or if it is that of the DEFAULT of a column."""
        schema = self.parts(key(name))[0]
        self.sequences = without(self.sequences, name, self.tables)
        self._let_out(schema)

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
        self._let_in_if_temporary(view)
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
        self._let_out(self.parts(entry.name)[0])
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

    def take_others(self, before: Catalog, now: Catalog, temp: str) -> bool:
        """Have all that ends with other connections, or with who listens, as it is `now`; what is in the schema `temp`
        is this one's own. False, and nothing is changed, if more has come or gone since it was as `before`, or if what
        has come reads what is another here.
        """
        stays, was, own = now.lasting(temp), before.lasting(temp), self.lasting(temp)
        parts = ("content", "macros", "sequences", "_types", "_comments")
        if any(not _same(getattr(stays, part), getattr(was, part)) for part in parts):
            return False
        come, new = dict[str, Table | View](), list[Table | View]()
        for name, entry in now.content.items():
            if name not in stays.content:
                old, mine = before.content.get(name), self.content.get(name)
                if mine is not old and entry is not old:
                    return False
                new += [entry] if entry is not old else []
                come |= {name: entry} if mine is old else {} if mine is None else {name: mine}
        used = {key(name) for entry in new if isinstance(entry, View) for name in entry.uses} - come.keys()
        if new and not _same(self.lasting().sequences, now.lasting().sequences):  # which a DEFAULT may ask
            return False
        if any(own.content.get(name) is not stays.content.get(name) for name in used):
            return False
        others = Catalog()
        others.become(own)
        others.content = {**own.content, **come}
        for part in ("macros", "sequences", "schema_names", "_comments"):
            more = {each: it for each, it in getattr(now, part).items() if each not in getattr(stays, part)}
            setattr(others, part, {**getattr(own, part), **more})
        self.become(others)
        return True

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


def _same(one: Mapping[Any, Any], other: Mapping[Any, Any]) -> bool:
    """Whether both have the very same things."""
    return one.keys() == other.keys() and all(each is other[name] for name, each in one.items())


def _near(entries: Iterable[Table | View]) -> Iterable[str]:
    """The names that may be meant by one that there is not: those of sessions of their own are nobody else's."""
    return (entry.name for entry in entries if not entry.name.startswith(f"{TEMP}#"))

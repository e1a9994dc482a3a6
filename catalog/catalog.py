"""The catalog: which tables and views exist under which name, and who uses whom."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from types import MappingProxyType

from catalog.errors import BindError
from catalog.schema import ForeignKey, Table, View


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The content of a catalog at one moment; give it to `Catalog.restore` to undo what came after."""

    entries: Mapping[str, Table | View]


class Catalog:
    """Tables and views by name, in one name space and in order of creation. Names are case-insensitive.

    Entries are frozen, so a snapshot is a copy of one dictionary. Not safe for concurrent writers.
    """

    def __init__(self) -> None:
        self._entries: dict[str, Table | View] = {}

    @property
    def tables(self) -> tuple[Table, ...]:
        """All tables, in order of creation."""
        return tuple(entry for entry in self._entries.values() if isinstance(entry, Table))

    @property
    def views(self) -> tuple[View, ...]:
        """All views, in order of creation; a view always stands after what it uses."""
        return tuple(entry for entry in self._entries.values() if isinstance(entry, View))

    def find(self, name: str) -> Table | View | None:
        """The table or view called `name`, or None."""
        return self._entries.get(name.lower())

    def lookup(self, name: str) -> Table | View:
        """The table or view called `name`; BindError with the closest names if there is none."""
        entry = self.find(name)
        if entry is None:
            raise BindError(f"there is no table or view {name!r}{suggestion(name, self._entries)}")
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
        """Add `table` and return it with its foreign keys completed: an empty `referenced` becomes the target's key.

        BindError if the name is taken, a column or key column is wrong, or a foreign key does not fit its target.
        """
        self._check_free(table.name, "table")
        _check_columns(table)
        keys = tuple(self._complete(table, key) for key in table.foreign_keys)
        table = replace(table, foreign_keys=keys)
        self._entries[table.name] = table
        return table

    def check_view(self, view: View) -> None:
        """BindError if `view` cannot be added: its name is taken or something that it uses does not exist."""
        self._check_free(view.name, "view")
        for name in view.uses:
            self.lookup(name)

    def add_view(self, view: View) -> None:
        """Add `view`; BindError as `check_view`."""
        self.check_view(view)
        self._entries[view.name] = view

    def drop_table(self, name: str) -> Table:
        """Remove the table and return it; BindError if a view reads it or another table's foreign key names it."""
        table = self.table(name)
        self._check_unused(table.name, "table")
        del self._entries[table.name]
        return table

    def drop_view(self, name: str) -> View:
        """Remove the view and return it; BindError if another view reads it."""
        view = self.view(name)
        self._check_unused(view.name, "view")
        del self._entries[view.name]
        return view

    def users_of(self, name: str) -> tuple[str, ...]:
        """Names of the views that read `name` directly, in order of creation."""
        return tuple(view.name for view in self.views if name.lower() in view.uses)

    def tables_of(self, name: str) -> tuple[str, ...]:
        """Names of the tables that `name` reads, through views of any depth, in order of creation."""
        reached = {name.lower()}
        for view in reversed(self.views):
            if view.name in reached:
                reached.update(view.uses)
        return tuple(table.name for table in self.tables if table.name in reached)

    def snapshot(self) -> Snapshot:
        """The present content, to come back to with `restore`."""
        return Snapshot(MappingProxyType(dict(self._entries)))

    def restore(self, snapshot: Snapshot) -> None:
        """Make the content what it was when `snapshot` was taken."""
        self._entries = dict(snapshot.entries)

    def _check_free(self, name: str, kind: str) -> None:
        taken = self.find(name)
        if taken is not None:
            what = "table" if isinstance(taken, Table) else "view"
            raise BindError(f"cannot create {kind} {name!r}: there is a {what} of that name; drop it or choose another")

    def _check_unused(self, name: str, kind: str) -> None:
        views = self.users_of(name)
        if views:
            raise BindError(f"cannot drop {kind} {name!r}: used by {_listed('view', views)}; drop what uses it first")
        tables = tuple(t.name for t in self.tables if t.name != name and any(k.table == name for k in t.foreign_keys))
        if tables:
            raise BindError(
                f"cannot drop {kind} {name!r}: a foreign key of {_listed('table', tables)} names it; drop that first"
            )

    def _complete(self, table: Table, key: ForeignKey) -> ForeignKey:
        what = f"cannot create table {table.name!r}: its foreign key ({', '.join(key.columns)})"
        target = table if key.table == table.name else self.find(key.table)
        if not isinstance(target, Table):
            known = suggestion(key.table, (t.name for t in self.tables))
            raise BindError(f"{what} references {key.table!r}, which is not a table{known}; create that table first")
        key = replace(key, referenced=key.referenced or target.primary_key)
        if set(key.referenced) != set(target.primary_key) or not key.referenced:
            written, known = ", ".join(key.referenced), ", ".join(target.primary_key) or "none declared"
            raise BindError(f"{what} must reference the primary key of {target.name!r}, ({known}), not ({written})")
        if len(key.columns) != len(key.referenced):
            raise BindError(f"{what} has {len(key.columns)} columns, but references {len(key.referenced)}")
        for column, referenced in zip(key.columns, key.referenced, strict=True):
            own, other = table.fields[table.index(column)].type, target.fields[target.index(referenced)].type
            if own != other:
                raise BindError(f"{what} compares {column!r}, {own}, with {referenced!r}, {other}; give both one type")
        return key


def suggestion(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown `name`: the closest of the `known` names, or nothing if none is close."""
    close = get_close_matches(name.lower(), list(dict.fromkeys(known)), n=3, cutoff=0.6)
    return f"; did you mean {' or '.join(repr(c) for c in close)}?" if close else ""


def _listed(kind: str, names: tuple[str, ...]) -> str:
    return f"{kind}{'s' if len(names) > 1 else ''} {', '.join(repr(name) for name in names)}"


def _check_columns(table: Table) -> None:
    names = [field.name for field in table.fields]
    what = f"cannot create table {table.name!r}"
    if not names:
        raise BindError(f"{what}: it has no columns; declare at least one")
    for name in names:
        if names.count(name) > 1:
            raise BindError(f"{what}: column {name!r} is declared twice; rename one")
    used = [("primary key", c) for c in table.primary_key]
    used += [("foreign key", c) for key in table.foreign_keys for c in key.columns]
    for kind, column in used:
        if column not in names:
            raise BindError(f"{what}: its {kind} names column {column!r}, which it has not{suggestion(column, names)}")
    if len(set(table.primary_key)) != len(table.primary_key):
        raise BindError(f"{what}: its primary key names a column twice")

"""The schemas of a catalog: what is in each, how names tell that, and those of what ends with a connection."""

from __future__ import annotations

from collections.abc import Mapping

from ivm.catalog.clock import is_own
from ivm.catalog.errors import BindError
from ivm.catalog.macro import Macro, Macros
from ivm.catalog.names import MAIN, TEMP, is_temp, key, quoted, suggestion
from ivm.catalog.schema import Table, View
from ivm.catalog.sequence import Sequence, Sequences
from ivm.catalog.types import SqlType


class Schemas:
    """What a catalog knows of its schemas. That of what is TEMP is there as long as something is in it."""

    content: Mapping[str, Table | View]
    schema_names: Mapping[str, str]
    macros: Macros
    sequences: Sequences
    database: str
    _types: Mapping[str, tuple[str, SqlType]]

    @property
    def schemas(self) -> tuple[str, ...]:
        """The schemas that were created, in that order: all but main and temp."""
        return tuple(name for name in self.schema_names.values() if not is_temp(name))

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
        return (TEMP, MAIN, own) if is_temp(schema) else (self.database, schema, own)

    def spelled(self, name: str) -> str:
        """The name of a table or view as SQL writes it, in quotes: "s"."t"."""
        schema, own = self.parts(name)
        before = (
            "" if schema == MAIN else f"{quoted(TEMP)}.{quoted(MAIN)}." if is_temp(schema) else f"{quoted(schema)}."
        )
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
        return tuple(name for name, _ in self._types.values() if key(self.parts(name)[0]) == key(schema))

    def add_schema(self, name: str) -> None:
        """Let there be a schema; BindError if there is one of that name, or if its name has a dot."""
        what = f"cannot create schema {name!r}"
        if self.schema(name) is not None or key(name) in _SYSTEM or is_temp(key(name)):
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

    def _let_in_if_temporary(self, entry: Table | View) -> None:
        if entry.temporary and not is_own(entry.name):
            self._let_in(entry.name.partition(".")[0])

    def _let_in(self, schema: str) -> None:
        """Have a schema of temporary things."""
        if schema not in self.schema_names:
            self._check_apart(schema, "cannot create what is temporary")
            self.schema_names = {**self.schema_names, schema: schema}

    def _let_out(self, schema: str) -> None:
        """Let go of a schema of temporary things once there are none."""
        if is_temp(schema) and not self._all_within(schema):
            self.schema_names = {each: kept for each, kept in self.schema_names.items() if each != schema}

    def _all_within(self, schema: str) -> tuple[Table | View | Sequence | Macro, ...]:
        return (*self.within(schema), *self.sequences_within(schema), *self.macros_within(schema))

    def drop_schema(self, name: str) -> None:
        """Let a schema go; BindError if there is none, or if anything is in it."""
        found = self.schema(name)
        if found is None:
            raise BindError(f"there is no schema {name!r}{suggestion(name, self.schemas)}")
        if found == MAIN:
            raise BindError("cannot drop schema 'main', which is always there; drop what is in it")
        users = (*(each.name for each in self._all_within(found)), *self.types_within(found))
        if users:
            raise BindError(
                f"cannot drop schema {found!r}, which has {', '.join(map(repr, users))}; drop that first, or CASCADE"
            )
        self.schema_names = {each: kept for each, kept in self.schema_names.items() if each != key(found)}


_SYSTEM = frozenset(["information_schema", "pg_catalog", "temp"])
"""Schemas that are DuckDB's own."""

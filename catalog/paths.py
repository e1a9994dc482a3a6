"""Which table or view a name means that may stand in a schema: DuckDB's rules, for one connection."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ivm.catalog.catalog import Catalog
from ivm.catalog.errors import BindError, Error
from ivm.catalog.macro import Macro, Macros
from ivm.catalog.names import MAIN, TEMP, full_name, is_temp, key, suggestion

_NOWHERE = ""
_TEMPORARY = re.compile(rf"\b{TEMP}(?:orary)?\b")


@dataclass(frozen=True, slots=True)
class Names:
    """Names as a connection means them: `path` are the schemas in which it looks before main, and creates in the first.
    What ends with it is in the schema `temp` of the catalog, whose name is its own where it is one session of many.

    A name is given by its parts, [[database,] schema,] name; what it means is one text, see `Catalog.parts`.
    """

    catalog: Catalog
    path: tuple[str, ...] = ()
    temp: str = TEMP

    @property
    def is_plain(self) -> bool:
        """Whether a name without a schema means what it says."""
        return self.temp not in self.catalog.schema_names and (
            not self.path or all(key(each) == MAIN for each in self.path)
        )

    def concerns(self, text: str) -> bool:
        """Whether a text may hold a name that means another than it says. Cost: a search."""
        if not self.is_plain:
            return True
        folded = key(text)
        known = (MAIN, key(self.catalog.database), *map(key, self.catalog.schemas))
        if TEMP in folded and _TEMPORARY.search(folded) is not None:
            return True
        return any(name in folded and re.search(rf'{re.escape(name)}["`\]]?\s*\.', folded) for name in known)

    @property
    def found_out(self) -> Names:
        """What names mean that have been found out: those of what ends with the connection say so."""
        return Names(self.catalog, (), _NOWHERE)

    def told(self, text: str) -> str:
        """A text for whoever has the connection, in which what ends with it is called as he calls it."""
        return text if self.temp == TEMP else text.replace(f"{self.temp}.", f"{TEMP}.")

    def tell(self, error: Error) -> None:
        """Have an error say what `told` says."""
        error.args = tuple(self.told(each) if isinstance(each, str) else each for each in error.args)

    def sees(self, name: str) -> bool:
        """Whether a name is that of a thing that does not end with another connection."""
        schema = self.catalog.parts(name)[0]
        return schema == self.temp or not is_temp(schema)

    def found(self, parts: Sequence[str]) -> str | None:
        """What a name means that is read; None for one of a schema that there is not."""
        if len(parts) == 1:
            return self._found(parts[0])
        schema = self._schema(parts[:-1])
        return None if schema is None else full_name(schema, parts[-1])

    def _found(self, name: str) -> str:
        """What is temporary, else the first of the search path's, else that of main, if there is one or not."""
        return self._first(name, self.catalog.content.__contains__, (self.temp, *self.path))

    def sequence(self, parts: Sequence[str]) -> str:
        """What the name of a sequence means, whether there is one or not."""
        if len(parts) == 1:
            return self._first(parts[0], self.catalog.sequences.__contains__, (self.temp, *self.path))
        schema = self.temp if _is_of_temp(parts[:-1]) else self._schema(parts[:-1])
        return ".".join(parts) if schema is None else full_name(schema, parts[-1])

    def macro(self, parts: Sequence[str], macros: Macros, *, is_table: bool) -> str | None:
        """What the name of one of these macros means, whether there is one or not; None for one of no schema."""
        return self._within(parts, lambda name: (is_table, name) in macros, (self.temp, *self.path))

    def type(self, parts: Sequence[str], types: Mapping[str, Any]) -> str | None:
        """What the name of a type means, whether there is one or not; None for one of no schema."""
        return self._within(parts, types.__contains__, self.path)

    def _within(self, parts: Sequence[str], is_there: Callable[[str], bool], schemas: Sequence[str]) -> str | None:
        """What the name means of a kind of things, where it is looked up in these schemas before main."""
        if len(parts) == 1:
            return self._first(parts[0], is_there, schemas)
        schema = self._schema(parts[:-1])
        return None if schema is None else full_name(schema, parts[-1])

    @staticmethod
    def _first(name: str, is_there: Callable[[str], bool], schemas: Sequence[str]) -> str:
        """The name in the first of the schemas where it is, by its key, else in main, whether there is one or not."""
        names = (full_name(schema, name) for schema in schemas)
        return next((each for each in names if is_there(key(each))), name)

    def placed(self, macro: Macro) -> Macro:
        """A macro that is created in the schema, if one is written, and else in that where all is created."""
        if macro.temporary:
            return replace(macro, schema=self.temp)
        before = macro.schema.split(".") if macro.schema else []
        schema, name = self.catalog.parts(self.created([*before, macro.name]))
        return replace(macro, schema="" if schema == MAIN else schema, name=name)

    def created(self, parts: Sequence[str], *, temporary: bool = False) -> str:
        """What a name means that is created; BindError if there is no such schema."""
        if temporary or (key(parts[0]) == TEMP and len(parts) > 1):
            if not temporary or not (len(parts) == 1 or _is_of_temp(parts[:-1])):
                raise BindError("what is TEMP is in temp, and nothing else is; write CREATE TEMP, and a name alone")
            return full_name(self.temp, parts[-1])
        if len(parts) == 1:
            return full_name(self.path[0] if self.path else MAIN, parts[0])
        schema = self._schema(parts[:-1])
        if schema is None:
            wanted = ".".join(parts[:-1])
            raise BindError(
                f"there is no schema {wanted!r}{suggestion(wanted, self.catalog.schemas)}; CREATE SCHEMA makes one"
            )
        return full_name(schema, parts[-1])

    def given(self, name: Any) -> Any:
        """What a name means that a program gives as one text, t, s.t or database.s.t."""
        if not isinstance(name, str) or not (self.path or self.temp in self.catalog.schema_names or "." in name):
            return name
        found = self._found(name)
        is_whole = "." not in name or key(found) in self.catalog.content
        return found if is_whole else self.found(name.split(".", 2)) or name

    def schemas(self, text: str) -> tuple[str, ...]:
        """The schemas of a search path, "s, main"; BindError for one that there is not."""
        found = []
        for each in text.split(",") if text.strip() else ():
            schema = self.schema_of(each)
            if schema is None or is_temp(schema):
                raise BindError(
                    f"cannot set the schema: there is none called {each.strip()!r}; CREATE SCHEMA makes one"
                )
            found.append(schema)
        return tuple(found)

    def schema_of(self, text: str) -> str | None:
        """The schema of a name, with that of its database or without; None if there is none."""
        return self._schema([part.strip().strip('"') for part in text.split(".")])

    def _schema(self, parts: Sequence[str]) -> str | None:
        """The schema that `schema`, `database` or `database.schema` names."""
        if _is_of_temp(parts):
            return self.temp  # whether anything is in it or not
        if is_temp(key(parts[-1])):
            return None
        if len(parts) == 1:
            found = self.catalog.schema(parts[0])
            return MAIN if found is None and key(parts[0]) == key(self.catalog.database) else found
        return self.catalog.schema(parts[1]) if len(parts) == 2 and self._is_own(parts[0]) else None

    def _is_own(self, database: str) -> bool:
        return key(database) == key(self.catalog.database)


def _is_of_temp(schema: Sequence[str]) -> bool:
    """Whether these parts name the schema of what ends with the connection."""
    return [key(each) for each in schema] in ([TEMP], [TEMP, MAIN])

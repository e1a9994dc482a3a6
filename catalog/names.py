"""Names of tables, views and columns: kept as they were written, found in any case. How these and texts are quoted."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from string import ascii_lowercase, ascii_uppercase
from typing import TypeVar

T = TypeVar("T")

_FOLD = str.maketrans(ascii_uppercase, ascii_lowercase)
_PART = re.compile(r'"((?:[^"]|"")*)"|([^."]+)')


def key(name: str) -> str:
    """What all spellings of a name share. As in DuckDB the case of A to Z does not matter, that of other letters does.

    Whatever is looked up by name is looked up by its key; nothing else folds names.
    """
    return name.lower() if name.isascii() else name.translate(_FOLD)


def by_key(named: Iterable[tuple[str, T]]) -> dict[str, T]:
    """The things by the keys of their names; of several with the same name the first."""
    found: dict[str, T] = {}
    for name, thing in named:
        found.setdefault(key(name), thing)
    return found


def written(name: str, names: Iterable[str]) -> str | None:
    """How `name` is written among `names`; None if it is not there."""
    wanted = key(name)
    return next((each for each in names if key(each) == wanted), None)


def reached(names: Iterable[str], further: Callable[[str], Iterable[str]]) -> dict[str, None]:
    """The keys of `names`, of what comes `further` from each key, and so on, each once."""
    found: dict[str, None] = {}
    pending = list(map(key, names))
    while pending:
        name = pending.pop()
        if name not in found:
            found[name] = None
            pending += map(key, further(name))
    return found


def twice(names: Iterable[str]) -> str | None:
    """The first of the names that stands there again, in any case; None if each is there once."""
    seen: set[str] = set()
    for name in names:
        if key(name) in seen:
            return name
        seen.add(key(name))
    return None


MAIN = "main"
"""The schema that is always there."""
TEMP = "temp"
"""The schema of what ends with the connection, as it is written."""


def temp_of_session() -> str:
    """What this schema is for one session of many: nobody else can name it."""
    return f"{TEMP}#{os.urandom(8).hex()}"


def is_temp(schema: str) -> bool:
    """Whether it is the schema of what ends with a connection, whichever that is."""
    return schema == TEMP or schema.startswith(f"{TEMP}#")


def full_name(schema: str, name: str) -> str:
    """What is called `name` in a schema is known by this one text: as s.t, in main by its name alone."""
    return name if key(schema) == MAIN else f"{schema}.{name}"


def database_name(path: str) -> str:
    """What a database in a directory is called, as in DuckDB: by what stands before the first dot of its name."""
    found = path.rstrip("/").rpartition("/")[2].partition(".")[0] or "memory"
    return f"{found}_db" if key(found) in ("main", "temp", "system") else found


def quoted(name: str) -> str:
    """The name as a quoted identifier of SQL, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'


def as_literal(text: str) -> str:
    """A text as SQL writes it, in single quotes."""
    return "'" + text.replace("'", "''") + "'"


def spelled_part(name: str) -> str:
    """A part of a name with dots: in quotes, where there is a dot or a quote in it."""
    return quoted(name) if "." in name or '"' in name else name


def parts_of(written: str) -> list[str]:
    """The parts of a name as it is written: database, schema and what is in it, as far as they are given."""
    return [plain or quoted.replace('""', '"') for quoted, plain in _PART.findall(written)]


def suggestion(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown `name`: the closest of the `known` names, or nothing if none is close."""
    spelled: Mapping[str, str] = by_key((each, each) for each in known)
    close = get_close_matches(key(name), list(spelled), n=3, cutoff=0.6)
    return f"; did you mean {' or '.join(repr(spelled[c]) for c in close)}?" if close else ""


def listed(kind: str, names: Sequence[str]) -> str:
    """Names of a kind of thing, in a sentence: tables 'a', 'b'."""
    return f"{kind}{'s' if len(names) > 1 else ''} {', '.join(map(repr, names))}"


NO_ROWID = "; rows have no numbers here: give them a key, or write row_number() OVER (ORDER BY ..)"
"""What is said beside an error about DuckDB's number of a row."""

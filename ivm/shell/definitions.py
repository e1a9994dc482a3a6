"""The statements that would make the tables and views that there are."""

from __future__ import annotations

import re

from catalog.names import quoted
from catalog.schema import ForeignKey, Table, View

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def name_text(name: str) -> str:
    """A name as it is written: quoted only if it must be."""
    return name if _PLAIN.fullmatch(name) else quoted(name)


def definition_text(entry: Table | View) -> str:
    """CREATE TABLE or CREATE VIEW, with a semicolon."""
    if isinstance(entry, View):
        kind = "MATERIALIZED VIEW" if entry.maintained else "VIEW"
        return f"CREATE {kind} {name_text(entry.name)} AS\n{entry.sql};"
    parts = [f"{name_text(f.name)} {f.type}{'' if f.nullable else ' NOT NULL'}" for f in entry.fields]
    if entry.primary_key:
        parts.append(f"PRIMARY KEY {_names(entry.primary_key)}")
    parts += [_foreign_key(each) for each in entry.foreign_keys]
    options = {
        "append_only": entry.append_only,
        "static": entry.static,
        "check_foreign_keys": any(each.enforced for each in entry.foreign_keys),
    }
    chosen = ", ".join(f"{name} = true" for name, is_set in options.items() if is_set)
    columns = ",\n".join(f"  {part}" for part in parts)
    return f"CREATE TABLE {name_text(entry.name)} (\n{columns}\n){f' WITH ({chosen})' if chosen else ''};"


def _foreign_key(given: ForeignKey) -> str:
    return f"FOREIGN KEY {_names(given.columns)} REFERENCES {name_text(given.table)} {_names(given.referenced)}"


def _names(names: tuple[str, ...]) -> str:
    return f"({', '.join(map(name_text, names))})"

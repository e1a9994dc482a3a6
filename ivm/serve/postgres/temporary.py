"""TEMP tables, views and sequences: whose they are, so that they end with the connection that made them."""

from __future__ import annotations

import re
import threading
from contextlib import suppress

from ivm.catalog.errors import Error
from ivm.catalog.names import key, quoted
from ivm.session.database import Database

_NAME = r'"(?:[^"]|"")*"|[\w$]+'
_CREATE = re.compile(
    r"CREATE\s+(?:OR\s+REPLACE\s+)?(?:(?:GLOBAL|LOCAL)\s+)?TEMP(?:ORARY)?\s+(?P<kind>TABLE|VIEW|MATERIALIZED\s+VIEW|SEQUENCE)\s+"
    rf"(?:IF\s+NOT\s+EXISTS\s+)?(?:(?:{_NAME})\s*\.\s*)*(?P<name>{_NAME})", re.IGNORECASE,
)  # fmt: skip


class Temporary:
    """Of a door's connections: who has made what, by the keys of names. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: dict[str, tuple[object, str]] = {}

    def note(self, who: object, statement: str) -> None:
        """Remember what a statement makes that has been carried out, unless somebody else has it."""
        found = _CREATE.match(statement)
        if found is None:
            return
        name = found["name"]
        name = name[1:-1].replace('""', '"') if name.startswith('"') else name
        kind = found["kind"].upper()
        drop = f"DROP {kind} IF EXISTS temp.{quoted(name)}{'' if kind == 'SEQUENCE' else ' CASCADE'}"
        with self._lock:
            self._made.setdefault(key(name), (who, drop))

    def has(self, who: object) -> bool:
        """Whether somebody has made something."""
        with self._lock:
            return any(of is who for of, _ in self._made.values())

    def drop(self, who: object, db: Database) -> None:
        """Drop what somebody has made and is there still. Cost: that of DROP, of each; nothing if there is none."""
        with self._lock:
            mine = {name: drop for name, (of, drop) in self._made.items() if of is who}
        for name, drop in reversed(mine.items()):  # what reads others comes after them
            with suppress(Error):  # another of the kind may be there, or the database may be closed
                db.sql(drop)
            with self._lock:
                del self._made[name]

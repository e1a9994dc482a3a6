"""Cursors of SQL: DECLARE, FETCH, MOVE and CLOSE, over the rows of a query or what changes in a view."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic

import pyarrow as pa

from ivm.arguments import period
from ivm.serve.postgres.errors import FEATURE, NO_TRANSACTION, UNKNOWN_CURSOR, SqlStateError
from ivm.serve.postgres.following import Following, wanted
from ivm.serve.postgres.messages import Described
from ivm.serve.postgres.outcome import Outcome
from ivm.serve.postgres.prepared import Portal
from ivm.serve.postgres.types import Shape
from ivm.session.database import Database

_NAME = r'"[^"]+"|[\w$]+'
_DECLARE = re.compile(
    rf"DECLARE\s+({_NAME})\s+(?:BINARY\s+|INSENSITIVE\s+|ASENSITIVE\s+|(?P<scroll>(?:NO\s+)?SCROLL\s+))*CURSOR\s+"
    r"(?P<hold>WITH(?:OUT)?\s+HOLD\s+)?FOR\s+(?P<query>.*)", re.IGNORECASE | re.DOTALL,
)  # fmt: skip
_FETCH = re.compile(
    rf"(?:FETCH|MOVE)\s+(?:(?:FORWARD\s+)?(?P<count>\d+|ALL|NEXT|FORWARD)\s+)?(?:FROM\s+|IN\s+)?(?P<name>{_NAME})"
    r"(?:\s+WITH\s*\(\s*TIMEOUT\s*=?\s*'(?P<timeout>[^']*)'\s*\))?", re.IGNORECASE,
)  # fmt: skip
_CLOSE = re.compile(rf"CLOSE\s+({_NAME})", re.IGNORECASE)
_LOOKS_SECONDS = 0.1
Run = Callable[[str], Outcome]
Check = Callable[[], None]


@dataclass(slots=True)
class _Cursor:
    """Rows that are there, and what brings more, if something does. `holds`: past the end of its transaction."""

    rows: pa.Table
    shapes: Sequence[Shape]
    following: Following | None
    holds: bool

    def fetched(self, most: int | None, seconds: float, check: Check) -> pa.Table:
        """The next rows, `most` so many; of what changes in a view, wait for some so long."""
        until = monotonic() + seconds
        while self.following is not None and not self.rows.num_rows:
            changes = self.following.subscription.fetch(timeout=min(_LOOKS_SECONDS, max(until - monotonic(), 0)))
            if changes.num_rows:
                self.rows = self.following.table(changes)
            elif monotonic() >= until:
                break
            check()
        found = self.rows.slice(0, most)
        self.rows = self.rows.slice(found.num_rows)
        return found

    def close(self) -> None:
        if self.following is not None:
            self.following.subscription.close()


@dataclass(slots=True)
class _OfPortal:
    """A portal of the protocol, which is a cursor to SQL."""

    portal: Portal
    rows: pa.Table
    shapes: Sequence[Shape]

    def fetched(self, most: int | None, seconds: float, check: Check) -> pa.Table:
        """See `_Cursor.fetched`."""
        found = self.rows.slice(self.portal.sent, most)
        self.portal.sent += found.num_rows
        return found

    def close(self) -> None:
        self.portal.sent = self.rows.num_rows


class Cursors:
    """Those of one connection, by their names; `portals` are those of the protocol."""

    def __init__(self, db: Database, portals: Mapping[str, Portal]) -> None:
        self._db = db
        self._portals = portals
        self._open: dict[str, _Cursor] = {}

    def run(self, word: str, text: str, run: Run, begun: bool, seconds: float, check: Check) -> Outcome | None:
        """Carry out a statement that begins with a word; None for any that is not about cursors.

        `run` answers queries. `begun`: whether there is a transaction. A FETCH waits for `seconds` at most; `check`
        raises if it is to end.
        """
        match word:
            case "DECLARE":
                return self._declare(text, run, begun)
            case "FETCH":
                return self._fetch(text, seconds, check)
            case "MOVE":
                moved = self._fetch(text, 0, check).rows
                return Outcome(f"MOVE {0 if moved is None else moved.num_rows}")
            case "CLOSE":
                return self._close(text)
            case _:
                return None

    def described(self, name: str) -> list[Described] | None:
        """The columns of one; None if there is none of the name."""
        found = self._open.get(name)
        if found is None:
            return None
        return [shape.described(each) for each, shape in zip(found.rows.column_names, found.shapes, strict=True)]

    def end(self, *, all: bool = False) -> None:
        """Close those that end with their transaction, or all."""
        for name in [name for name, cursor in self._open.items() if all or not cursor.holds]:
            self._open.pop(name).close()

    def _declare(self, text: str, run: Run, begun: bool) -> Outcome:
        found = _DECLARE.fullmatch(text)
        if found is None:
            raise SqlStateError("42601", "expected DECLARE name CURSOR FOR, and a query")
        name, holds = _folded(found[1]), (found["hold"] or "").upper().startswith("WITH ")
        if found["scroll"] and not found["scroll"].upper().startswith("NO"):
            raise SqlStateError(FEATURE, "a cursor goes forward alone; leave SCROLL out, or write NO SCROLL")
        if not begun and not holds:
            raise SqlStateError(
                NO_TRANSACTION, "a cursor ends with its transaction; BEGIN one first, or write WITH HOLD"
            )
        if name in self._open:
            raise SqlStateError("42P03", f"there is a cursor {name!r} already; CLOSE it first")
        follows = wanted(found["query"].strip())
        if follows is not None:
            following = follows.subscribed(self._db)
            self._open[name] = _Cursor(following.schema.empty_table(), following.shapes, following, holds)
            return Outcome("DECLARE CURSOR")
        outcome = run(found["query"])
        if outcome.rows is None:
            raise SqlStateError("42601", "a cursor is for a query, which gives rows")
        self._open[name] = _Cursor(outcome.rows, outcome.shapes, None, holds)
        return Outcome("DECLARE CURSOR")

    def _fetch(self, text: str, seconds: float, check: Check) -> Outcome:
        found = _FETCH.fullmatch(text)
        if found is None:
            raise SqlStateError(
                FEATURE, f"cannot carry out {text}; write FETCH number FROM name, or FETCH ALL FROM name"
            )
        cursor, count = self._found(found["name"]), (found["count"] or "NEXT").upper()
        waits = seconds if found["timeout"] is None else min(_timeout(found["timeout"]), seconds)
        most = None if count == "ALL" else int(count) if count.isdecimal() else 1
        return Outcome("FETCH", cursor.fetched(most, waits, check), cursor.shapes, counts=True)

    def _close(self, text: str) -> Outcome:
        found = _CLOSE.fullmatch(text)
        if found is None:
            raise SqlStateError("42601", "expected the name of a cursor behind CLOSE")
        if found[1].upper() == "ALL":
            self.end(all=True)
            return Outcome("CLOSE CURSOR ALL")
        self._found(found[1]).close()
        self._open.pop(_folded(found[1]), None)
        return Outcome("CLOSE CURSOR")

    def _found(self, name: str) -> _Cursor | _OfPortal:
        found: _Cursor | _OfPortal | None = self._open.get(_folded(name))
        portal = self._portals.get(_folded(name)) if found is None else None
        if portal is not None and portal.outcome is not None and portal.outcome.rows is not None:
            found = _OfPortal(portal, portal.outcome.rows, portal.outcome.shapes)
        if found is None:
            raise SqlStateError(UNKNOWN_CURSOR, f"there is no cursor {name}; DECLARE makes one")
        return found


def _folded(name: str) -> str:
    return name[1:-1] if name.startswith('"') else name.lower()


def _timeout(text: str) -> float:
    return 0.0 if not text.strip("0s ") else period(text, "timeout")

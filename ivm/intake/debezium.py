"""Envelopes of Debezium's as changes of a table: of each key what leads from its first one to its last one."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from ivm.catalog.errors import ConstraintError
from ivm.catalog.names import key
from ivm.catalog.schema import Table
from ivm.intake.as_it_is import DIFF
from ivm.intake.debezium_values import UNAVAILABLE, fields_of, makers_of
from ivm.intake.documents import What, documents
from ivm.intake.json_rows import made
from ivm.trace.rows.table_store import Mode

_COMES, _GOES = ("c", "r"), "d"
_OPS = "c (created), r (read), u (updated), d (deleted) and t (truncated)"
_Row = dict[str, Any]


class Event(NamedTuple):
    """A row that has come (+1) or gone (-1), as one envelope of some says."""

    envelope: int
    diff: int
    row: _Row


class Read(NamedTuple):
    """What envelopes say: the rows that are to go (`_diff` -1) and come, of each its envelope, and whether all that the
    table holds is to go before.
    """

    rows: list[_Row]
    envelopes: list[int]
    empties: bool


def read_envelopes(data: Any, table: Table, mode: Mode) -> Read:
    """What envelopes, with or without their schema, change in a table; see `documents` for what holds them.

    Those of one key follow each other: in mode "diff" each goes on from what the one before has left, in mode "upsert"
    the last one counts. NULL, as it follows a delete, is nothing. TypeMismatchError for one that is none, and
    ConstraintError for one that contradicts one before; both name it. Cost: some tens of microseconds each.
    """
    what = What(table.name, "envelope")
    events, empties = list[Event](), False
    reader = _Reader(table, what)
    for place, given in enumerate(documents(data, what)):
        found = reader.events(place, given)
        if found is None:
            events, empties = [], True
        else:
            events += found
    kept = _netted(events, reader, mode, empties) if table.primary_key else events
    return Read([{**each.row, DIFF: each.diff} for each in kept], [each.envelope for each in kept], empties)


class _Reader:
    """Reads the envelopes of one table."""

    def __init__(self, table: Table, what: What) -> None:
        self.what = what
        self._table = table
        self._keys = [key(name) for name in table.primary_key]
        self._schema: Any = None
        self._makers = makers_of(table, None)

    def events(self, place: int, given: Any) -> list[Event] | None:
        """What one says; None: the table is truncated."""
        envelope = self._payload(place, given)
        if envelope is None:
            return []
        op = envelope.get("op")
        if op == "t":
            return None
        if op not in (*_COMES, "u", _GOES):
            raise self.what.at(place, f"has {_op(envelope)}; known are {_OPS}")
        before = self._row(place, "before", envelope.get("before"))
        after = self._row(place, "after", envelope.get("after"))
        if after is None and op != _GOES:
            raise self.what.at(place, f"has op {op!r} and no after, which is the row as it became")
        if op in _COMES:
            return [Event(place, 1, after or {})]
        if before is None:
            if op == _GOES or not self._keys:
                raise self.what.at(place, f"has op {op!r} and no before, {self._wanted(op)}")
            before = after
        gone = Event(place, -1, before or {})
        return [gone] if op == _GOES else [gone, Event(place, 1, after or {})]

    def key(self, event: Event) -> tuple[Hashable, ...]:
        """Of the row of an event its primary key; TypeMismatchError where it has none."""
        found = tuple(map(event.row.get, self._table.primary_key))
        if None in found:
            names = {key(str(name)): value for name, value in event.row.items()}
            found = tuple(names.get(name) for name in self._keys)
        if None in found:
            part = "after" if event.diff > 0 else "before"
            missing = self._table.primary_key[found.index(None)]
            raise self.what.at(event.envelope, f"has no {missing!r} in its {part}, which the primary key needs")
        return tuple(each if isinstance(each, Hashable) else repr(each) for each in found)

    def _wanted(self, op: str) -> str:
        if op == _GOES and self._keys:
            return "which says the row that is gone"
        return (
            "and without a primary key nothing else says which row it was; have it sent, in Postgres by ALTER TABLE .. "
            "REPLICA IDENTITY FULL, or declare a primary key"
        )

    def _payload(self, place: int, given: Any) -> Mapping[str, Any] | None:
        schema, found = None, given
        if isinstance(given, Mapping) and "payload" in given and "op" not in given:
            schema, found = given.get("schema"), given["payload"]
        if found is None:
            return None
        if not isinstance(found, Mapping):
            raise self.what.at(
                place, f"is of type {type(found).__name__}; it is a JSON object with before, after and op"
            )
        if schema is not self._schema and schema != self._schema:
            self._schema, self._makers = schema, makers_of(self._table, fields_of(schema))
        return found

    def _row(self, place: int, part: str, given: Any) -> _Row | None:
        if given is None:
            return None
        if not isinstance(given, Mapping):
            raise self.what.at(place, f"has {part} of type {type(given).__name__}, and no JSON object")
        if part == "before" and self._keys:  # what else it says is not looked at, and may be a stand-in
            given = {name: value if key(str(name)) in self._keys else None for name, value in given.items()}
        for name, value in given.items():
            if isinstance(value, str) and value == UNAVAILABLE:
                raise self.what.at(
                    place, f"does not say {name!r}, which is large and has not changed; have it sent, in Postgres by "
                    "ALTER TABLE .. REPLICA IDENTITY FULL",
                )  # fmt: skip
        try:
            return made(given, self._makers)
        except (ValueError, ArithmeticError, TypeError, KeyError) as error:
            name = next(name for name, value in given.items() if not self._is_made(name, value))
            raise self.what.at(place, f"has {part} with column {name!r}: {error}") from error

    def _is_made(self, name: str, value: Any) -> bool:
        try:
            made({name: value}, self._makers)
        except (ValueError, ArithmeticError, TypeError, KeyError):
            return False
        return True


def _op(envelope: Mapping[str, Any]) -> str:
    if "op" in envelope:
        return f"op {envelope['op']!r}"
    return f"no op, but {', '.join(map(str, list(envelope)[:8])) or 'nothing'}"


def _netted(events: Iterable[Event], reader: _Reader, mode: Mode, empties: bool) -> list[Event]:
    """Of each key the row that goes first, if it was there, and the one that is there last."""
    of_keys = dict[tuple[Hashable, ...], list[Event]]()
    for each in events:
        of_keys.setdefault(reader.key(each), []).append(each)
    kept = list[Event]()
    for of_key, those in of_keys.items():
        first, last = those[0], those[-1]
        if mode == "upsert":
            kept.append(last)
            continue
        _check_follow(reader, of_key, those, empties)
        kept += [first] * (first.diff < 0) + [last] * (last.diff > 0)
    return kept


def _check_follow(reader: _Reader, of_key: tuple[Hashable, ...], events: Sequence[Event], empties: bool) -> None:
    """ConstraintError unless rows of one key come and go in turn."""
    shown = ", ".join(map(str, of_key))
    again = "; a source that sends again what it has sent takes mode='upsert'"
    if empties and events[0].diff < 0:
        wrong = f"changes or deletes the row of primary key ({shown}), which one before has truncated{again}"
        raise ConstraintError(str(reader.what.at(events[0].envelope, wrong)))
    for before, each in pairwise(events):
        if before.diff == each.diff:
            done, had = ("creates", "is there since") if each.diff > 0 else ("changes or deletes", "is gone since")
            wrong = f"{done} the row of primary key ({shown}), which {had} envelope {before.envelope}{again}"
            raise ConstraintError(str(reader.what.at(each.envelope, wrong)))

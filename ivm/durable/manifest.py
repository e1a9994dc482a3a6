"""The manifest: what a checkpoint consists of. One file, a page (`ivm.storage.stored.Form`), exchanged as a whole."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from ivm.durable.files import writing
from ivm.storage.storage import Readable, Storage
from ivm.storage.stored import Form, Stored

NAME = "MANIFEST"
_FORM = Form("ivm database", 1)
_FILE = re.compile(r"(\d{20}\.[0-9a-f]{1,32}\.)?[a-z]{1,9}-\d{1,18}\.arrows", re.ASCII)


@dataclass(frozen=True, slots=True)
class Part:
    """Rows of a table, in the order in which they came."""

    written: Stored
    rows: int


@dataclass(frozen=True, slots=True)
class TableFiles:
    """The rows of a table: parts one after the other, which of all these rows live (None: all do), and, after the time
    `since`, when they came and died (None: none did).
    """

    parts: Sequence[Part]
    living: Stored | None
    since: int
    past: Stored | None


@dataclass(frozen=True, slots=True)
class Manifest:
    """A checkpoint: the state of everything after the commit of record `record`, at logical time `time`.

    `defined`: what exists, as `payload.definition_of` writes it down. `planned`: for each maintained view the rows of
    tables by which it was planned. `indexes`: of each table by which columns it is indexed. `states`: by the identity
    of a plan, a file for each state that its node keeps. `next`: the least number that no file's name has.
    """

    record: int
    time: int
    next: int
    batches: Mapping[str, int]
    defined: Mapping[str, Any]
    planned: Mapping[str, Mapping[str, float]]
    indexes: Mapping[str, Sequence[Sequence[int]]]
    tables: Mapping[str, TableFiles]
    states: Mapping[str, Sequence[Stored]]

    def files(self) -> Iterator[tuple[str, Stored]]:
        """All files that belong to it, each with what of the database it is."""
        for name, table in self.tables.items():
            for part in table.parts:
                yield f"rows of table {name}", part.written
            for written in (table.living, table.past):
                if written is not None:
                    yield f"rows of table {name}", written
        for state in self.states.values():
            for written in state:
                yield "the state of views, which can be made again", written


def write_manifest(storage: Storage, manifest: Manifest) -> None:
    """Let this be what the database consists of, and return when that survives a loss of power.

    All its files have to be synced. StorageError if it is not certain.
    """
    page = _FORM.page(plain_of(manifest))
    with writing(storage, NAME):
        storage.sync_names()  # of what it refers to
        storage.replace(NAME, page)


def read_manifest(storage: Readable) -> Manifest | None:
    """What the database consists of; None if there was no checkpoint. StorageError if it cannot be read."""
    return _FORM.read(storage, NAME, manifest_of) if NAME in storage.names() else None


def plain_of(manifest: Manifest) -> dict[str, Any]:
    """What JSON makes a text of, and `manifest_of` a manifest."""
    plain: dict[str, Any] = _plain(manifest)
    return plain


def manifest_of(plain: dict[str, Any]) -> Manifest:
    """The manifest of which `plain_of` and JSON made this. AttributeError, KeyError, TypeError or ValueError
    for anything else.
    """
    tables = {name: _table_of(table, plain["time"]) for name, table in plain["tables"].items()}
    states = {plan: [_written_of(each) for each in state] for plan, state in plain["states"].items()}
    numbers = {name: _number(plain[name]) for name in ("record", "time", "next")}
    batches = {source: _number(number) for source, number in plain["batches"].items()}
    planned = {view: {name: float(rows) for name, rows in of.items()} for view, of in plain["planned"].items()}
    return Manifest(**{**plain, **numbers, "batches": batches, "planned": planned, "tables": tables, "states": states})


def _table_of(plain: dict[str, Any], time: int) -> TableFiles:
    """What there is of a table, as of a time where nothing is said of the past, as earlier releases did."""
    parts = [Part(_written_of(part["written"]), _number(part["rows"])) for part in plain["parts"]]
    living, past = (None if plain.get(name) is None else _written_of(plain[name]) for name in ("living", "past"))
    return TableFiles(parts, living, _number(plain.get("since", time)), past)


def _plain(value: Any) -> Any:
    """The same of dicts and lists, of which `Stored` is one too."""
    if isinstance(value, Stored):
        return value._asdict()
    if is_dataclass(value):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    return [*map(_plain, value)] if isinstance(value, list | tuple) else value


def _written_of(plain: dict[str, Any]) -> Stored:
    if not _FILE.fullmatch(plain["file"]):
        raise ValueError(f"{plain['file']!r} is no name of a file")
    return Stored(plain["file"], _number(plain["bytes"]), _number(plain["crc"]))


def _number(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{value!r} is no number")
    return value

"""The manifest: what a checkpoint consists of. One file, exchanged as a whole, whose text is JSON behind a first line.

That line says what the file is, which format the directory has, and zlib's CRC-32 of the text, in hexadecimal.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ivm.catalog.errors import StorageError
from ivm.durable.files import Written, writing
from ivm.storage.storage import Readable, Storage, read_file

NAME = "MANIFEST"
FORMAT = 1
_FIRST_LINE = re.compile(rb"ivm database, format (\d{1,9}), crc32 ([0-9a-f]{8})\n")


@dataclass(frozen=True, slots=True)
class Part:
    """Rows of a table, in the order in which they came."""

    written: Written
    rows: int


@dataclass(frozen=True, slots=True)
class TableFiles:
    """The rows of a table: parts one after the other, which of all these rows live (None: all do), and, after the time
    `since`, when they came and died (None: none did).
    """

    parts: Sequence[Part]
    living: Written | None
    since: int
    past: Written | None


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
    states: Mapping[str, Sequence[Written]]

    def files(self) -> Iterator[tuple[str, Written]]:
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
    text = json.dumps(asdict(manifest), separators=(",", ":")).encode()
    with writing(storage, NAME):
        storage.sync_names()  # of what it refers to
        storage.replace(NAME, b"ivm database, format %d, crc32 %08x\n" % (FORMAT, zlib.crc32(text)) + text)


def read_manifest(storage: Readable) -> Manifest | None:
    """What the database consists of; None if there was no checkpoint. StorageError if it cannot be read."""
    if NAME not in storage.names():
        return None
    where, data = storage.where(NAME), read_file(storage, NAME).to_pybytes()
    first = _FIRST_LINE.match(data)
    if first is None:
        raise StorageError(f"cannot read {where}: it is no manifest of a database; restore it from a backup")
    if int(first[1]) != FORMAT:
        raise StorageError(
            f"cannot open database {storage.where()}: it has format {int(first[1])}, and this release of ivm reads "
            f"format {FORMAT}; open it with the release that wrote it"
        )
    text = data[first.end() :]
    if zlib.crc32(text) != int(first[2], 16):
        raise StorageError(f"cannot read {where}: it is damaged; restore it from a backup")
    try:
        return manifest_of(json.loads(text))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise StorageError(
            f"cannot read {where}: it was not written by ivm: {error!r}; restore it from a backup"
        ) from error


def manifest_of(plain: dict[str, Any]) -> Manifest:
    """The manifest of which `dataclasses.asdict` and JSON made this. AttributeError, KeyError, TypeError or ValueError
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


def _written_of(plain: dict[str, Any]) -> Written:
    return Written(str(plain["file"]), _number(plain["bytes"]), _number(plain["crc"]))


def _number(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{value!r} is no number")
    return value

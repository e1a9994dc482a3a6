"""The manifest of a stream directory: what is in it, so that a reader needs to trust nothing else.

    DIR/manifest.json
    DIR/base/<relation>/00000.parquet ...       the snapshot that the stream starts from, at time 1 (may be absent)
    DIR/changes/<relation>/00000.parquet ...    the changes, in time order within and across the files

Each file holds a relation's columns, then `_time` and `_diff` (BIGINT), sorted by `_time`.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ivm.tpch.errors import StreamError

FORMAT = 1
NAME = "manifest.json"


@dataclass(frozen=True, slots=True)
class File:
    """One Parquet file: its path relative to the stream directory, rows, size in bytes, first and last time."""

    path: str
    rows: int
    bytes: int
    first_time: int
    last_time: int


@dataclass(frozen=True, slots=True)
class Entry:
    """One relation: (name, Arrow type) of its files' columns, whether every diff is +1, both phases' files by time."""

    columns: tuple[tuple[str, str], ...]
    append_only: bool
    base: tuple[File, ...]
    changes: tuple[File, ...]

    @property
    def base_rows(self) -> int:
        """The number of rows of the base snapshot."""
        return sum(file.rows for file in self.base)


@dataclass(frozen=True, slots=True)
class Manifest:
    """A stream: how it was made (`parameters` are those of its kind), the times of its changes, and its relations.

    `first_time` and `last_time` bound the changes; every time between them occurs. A base snapshot is at time 1,
    before them.
    """

    format: int
    stream: str
    sf: float
    seed: int
    parameters: dict[str, int]
    first_time: int
    last_time: int
    relations: dict[str, Entry]

    @property
    def times(self) -> int:
        """The number of logical times of the changes."""
        return self.last_time - self.first_time + 1

    def times_after(self, time: int) -> int:
        """The number of logical times of the changes that come after one."""
        return self.last_time - max(time, self.first_time - 1)

    @property
    def rows(self) -> int:
        """The number of changes of all relations, without the base snapshot."""
        return sum(file.rows for entry in self.relations.values() for file in entry.changes)


def write(manifest: Manifest, directory: Path) -> None:
    """Write `manifest` into the stream directory."""
    text = json.dumps(dataclasses.asdict(manifest), indent=1)
    (directory / NAME).write_text(text + "\n", encoding="utf-8")


def read(directory: Path) -> Manifest:
    """The manifest of a stream directory. Raises StreamError if there is none, it is damaged, or of another format."""
    path = directory / NAME
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise StreamError(
            f"{directory} is not a stream directory: it has no {NAME}; make one with `ivm tpch generate`"
        ) from None
    except (OSError, ValueError) as error:
        raise StreamError(f"{path} cannot be read: {error}; generate the stream again") from None
    version = data.get("format") if isinstance(data, dict) else None
    if version != FORMAT:
        raise StreamError(f"{path} has format version {version}, not {FORMAT}; generate the stream again")
    try:
        return Manifest(
            format=int(data["format"]),
            stream=str(data["stream"]),
            sf=float(data["sf"]),
            seed=int(data["seed"]),
            parameters={str(name): int(value) for name, value in data["parameters"].items()},
            first_time=int(data["first_time"]),
            last_time=int(data["last_time"]),
            relations={str(name): _entry(entry) for name, entry in data["relations"].items()},
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise StreamError(f"{path} is damaged ({error!r}); generate the stream again") from None


def _entry(data: Mapping[str, Any]) -> Entry:
    return Entry(
        columns=tuple((str(name), str(kind)) for name, kind in data["columns"]),
        append_only=bool(data["append_only"]),
        base=tuple(_file(file) for file in data["base"]),
        changes=tuple(_file(file) for file in data["changes"]),
    )


def _file(data: Mapping[str, Any]) -> File:
    numbers = {name: int(data[name]) for name in ("rows", "bytes", "first_time", "last_time")}
    return File(path=str(data["path"]), **numbers)

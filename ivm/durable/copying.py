"""Copies of a database's files: as of a record, while it is written; whole, or not there at all."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from os import PathLike, fspath
from pathlib import Path
from secrets import token_hex
from typing import NamedTuple

from ivm.catalog.errors import StorageError
from ivm.durable.history import Entry, history, whole_before
from ivm.durable.manifest import NAME, Manifest, read_manifest
from ivm.durable.payload import COMMIT, commit_payload, read_commit, read_head, until
from ivm.durable.streams import Streams
from ivm.storage.certain import NAME as CERTAIN
from ivm.storage.certain import note
from ivm.storage.directory import Directory
from ivm.storage.entries import absolute, sync_directory
from ivm.storage.log import log_name
from ivm.storage.record import HEADER, written
from ivm.storage.storage import Readable, read_file


@contextmanager
def new_directory(path: str | PathLike[str]) -> Iterator[Path]:
    """A directory, to be filled within the block, that is at `path` when the block ends, and nowhere if it raises.

    StorageError if something is there already, other than an empty directory.
    """
    try:
        target = absolute(path)
        aside = target.with_name(f".{target.name}.{token_hex(8)}")
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise FileExistsError("there is something already")
        aside.mkdir()
    except OSError as error:
        raise _refused(path, error) from error
    left: Path | None = aside
    try:
        yield aside
        aside.rename(target)
        left = target
        sync_directory(target.parent)
        left = None
    except OSError as error:
        raise _refused(path, error) from error
    finally:
        if left is not None:
            shutil.rmtree(left, ignore_errors=True)


class Part(NamedTuple):
    """Of a record that holds several commits those up to a logical time."""

    entry: Entry
    time: int


def copy_files(
    storage: Readable, path: Path, manifest: Manifest | None, entries: Sequence[Entry], part: Part | None = None
) -> None:
    """Put a database's files into an empty directory, synced: a checkpoint, and of the log since it these `entries`.

    Behind them comes a `part` of the next one. OSError if that is not possible. Cost: reads and writes them.
    """
    sizes = {log_name(manifest.record + 1 if manifest else 1): 0} | {entry.file: entry.end for entry in entries}
    names = [NAME, *(written.file for _, written in manifest.files())] if manifest else []
    ends = {} if part is None else {part.entry.file: _written(storage, part)}
    with closing(Directory(path)) as copy:
        for name in (*names, *sizes, *(ends.keys() - sizes)):
            size = sizes.get(name, 0 if name in ends else None)
            whole = [] if size == 0 else [memoryview(read_file(storage, name))[:size]]
            copy.put(name, [*whole, *ends.get(name, ())])
        numbers = [entry.number for entry in (*entries, *(() if part is None else (part.entry,)))]
        copy.put(CERTAIN, [note(max(numbers, default=manifest.record if manifest else 0))])
        copy.sync_names()


def back_up(storage: Readable, path: str | PathLike[str], record: int) -> None:
    """Copy a database as it was after a record that is in its files, or after its last checkpoint if that is later."""
    manifest = read_manifest(storage)
    begun = manifest.record if manifest else 0
    entries = [entry for entry in whole_before(list(history(storage, begun))) if entry.number <= record]
    if (entries[-1].number if entries else begun) < record:
        raise StorageError(
            f"cannot copy {storage.where()}: its log is damaged before record {record}; `ivm check` says where"
        )
    with new_directory(path) as aside:
        copy_files(storage, aside, manifest, entries)


def as_of(entries: Sequence[Entry], time: int, begun: int) -> tuple[Sequence[Entry], Part | None]:
    """The records up to the last commit that was not after a logical time, without definitions that came after that.

    If others come after it in its own record, it is in what is returned beside. The log begins at a time; where that is
    0, before the first commit, all definitions count.
    """
    kept, last = 0, begun
    for count, entry in enumerate(entries, start=1):
        if entry.time > time:
            if entry.times and entry.times[0] <= time:
                return entries[: count - 1], Part(entry, time)
            break
        if entry.times or entry.time > last or last == 0:
            kept, last = count, entry.time
    return entries[:kept], None


def _written(storage: Readable, part: Part) -> list[bytes | memoryview]:
    """A record of a part of what another one has, as is its number."""
    entry = part.entry
    payload = read_file(storage, entry.file).slice(entry.start + HEADER, entry.end - entry.start - HEADER)
    head, at = read_head(payload)
    pieces = commit_payload(until(read_commit(head, payload, at), part.time), Streams())
    return written(COMMIT, entry.number, entry.number - 1, pieces)


def _refused(path: str | PathLike[str], error: OSError) -> StorageError:
    return StorageError(
        f"cannot make {fspath(path)!r}: {error.strerror or error}; nothing is left there. Give a name that is not "
        "taken, where there is room"
    )

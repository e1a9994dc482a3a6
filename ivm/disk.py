"""What `ivm check` and `ivm recover` do with a database's directory, or a cluster's folder, which they never change."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

import typer
from rich.console import Console
from rich.text import Text

import ivm
from ivm.catalog.errors import StorageError, UnsupportedError
from ivm.cluster.files.checking import Found
from ivm.cluster.files.checking import checked as looked
from ivm.cluster.files.files import Files
from ivm.cluster.files.folders import address_of, folder_of
from ivm.cluster.files.versions import COMMITS
from ivm.cluster.shard.recovering import recovered
from ivm.durable.check import Checked, checked
from ivm.durable.copying import as_of, copy_files, new_directory
from ivm.durable.history import Entry, history, whole_before
from ivm.durable.manifest import read_manifest
from ivm.progress import opening, progress
from ivm.storage.directory import Directory
from ivm.storage.pinned import Pinned, pinned

_AT_ONCE = 4
"""So many files of a folder are read side by side, which takes as much memory."""
_err = Console(stderr=True)


def check(path: str, *, deep: bool, as_json: bool) -> bool:
    """Look at all files of a database, and say what is wrong with them; `deep` opens it and verifies its views.

    Whether all is well. What a crash leaves is told, and is well.
    """
    folder = _folder(path)
    if deep and folder is not None:
        raise UnsupportedError(
            f"cannot open {path}, which is a cluster's folder; leave --deep out, and use `db.verify()` where it is open"
        )
    found = checked(_now(Path(path))) if folder is None else _of_folder(_looked(folder))
    is_well = all(problem.harmless for problem in found.problems)
    verified = _verified(Path(path)) if deep and is_well else None
    if as_json:
        views = None if verified is None else list(verified)
        typer.echo(json.dumps({"path": str(path), "whole": is_well, **asdict(found), "verified": views}))
        return is_well
    for problem in found.problems:
        style = "dim" if problem.harmless else "red"
        _err.print(Text(f"{problem.file}: {problem.what}\n  affects: {problem.affects}", style=style), soft_wrap=True)
    what = "record" if folder is None else "version"
    typer.echo(
        f"{path}: {_extent(found, what)}" + ("" if is_well else f"; `ivm recover {path} --out COPY` copies that")
    )
    if verified is not None:
        typer.echo(f"{_count(len(verified), 'view')} equal DuckDB" if verified else "there are no views")
    return is_well


def recover(path: str, out: Path, to: int | None) -> None:
    """Copy a database as of a logical time, or all of it that is before any damage, and say what is not in the copy.

    That of a cluster's folder is a directory, in one piece.
    """
    folder = _folder(path)
    if folder is None:
        _recover(Path(path), out, to)
        return
    found = _looked(folder)
    with progress(_err, "shards") as tell:
        version = recovered(found, out, to, lambda done, of: tell("reading shards", done, of))
    with progress(_err, "") as tell, ivm.connect(out, progress=opening(tell)) as db:  # which fills its views
        time = db.time
    left = found.newest - version.version
    typer.echo(f"{out}: as of time {time}" + (f", without {_count(left, 'later step')}" if left else ""))
    _say_lost(_of_folder(found) if to is None else None)


def _recover(path: Path, out: Path, to: int | None) -> None:
    storage = _now(path)
    manifest = read_manifest(storage)
    begun, found = manifest.time if manifest else 0, list(history(storage, manifest.record if manifest else 0))
    whole = whole_before(found)
    last = whole[-1].time if whole else begun
    if to is not None and not begun <= to <= last:
        what = "its log" if len(whole) == len(found) else "what is whole of its log"
        raise StorageError(
            f"cannot copy {path} as of time {to}: {what} goes from time {begun} to {last}; give one of these"
        )
    entries, part = (whole, None) if to is None else as_of(whole, to, begun)
    with new_directory(out) as aside:
        copy_files(storage, aside, manifest, entries, part)
        time = _time(aside, path)
    left = sum(map(_steps, whole[len(entries) :])) - (0 if part is None else sum(at <= time for at in part.entry.times))
    typer.echo(f"{out}: as of time {time}" + (f", without {_count(left, 'later step')}" if left else ""))
    _say_lost(checked(storage) if to is None else None)


def _say_lost(found: Checked | None) -> None:
    """Say what is not in a copy of all that could be had."""
    for problem in () if found is None else found.problems:
        if not problem.harmless:
            said = f"lost: {problem.file}: {problem.what}; {problem.affects}"
            _err.print(Text(said, style="red"), soft_wrap=True)


def _folder(path: str) -> Files | None:
    """The files of a cluster's folder; None for what is none. StorageError if it cannot be reached."""
    if "://" not in path and not (Path(path) / COMMITS).is_dir():
        return None
    files = Files(folder_of(address_of(path)), at_once=_AT_ONCE)
    if not files.names(COMMITS):
        raise StorageError(f"cannot find a database in {path}: give a directory, or a cluster's folder")
    return files


def _looked(folder: Files) -> Found:
    with progress(_err, "files") as tell:
        return looked(folder, lambda done, of: tell("reading", done, of))


def _of_folder(found: Found) -> Checked:
    """The same of a folder as of a directory: versions stand for records."""
    return Checked(found.last.version, found.last.time, found.problems)


def _now(path: Path) -> Pinned:
    """The files of a directory, whoever writes to it meanwhile."""
    with closing(Directory(path, writable=False)) as directory:
        return pinned(directory)


def _time(copy: Path, of: Path) -> int:
    """The logical time of a copy; StorageError, which names the files of the first, if it cannot be opened."""
    try:
        with progress(_err, "") as tell, ivm.connect(copy, read_only=True, progress=opening(tell)) as db:
            return db.time
    except StorageError as error:
        raise StorageError(str(error).replace(str(copy), str(of))) from error


def _verified(path: Path) -> list[str]:
    with progress(_err, "") as tell, ivm.connect(path, read_only=True, progress=opening(tell)) as db:
        tell("verifying", 0, 0)
        return [each.view for each in db.verify()]


def _steps(entry: Entry) -> int:
    """How many commits or definitions a record has."""
    return len(entry.times) or 1


def _extent(found: Checked, what: str) -> str:
    is_well = all(problem.harmless for problem in found.problems)
    return f"{'whole' if is_well else 'whole only'} up to {what} {found.record}, at time {found.time}"


def _count(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"

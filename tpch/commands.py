"""What `ivm tpch generate`, `run` and `verify` do once their options are read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from ivm.progress import progress
from ivm.tpch.cache import ensure, make, open_cached, place
from ivm.tpch.cluster import database
from ivm.tpch.options import Options, Place
from ivm.tpch.reader import Stream
from ivm.tpch.report import save, show, size, suggest
from ivm.tpch.runner import Settings, run

_out, _err = Console(), Console(stderr=True)


def generated(sf: float, streams: Sequence[str], out: Path | None, seed: int, options: Options) -> None:
    """Generate streams, and say what they hold."""
    target = out or place(sf)
    make(sf, streams, target, seed, options)
    for name in streams:
        _describe(open_cached(sf, name, seed, target / name))


def maintained(
    sf: float,
    stream: str,
    seed: int | None,
    data: Path | None,
    json_file: Path | None,
    place: Place,
    settings: Settings,
    *,
    suggests: bool,
) -> None:
    """Maintain views over a stream, and save or show how it went, and what to try next; see `Settings`, `Place`."""
    opened = ensure(sf, stream, seed, data)
    with database(place, _err) as db, progress(_err) as tell:
        report = run(opened, settings, tell, db, is_kept=place.path is not None)
    if json_file is not None:
        save(report, json_file)
    if json_file is not None and str(json_file) == "-":
        return
    show(report, _out)
    if suggests:
        suggest(place, _out)


def _describe(stream: Stream) -> None:
    found = stream.manifest
    entries = found.relations.values()
    stored = sum(file.bytes for entry in entries for file in (*entry.base, *entry.changes))
    base = sum(entry.base_rows for entry in entries)
    start = f"{base:,} rows before, then " if base else ""
    _err.print(
        f"{stream.directory}: {start}{found.rows:,} changes at {found.times:,} logical times, {size(stored)}",
        highlight=False,
    )

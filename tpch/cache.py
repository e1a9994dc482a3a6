"""What commands have in common: the views that they are asked for, and streams, made where they are missing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer
from rich.console import Console

from ivm.progress import progress
from ivm.tpch import manifest, queries
from ivm.tpch.errors import SetupError, StreamError
from ivm.tpch.options import DEFAULT_SEED, DEFAULTS, Options
from ivm.tpch.reader import Stream, open_stream

ROOT = Path("data")


def views_of(text: str) -> tuple[str, ...]:
    """The queries that the option `--views` asks for (see `queries.select`); a usage error if one is none."""
    try:
        return queries.select(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--views") from None


def place(sf: float) -> Path:
    """The directory for the streams of a scale factor: data/sf0.1."""
    return ROOT / f"sf{sf:g}"


def stream_directory(sf: float, stream: str, data: Path | None) -> Path:
    """Where stream `stream` is or belongs: `data` itself if it holds a stream, else `data`/<stream> or the cache's."""
    if data is not None and (data / manifest.NAME).is_file():
        return data
    return (place(sf) if data is None else data) / stream


def ensure(sf: float, stream: str, seed: int | None, data: Path | None) -> Stream:
    """Open a stream, which is made first if it is not there. Raises what `generate` and `open_cached` raise."""
    directory = stream_directory(sf, stream, data)
    if not directory.exists():
        make(sf, [stream], directory.parent, DEFAULT_SEED if seed is None else seed, DEFAULTS)
    return open_cached(sf, stream, seed, data)


def make(sf: float, streams: Sequence[str], target: Path, seed: int, options: Options) -> None:
    """Generate `streams` into `target` with a progress bar on standard error. SetupError without what that needs."""
    try:
        from ivm.tpch.generate import generate  # noqa: PLC0415  Spark, which few commands need
    except ImportError as error:
        raise SetupError(f"to generate TPC-H streams needs pyspark ({error}); install ivm-engine[tpch]") from error

    console = Console(stderr=True)
    if not console.is_terminal:  # where the bar is not seen
        console.print(f"making {', '.join(streams)} at scale factor {sf:g} on Spark, into {target}", highlight=False)
    with progress(console) as tell:
        tell(f"starting Spark for {', '.join(streams)}", 0, 0)
        generate(sf, streams, target, seed, options, tell)


def open_cached(sf: float, stream: str, seed: int | None, data: Path | None) -> Stream:
    """Open a stream that exists. Raises StreamError if it is damaged or was made with another scale factor or seed."""
    directory = stream_directory(sf, stream, data)
    opened = open_stream(directory)
    found = opened.manifest
    differs = [
        f"{what} {is_}, not {wanted}"
        for what, is_, wanted in (("stream", found.stream, stream), ("sf", found.sf, sf), ("seed", found.seed, seed))
        if wanted is not None and is_ != wanted
    ]
    if differs:
        raise StreamError(f"{directory} has {', '.join(differs)}; remove it or give another --data directory")
    return opened

"""`ivm tpch bench streaming`: each view alone over the `load` stream, and DuckDB running the query again and again.

A batch of N is N consecutive logical times made one, so up to N records of each relation. Tuples are those of the
relations that the query reads. Engine time only: the stream is decoded, into memory, before. Everything on one thread.
Figures are those of the median of several passes over the stream, after one whose rate is given as `cold`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from benchmarks import output
from benchmarks.process import measure
from benchmarks.streaming_duckdb import Task as DuckdbTask
from benchmarks.streaming_engine import Task as EngineTask
from tpch.cache import ensure, views_of
from tpch.manifest import Manifest
from tpch.report import amount, size

BATCHES = "1000,10000,100000"
_COLUMNS = (
    "view",
    "\nbatch",
    "\ntuples/s",
    "\ncold",
    "commit\np50 ms",
    "\np99 ms",
    "\nmax ms",
    "peak\nmemory",
    "\nseconds",
    "DuckDB\nre-run s",
    "\nonce s",
)

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
_err = Console(stderr=True)


@app.command()
def streaming(
    sf: Annotated[float, typer.Option("--sf", min=0.001, help="Scale factor.")] = 1.0,
    views: Annotated[str, typer.Option("--views", help="'all' that are delivered, or names such as q1,q3.")] = "all",
    batch: Annotated[str, typer.Option("--batch", help="Batch sizes.")] = BATCHES,
    data: Annotated[Path | None, typer.Option("--data", help="Where streams are. Default: ./data/sf<SF>.")] = None,
    duckdb: Annotated[bool, typer.Option(help="Measure DuckDB too.")] = True,
    samples: Annotated[int, typer.Option(min=1, help="DuckDB: how many re-runs to measure.")] = 20,
    json_file: Annotated[Path, typer.Option("--json", help="Where to write.")] = Path("results/streaming.json"),
) -> None:
    """Throughput, latency and memory of each view alone over a preloaded stream, against re-running it in DuckDB."""
    names, sizes = views_of(views), _sizes(batch)
    stream = ensure(sf, "load", None, data)
    directory = str(stream.directory)
    found: list[dict[str, Any]] = []
    for name in names:
        for times in sizes:
            _err.print(f"{name}, batches of {times:,}: engine", highlight=False)
            engine = measure("benchmarks.streaming_engine", EngineTask(directory, name, times))
            other: dict[str, Any] | None = None
            if duckdb:
                _err.print(f"{name}, batches of {times:,}: DuckDB", highlight=False)
                other = measure("benchmarks.streaming_duckdb", DuckdbTask(directory, name, times, samples))
            found.append({"view": name, "batch": times, "engine": engine, "duckdb": other})
    output.table(_title(stream.manifest), _COLUMNS, [_row(entry) for entry in found])
    result = {"stream": output.described(stream.manifest), "threads": 1, "results": found}
    output.save("streaming", result, json_file)


def _sizes(batch: str) -> tuple[int, ...]:
    try:
        sizes = tuple(int(part) for part in batch.split(","))
    except ValueError:
        sizes = ()
    if not sizes or min(sizes) < 1:
        raise typer.BadParameter(f"{batch} is not a list of positive numbers", param_hint="--batch")
    return sizes


def _title(manifest: Manifest) -> str:
    return f"{manifest.stream} stream, scale factor {manifest.sf:g}, each view alone, one thread, engine time"


def _row(entry: dict[str, Any]) -> tuple[str, ...]:
    engine, other = entry["engine"], entry["duckdb"]
    return (
        entry["view"],
        f"{entry['batch']:,}",
        amount(engine["tuples_per_second"]),
        amount(engine["cold_tuples_per_second"]),
        *(f"{engine[name]:,.2f}" for name in ("p50_ms", "p99_ms", "max_ms")),
        size(engine["peak_bytes"]),
        f"{engine['seconds']:,.2f}",
        f"{other['seconds']:,.2f}" if other else "",
        f"{other['query_once_seconds']:,.2f}" if other else "",
    )

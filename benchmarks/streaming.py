"""`ivm tpch bench streaming`: each view alone over the `load` stream, and DuckDB running the query again and again.

A batch of N is N consecutive logical times made one, so up to N records of each relation; with every time kept, a batch
is as large and has N times. Tuples are those of the relations that the query reads. Engine time only: the stream is
decoded, into memory, before. Figures are those of several passes over the stream, after one that is given as `cold`.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from ivm.benchmarks import output
from ivm.benchmarks.asking import Coalesce, Data, ScaleFactor, Threads, Views, say
from ivm.benchmarks.figures import Figure, Label, one, repeated, spread
from ivm.benchmarks.process import measure
from ivm.benchmarks.streaming_duckdb import Task as DuckdbTask
from ivm.benchmarks.streaming_engine import Task as EngineTask
from ivm.tpch.cache import ensure, views_of
from ivm.tpch.manifest import Manifest
from ivm.tpch.report import amount, size

BATCHES = "1000,10000,100000"
_ALL = "all"
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


@app.command()
def streaming(
    sf: ScaleFactor = 1.0,
    views: Views = "all",
    batch: Annotated[str, typer.Option("--batch", help="Batch sizes; 'all' is everything in one commit.")] = BATCHES,
    coalesce: Coalesce = True,
    threads: Threads = 1,
    passes: Annotated[int, typer.Option(min=1, help="Passes after the first.")] = 3,
    data: Data = None,
    duckdb: Annotated[bool, typer.Option(help="Measure DuckDB too.")] = True,
    samples: Annotated[int, typer.Option(min=1, help="DuckDB: how many re-runs to measure.")] = 20,
    json_file: Annotated[Path, typer.Option("--json", help="Where to write.")] = Path("results/streaming.json"),
) -> None:
    """Throughput, latency and memory of each view alone over a preloaded stream, against re-running it in DuckDB."""
    began = time.monotonic()
    names, sizes = views_of(views), _sizes(batch)
    stream = ensure(sf, "load", None, data)
    directory = str(stream.directory)
    found: list[dict[str, Any]] = []
    for name in names:
        for times in sizes:
            what = f"{name}, " + (f"batches of {times:,}" if times else "all in one commit")
            say(f"{what}: engine")
            task = EngineTask(directory, name, times, passes, coalesce, threads)
            engine = measure("ivm.benchmarks.streaming_engine", task)
            other: dict[str, Any] | None = None
            if duckdb:
                say(f"{what}: DuckDB")
                other = measure("ivm.benchmarks.streaming_duckdb", DuckdbTask(directory, name, times, samples))
            found.append({"view": name, "batch": times or _ALL, "engine": engine, "duckdb": other})
    output.table(_title(stream.manifest, coalesce, threads), _COLUMNS, [_row(entry) for entry in found])
    parameters = {"sf": sf, "views": views, "batch": batch, "coalesce": coalesce, "threads": threads, "passes": passes}
    figures = [figure for entry in found for figure in _figures(entry, coalesce, threads)]
    detail = {"stream": output.described(stream.manifest), "results": found}
    output.save("streaming", parameters, figures, detail, json_file, began)


def _sizes(batch: str) -> tuple[int, ...]:
    """The sizes that were asked for, 0 for all."""
    try:
        sizes = tuple(0 if part == _ALL else int(part) or -1 for part in batch.split(","))
    except ValueError:
        sizes = ()
    if not sizes or min(sizes) < 0:
        raise typer.BadParameter(f"{batch} is not a list of positive numbers, or '{_ALL}'", param_hint="--batch")
    return sizes


def _title(manifest: Manifest, coalesce: bool, threads: int) -> str:
    kept = "each batch one time" if coalesce else "every time kept"
    return f"{manifest.stream} stream, scale factor {manifest.sf:g}, each view alone, {kept}, threads: {threads}"


def _figures(entry: dict[str, Any], coalesce: bool, threads: int) -> list[Figure]:
    engine, other = entry["engine"], entry["duckdb"]
    batch: dict[str, Label] = {"view": entry["view"], "batch": entry["batch"]}
    of: dict[str, Label] = {**batch, "times": "coalesced" if coalesce else "kept", "threads": threads}
    found = [
        one("first pass", "s", engine["cold_seconds"], **of),
        repeated("later passes", "s", engine["pass_seconds"], **of),
        spread("commit", "ms", engine["quantiles_ms"], engine["measured_commits"], **of),
        one("tuples", "", engine["tuples"], **of),
        one("state", "B", engine["state_bytes"], **of),
        one("peak memory", "B", engine["peak_bytes"], **of),
        one("commits that compiled", "", engine["compiled_commits"], **of),
        one("time of commits that compiled", "s", engine["compiled_seconds"], **of),
    ]
    if other:
        found.append(one("DuckDB, query once", "s", other["query_once_seconds"], **batch))
        found.append(one("DuckDB, appends", "s", other["append_seconds"], **batch))
        found.append(one("DuckDB, appends and the query after each batch", "s", other["seconds"], **batch))
    return found


def _row(entry: dict[str, Any]) -> tuple[str, ...]:
    engine, other = entry["engine"], entry["duckdb"]
    return (
        entry["view"],
        entry["batch"] if entry["batch"] == _ALL else f"{entry['batch']:,}",
        amount(engine["tuples_per_second"]),
        amount(engine["cold_tuples_per_second"]),
        *(f"{engine[name]:,.2f}" for name in ("p50_ms", "p99_ms", "max_ms")),
        size(engine["peak_bytes"]),
        f"{engine['seconds']:,.2f}",
        f"{other['seconds']:,.2f}" if other else "",
        f"{other['query_once_seconds']:,.2f}" if other else "",
    )

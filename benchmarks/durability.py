"""`ivm tpch bench durability`: what it costs that a database outlives its process.

A view over the `load` stream, in memory and on disk with each kind of durability, pass after pass in turns; and small
commits of the `refresh` stream into a database in memory and one that syncs each of them, side by side, with the time
of the syncs alone. Then a database of the whole stream under all views: what it takes on the disk, how long opening it
takes after a close and after a kill, and what a checkpoint does to commits.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from ivm.benchmarks import durability_files, output
from ivm.benchmarks.asking import Data, ScaleFactor, numbers, say
from ivm.benchmarks.durability_commits_engine import Task as CommitsTask
from ivm.benchmarks.durability_engine import MEMORY, MODES, Task
from ivm.benchmarks.figures import Figure, Label, one, repeated, spread
from ivm.benchmarks.process import measure
from ivm.tpch.cache import ensure, views_of
from ivm.tpch.report import size

_ROWS_PER_ORDER = 5  # an order and, on average, four lineitems
_WARM_UP = 20
_PASSES_COLUMNS = ("view", "\nbatch", *(f"{mode}\ns" for mode in MODES), *(f"{mode}\nratio" for mode in MODES[1:]))
_COMMITS_COLUMNS = ("each of 100 rows, about", "p50 ms", "p99 ms", "max ms")

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
Measured = tuple[list[Figure], Any]
"""Figures, and in detail what they were made of."""


@app.command()
def durability(
    sf: ScaleFactor = 1.0,
    views: Annotated[str, typer.Option("--views", help="'all' that are delivered, or names.")] = "q1,q3,q9,q18",
    batch: Annotated[str, typer.Option("--batch", help="Batch sizes of the stream.")] = "100000,1000",
    passes: Annotated[int, typer.Option(min=1, help="Passes over the stream, after the first; openings.")] = 3,
    commits: Annotated[int, typer.Option(min=1, help="Small commits to measure.")] = 1_000,
    whole: Annotated[str, typer.Option("--whole", help="Views of the database that is opened.")] = "all",
    log: Annotated[int, typer.Option(min=0, help="MiB of log that are there when it is killed.")] = 100,
    at: Annotated[Path | None, typer.Option("--at", help="A folder on the disk to measure. Default: this one.")] = None,
    data: Data = None,
    json_file: Annotated[Path, typer.Option("--json", help="Where to write.")] = Path("results/durability.json"),
) -> None:
    """What the log costs streaming and small commits, what a checkpoint does, and how fast a database opens."""
    began = time.monotonic()
    names = views_of(views)
    sizes = numbers(batch, int, "--batch")
    load, refresh = (str(ensure(sf, stream, None, data).directory) for stream in ("load", "refresh"))
    with tempfile.TemporaryDirectory(prefix="ivm-durability-", dir=at or ".") as folder:
        parts = {
            "streaming": _streaming(load, names, sizes, passes, folder),
            "commits": _commits(refresh, names, commits, folder),
            "files": durability_files.measured(load, refresh, views_of(whole), log << 20, passes, folder),
        }
    parameters = {"sf": sf, "views": views, "batch": batch, "passes": passes, "commits": commits, "whole": whole}
    figures = [figure for found, _ in parts.values() for figure in found]
    detail = {name: each for name, (_, each) in parts.items()}
    output.save("durability", parameters, figures, detail, json_file, began)


def _streaming(stream: str, views: tuple[str, ...], sizes: list[int], passes: int, folder: str) -> Measured:
    """Each view alone over the stream."""
    found: list[dict[str, Any]] = []
    for view in views:
        for times in sizes:
            say(f"{view}, batches of {times:,}")
            result = measure("ivm.benchmarks.durability_engine", Task(stream, view, times, passes, folder))
            found.append({"view": view, "batch": times, **result})
    output.table("load stream, each view alone, seconds in commits", _PASSES_COLUMNS, [_row(each) for each in found])
    figures = []
    for entry in found:
        of: dict[str, Label] = {"view": entry["view"], "batch": entry["batch"]}
        for mode in MODES:
            figures.append(repeated("passes", "s", entry["modes"][mode]["seconds"], durability=mode, **of))
            figures.append(repeated("passes, with closing", "s", entry["modes"][mode]["whole"], durability=mode, **of))
    return figures, found


def _row(entry: dict[str, Any]) -> tuple[str, ...]:
    middle = {mode: _middle(entry["modes"][mode]["seconds"]) for mode in MODES}
    return (
        entry["view"],
        f"{entry['batch']:,}",
        *(f"{middle[mode]:.3f}" for mode in MODES),
        *(f"{middle[mode] / middle[MEMORY]:.2f}" for mode in MODES[1:]),
    )


def _middle(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def _commits(stream: str, views: tuple[str, ...], commits: int, folder: str) -> Measured:
    """Commits of 20 orders with their lineitems under all views."""
    orders = 100 // _ROWS_PER_ORDER
    say(f"commits of {orders} orders, each on the disk")
    task = CommitsTask(stream, views, orders, commits, _WARM_UP, folder)
    found = measure("ivm.benchmarks.durability_commits_engine", task)
    output.table("refresh stream, all of these views", _COMMITS_COLUMNS, [_latency_row(found, n) for n in _LATENCIES])
    output.note(f"{found['log_bytes'] / found['rows']:.0f} bytes of log a change, {size(found['log_bytes'])} in all")
    figures = [spread(name, "ms", found[name]["quantiles_ms"], found["commits"], orders=orders) for name in _LATENCIES]
    return [
        *figures,
        one("log of small commits, a change", "B", found["log_bytes"] / found["rows"], orders=orders),
    ], found


_LATENCIES = ("commit in memory", "commit on disk", "its sync", "commit on disk without its sync")


def _latency_row(found: dict[str, Any], name: str) -> tuple[str, ...]:
    return name, *(f"{found[name][each]:,.3f}" for each in ("p50_ms", "p99_ms", "max_ms"))

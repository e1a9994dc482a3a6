"""`ivm tpch bench concurrent`: all views installed at once, over each kind of stream from its beginning to its end."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from ivm.benchmarks import latency_figures, output
from ivm.benchmarks.asking import Coalesce, Data, ScaleFactor, Threads, Views, chosen, shown
from ivm.benchmarks.figures import Figure, Label, one
from ivm.benchmarks.latency_engine import Task
from ivm.benchmarks.side_by_side import gain
from ivm.tpch.cache import ensure, views_of
from ivm.tpch.options import STREAMS
from ivm.tpch.report import amount

_COLUMNS = (
    "stream",
    "\nchanges",
    "\ncommits",
    "\nseconds",
    *latency_figures.COLUMNS,
)

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def concurrent(
    sf: ScaleFactor = 1.0,
    streams: Annotated[str, typer.Option("--streams", help=f"'all', or of {', '.join(STREAMS)}.")] = "all",
    views: Views = "all",
    batch: Annotated[int, typer.Option(min=1, help="Logical times per physical batch.")] = 100_000,
    coalesce: Coalesce = True,
    commits: Annotated[int, typer.Option(min=0, help="Commits at most; 0: the whole stream.")] = 0,
    threads: Threads = 1,
    data: Data = None,
    json_file: Annotated[Path, typer.Option("--json", help="Where to write.")] = Path("results/concurrent.json"),
) -> None:
    """Throughput, latency and memory of all views together over each stream."""
    began = time.monotonic()
    names = views_of(views)
    found: dict[str, dict[str, Any]] = {}
    for name in chosen(streams, STREAMS, "stream"):
        opened = ensure(sf, name, None, data)
        task = Task(str(opened.directory), names, batch, commits, 0, coalesce, threads)
        found[name] = shown("ivm.benchmarks.latency_engine", task, name, "commits")
    kept = "each batch one time" if coalesce else "every time kept"
    title = f"scale factor {sf:g}, {len(names)} views installed, batches of {batch:,} times, {kept}, threads: {threads}"
    output.table(title, _COLUMNS, [_row(name, entry) for name, entry in found.items()])
    parameters = {"sf": sf, "streams": streams, "views": views, "batch": batch, "coalesce": coalesce,
                  "commits": commits, "threads": threads}  # fmt: skip
    of: dict[str, Label] = {"batch": batch, "times": "coalesced" if coalesce else "kept", "threads": threads}
    figures = [figure for name, entry in found.items() for figure in _figures(entry, {"stream": name, **of})]
    if threads > 1:
        figures.append(one("threads that only compute", "times", gain(threads), threads=threads))
        output.note(f"{threads} threads that only compute do {figures[-1].value:.2f} times as much here as one")
    output.save("concurrent", parameters, figures, {"results": found}, json_file, began)


def _figures(entry: dict[str, Any], of: dict[str, Label]) -> list[Figure]:
    return [
        one("all commits", "s", entry["seconds"], **of),
        one("changes", "", entry["rows"], **of),
        *latency_figures.figures(entry, of),
    ]


def _row(name: str, entry: dict[str, Any]) -> tuple[str, ...]:
    return (
        name,
        amount(entry["rows"]),
        f"{entry['commits']:,}",
        f"{entry['seconds']:,.2f}",
        *latency_figures.cells(entry),
    )

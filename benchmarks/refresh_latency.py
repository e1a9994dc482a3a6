"""`ivm tpch bench refresh-latency`: small commits of the `refresh` stream with all views installed.

The cost of a small commit must not grow with the tables: it is measured at several scale factors and compared.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from ivm.benchmarks import latency_figures, output
from ivm.benchmarks.asking import Threads, Views, numbers, say
from ivm.benchmarks.figures import Figure, Label, one
from ivm.benchmarks.latency_engine import Task
from ivm.benchmarks.process import measure
from ivm.tpch.cache import ensure, views_of

_ROWS_PER_ORDER = 5  # an order and, on average, four lineitems
_WARM_UP = 20
_COLUMNS = (
    "sf",
    "\ncommits",
    "rows a\ncommit",
    *latency_figures.COLUMNS,
)

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def refresh_latency(
    sf: Annotated[str, typer.Option("--sf", help="Scale factors.")] = "0.1,1",
    views: Views = "all",
    rows: Annotated[str, typer.Option("--rows", help="Rows per commit, about: 5 is an order.")] = "100",
    commits: Annotated[int, typer.Option(min=1, help="Commits to measure.")] = 1_000,
    threads: Threads = 1,
    data: Annotated[Path | None, typer.Option("--data", help="Holds sf<SF>/refresh. Default: ./data.")] = None,
    json_file: Annotated[Path, typer.Option("--json", help="Where to write.")] = Path("results/refresh_latency.json"),
) -> None:
    """Latency of small commits with all views installed, at several scale factors."""
    began = time.monotonic()
    names = views_of(views)
    factors, sizes = numbers(sf, float, "--sf"), numbers(rows, int, "--rows")
    found: list[dict[str, Any]] = []
    for factor in factors:
        stream = ensure(factor, "refresh", None, None if data is None else data / f"sf{factor:g}")
        for wanted in sizes:
            orders = max(1, wanted // _ROWS_PER_ORDER)
            say(f"scale factor {factor:g}, orders a commit: {orders}")
            task = Task(str(stream.directory), names, orders, commits, _WARM_UP, threads=threads)
            result = measure("ivm.benchmarks.latency_engine", task)
            found.append({"sf": factor, "orders": orders, "seed": stream.manifest.seed, **result})
    title = f"refresh stream, {len(names)} views installed, orders with their lineitems, threads: {threads}"
    output.table(title, _COLUMNS, [_row(entry) for entry in found])
    parameters = {"sf": sf, "views": views, "rows": rows, "commits": commits, "threads": threads}
    figures = [figure for entry in found for figure in _figures(entry, threads)]
    output.save("refresh-latency", parameters, figures, {"results": found}, json_file, began)


def _figures(entry: dict[str, Any], threads: int) -> list[Figure]:
    of: dict[str, Label] = {"sf": entry["sf"], "orders": entry["orders"], "threads": threads}
    return [
        one("rows a commit", "", entry["rows_per_commit"], **of),
        *latency_figures.figures(entry, of),
    ]


def _row(entry: dict[str, Any]) -> tuple[str, ...]:
    return (
        f"{entry['sf']:g}",
        f"{entry['commits']:,}",
        f"{entry['rows_per_commit']:.0f}",
        *latency_figures.cells(entry),
    )

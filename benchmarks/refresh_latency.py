"""`ivm tpch bench refresh-latency`: commits of about 100 rows of the `refresh` stream with all views installed.

The cost of a small commit must not grow with the tables: it is measured at several scale factors and compared.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from benchmarks import output
from benchmarks.latency_engine import Task
from benchmarks.process import measure
from tpch.cache import ensure, views_of
from tpch.report import size

_ROWS_PER_ORDER = 5  # an order and, on average, four lineitems
_WARM_UP = 20
_COLUMNS = (
    "sf",
    "\ncommits",
    "rows a\ncommit",
    "commit\np50 ms",
    "\np99 ms",
    "\nmax ms",
    "base\nload s",
    "hydrate\ns",
    "peak\nmemory",
)

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
_err = Console(stderr=True)


@app.command()
def refresh_latency(
    sf: Annotated[str, typer.Option("--sf", help="Scale factors.")] = "0.1,1",
    views: Annotated[str, typer.Option("--views", help="'all' that are delivered, or names such as q1,q3.")] = "all",
    rows: Annotated[int, typer.Option(min=_ROWS_PER_ORDER, help="Rows per commit, about.")] = 100,
    commits: Annotated[int, typer.Option(min=1, help="Commits to measure.")] = 1_000,
    data: Annotated[Path | None, typer.Option("--data", help="Holds sf<SF>/refresh. Default: ./data.")] = None,
    json_file: Annotated[Path, typer.Option("--json", help="Where to write.")] = Path("results/refresh_latency.json"),
) -> None:
    """Latency of small commits with all views installed, at several scale factors."""
    names = views_of(views)
    try:
        factors = [float(part) for part in sf.split(",")]
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--sf") from None
    orders = max(1, rows // _ROWS_PER_ORDER)
    found: list[dict[str, Any]] = []
    for factor in factors:
        stream = ensure(factor, "refresh", None, None if data is None else data / f"sf{factor:g}")
        _err.print(f"scale factor {factor:g}", highlight=False)
        task = Task(str(stream.directory), names, orders, commits, _WARM_UP)
        result = measure("benchmarks.latency_engine", task)
        found.append({"sf": factor, "seed": stream.manifest.seed, **result})
    title = f"refresh stream, {len(names)} views installed, commits of {orders} orders with their lineitems, one thread"
    output.table(title, _COLUMNS, [_row(entry) for entry in found])
    result = {
        "views": names,
        "results": found,
        "p50_growth": found[-1]["p50_ms"] / found[0]["p50_ms"],
    }
    output.save("refresh-latency", result, json_file)


def _row(entry: dict[str, Any]) -> tuple[str, ...]:
    return (
        f"{entry['sf']:g}",
        f"{entry['commits']:,}",
        f"{entry['rows_per_commit']:.0f}",
        *(f"{entry[name]:,.2f}" for name in ("p50_ms", "p99_ms", "max_ms", "load_seconds", "hydrate_seconds")),
        size(entry["peak_bytes"]),
    )

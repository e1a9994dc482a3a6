"""`ivm tpch bench installing`: views created one after the other over loaded tables, while another thread commits.

No commit should wait much longer than a chunk of the rows that the view reads, and memory peak near where it ends.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from ivm.benchmarks import output
from ivm.benchmarks.asking import Views, say
from ivm.benchmarks.figures import Figure, one, spread
from ivm.benchmarks.installing_engine import Task
from ivm.benchmarks.process import measure
from ivm.tpch.cache import ensure, views_of
from ivm.tpch.report import size

_ROWS_PER_ORDER = 5  # an order and, on average, four lineitems
_COLUMNS = (
    "view",
    "created\nin s",
    "commits\nmeanwhile",
    "\np50 ms",
    "\np99 ms",
    "\nmax ms",
    "memory\nbefore",
    "\npeak",
    "\nafter",
)

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def installing(
    sf: Annotated[float, typer.Option("--sf", help="Scale factor.")] = 1.0,
    views: Views = "all",
    rows: Annotated[int, typer.Option(min=_ROWS_PER_ORDER, help="Rows per commit, about.")] = 100,
    data: Annotated[Path | None, typer.Option("--data", help="Holds sf<SF>/refresh. Default: ./data.")] = None,
    json_file: Annotated[Path, typer.Option("--json", help="Where to write.")] = Path("results/installing.json"),
) -> None:
    """Latency of small commits, and memory, while views are created."""
    began = time.monotonic()
    names = views_of(views)
    stream = ensure(sf, "refresh", None, None if data is None else data / f"sf{sf:g}")
    say(f"scale factor {sf:g}")
    orders = max(1, rows // _ROWS_PER_ORDER)
    found: list[dict[str, Any]] = measure(
        "ivm.benchmarks.installing_engine", Task(str(stream.directory), names, orders)
    )["views"]
    title = f"refresh stream, commits of {orders} orders with their lineitems while each view is created"
    output.table(title, _COLUMNS, [_row(entry) for entry in found])
    parameters = {"sf": sf, "views": views, "rows": rows}
    figures = [figure for entry in found for figure in _figures(entry)]
    output.save("installing", parameters, figures, {"seed": stream.manifest.seed, "results": found}, json_file, began)


def _figures(entry: dict[str, Any]) -> list[Figure]:
    of = {"view": entry["view"]}
    return [
        one("creation beside commits", "s", entry["seconds"], **of),
        spread("commit meanwhile", "ms", entry["quantiles_ms"], entry["measured_commits"], **of),
        one("memory before", "B", entry["before_bytes"], **of),
        one("peak memory", "B", entry["peak_bytes"], **of),
        one("memory after", "B", entry["after_bytes"], **of),
        one("commits that compiled", "", entry["compiled_commits"], **of),
        one("time of commits that compiled", "s", entry["compiled_seconds"], **of),
    ]


def _row(entry: dict[str, Any]) -> tuple[str, ...]:
    return (
        entry["view"],
        f"{entry['seconds']:.2f}",
        f"{entry['commits']:,}",
        *(f"{entry[name]:,.2f}" for name in ("p50_ms", "p99_ms", "max_ms")),
        *(size(entry[name]) for name in ("before_bytes", "peak_bytes", "after_bytes")),
    )

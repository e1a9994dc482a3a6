"""`ivm tpch bench commit`: what a small commit costs, part by part, and how many calls it takes."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from ivm.benchmarks import output
from ivm.benchmarks.asking import Data, ScaleFactor, Views, say
from ivm.benchmarks.commit_engine import ROWS, Task
from ivm.benchmarks.commit_parts import PARTS
from ivm.benchmarks.figures import Figure, one
from ivm.benchmarks.process import measure
from ivm.tpch.cache import ensure, views_of

_PARTS = (*PARTS, "around")
_COLUMNS = ("commit", "us", "p99 us", *_PARTS, "calls", "of C")
_ALONE = ("q1", "q6", "q3")
"""Views over the whole of a stream that is loaded: one table without a key, with a filter, a join of three."""
_FILTERS = 1_000
"""Views that filter one table by a constant each."""

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def commit(
    sf: ScaleFactor = 0.1,
    views: Views = "all",
    commits: Annotated[int, typer.Option(min=1, help="Commits of each kind, at most.")] = 400,
    data: Data = None,
    json_file: Annotated[Path, typer.Option("--json", help="Where to write.")] = Path("results/commit.json"),
) -> None:
    """One row under a view, none and 1,000, an ASOF JOIN, a tick, 1,000 rows, an order: microseconds, calls."""
    began = time.monotonic()
    names = views_of(views)
    found: dict[str, dict[str, Any]] = {}
    for name, task in _tasks(sf, names, commits, data):
        say(name)
        found[name] = measure("ivm.benchmarks.commit_engine", task)
    output.table(
        f"one commit at scale factor {sf:g}: medians, microseconds by part",
        _COLUMNS,
        [_row(*each) for each in found.items()],
    )
    parameters = {"sf": sf, "views": views, "commits": commits}
    figures = [figure for name, entry in found.items() for figure in _figures(name, entry)]
    output.save("commit", parameters, figures, {"results": found}, json_file, began)


def _tasks(sf: float, names: tuple[str, ...], commits: int, data: Path | None) -> list[tuple[str, Task]]:
    """What is measured, by name."""
    load, refresh = (str(ensure(sf, stream, None, data).directory) for stream in ("load", "refresh"))
    warm_up = commits // 4
    tasks = [("a row, no view", Task("apply", (), commits, warm_up))]
    tasks += [(f"a row, {kind}, a sum", Task(kind, ("revenue",), commits, warm_up)) for kind in ROWS]
    filters = tuple(f"shop{shop}" for shop in range(_FILTERS))
    tasks.append((f"a row, {_FILTERS:,} views, one wants it", Task("wanted", filters, commits, warm_up)))
    for kind, rows in (("quote", 1_000_000), ("tick", 10_000_000)):
        tasks.append((f"a {kind}, {rows:,} there", Task(kind, ("near",), commits, warm_up, rows=rows)))
    for view in ("", *(each for each in _ALONE if each in names)):
        read = (view,) if view else ()
        tasks.append((f"1,000 rows, {view or 'no view'}", Task("stream", read, commits, warm_up, load, 1_000)))
    for orders in (1, 20):
        said = f"{orders} order{'s' * (orders > 1)}, {len(names)} views"
        tasks.append((said, Task("stream", names, commits, warm_up, refresh, orders)))
    return tasks


def _row(name: str, entry: dict[str, Any]) -> tuple[str, ...]:
    numbers = (entry["microseconds"], entry["p99_microseconds"], *(entry["parts"][part] for part in _PARTS))
    return (name, *(f"{each:,.0f}" for each in numbers), f"{entry['calls']:,.0f}", f"{entry['calls_of_c']:,.0f}")


def _figures(name: str, entry: dict[str, Any]) -> list[Figure]:
    return [
        one("commit", "us", entry["microseconds"], commit=name),
        one("commit, 99 %", "us", entry["p99_microseconds"], commit=name),
        *(one("part of a commit", "us", entry["parts"][part], commit=name, part=part) for part in _PARTS),
        one("calls of a commit", "", entry["calls"], commit=name, of="Python"),
        one("calls of a commit", "", entry["calls_of_c"], commit=name, of="C"),
    ]

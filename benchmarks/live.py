"""`ivm tpch bench live`: what it costs that others look on: listeners, readers, clients of a server."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from ivm.benchmarks import output
from ivm.benchmarks.asking import chosen, say
from ivm.benchmarks.figures import Figure, one
from ivm.benchmarks.live_engine import KINDS, Task
from ivm.benchmarks.process import measure

_COLUMNS = ("what", "found", "asked at most", "")
_LISTENERS = {"tenants": 10}
"""How many times as many listen as are asked for."""

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def live(
    kinds: Annotated[str, typer.Option("--kinds", help=f"'all', or of {', '.join(KINDS)}.")] = "all",
    listeners: Annotated[int, typer.Option(min=2, help="Who listen to a view; tenants: ten times as many.")] = 1_000,
    rows: Annotated[int, typer.Option(min=1, help="Rows that are there before.")] = 1_000_000,
    commits: Annotated[int, typer.Option(min=1, help="Commits of each kind.")] = 400,
    json_file: Annotated[Path, typer.Option("--json", help="Where to write.")] = Path("results/live.json"),
) -> None:
    """Commits while others listen, each to his part, read, select and verify: microseconds, and times those alone."""
    began = time.monotonic()
    found: list[dict[str, Any]] = []
    for name in chosen(kinds, KINDS, "kind"):
        say(name)
        asked = Task(name, listeners * _LISTENERS.get(name, 1), rows, commits)
        found += [{"kind": name, **each} for each in measure("ivm.benchmarks.live_engine", asked)["figures"]]
    output.table("what it costs that others look on", _COLUMNS, list(map(_row, found)))
    parameters = {"kinds": kinds, "listeners": listeners, "rows": rows, "commits": commits}
    output.save("live", parameters, list(map(_shown, found)), {"results": found}, json_file, began)


def _row(entry: dict[str, Any]) -> tuple[str, ...]:
    asked = f"{entry['asked']:g}" if "asked" in entry else ""
    return entry["name"], f"{entry['value']:,.2f}", asked, entry["unit"] or "times"


def _shown(entry: dict[str, Any]) -> Figure:
    asked = {"asked": entry["asked"]} if "asked" in entry else {}
    return one(entry["name"], entry["unit"], entry["value"], kind=entry["kind"], **asked)

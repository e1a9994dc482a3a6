"""`ivm tpch bench adversarial`: the changes that hurt extremes, top-k and moving bounds most, one at a time.

Losing the maximum of a group of a million rows must cost a logarithm: less than a millisecond a commit. A bound that
sweeps over all rows must visit those that cross it, and no others.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from ivm.benchmarks import output
from ivm.benchmarks.adversarial_engine import CASES, Task
from ivm.benchmarks.asking import chosen, say
from ivm.benchmarks.figures import Figure, one, spread
from ivm.benchmarks.process import measure
from ivm.tpch.report import size

_COLUMNS = ("each commit", "rows", "commits", "p50 ms", "p99 ms", "max ms", "peak\nmemory")

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def adversarial(
    cases: Annotated[str, typer.Option("--cases", help=f"'all', or of {', '.join(CASES)}.")] = "all",
    rows: Annotated[int, typer.Option(min=1, help="Rows of the group.")] = 1_000_000,
    commits: Annotated[int, typer.Option(min=1, help="Commits to measure.")] = 2_000,
    json_file: Annotated[Path, typer.Option("--json", help="Where to write.")] = Path("results/adversarial.json"),
) -> None:
    """Latency of single changes to the extremes and the first rows of a large group, and of a bound over its rows."""
    began = time.monotonic()
    found: list[dict[str, Any]] = []
    for name in chosen(cases, CASES, "case"):
        say(CASES[name].title)
        result = measure("ivm.benchmarks.adversarial_engine", Task(name, rows, commits))
        found.append({"case": name, "view": CASES[name].view, **result})
    output.table("one change a commit, one thread", _COLUMNS, [_row(entry) for entry in found])
    for entry in found:
        if "visited" in entry:
            title = CASES[entry["case"]].title
            output.note(f"{title}: {entry['visited']:,} rows visited, {entry['crossed']:,} rows crossed")
    parameters = {"cases": cases, "rows": rows, "commits": commits}
    figures = [figure for entry in found for figure in _figures(entry)]
    output.save("adversarial", parameters, figures, {"results": found}, json_file, began)


def _figures(entry: dict[str, Any]) -> list[Figure]:
    of = {"case": entry["case"]}
    return [
        spread("commit", "ms", entry["quantiles_ms"], entry["measured_commits"], **of),
        one("peak memory", "B", entry["peak_bytes"], **of),
        one("commits that compiled", "", entry["compiled_commits"], **of),
        one("time of commits that compiled", "s", entry["compiled_seconds"], **of),
        *(one(f"rows {name}", "", entry[name], **of) for name in ("visited", "crossed") if name in entry),
    ]


def _row(entry: dict[str, Any]) -> tuple[str, ...]:
    return (
        CASES[entry["case"]].title,
        f"{entry['rows']:,}",
        f"{entry['commits']:,}",
        *(f"{entry[name]:,.3f}" for name in ("p50_ms", "p99_ms", "max_ms")),
        size(entry["peak_bytes"]),
    )

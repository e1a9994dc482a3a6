"""`ivm tpch bench waiting`: how long commits and reads wait while a view of each kind is created over a large table.

The target is 50 ms at the 99th percentile and 200 ms at worst, for commits of one row, of the table that is read and of
another, and for reads of another view.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from ivm.benchmarks import output
from ivm.benchmarks.asking import chosen, say
from ivm.benchmarks.figures import Figure, one, spread
from ivm.benchmarks.process import measure
from ivm.benchmarks.waiting_engine import KINDS, Task

_WHO = {"apart": "other\ntable", "same": "same\ntable", "read": "reads\n"}
_NAMES = {"apart": "commits to another table", "same": "commits to the same table", "read": "reads"}
_COLUMNS = (
    "view",
    "created\nin s",
    *(f"{who}{figure}" for who in _WHO.values() for figure in (" p50", " p99", " max")),
)

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def waiting(
    kinds: Annotated[str, typer.Option("--kinds", help=f"'all', or of {', '.join(KINDS)}.")] = "all",
    rows: Annotated[int, typer.Option(min=2, help="Rows of the table.")] = 2_000_000,
    json_file: Annotated[Path, typer.Option("--json", help="Where to write.")] = Path("results/waiting.json"),
) -> None:
    """How long one-row commits and reads wait while views are created; kernels were met on a small table before."""
    began = time.monotonic()
    found: list[dict[str, Any]] = []
    for name in chosen(kinds, KINDS, "kind"):
        say(name)
        result = measure("ivm.benchmarks.waiting_engine", Task(name, rows))
        found.append({"kind": name, "view": KINDS[name], **result})
    title = f"views created over {rows:,} rows; commits of one row and reads meanwhile, in ms"
    output.table(title, _COLUMNS, [_row(entry) for entry in found])
    parameters = {"kinds": kinds, "rows": rows}
    figures = [figure for entry in found for figure in _figures(entry)]
    output.save("waiting", parameters, figures, {"results": found}, json_file, began)


def _figures(entry: dict[str, Any]) -> list[Figure]:
    of = {"kind": entry["kind"]}
    waits = [
        spread("wait", "ms", found["quantiles_ms"], found["count"], **of, who=_NAMES[who])
        for who, found in entry["waits"].items()
    ]
    compiled = one("compilations meanwhile", "", entry["compilations"], **of)
    return [one("creation", "s", entry["seconds"], **of), *waits, compiled]


def _row(entry: dict[str, Any]) -> tuple[str, ...]:
    waits = [entry["waits"][who][figure] for who in _WHO for figure in ("p50_ms", "p99_ms", "max_ms")]
    return (entry["kind"], f"{entry['seconds']:.2f}", *(f"{wait:,.1f}" for wait in waits))

"""`ivm tpch bench sharing`: views come and go while a stream runs, with and without sharing, each in its own process.

The setting of "Shared Arrangements", section 6.1.1 and figure 1: how long installing a view takes until its first
result, how long an update takes, and how much memory is held over time, while ten views are active.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from ivm.benchmarks import output, sharing_plots, sharing_tables
from ivm.benchmarks.asking import Coalesce, Data, ScaleFactor, say, shown
from ivm.benchmarks.figures import Figure, one, over, spread
from ivm.benchmarks.sharing_engine import Task
from ivm.benchmarks.statistics import quantiles
from ivm.tpch.cache import ensure, views_of

MODES = ("shared", "not shared")

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def sharing(
    sf: ScaleFactor = 1.0,
    stream: Annotated[
        str, typer.Option("--stream", help="The stream to run: window, load, refresh or churn.")
    ] = "window",
    views: Annotated[str, typer.Option("--views", help="The views that come and go: 'all', or names.")] = "all",
    active: Annotated[int, typer.Option(min=1, help="How many are active at a time.")] = 10,
    batch: Annotated[int, typer.Option(min=1, help="Logical times per physical batch.")] = 1_000,
    coalesce: Coalesce = True,
    every: Annotated[int, typer.Option(min=0, help="Commits between one view's leaving and the next; 0: none.")] = 50,
    commits: Annotated[int, typer.Option(min=0, help="Commits at most; 0: the whole stream.")] = 0,
    again: Annotated[int, typer.Option(min=0, help="How often each view is installed again at the end.")] = 3,
    seed: Annotated[int, typer.Option(help="Decides which views come and go.")] = 1,
    data: Data = None,
    json_file: Annotated[Path, typer.Option("--json", help="Where to write; plots go beside it.")] = Path(
        "results/sharing.json"
    ),
) -> None:
    """Installation and update latency and memory while views come and go, with and without sharing."""
    began = time.monotonic()
    names = _names(views, active)
    opened = ensure(sf, stream, None, data)
    found: dict[str, dict[str, Any]] = {}
    for mode in MODES:
        task = Task(
            str(opened.directory), names, mode == MODES[0], active, batch, coalesce, every, commits, again, seed
        )
        found[mode] = shown("ivm.benchmarks.sharing_engine", task, mode)
    kept = "one logical time a batch" if coalesce else "every time kept"
    title = (
        f"{stream} stream, scale factor {sf:g}, {active} of {len(names)} views active, batches of {batch:,} times, "
        f"{kept}, one thread"
    )
    sharing_tables.show(title, found)
    setting = {"active": active, "batch": batch, "coalesce": coalesce, "every": every, "seed": seed}
    parameters = {"sf": sf, "stream": stream, "views": views, **setting, "commits": commits, "again": again}
    figures = [figure for mode, result in found.items() for figure in _figures(mode, result)]
    detail = {
        "stream": output.described(opened.manifest),
        "summary": {mode: sharing_tables.summary(result) for mode, result in found.items()},
        "results": found,
    }
    output.save("sharing", parameters, figures, detail, json_file, began)
    for file in sharing_plots.draw(found, title, json_file):
        say(f"written to {file}")


def _figures(mode: str, found: dict[str, Any]) -> list[Figure]:
    of = {"mode": mode}
    millis = {
        "text to first answer": [each["first_result"] for each in found["installs"]],
        "installation": [each["total"] for each in found["installs"]],
        "first answer, installed before": [each["first_result"] for each in found["again"]],
        "commit": found["commit_ms"],
        "retirement": found["drop_ms"],
    }
    memory = {
        "process": "resident_bytes",
        "state": "state_bytes",
        "state of views with tables of their own": "alone_bytes",
    }
    return [
        *(spread(name, "ms", quantiles(values), len(values), **of) for name, values in millis.items() if values),
        *(
            over(name, "B", [(sample["seconds"], sample[key]) for sample in found["memory"]], **of)
            for name, key in memory.items()
        ),
        one("engine time", "s", found["seconds"], **of),
        one("engine time of commits", "s", found["commit_seconds"], **of),
        one("peak memory", "B", found["peak_bytes"], **of),
        one("commits that compiled", "", found["compiled_commits"], **of),
        one("time of commits that compiled", "s", found["compiled_seconds"], **of),
        one("installations that compiled", "", sum(each["compiled"] > 0 for each in found["installs"]), **of),
    ]


def _names(views: str, active: int) -> tuple[str, ...]:
    names = views_of(views)
    if len(names) <= active:
        raise typer.BadParameter(f"of {len(names)} views fewer than {len(names)} can be active", param_hint="--active")
    return names

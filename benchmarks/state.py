"""`ivm tpch bench state`: what the 22 views hold, and the whole run of ten of them, with and without sharing.

Held after the `load` stream with all views installed: stored rows, index entries, memory; the time to hydrate each view
on the loaded tables. The whole run: the stream in large batches under ten of the views, once with always the same ten,
once with one that leaves and one that comes after each batch.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from ivm.benchmarks import output
from ivm.benchmarks.asking import Data, ScaleFactor, shown
from ivm.benchmarks.figures import Figure, one, over
from ivm.benchmarks.sharing_engine import Task as RunTask
from ivm.benchmarks.state_engine import Task as StateTask
from ivm.tpch.cache import ensure, views_of
from ivm.tpch.report import amount, size

_HELD = (
    "",
    "\nrows",
    "\nentries",
    "\nstate",
    "process\nat the end",
    "\nloading",
    "hydrating\npeak",
    "load\ns",
    "install\ns",
)
_RUNS = ("", "commits\ns", "with\ninstalls s", "process\npeak", "\nat the end", "state\nmean", "each view\nalone")

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def state(
    sf: ScaleFactor = 1.0,
    views: Annotated[str, typer.Option("--views", help="'all', or names such as q1,q3.")] = "all",
    batch: Annotated[int, typer.Option(min=1, help="Records of each relation per batch.")] = 100_000,
    active: Annotated[int, typer.Option(min=1, help="The whole run: how many views are active at a time.")] = 10,
    seed: Annotated[int, typer.Option(help="The whole run: decides which they are.")] = 1,
    without: Annotated[bool, typer.Option(help="Measure without sharing too.")] = True,
    runs: Annotated[bool, typer.Option(help="Measure the whole run too.")] = True,
    data: Data = None,
    json_file: Annotated[Path, typer.Option("--json", help="Where to write.")] = Path("results/state.json"),
) -> None:
    """State of all views after the `load` stream, time to hydrate them, and the whole run of ten of them."""
    began = time.monotonic()
    names = views_of(views)
    stream = ensure(sf, "load", None, data)
    directory = str(stream.directory)
    held: dict[str, dict[str, Any]] = {}
    for sharing, mode in _modes(without):
        for first, when in ((True, "installed first"), (False, "hydrated")):
            task = StateTask(directory, names, sharing, batch, first)
            held[f"{mode}, {when}"] = shown("ivm.benchmarks.state_engine", task, f"{mode}, {when}")
    whole: dict[str, dict[str, Any]] = {}
    for sharing, mode in _modes(without) if runs else ():
        for every, which in ((0, "the same views"), (1, "one leaves, one comes")):
            run = RunTask(directory, names, sharing, min(active, len(names) - 1), batch, True, every, 0, 0, seed)
            whole[f"{mode}, {which}"] = shown("ivm.benchmarks.sharing_engine", run, f"{mode}, {which}")
    title = f"load stream, scale factor {sf:g}, batches of {batch:,}, one thread"
    output.table(f"{title}: {len(names)} views", _HELD, [_held(mode, found) for mode, found in held.items()])
    if whole:
        output.table(f"{title}: {active} views active", _RUNS, [_run(mode, found) for mode, found in whole.items()])
    parameters = {"sf": sf, "views": views, "batch": batch, "active": active, "seed": seed, "without": without,
                  "runs": runs}  # fmt: skip
    figures = [figure for mode, entry in held.items() for figure in _held_figures(mode, entry)]
    figures += [figure for mode, entry in whole.items() for figure in _run_figures(mode, entry)]
    detail = {"stream": output.described(stream.manifest), "all": held, "whole_run": whole}
    output.save("state", parameters, figures, detail, json_file, began)


def _held_figures(mode: str, found: dict[str, Any]) -> list[Figure]:
    held, of = found["held"], {"mode": mode}
    return [
        one("stored rows", "", held["rows"], **of),
        one("index entries", "", held["entries"], **of),
        one("state", "B", held["state_bytes"], **of),
        one("of it tables", "B", held["table_bytes"], **of),
        one("state of views with tables of their own", "B", held["alone_bytes"], **of),
        one("process", "B", held["resident_bytes"], **of),
        one("peak memory, loading", "B", found["load_peak_bytes"], **of),
        one("peak memory, hydrating", "B", found["install_peak_bytes"], **of),
        one("load", "s", found["load_seconds"], **of),
        one("installation of all views", "s", found["install_seconds"], **of),
        one("commits that compiled", "", found["compiled_commits"], **of),
        one("compilations while hydrating", "", found["install_compilations"], **of),
        *(one("installation", "ms", each["total"], **of, view=each["view"]) for each in found["installs"]),
        *(one("state of a view", "B", each["state_bytes"], **of, view=each["view"]) for each in found["view_state"]),
    ]


def _run_figures(mode: str, found: dict[str, Any]) -> list[Figure]:
    of = {"mode": mode}
    samples = found["memory"]
    return [
        one("whole run, commits", "s", found["commit_seconds"], **of),
        one("whole run, with installations", "s", found["seconds"], **of),
        one("whole run, peak memory", "B", found["peak_bytes"], **of),
        over("whole run, state", "B", [(sample["seconds"], sample["state_bytes"]) for sample in samples], **of),
    ]


def _modes(without: bool) -> Iterator[tuple[bool, str]]:
    yield True, "shared"
    if without:
        yield False, "not shared"


def _held(mode: str, found: dict[str, Any]) -> tuple[str, ...]:
    held = found["held"]
    return (
        mode,
        amount(held["rows"]),
        amount(held["entries"]),
        size(held["state_bytes"]),
        size(held["resident_bytes"]),
        size(found["load_peak_bytes"]),
        size(found["install_peak_bytes"]),
        f"{found['load_seconds']:.2f}",
        f"{found['install_seconds']:.2f}",
    )


def _run(mode: str, found: dict[str, Any]) -> tuple[str, ...]:
    samples = found["memory"]
    means = [sum(sample[key] for sample in samples) // len(samples) for key in ("state_bytes", "alone_bytes")]
    return (
        mode,
        f"{found['commit_seconds']:.2f}",
        f"{found['seconds']:.2f}",
        size(found["peak_bytes"]),
        size(found["end"]["resident_bytes"]),
        *map(size, means),
    )

"""Measure workloads, and put what is found beside the figures that are asked and those of the papers."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from ivm.benchmarks import output
from ivm.benchmarks.asking import say
from ivm.benchmarks.figures import SHARES, Figure, one, spread
from ivm.benchmarks.graph.beside import AGAIN, BASE, COLUMNS, SHOWN, VIEW, anchors, published, rows_of
from ivm.benchmarks.graph.engine import Task
from ivm.benchmarks.graph.stream import Stream, ensure
from ivm.benchmarks.graph.workloads import UNITS, Workload
from ivm.benchmarks.process import measure
from ivm.progress import progress

_TITLE = "loops over graphs of {:g} times the nodes that figures are asked for (* more than that)"
_MODULE = "ivm.benchmarks.graph.engine"
_err = Console(stderr=True)


def bench(
    workloads: Sequence[Workload], scale: float, steps: int, place: Path, json_file: Path, *, compared: bool
) -> None:
    """Measure workloads over graphs of `scale` times their nodes, print and save what was found.

    Of each table that changes so many `steps` are made. Streams are in `place`, made there where they are missing.
    """
    began = time.monotonic()
    found: list[dict[str, Any]] = []
    for workload in (each.scaled(scale) for each in workloads):
        with progress(_err, "") as tell:
            stream = ensure(workload.shape, steps, place, tell)
            task = Task(str(stream.directory), workload.programs, workload.batch, workload.rate, compared)
            tell(workload.name, 0, 0)
            result = measure(_MODULE, task, tell)
        met = _met(stream) if "triangles" in workload.programs else 0.0
        found.append(
            {
                "workload": workload.name,
                "graph": stream.shape.name,
                "asked": dict(workload.asked),
                "figures": figures_of(result, met),
                "published": {name: anchors()[name] for name in workload.anchors},
                **result,
            }
        )
        say(f"{workload.name} is measured")
    figures = [figure for entry in found for figure in _figures(entry)]
    rows = [row for entry in found for row in rows_of(entry["workload"], _values(entry), entry["asked"])]
    output.table(_TITLE.format(scale), COLUMNS, rows)
    for line in published(name for entry in found for name in entry["published"]):
        output.note(line)
    parameters = {"scale": scale, "steps": steps, "compared": compared}
    output.save("graph", parameters, figures, {"results": found}, json_file, began)


def figures_of(result: Mapping[str, Any], met: float) -> dict[str, float]:
    """The figures of `UNITS`, of what a process answered; `met`: what `_met` says of its changes, or zero."""
    at = dict(zip(SHARES, result["quantiles_ms"], strict=True))
    found = {
        "fill": result["fill_seconds"],
        "a row filled": result["fill_seconds"] * 1e6 / max(1, result["filled"]),
        "a row joined": result["joining_ms"] * 1e6 / met if met else None,
        "a row met": result["mean_ms"] * 1e6 / met if met else None,
        "mean": result["mean_ms"],
        "p50": at[0.5],
        "p90": at[0.9],
        "p99": at[0.99],
        "max": at[1.0],
        "state": float(result["state_bytes"]),
    }
    return {name: found[name] for name in UNITS if found[name] is not None}


def _met(stream: Stream) -> float:
    """The mean number of edges that a change of one meets where triangles are joined in a fixed order.

    The first edge of a triangle meets those that leave its target, the second those that reach its source, the third
    those that leave its source.
    """
    edges, changed = stream.base(("e",))["e"], stream.changes(("e",)).between(0, stream.steps)["e"]
    nodes = stream.shape.nodes
    leaving, reaching = (np.bincount(edges[column].to_numpy(), minlength=nodes) for column in ("s", "d"))
    sources, targets = changed["s"].to_numpy(), changed["d"].to_numpy()
    return float(np.mean(leaving[targets] + reaching[sources] + leaving[sources]))


def _values(entry: Mapping[str, Any]) -> dict[str, float]:
    """All that the table shows of what was found."""
    again = {AGAIN: entry["again_seconds"]} if entry["again_seconds"] else {}
    return {BASE: entry["base_rows"], VIEW: entry["rows"], **entry["figures"], **again}


def _figures(entry: Mapping[str, Any]) -> list[Figure]:
    of = {"workload": entry["workload"]}
    commits = spread("commit", "ms", entry["quantiles_ms"], entry["measured"], **of)
    return [commits, *(one(name, SHOWN[name], value, **of) for name, value in _values(entry).items())]

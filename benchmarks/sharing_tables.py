"""The figures of `sharing` in short, and as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ivm.benchmarks import output
from ivm.benchmarks.phases import PHASES
from ivm.benchmarks.statistics import percentiles
from ivm.tpch.report import size

_LATENCIES = {
    "install to first result": ("installs", "first_result"),
    "install again": ("again", "first_result"),
    "  of it planning": ("again", "planning"),
    "  of it attaching": ("again", "attach"),
    "  of it hydrating": ("again", "hydrate"),
}
_MEMORY = {
    "process": "resident_bytes",
    "state": "state_bytes",
    "state, each view alone": "alone_bytes",
}
_SHOWN = ("p50", "p90", "max")
_PLANNING = ("parse", "bind", "optimize", "lower")


def summary(result: Mapping[str, Any]) -> dict[str, Any]:
    """Percentiles in milliseconds of installing, updating and dropping; means and peaks of memory in bytes."""
    found: dict[str, Any] = {name.strip(): percentiles(_values(result, *place)) for name, place in _LATENCIES.items()}
    found |= {"update": percentiles(result["commit_ms"]), "drop": percentiles(result["drop_ms"])}
    for name, key in _MEMORY.items():
        held = [sample[key] for sample in result["memory"]]
        found[name] = {"mean": float(np.mean(held)), "max": max(held)}
    found["phases"] = {name: _phases(result[name]) for name in ("installs", "again")}
    return found | {"seconds": result["seconds"], "peak_bytes": result["peak_bytes"]}


def show(title: str, found: Mapping[str, Mapping[str, Any]]) -> None:
    """Print the summary, the modes beside each other, and where the time of installing goes, view by view."""
    modes = list(found)
    each = {mode: summary(result) for mode, result in found.items()}
    columns = ["", *(f"{mode}\n{what}" for mode in modes for what in _SHOWN)]
    rows = [
        (name, *(part for mode in modes for part in _shown(each[mode][name.strip()])))
        for name in (*_LATENCIES, "update", "drop")
    ]
    output.table(f"{title}\nmilliseconds", tuple(columns), rows)
    output.note("install again: shared, every arrangement that the view needs exists; not shared, none does")
    _show_memory(modes, each)
    for mode, result in found.items():
        _show_phases(mode, result["again"])


def _show_memory(modes: Sequence[str], each: Mapping[str, Mapping[str, Any]]) -> None:
    rows = []
    for name in _MEMORY:
        means = [each[mode][name]["mean"] for mode in modes]
        rows.append((name, *map(size, map(int, means)), f"{means[-1] / means[0]:.2f}"))
    peaks = [each[mode]["peak_bytes"] for mode in modes]
    rows.append(("process, peak", *map(size, peaks), f"{peaks[-1] / peaks[0]:.2f}"))
    seconds = [each[mode]["seconds"] for mode in modes]
    rows.append(("engine seconds", *(f"{value:.2f}" for value in seconds), f"{seconds[-1] / seconds[0]:.2f}"))
    shared, apart = (each[mode] for mode in (modes[0], modes[-1]))
    ratio = apart["state, each view alone"]["mean"] / shared["state"]["mean"]
    output.table("memory, means over time", ("", *modes, "ratio"), rows)
    output.note(f"views with tables of their own would need {ratio:.2f} times the state of views that share")


def _show_phases(mode: str, installs: Sequence[Mapping[str, Any]]) -> None:
    if not installs:
        return
    rows = []
    for view in dict.fromkeys(each["view"] for each in installs):
        mine = [each for each in installs if each["view"] == view]
        parts = (*PHASES, "total", "read")
        rows.append((view, *(f"{np.median([each[part] for each in mine]):.2f}" for part in parts)))
    output.table(f"{mode}: installing again, median ms", ("view", *PHASES, "total", "read"), rows)


def _values(result: Mapping[str, Any], kind: str, what: str) -> list[float]:
    if what == "planning":
        return [sum(each[phase] for phase in _PLANNING) for each in result[kind]]
    return [each[what] for each in result[kind]]


def _phases(installs: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    return {phase: percentiles([each[phase] for each in installs]) for phase in (*PHASES, "total", "read")}


def _shown(found: Mapping[str, float]) -> tuple[str, ...]:
    return tuple(f"{found[name]:,.2f}" if found else "" for name in _SHOWN)

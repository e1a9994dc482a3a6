"""The figures of `sharing` as plots, in the manner of figure 1 of "Shared Arrangements"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

_STYLES = (("tab:blue", "-"), ("tab:red", "--"))
_GIB = 1 << 30

Found = Mapping[str, Mapping[str, Any]]
"""What was measured, by mode."""


def draw(found: Found, title: str, beside: Path) -> list[Path]:
    """Write three PNG files beside `beside`, named after it; their paths."""
    panels = {"install": _install, "update": _update, "memory": _memory}
    files = []
    for name, panel in panels.items():
        figure = Figure(figsize=(6.4, 4.0), layout="constrained")
        axes = figure.subplots()
        panel(axes, found)
        axes.set_title(title, fontsize=6)
        axes.grid(visible=True, which="major", alpha=0.3)
        axes.legend(fontsize=8)
        file = beside.with_name(f"{beside.stem}_{name}.png")
        figure.savefig(file, dpi=150)
        files.append(file)
    return files


def _install(axes: Axes, found: Found) -> None:
    """The share of installations that are done within a time."""
    for (mode, result), (color, line) in zip(found.items(), _STYLES, strict=False):
        for kind, style in (("installs", line), ("again", ":")):
            values = np.sort([each["first_result"] for each in result[kind]])
            shares = np.arange(1, len(values) + 1) / max(1, len(values))
            exist = "every" if mode == next(iter(found)) else "no"
            label = mode if kind == "installs" else f"{mode}, {exist} arrangement exists"
            axes.step(values, shares, style, where="post", color=color, label=label)
    axes.set_xscale("log")
    axes.set_xlabel("installation, text to first result [ms]")
    axes.set_ylabel("share of installations")


def _update(axes: Axes, found: Found) -> None:
    """The share of commits that take longer than a time."""
    for (mode, result), (color, line) in zip(found.items(), _STYLES, strict=False):
        values, shares = ccdf(result["commit_ms"])
        axes.step(values, shares, line, where="post", color=color, label=mode)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("update [ms]")
    axes.set_ylabel("share of updates that take longer")


def _memory(axes: Axes, found: Found) -> None:
    """Memory over the engine's time."""
    for (mode, result), (color, line) in zip(found.items(), _STYLES, strict=False):
        seconds = [sample["seconds"] for sample in result["memory"]]
        for key, width, what in (("resident_bytes", 1.6, "process"), ("state_bytes", 0.7, "state")):
            held = [sample[key] / _GIB for sample in result["memory"]]
            axes.plot(seconds, held, line, linewidth=width, color=color, label=f"{mode}, {what}")
    axes.set_yscale("log")
    axes.set_xlabel("engine time [s]")
    axes.set_ylabel("memory [GiB]")


def ccdf(values: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """The values in order, and for each the share of all that are greater than it."""
    ordered = np.sort(np.asarray(values, np.float64))
    greater = len(ordered) - np.searchsorted(ordered, ordered, side="right")
    return ordered, greater / max(1, len(ordered))

"""The report: all sections, in order, as one page."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from ivm.benchmarks.figures import Measurement
from ivm.benchmarks.report import html, lasting, loops, over_shards, running, single, streaming
from ivm.benchmarks.report.found import Found

ANCHORS = Path(__file__).resolve().parent.parent / "anchors.json"
"""Published figures of others: seconds by query number, with a legend, and where they are from."""

SECTIONS: dict[str, tuple[str, Callable[[Found], str]]] = {
    "overview": ("Overview", streaming.overview),
    "streaming": ("Streaming", streaming.streaming),
    "batch": ("Batch", streaming.batch),
    "concurrent": ("Concurrent", running.concurrent),
    "interactive": ("Interactive", running.interactive),
    "refresh": ("Refresh latency", running.refresh),
    "scale": ("Scale", running.scale),
    "commit": ("One commit", single.one_commit),
    "arrange": ("Arrange", single.arrange),
    "state": ("State", single.state),
    "adversarial": ("Adversarial", single.adversarial),
    "sharing": ("Sharing", running.sharing),
    "loops": ("Recursion", loops.loops),
    "durability": ("Durability", lasting.durability),
    "cluster": ("Over shards", over_shards.over_shards),
    "waiting": ("Waiting", single.waiting),
    "live": ("Looked on", single.live),
    "first-use": ("First use", single.first_use),
}
"""Heading and contents of each section, by its name."""


def report(measurements: Sequence[Measurement], title: str, missing: Sequence[str] = ()) -> str:
    """The page of what was measured; `missing` names what could not be."""
    found = Found(measurements, anchors())
    about = streaming.machine_lines(found)
    if missing:
        about += html.text(f"Not measured: {'; '.join(missing)}.")
    sections = [(name, heading, show(found)) for name, (heading, show) in SECTIONS.items()]
    return html.page(title, about, [*sections, ("how", "How it was measured", _how(found))])


def anchors() -> dict[str, dict[str, float]]:
    """What others have published, by query number."""
    data = json.loads(ANCHORS.read_text(encoding="utf-8"))
    return {name: figures for name, figures in data.items() if not name.startswith("_")}


def _how(found: Found) -> str:
    said = json.loads(ANCHORS.read_text(encoding="utf-8"))
    rows = [
        (each.benchmark, f"{each.seconds / 60:.1f} min", ", ".join(f"{n} {v}" for n, v in each.parameters.items()))
        for each in found.measurements
    ]
    return (
        html.table(("benchmark", "took", "parameters"), rows)
        + html.text(f"Published figures. {said['_source']}", soft=True)
        + html.text(said["_legend"], soft=True)
    )

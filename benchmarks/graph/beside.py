"""What is shown of workloads, in a terminal and in the report: beside what is asked, and what the papers say."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ivm.benchmarks.graph.workloads import UNITS
from ivm.benchmarks.units import shown

BASE, VIEW, AGAIN = "base rows", "view rows", "DuckDB again"
SHOWN = {BASE: "", VIEW: "", **UNITS, AGAIN: "s"}
"""The figures of a workload, with their units: rows of its tables and views, `UNITS`, and computing them again."""
COLUMNS = ("workload", *SHOWN)
"""The columns of `rows_of`."""
_ANCHORS = Path(__file__).with_name("anchors.json")


def rows_of(workload: str, figures: Mapping[str, float], asked: Mapping[str, float]) -> list[tuple[str, ...]]:
    """What was measured, with a star where it is more than is asked; below it, if anything is, what is asked."""
    measured = [(workload, *(_measured(name, figures.get(name), asked.get(name)) for name in SHOWN))]
    most = [shown(asked[name], unit) if name in asked else "" for name, unit in SHOWN.items()]
    return [*measured, ("  asked, at most", *most)] if asked else measured


def _measured(name: str, value: float | None, asked: float | None) -> str:
    if value is None:
        return ""
    text = f"{value:,.0f}" if not SHOWN[name] else shown(value, SHOWN[name])
    return text + ("*" if asked is not None and value > asked else "")


def published(names: Iterable[str]) -> Iterator[str]:
    """What the papers say of each of these, once, and where it is from; nothing of none."""
    there = dict.fromkeys(names)
    for name in there:
        anchor = anchors()[name]
        figures = (_split(each, value) for each, value in anchor.items() if each != "of")
        yield f"{anchor['of']}: {', '.join(figures)}"
    if there:
        yield f"Published: {anchors()['_source']} {anchors()['_machine']}"


def _split(name: str, value: float) -> str:
    """A figure, whose name ends with its unit."""
    words, _, unit = name.rpartition(" ")
    return f"{words} {value:g} {unit}"


@cache
def anchors() -> dict[str, Any]:
    """What the papers' authors have published, by what it is of; `_source` and `_machine` say where it is from."""
    known: dict[str, Any] = json.loads(_ANCHORS.read_text(encoding="utf-8"))
    return known

"""What `ivm graph generate`, `run` and `verify` do once their options are read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from ivm.benchmarks.graph.maintain import Report, run
from ivm.benchmarks.graph.programs import PROGRAMS
from ivm.benchmarks.graph.shapes import Shape
from ivm.benchmarks.graph.stream import Stream, ensure
from ivm.progress import progress
from ivm.tpch.report import duration, size

_COLUMNS = ("filled", "rows", "state", "p50", "p99", "max", "equal", "DuckDB")
_out, _err = Console(), Console(stderr=True)


def generated(shape: Shape, steps: int, place: Path) -> None:
    """Make a graph and its changes unless they are there, and say where they are."""
    _out.print(str(_opened(shape, steps, place).directory), highlight=False, soft_wrap=True)


def maintained(
    shape: Shape, steps: int, place: Path, programs: Sequence[str], batch: int, every: int, json_file: Path | None
) -> None:
    """Maintain programs over a graph, each alone, show how it went, and save it; see `run`."""
    stream = _opened(shape, steps, place)
    with progress(_err, "changes") as tell:
        reports = [run(stream, PROGRAMS[name], batch, every, tell) for name in programs]
    _show(stream, reports)
    if json_file is not None:
        told = {"graph": stream.shape.name, "programs": [asdict(report) for report in reports]}
        json_file.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


def _opened(shape: Shape, steps: int, place: Path) -> Stream:
    with progress(_err, "tables") as tell:
        return ensure(shape, steps, place, tell)


def _show(stream: Stream, reports: Sequence[Report]) -> None:
    shown = Table(box=SIMPLE_HEAD, padding=(0, 0, 0, 1), pad_edge=False)
    shown.add_column("program", no_wrap=True)
    for column in _COLUMNS:
        shown.add_column(column, justify="right", no_wrap=True)
    for report in reports:
        shown.add_row(*_row(report))
    _out.print(
        f"{stream.shape.name}: one view at a time, and changes of the tables that it reads\n"
        "p50, p99, max: milliseconds of commits\n"
        "equal: how often the view's rows were what DuckDB computed; DuckDB: its time",
        highlight=False,
    )
    _out.print(shown)


def _row(report: Report) -> tuple[str, ...]:
    millis = [f"{report.millis[which]:,.2f}" if report.millis else "" for which in ("p50", "p99", "max")]
    return (
        report.program,
        duration(report.fill_seconds),
        f"{report.rows:,}",
        size(report.state_bytes),
        *millis,
        f"{report.verified:,}",
        duration(report.again_seconds),
    )

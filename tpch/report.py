"""Show a run: one table, the figures that concern all views, and a sentence that says what was shown."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from tpch.runner import Report, ViewReport

_KIB = 1024
_COLUMNS = (
    "rows",
    "changes\napplied",
    "\ntuples/s",
    "commit\np50 ms",
    "\np99 ms",
    "\nmax ms",
    "state\nrows",
    "state\nsize",
    "equal to\nDuckDB",
)


def show(report: Report, console: Console) -> None:
    """Print the table of a run, the figures that concern all views, and what was shown."""
    table = Table(box=SIMPLE_HEAD, padding=0)
    table.add_column("view", no_wrap=True)
    for name in _COLUMNS:
        table.add_column(name, justify="right", no_wrap=True)
    for view in report.views:
        table.add_row(*_row(view))
    console.print(_title(report), highlight=False)
    console.print(table)
    console.print(_figures(report), highlight=False)
    console.print(_sentence(report), style="bold", highlight=False)


def save(report: Report, file: Path) -> None:
    """Write a run as one JSON object to `file`, or to standard output for `-`."""
    text = json.dumps(dataclasses.asdict(report), indent=1)
    if str(file) == "-":
        typer.echo(text)
    else:
        file.write_text(text + "\n", encoding="utf-8")


def size(count: int) -> str:
    """A number of bytes for people: 1.5 MiB."""
    if count < _KIB:
        return f"{count} B"
    value = count / _KIB
    for unit in ("KiB", "MiB"):
        if value < _KIB:
            return f"{value:.0f} {unit}" if value >= 100 else f"{value:.1f} {unit}"
        value /= _KIB
    return f"{value:.1f} GiB"


def amount(count: float) -> str:
    """A count for people, in three or four digits: 12.3M."""
    if count < 10_000:
        return f"{count:,.0f}"
    value, unit = (count / 1e6, "M") if count >= 1e6 else (count / 1e3, "k")
    return f"{value:,.1f}{unit}" if value < 100 else f"{value:,.0f}{unit}"


def _title(report: Report) -> str:
    kept = "one logical time per batch" if report.coalesced else "every logical time kept"
    return f"{report.stream} stream, scale factor {report.sf:g}, batches of {report.times_per_batch:,} times, {kept}"


def _row(view: ViewReport) -> tuple[str, ...]:
    latency = view.latency
    return (
        view.view,
        f"{view.rows:,}",
        amount(view.changes),
        amount(view.tuples_per_second),
        *(f"{millis:,.1f}" for millis in (latency.p50, latency.p99, latency.max)),
        amount(view.state_rows),
        size(view.state_bytes),
        f"{view.verified}x" if view.ever_filled else "empty",
    )


def _figures(report: Report) -> str:
    lines = [
        f"{report.changes:,} changes at {report.logical_times:,} logical times in {report.commits:,} commits: "
        f"{report.seconds:.2f} s in the engine with all views installed "
        f"({report.changes / report.seconds if report.seconds else 0:,.0f} changes/s), "
        f"{report.decode_seconds:.2f} s decoding beside it, "
        f"{report.verify_seconds:.2f} s in DuckDB for {report.verifications} verifications."
    ]
    if report.base_rows:
        lines.insert(
            0,
            f"base: {report.base_rows:,} rows loaded in {report.base_seconds:.2f} s, "
            f"{len(report.views)} views hydrated in {report.install_seconds:.2f} s.",
        )
    return "\n".join(lines)


def _sentence(report: Report) -> str:
    return (
        f"{len(report.views)} standing SQL views were kept up to date over {report.changes:,} changes without "
        f"recomputing any of them, and each was equal to DuckDB's own answer {report.verifications} "
        f"{'time' if report.verifications == 1 else 'times'}, at the end included."
    )

"""Show a run: what it shows as a whole in a few lines, and in a table what differs from view to view."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from tpch.runner import Report, ViewReport

_KIB = 1024
_COLUMNS = ("rows", "busy ms", "state", "install ms")


def show(report: Report, console: Console) -> None:
    """Print what a run showed, a line for each thing, and below what differs from view to view."""
    console.print(_title(report), highlight=False)
    story = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    story.add_column(no_wrap=True, style="bold")
    story.add_column()
    for name, text in _story(report):
        story.add_row(name, text)
    console.print(story)
    console.print(_views(report.views))


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


def duration(seconds: float) -> str:
    """A time for people: 12 ms, 3.4 s, 5.6 min."""
    if seconds < 1:
        return f"{seconds * 1e3:,.0f} ms"
    return f"{seconds:,.1f} s" if seconds < 120 else f"{seconds / 60:,.1f} min"


def _title(report: Report) -> str:
    kept = "one logical time per batch" if report.coalesced else "every logical time kept"
    return f"{report.stream} stream, scale factor {report.sf:g}, batches of {report.times_per_batch:,} times, {kept}"


def _story(report: Report) -> Iterator[tuple[str, str]]:
    latency, state = report.latency, report.state
    yield (
        "kept",
        f"{_count(len(report.views), 'SQL view')}, exact at each of {_count(report.logical_times, 'logical time')}: "
        f"{_count(report.changes, 'change')} in {_count(report.commits, 'commit')}",
    )
    yield (
        "fast",
        f"{amount(report.changes / report.seconds if report.seconds else 0.0)} changes/s; a commit with all views "
        f"took {latency.p50:,.1f} ms (99 %: {latency.p99:,.1f}, longest: {latency.max:,.1f}), all of them "
        f"{duration(report.seconds)}",
    )
    yield (
        "",
        f"to run the same queries again in DuckDB takes {duration(report.rerun_seconds)} here: "
        f"{duration(report.rerun_seconds * report.commits)} to do so after every commit, "
        f"{duration(report.rerun_seconds * report.logical_times)} after every logical time",
    )
    share = state.shared_bytes / state.bytes if state.bytes else 0.0
    yield (
        "small",
        f"{amount(state.rows)} rows of state, {size(state.bytes)}, tables included; several views share {share:.0%} of "
        f"it, and would hold {size(state.alone_bytes)} if each had its own",
    )
    if report.spread.shards > 1:
        yield (
            "spread",
            f"over {report.spread.shards} shards, of which the busiest did {report.spread.busiest:.2f} times the "
            "work of the mean",
        )
    yield (
        "right",
        f"each view was equal to DuckDB's answer at {_count(report.verifications, 'comparison')}, the last one at the "
        f"end{_never_filled(report)}",
    )
    loaded = (
        f"{_count(report.base_rows, 'row')} loaded in {duration(report.base_seconds)}, " if report.base_rows else ""
    )
    if report.reached:
        loaded = f"all up to time {report.reached:,} of the stream was there, and was skipped; "
    yield "before", f"{loaded}views installed in {duration(report.install_seconds)}"


def _never_filled(report: Report) -> str:
    empty = [view.view for view in report.views if not view.ever_filled]
    return f" ({', '.join(empty)} never had a row)" if empty else ""


def _views(views: Sequence[ViewReport]) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1))
    table.add_column("view", no_wrap=True, overflow="ellipsis", max_width=33)
    for name in _COLUMNS:
        table.add_column(name, justify="right", no_wrap=True)
    for view in views:
        table.add_row(
            f"{view.view:3} {view.title}",
            f"{view.rows:,}",
            f"{view.busy_seconds * 1e3:,.0f}",
            size(view.state_bytes),
            f"{view.install_ms:,.0f}",
        )
    return table


def _count(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"

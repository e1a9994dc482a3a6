"""Show a run: what it shows as a whole in a few lines, and in a table what differs from view to view."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ivm.tpch.alone import Alone, RowChange, told
from ivm.tpch.options import Place
from ivm.tpch.runner import Report, ViewReport

_KIB = 1024
_START = Path(__file__).resolve().parent.parent / "docs" / "start.md"
_COLUMNS = ("rows", "updating", "memory", "creating")
_STEPS = {
    "load": "rows come, one of each table at a step",
    "refresh": "orders come and go with their lines, one at a step",
    "churn": "a value of a row changes at each step",
    "window": "an order line comes at each step, and an old one goes",
}
_NOUNS = {"orders": "order", "lineitem": "order line", "partsupp": "offer of a part"}
_MOST_VALUES, _MOST_ROWS, _MOST_VIEWS, _TITLE = 6, 2, 8, 27


def show(report: Report, console: Console) -> None:
    """Print what a run showed: one change and what it cost, the whole stream, and what differs from view to view."""
    console.print(_title(report), highlight=False)
    if report.alone is not None:
        _show_alone(report, report.alone, console)
    console.print()
    story = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    story.add_column(no_wrap=True, style="bold")
    story.add_column()
    for name, text in _story(report):
        story.add_row(name, text)
    console.print(story)
    console.print(_views(report.views))
    console.print(
        "updating: work while the stream ran; creating: until the first answer. What views share counts for each.",
        highlight=False,
    )


def suggest(place: Place, console: Console) -> None:
    """Print what to try after a run in a place."""
    script = Path(sys.executable).with_name("ivm")
    program = "ivm" if shutil.which("ivm") or not script.exists() else _short(script)
    kept = place.path or "tpch.ivm"
    tries = {f"{program} shell": "SQL of your own"}
    if place.path is None:
        tries[f"{program} tpch run --sf 0.01 --db {kept}"] = "the same views, kept on disk"
    if place.master is None:
        tries[f"{program} shell {kept}"] = "FROM q1;  .tables  .verify"
    if _START.is_file():
        tries[_short(_START)] = "five minutes in Python"
    console.print("\n[bold]Try next[/bold]")
    for what, why in tries.items():
        console.print(f"  {what:{max(map(len, tries))}}  {why}", highlight=False)


def _short(path: Path) -> str:
    """A path as it is quickest to type from here."""
    return min(os.path.relpath(path), str(path), key=len)


def save(report: Report, file: Path) -> None:
    """Write a run as one JSON object to `file`, or to standard output for `-`."""
    text = json.dumps(dataclasses.asdict(report), indent=1, default=str)
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
    return (
        f"TPC-H at scale factor {report.sf:g}: {_count(len(report.views), 'SQL query', 'SQL queries')}, kept up to "
        f"date as views of 8 tables. The stream: {_STEPS[report.stream]}."
    )


def _show_alone(report: Report, alone: Alone, console: Console) -> None:
    """Print what one step did, with some of the rows that it changed, and what that cost."""
    again = report.rerun_seconds * 1e3
    ratio = f", {again / alone.others_ms:,.0f} times that median" if again >= 2 * alone.others_ms else ""
    changed = sum(map(len, alone.views.values()))
    that = (
        f"That changes {_count(changed, 'row')} of {_count(len(alone.views), 'view')}, in the same commit:"
        if changed
        else "That changes no row of a view."
    )
    console.print(f"\n[bold]{_what_came(alone)}:[/bold]", highlight=False)
    _show_rows(alone.tables, {name: name for name in alone.tables}, console)
    console.print(f"[bold]{that}[/bold]", highlight=False)
    _show_rows(alone.views, {view.view: f"{view.view:3} {view.title}" for view in report.views}, console)
    console.print(
        f"[bold]It took {_millis(alone.ms)}[/bold]; the median of {_count(alone.steps, 'such commit')} is "
        f"{_millis(alone.others_ms)}. To run the queries again takes DuckDB {_millis(again)} here{ratio}.",
        highlight=False,
    )


def _what_came(alone: Alone) -> str:
    """What a step did to the tables: `1 order and 3 order lines come in`."""
    said = []
    for verb, kind in (
        (("comes in", "come in"), (True, False)),
        (("goes", "go"), (False, True)),
        (("changes", "change"), (False, False)),
    ):
        counts = {
            name: sum((row.before is None, row.after is None) == kind for row in rows)
            for name, rows in alone.tables.items()
        }
        found = [_count(count, _NOUNS.get(name, name)) for name, count in counts.items() if count]
        if found:
            said.append(f"{' and '.join(found)} {verb[sum(counts.values()) > 1]}")
    return ", ".join(said)


def _show_rows(changes: Mapping[str, Sequence[RowChange]], names: Mapping[str, str], console: Console) -> None:
    """Print what became of rows, a line for each of the first few, cut off where the terminal ends."""
    lines = []
    for name in list(changes)[:_MOST_VIEWS]:
        rows = changes[name]
        shown = [told(row, _MOST_VALUES) for row in rows[:_MOST_ROWS]]
        if len(rows) > _MOST_ROWS:
            shown.append(f"and {_count(len(rows) - _MOST_ROWS, 'row')} more")
        title = names[name] if len(names[name]) <= _TITLE else f"{names[name][: _TITLE - 1]}…"
        lines += [f"  {title if place == 0 else '':{_TITLE}}  {text}" for place, text in enumerate(shown)]
    if len(changes) > _MOST_VIEWS:
        lines.append(f"  and {_count(len(changes) - _MOST_VIEWS, 'view')} more")
    for line in lines:
        console.print(Text(line), no_wrap=True, overflow="ellipsis")


def _story(report: Report) -> Iterator[tuple[str, str]]:
    latency, state, rerun = report.latency, report.state, report.rerun_seconds
    seen = "as one change" if report.coalesced else "step by step"
    yield (
        "stream",
        f"{_count(report.changes, 'row')} came or went in {_count(report.commits, 'commit')} of up to "
        f"{_count(report.times_per_batch, 'step')}; who follows a view sees each commit {seen}",
    )
    yield (
        "speed",
        f"a commit took {latency.p50:,.1f} ms with all views (99 of 100 at most {latency.p99:,.1f}, the longest "
        f"{latency.max:,.1f}), {amount(report.changes / report.seconds if report.seconds else 0.0)} rows a second; all "
        f"of them {duration(report.seconds)}",
    )
    yield (
        "instead",
        f"to run the queries again in DuckDB after each commit would take {duration(rerun * report.commits)}, "
        f"{_millis(rerun * 1e3)} every time",
    )
    often = f"{report.verifications} times, the last one at the end" if report.verifications > 1 else "at the end"
    yield (
        "proof",
        f"DuckDB computed every view anew from the tables {often}: equal, row for row{_never_filled(report)}",
    )
    share = state.shared_bytes / state.bytes if state.bytes else 0.0
    yield (
        "memory",
        f"{size(state.bytes)}, tables included; views share {share:.0%} of it, and would take "
        f"{size(state.alone_bytes)} if each had its own",
    )
    if report.spread.shards > 1:
        yield (
            "shards",
            f"{report.spread.shards}, of which the busiest did {report.spread.busiest:.2f} times the work of the mean",
        )
    loaded = (
        f"{_count(report.base_rows, 'row')} loaded in {duration(report.base_seconds)}, " if report.base_rows else ""
    )
    if report.reached:
        loaded = f"all up to step {report.reached:,} of the stream was there, and was skipped; "
    yield "before", f"{loaded}views created in {duration(report.install_seconds)}"


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
            duration(view.busy_seconds),
            size(view.state_bytes),
            duration(view.install_ms / 1e3),
        )
    return table


def _millis(millis: float) -> str:
    return f"{millis:,.1f} ms" if millis < 100 else duration(millis / 1e3)


def _count(count: int, what: str, several: str = "") -> str:
    return f"{count:,} {what if count == 1 else several or f'{what}s'}"

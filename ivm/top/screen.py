"""How `ivm top` draws what it shows."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ivm.results.cells import visible
from ivm.top.figures import SECONDS, Figures, ViewFigures

_ABOVE = 10
"""Lines around the rows of views."""
_BUSY, _VERY_BUSY = 0.1, 0.5
_COLUMNS = ("rows", "changes/s", "busy", "total ms", "state rows", "state", "alone")


def screen(target: str, found: Figures, lines: int | None = None, said: str = "") -> RenderableType:
    """The figures of a database on so many lines (None: as many as it takes); `said`: what went wrong, if anything."""
    shown = found.views if lines is None else found.views[: max(lines - _ABOVE, 1)]
    left = len(found.views) - len(shown)
    table = Table(box=None, expand=False, pad_edge=False, header_style="bold")
    table.add_column("view", no_wrap=True, overflow="ellipsis", min_width=8)
    for name in _COLUMNS:
        table.add_column(name, justify="right", no_wrap=True)
    for each in shown:
        table.add_row(*_cells(each))
    parts: list[RenderableType] = [_head(target, found), _commits(found), _memory(found), Text(), table]
    if left:
        parts.append(Text(f"and {left:,} more views", style="dim"))
    if said:
        parts.append(Text(said, style="red"))
    return Group(*parts)


def amount(count: float) -> str:
    """Bytes in the largest unit of which there is one: 1.2 MB."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:,.1f} TB"


def _head(target: str, found: Figures) -> Text:
    time = "no commit yet" if found.time is None else f"time {found.time:,}"
    views = f"{len(found.views):,} view{'' if len(found.views) == 1 else 's'}"
    listening = f", {found.listening:,} listening" if found.listening else ""
    waiting = f", {found.waiting:,} commits wait for the slowest" if found.waiting else ""
    return Text.assemble((visible(target), "bold"), f"  {time}, {views}{listening}{waiting}", overflow="ellipsis")


def _commits(found: Figures) -> Text:
    if not found.commits or found.p50 is None or found.p99 is None or found.slowest is None:
        return Text(f"no commit in the last {SECONDS} s", style="dim")
    return Text(
        f"{found.commits:,.1f} commits/s, {found.updates:,.1f} updates/s, p50 {found.p50:,.2f} ms, "
        f"p99 {found.p99:,.2f} ms, slowest {found.slowest:,.2f} ms (last {SECONDS} s)"
    )


def _memory(found: Figures) -> Text:
    kinds = ", ".join(f"{kind} {amount(size)}" for kind, size in found.memory.items() if size)
    return Text(f"memory {amount(sum(found.memory.values()))}: {kinds}")


def _cells(each: ViewFigures) -> tuple[Text, ...]:
    name = Text(visible(each.view))
    if not each.incremental:
        name.append(" not incremental", style="red")
    style = "red" if each.busy > _VERY_BUSY else "yellow" if each.busy > _BUSY else ""
    return (
        name, Text(f"{each.rows:,}"), Text(f"{each.changes:,.1f}"), Text(f"{each.busy:.1%}", style=style),
        Text(f"{each.millis:,.1f}"), Text(f"{each.state_rows:,}"), Text(amount(each.state_bytes)),
        Text(amount(each.alone_bytes)),
    )  # fmt: skip

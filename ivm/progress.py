"""A bar on a terminal for long work: what is being done, how much of it, at which rate, time passed and time left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

if TYPE_CHECKING:
    from ivm.engine import installing

Tell = Callable[[str, int, int], None]
"""What is being done, how many were done, of how many; of 0 where that is not known."""

A_MOMENT = 0.5


class _Rate(ProgressColumn):
    """Units per second so far."""

    def __init__(self, unit: str) -> None:
        super().__init__()
        self._unit = unit

    def render(self, task: Task) -> Text:
        """The rate, once there is one."""
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.0f} {self._unit}/s" if speed and self._unit else "")


@contextmanager
def progress(console: Console, unit: str = "rows", *, after: float = 0.0) -> Iterator[Tell]:
    """To be told how far work is: a bar on `console`, if that is a terminal, until the block ends.

    `unit` is what is counted; empty where it changes. The bar comes when the work takes longer than `after` seconds.
    """
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=30),
        TextColumn("{task.percentage:>3.0f}%"),
        _Rate(unit),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    task = bar.add_task("starting", total=None)
    started, counted = perf_counter(), ("", 0)

    def tell(step: str, done: int, total: int) -> None:
        nonlocal counted
        if perf_counter() - started >= after:
            bar.start()
        if total and step != counted[0] and total != counted[1]:  # the clock of the rate starts with the first row
            bar.reset(task, total=total, completed=done)
            counted = (step, total)
        if total:
            bar.update(task, description=step, completed=done, total=total)
        else:
            bar.update(task, description=step)

    try:
        yield tell
    finally:
        if bar.live.is_started:
            bar.stop()


def opening(tell: Tell) -> Callable[[installing.Progress], None]:
    """What `ivm.connect` is given as `progress`, to be told of here."""

    def told(now: installing.Progress) -> None:
        tell(f"filling {now.view}" if now.view else "reading the log", now.rows, now.expected)

    return told

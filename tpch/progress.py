"""A progress bar for long work: what is being done, rate, time passed and time left."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

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

from tpch.generate import Progress as Report


class _Rate(ProgressColumn):
    """Units per second so far."""

    def __init__(self, unit: str) -> None:
        super().__init__()
        self._unit = unit

    def render(self, task: Task) -> Text:
        """The rate, once there is one."""
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.0f} {self._unit}/s" if speed else "")


@contextlib.contextmanager
def progress(console: Console, unit: str = "rows") -> Iterator[Report]:
    """A progress bar on `console`, to be told (what, rows done, rows in all); rows in all = 0 if they are not known.

    `unit` is what is counted.
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
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("starting", total=None)
        counted = ("", 0)

        def tell(step: str, done: int, total: int) -> None:
            nonlocal counted
            if total and step != counted[0] and total != counted[1]:  # the clock of the rate starts with the first row
                bar.reset(task, total=total, completed=done)
                counted = (step, total)
            if total:
                bar.update(task, description=step, completed=done, total=total)
            else:
                bar.update(task, description=step)

        yield tell

"""Shows on a terminal how far the installation of a view is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from ivm.engine import Progress

_SHOWN_FROM_SECONDS = 0.5


@contextmanager
def shown(console: Console) -> Iterator[Callable[[Progress], None]]:
    """To be given to `Database.sql` as `progress`: a bar on `console` as soon as a view takes longer than a moment.

    It goes when the block ends. Where `console` is no terminal, nothing is shown.
    """
    columns = (
        TextColumn("creating {task.description}", markup=False),
        BarColumn(bar_width=30),
        TextColumn("{task.completed:,.0f} of {task.total:,.0f} rows, left"),
        TimeRemainingColumn(),
    )
    bar = Bar(*columns, console=console, transient=True, auto_refresh=False)
    task = bar.add_task("")
    started = perf_counter()

    def tell(progress: Progress) -> None:
        if console.is_terminal and perf_counter() - started >= _SHOWN_FROM_SECONDS:
            bar.start()
            bar.update(task, description=progress.view, completed=progress.rows, total=progress.expected, refresh=True)

    try:
        yield tell
    finally:
        if bar.live.is_started:
            bar.stop()

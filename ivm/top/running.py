"""`ivm top`, as it runs: it looks, waits, and looks again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from time import sleep

import typer
from rich.console import Console
from rich.live import Live

from ivm.catalog.errors import Error
from ivm.top.asking import Ask, asking
from ivm.top.figures import Figures, Order, figures, look
from ivm.top.screen import screen

_SOON = 0.5
"""Nobody waits longer for the first figures on a terminal, in seconds."""

_WIDTH = 200
"""Of what is written to a file or a pipe, in characters."""


def run(target: str, *, token: str, every: float, order: Order, once: bool, as_json: bool) -> None:
    """Show what a database does, until Ctrl-C; `once`, `as_json`, and where there is no terminal, a single time.

    That one is of two looks, `every` seconds apart. Error where the database cannot be asked the first time; later
    that is told below what is known, and it is asked again.
    """
    console = Console()
    if not console.is_terminal:
        console = Console(width=_WIDTH)
    with asking(target, token) as ask:
        is_shown_once = once or as_json or not console.is_terminal
        each = _figures(ask, every if is_shown_once else min(every, _SOON), every, order)
        found, _ = next(each)
        if as_json:
            typer.echo(json.dumps({"database": target, **asdict(found)}))
        elif is_shown_once:
            console.print(screen(target, found))
        else:
            with suppress(KeyboardInterrupt):
                _show(console, target, found, each)


def _show(console: Console, target: str, found: Figures, each: Iterator[tuple[Figures, str]]) -> None:
    with Live(screen(target, found, console.height), console=console, screen=True, auto_refresh=False) as live:
        for now, said in each:
            live.update(screen(target, now, console.height, said), refresh=True)


def _figures(ask: Ask, first: float, every: float, order: Order) -> Iterator[tuple[Figures, str]]:
    """What is found out of each look and the one before, after `first` seconds and then so often; and what went wrong
    since, if something did.
    """
    before = look(ask)
    found: Figures | None = None
    while True:
        sleep(first if found is None else every)
        try:
            now = look(ask)
        except Error as error:
            if found is None:
                raise
            yield found, str(error)
            continue
        found, before = figures(before, now, order), now
        yield found, ""

"""How far the set-up is: a line that is drawn again and again on a terminal, and elsewhere one every ten seconds.

Standard library alone: nothing is installed yet.
"""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

DRAWN_EVERY = 0.2
"""Seconds between two looks of the line on a terminal."""

SAID_EVERY = 10.0
"""Seconds between two lines elsewhere, as in the log of a CI."""

_SOON = 3.0
_LITTLE = 0.03


class Step:
    """One piece of the set-up while it runs; whoever carries it out sets these as it goes.

    Attributes:
        now: what is being done, in a few words.
        share: how much of that is done, from 0 to 1; None where that does not tell how long the rest takes.
    """

    def __init__(self, now: str) -> None:
        self.now = now
        self.share: float | None = None
        self._look: Callable[[Step], None] = lambda running: None
        self._began = time.monotonic()
        self._phase = self._began

    @property
    def seconds(self) -> float:
        """For how long it has run."""
        return time.monotonic() - self._began

    def begin(self, now: str) -> None:
        """Go on to another part, whose share counts from nothing."""
        self.now, self.share, self._phase = now, None, time.monotonic()

    def watch(self, look: Callable[[Step], None]) -> None:
        """Have `look` called with this step, from another thread, whenever it is about to be shown."""
        self._look = look

    def shown(self) -> str:
        """What is done, for how long, and how long the rest of it may take."""
        self._look(self)
        said = f"{clock(self.seconds)}  {self.now}"
        passed = time.monotonic() - self._phase
        if self.share is None or self.share < _LITTLE or passed < _SOON:
            return said
        return f"{said}, about {clock(passed * max(1 / self.share - 1, 0))} left"


@contextmanager
def step(what: str, done: str = "") -> Iterator[Step]:
    """Say `what` begins, show how far it is while the block runs, and then how long `done` took, if it has a name."""
    say(what)
    running, ended = Step(what), threading.Event()

    def show() -> None:
        while not ended.wait(DRAWN_EVERY if sys.stdout.isatty() else SAID_EVERY):
            _show(running.shown())

    shower = threading.Thread(target=show, name="set-up-progress", daemon=True)
    shower.start()
    try:
        yield running
    finally:
        ended.set()
        shower.join()
        if sys.stdout.isatty():
            print("\r\033[K", end="", flush=True)
    if done:
        say(f"{done} took {running.seconds:.0f} s")


def say(text: str) -> None:
    """Print one line of set-up output."""
    print(f"set-up: {text}", flush=True)


def clock(seconds: float) -> str:
    """Minutes and seconds: 1:05."""
    return f"{round(seconds) // 60}:{round(seconds) % 60:02}"


def megabytes(count: int) -> str:
    """A number of bytes in MB."""
    return f"{count / 1e6:,.0f} MB"


def _show(text: str) -> None:
    if not sys.stdout.isatty():
        say(text)
        return
    line = f"set-up: {text}"[: shutil.get_terminal_size().columns - 1]
    print(f"\r\033[K{line}", end="", flush=True)

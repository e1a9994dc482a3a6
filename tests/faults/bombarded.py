"""A process whose commits meet real interruptions ("signals") or a real limit of its memory ("memory").

After each commit that raised, the tables are as before it or as after, and now and then DuckDB looks at every view.
"""

from __future__ import annotations

import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

import ivm
from tests.faults.scenes import World, commits, move

_MARGINS = (0, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24)


class _Alarm:
    """Raises KeyboardInterrupt where a signal meets the program, once, while it is armed."""

    armed = False

    def __call__(self, *_: Any) -> None:
        if self.armed:
            self.armed = False
            raise KeyboardInterrupt


_alarm = _Alarm()


@contextmanager
def _signals(random: Random) -> Iterator[None]:
    """One signal at a random moment of the next ten milliseconds."""
    signal.setitimer(signal.ITIMER_REAL, random.random() * 0.01 + 1e-5)
    try:
        _alarm.armed = True
        yield
    finally:
        _alarm.armed = False
        signal.setitimer(signal.ITIMER_REAL, 0)


@contextmanager
def _little_memory(random: Random) -> Iterator[None]:
    """No more address space than there is in use, or little more."""
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + random.choice(_MARGINS), most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _run(scene: str, kind: str, seconds: float) -> tuple[int, int]:
    """How many commits there were, and how many of them raised."""
    random, world, shapes = Random(3), World(scene), list(commits().values())
    around: Callable[[Random], Any] = _signals if kind == "signals" else _little_memory
    done = raised = 0
    for commit in shapes:  # so that all code is there
        commit.how(world.db, world.base, commit.after)
        if commit.after != world.base:
            move(world.db, commit.after, world.base)
    world.wrong_subscribers(world.views())
    before, end = world.views(), time.monotonic() + seconds
    while time.monotonic() < end:
        commit = random.choice(shapes)
        try:
            with around(random):
                commit.how(world.db, world.base, commit.after)
        except (KeyboardInterrupt, MemoryError, ivm.Error):
            raised += 1
        done += 1
        tables = world.tables()
        if tables != world.base:
            assert tables == commit.after, "the tables are as never before"
            if done % 5 == 0:
                world.db.verify()
            move(world.db, commit.after, world.base)
        views = world.views()
        assert views == before, [name for name in views if views[name] != before[name]]
        told = world.wrong_subscribers(views)
        assert not told, told
    world.db.verify()
    return done, raised


if __name__ == "__main__":
    signal.signal(signal.SIGALRM, _alarm)
    print("right", *_run(sys.argv[1], sys.argv[2], float(sys.argv[3])))

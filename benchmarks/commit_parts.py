"""Where one commit spends its time, and how many calls it takes: what is measured of a database from outside.

Time is that of the committing thread on its processor, so that it is about the same on a busy machine.
The parts are those of the life of a changed row (ARCHITECTURE.md). A part's time is its own, without that of parts
within it; what is left of a commit is `around`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from time import thread_time_ns
from typing import Any

PARTS = {
    "intake": ("ivm.intake.incoming", "Incoming.change"),
    "tables": ("ivm.engine.engine", "applied"),
    "step": ("ivm.dataflow.graph", "Graph.step"),
    "seal": ("ivm.dataflow.graph", "Graph.seal"),
    "ends": ("ivm.engine.engine", "Engine.commit"),
}
"""The module and name of the function that is a part; `ends`: what the engine does in a commit beside the others."""


class Watch:
    """Nanoseconds by part, of all commits since it was made."""

    def __init__(self) -> None:
        self.nanoseconds = dict.fromkeys(PARTS, 0)
        self._within: list[int] = []

    def timed(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, whose own time is added to its part."""

        def call(*arguments: Any, **named: Any) -> Any:
            self._within.append(0)
            begun = thread_time_ns()
            try:
                return function(*arguments, **named)
            finally:
                took = thread_time_ns() - begun
                self.nanoseconds[part] += took - self._within.pop()
                if self._within:
                    self._within[-1] += took

        return call


@contextmanager
def watched() -> Iterator[Watch]:
    """While it lasts, what is done in each part is timed. It costs some 2 us a commit."""
    watch, before = Watch(), []
    for part, (module, name) in PARTS.items():
        holder, _, attribute = name.rpartition(".")
        owner: Any = import_module(module)
        owner = getattr(owner, holder) if holder else owner
        before.append((owner, attribute, getattr(owner, attribute)))
        setattr(owner, attribute, watch.timed(part, getattr(owner, attribute)))
    try:
        yield watch
    finally:
        for owner, name, function in before:
            setattr(owner, name, function)


def calls_of(work: Callable[[], object]) -> tuple[int, int]:
    """How many functions of Python's, and how many of C's, are called by some work on this thread."""
    counted = {"call": 0, "c_call": 0}

    def count(_: object, event: str, __: object) -> None:
        if event in counted:
            counted[event] += 1

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return counted["call"] - 1, counted["c_call"] - 1  # without `work` itself, and setprofile

"""What searches have met, for what they search to learn from when a commit is sealed: a search changes nothing itself.

Who steps collects lessons, as those of a piece of work and of one thread. A search that nobody collects lessons of, as
that of a reader outside of commits, teaches nothing. Nor does what is undone: its lessons are forgotten. A walk tells
of the keys that it looks for once they are some, with those of walks before it along the same route.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Protocol

from ivm.trace.columns.column import Ints


@dataclass(slots=True)
class Met:
    """How many keys each search looked for in an ascending run, and keys (n, W) whose chains are full of dead rows."""

    searched: list[int] = field(default_factory=list)
    long: list[Ints] = field(default_factory=list)


class Learner(Protocol):
    """What is searched, and may be arranged so that the next searches cost less; see `Arrangement`."""

    def learn(self, met: Met) -> None:
        """Do what searches have taught. All that was stepped is sealed. Cost: in proportion to what they have met."""
        ...


class Lessons(dict[Learner, Met]):
    """What the searches of one piece of work have met so far; as a context, who searches in this thread adds to it."""

    _before: Work = (None, None)

    def teach(self) -> None:
        """Let all learn. May be interrupted, and called again: then one of them may have learned half of it."""
        while self:
            learner, met = self.popitem()
            learner.learn(met)

    def __enter__(self) -> None:
        self._before = before = here.work
        here.work = before[0], self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        here.work = self._before


Work = tuple[Any, Lessons | None]
"""What the work of a thread has at hand: who helps it (`ivm.trace.helpers`), and who learns from its searches."""


class Here(threading.local):
    """The work of a thread, in one attribute, which each commit exchanges."""

    work: Work = (None, None)


here = Here()


def note(learner: Learner, searched: int, long: Ints | None) -> None:
    """A search of `learner` has met this; nothing happens if nobody collects it."""
    lessons = here.work[1]
    if lessons is not None:
        met = lessons.setdefault(learner, Met())
        if searched:
            met.searched.append(searched)
        if long is not None:
            met.long.append(long)

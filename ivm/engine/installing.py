"""What is known of a view on its way in: its plan, and how far it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from ivm.plan.arrangement import ArrangementPlan
from ivm.plan.existing import rows_to_read
from ivm.plan.node import Plan, Sizes

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the installation of a view is: rows read of those to be read, some of which may be an estimate."""

    view: str
    rows: int
    expected: int


@dataclass(frozen=True, slots=True)
class Planned:
    """A view before it is installed: its plan, what it reads, the sizes of that, and how long planning took."""

    plan: Plan
    tables: frozenset[str]
    sizes: Mapping[str, float]
    millis: float


Pause = Callable[[Callable[[], Progress]], None]


def counting(
    name: str,
    plan: Plan,
    sizes: Callable[[], Mapping[str, float]],
    was_there: Callable[[Plan | ArrangementPlan], bool],
    pause: Pause,
) -> Callable[[int], None]:
    """What reports progress of a view when it is called with the rows read since it was called last."""
    done = 0

    @cache
    def expected() -> int:
        return round(rows_to_read(plan, Sizes(sizes()), was_there))

    def progress() -> Progress:
        return Progress(name, done, max(done, expected()))

    def report(rows: int) -> None:
        nonlocal done
        done += rows
        pause(progress)

    return report


def put_or_drop(all_there_are: dict[str, T], name: str, one: T | None) -> None:
    """What has a name is this from now on; None: nothing has. Called again, it changes nothing."""
    if one is None:
        all_there_are.pop(name, None)
    else:
        all_there_are[name] = one

"""A commit that is decided, and what takes effect with it beside the changes of rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ivm.durable.journal import Written
from ivm.durable.payload import Batch
from ivm.engine.transaction import Change
from ivm.subscriptions.audience import Told


@dataclass(frozen=True, slots=True)
class Also:
    """What takes effect with a commit: `work`, which cannot fail, and may be called again.

    `written` makes what the journal has of the commit and of this, of the commit's changes and its time. `reads_clock`:
    whether a view reads the clock then.
    """

    written: Callable[[Sequence[Change], int], Written | None]
    work: Callable[[], None]
    reads_clock: bool = False


@dataclass(slots=True)
class Decided:
    """A commit that has taken effect, whatever happens now, and what is left to do: all of it may be done again."""

    time: int
    since: int
    updates: int
    started: int
    told: Sequence[Told]
    put: Written | None = None
    batch: Batch | None = None
    work: Callable[[], None] | None = None

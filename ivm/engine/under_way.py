"""A commit under way, and what takes effect with it beside the changes of rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ivm.dataflow.node import Node
from ivm.durable.journal import Written
from ivm.durable.payload import Batch
from ivm.engine.transaction import Change
from ivm.subscriptions.audience import Told
from ivm.trace.delta import Delta

NO_DELTAS: Mapping[Node, Delta] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Also:
    """What takes effect with a commit: `work`, which cannot fail, and may be called again.

    `written` makes what the journal has of the commit and of this, for its `keep`, of the commit's changes and its
    time. `reads_clock`: whether a view reads the clock then.
    """

    written: Callable[[Sequence[Change], int], Any]
    work: Callable[[], None]
    reads_clock: bool = False


class UnderWay:
    """A commit: what has come of it so far. Once it is decided it has taken effect, whatever happens then, and what is
    left to do may all be done again.

    `deltas`: what nodes have given. `put`: what the journal has of it.
    """

    told: Sequence[Told] = ()
    deltas: Mapping[Node, Delta] = NO_DELTAS
    put: Written | None = None
    batch: Batch | None = None
    work: Callable[[], None] | None = None

    def __init__(self, time: int, since: int, updates: int = 0, started: int = 0) -> None:
        self.time, self.since, self.updates, self.started = time, since, updates, started

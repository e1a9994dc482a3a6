"""One copy of a shard: the version it was made from, and what was tried since."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ivm.cluster.protocol.terms import Order, Shard

_UNKNOWN = -1


class _Trial(NamedTuple):
    """A try of the next version, by its number and id: up to which of its levels a copy has gone through it."""

    base: tuple[int, str]
    done: int
    levels: int


class Copy:
    """A shard as of a version that was published (`base`), and what was tried since.

    What it says of the shard is true whatever is raised wherever: each change of it is one store.
    """

    def __init__(self, shard: Shard, base: tuple[int, str]) -> None:
        self.shard = shard
        self.base = base
        self.saved = 0
        """The last version of which a snapshot was begun."""
        self._trial: _Trial | None = None

    def step(self, order: Order, level: int, inputs: Sequence[Any]) -> Sequence[Any]:
        """Go through a level of the version after `base`, those below it being done."""
        base = (order.version, order.id)
        self._trial = _Trial(base, _UNKNOWN, order.levels)
        said = self.shard.step(order, level, inputs)
        self._trial = _Trial(base, level, order.levels)
        return said

    def undo(self) -> None:
        """Be as of `base`."""
        trial = self._trial
        if trial is not None and trial.base == self.base:  # it was interrupted as it was kept
            self.shard.keep()
        elif trial is not None:
            self._trial = trial._replace(done=_UNKNOWN)
        self.shard.undo()
        self._trial = None

    def keep(self) -> None:
        """What was tried has been published."""
        assert self._trial is not None
        self.base = self._trial.base
        self.shard.keep()
        self._trial = None

    def done(self, order: Order) -> int:
        """Up to which level it has gone in this try; 0 if nothing is tried, -1 if nobody knows, or it is another."""
        if self._trial is None:
            return 0
        return self._trial.done if self._trial.base == (order.version, order.id) else _UNKNOWN

    def is_through(self, base: tuple[int, str]) -> bool:
        """Whether it has gone through all of this try of the next version."""
        trial = self._trial
        return trial is not None and trial.base == base and trial.done == trial.levels

"""Compaction: the rows of a store that anybody may still read, put aside bit by bit until they take its place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ivm.trace.columns.growable import Growable
from ivm.trace.index.follower import Follower
from ivm.trace.rows.living_rows import LivingRows
from ivm.trace.rows.row_store import RowStore
from ivm.trace.time import stamp

FROM_ROWS = 1 << 14
"""How many rows have to be dead before it is worth it."""
_AT_LEAST = 64
_FOR_EACH = 16
"""How many rows are gone through for each that came or died since the last time."""
_GONE, _OF = 1, 3
"""Of so many rows so many have to be dead. Sooner, each row would be copied more often than it saves."""


def is_due(dead: int, rows: int) -> bool:
    """Whether that many of some rows are dead that the others should be put aside."""
    return _OF * dead >= _GONE * rows


class Compaction:
    """The rows of `store` that had not died by `since`, under new numbers, in a store of their own with followers of
    its own.

    What comes and dies meanwhile is taken along. Nobody knows of it before `take_over`; until then it costs as much
    memory as what will be left. Time: in proportion to the changes, a copy of each row that is left.
    """

    def __init__(self, store: RowStore, living: LivingRows | None, since: int) -> None:
        self._since = since
        self._from = store
        self._to = store.empty()
        self._at = 0
        self._numbers: Growable[np.int32] = Growable(np.dtype(np.int32))
        """By old number the new one + 1; 0 if the row is gone, or not reached."""
        self._followers: dict[Follower, Follower] = {}
        self._living = None if living is None else (living, living.over(self._to))

    @property
    def is_done(self) -> bool:
        """Whether all rows are through and all that follow them have been followed."""
        return self._at == self._from.rows and not any(each.catch_up(0) for each in self._others())

    @property
    def is_worth_it(self) -> bool:
        """Whether at least half as many rows are gone as when it began: some have died meanwhile, which it has taken
        along, and a reader may hold history back.
        """
        return is_due(2 * (self._from.rows - self._to.rows), self._from.rows)

    def go_on(self, followers: Sequence[Follower], living: LivingRows | None, since: int) -> bool:
        """Take along what has died, and more rows in proportion to what has changed; False if it has to begin anew.

        Before the store is sealed, and after what follows it was. Whoever holds back `since` keeps rows from getting
        other numbers.
        """
        if (self._living and self._living[0]) is not living or not self._to.columns.is_like(self._from.columns):
            return False
        self._forward()
        if since >= self._since:
            most = _AT_LEAST + _FOR_EACH * self._from.unsealed
            self._copy(min(self._at + most, self._from.rows))
            self._followers = {each: self._followers.get(each) or each.over(self._to) for each in followers}
            for other in self._others():
                other.catch_up(most)
        for other in self._others():
            other.seal(since)
        self._to.seal(since, since)
        return True

    def take_over(self) -> None:
        """Let the store and all that follows it be what is here. Done again, it changes nothing."""
        self._from.adopt(self._to)
        for follower, other in self._followers.items():
            follower.adopt(other)
        if self._living is not None:
            self._living[0].adopt(self._living[1])

    def _others(self) -> Iterator[Follower | LivingRows]:
        yield from self._followers.values()
        if self._living is not None:
            yield self._living[1]

    def _forward(self) -> None:
        """Let die here what has died there."""
        killed = self._from.killed
        killed = killed[killed < self._at]
        rows = self._numbers.array[killed].astype(np.int64) - 1
        killed, rows = killed[rows >= 0], rows[rows >= 0]
        if len(rows) == 0:
            return
        stamps = self._from.died[killed]
        if self._living is not None:
            self._living[1].take_out(rows, stamps)
        self._to.kill(rows, stamps)

    def _copy(self, end: int) -> None:
        """Take along the rows that are left below row `end`."""
        stretch = slice(self._at, end)
        rows = self._at + np.flatnonzero(self._from.died[stretch] > stamp(self._since))
        numbers = self._numbers.reserve(end)
        self._numbers.length = end
        numbers[rows] = np.arange(self._to.rows + 1, self._to.rows + 1 + len(rows))
        self._to.copy_from(self._from, stretch, rows)
        self._at = end

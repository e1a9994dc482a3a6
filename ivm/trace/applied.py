"""What a sequence of changes did to an index, in arrays that are there before anything is done."""

from __future__ import annotations

import numpy as np

from ivm.kernels.hashing.changes import COUNTS, FAILED, INSERTED, KILLED
from ivm.trace.column import Ints

_MAX_FAILURES = 3


class Applied:
    """What a sequence of changes did: rows inserted, rows killed and when, positions of changes that had to fail.

    It is made before, with room for `changes` of them, and known to whoever would have to undo them: the kernel that
    carries them out says here in the same call how far it came. Until then nothing was done.
    """

    __slots__ = ("counts", "failures", "kills", "kills_at")

    def __init__(self, changes: int, *, go_on: bool = False) -> None:
        self.counts = np.zeros(COUNTS, np.int64)
        self.kills, self.kills_at = np.empty(changes, np.int64), np.empty(changes, np.int64)
        self.failures = np.empty(changes + 1 if go_on else _MAX_FAILURES, np.int64)

    @property
    def inserted(self) -> int:
        """How many rows were inserted."""
        return int(self.counts[INSERTED])

    @property
    def killed(self) -> Ints:
        """The rows that died, in the order of the changes."""
        return self.kills[: self.counts[KILLED]]

    @property
    def killed_at(self) -> Ints:
        """When each of them died."""
        return self.kills_at[: self.counts[KILLED]]

    @property
    def failed(self) -> Ints:
        """The positions of changes that were not possible, the first few at least."""
        return self.failures[: self.counts[FAILED]]


def deaths_of(rows: Ints, stamps: Ints) -> Applied:
    """What kills these rows, and nothing else."""
    applied = Applied(len(rows))
    applied.kills[:], applied.kills_at[:] = rows, stamps
    applied.counts[KILLED] = len(rows)
    return applied

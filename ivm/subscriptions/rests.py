"""When who takes changes as they come rests, so that those who commit time and again need not wake him each time."""

from __future__ import annotations

from time import monotonic

from ivm.subscriptions.backlog import Backlog

_QUICK = 4e-3
"""Whoever comes back within so many seconds, so often, may be told of several commits at once."""
_OFTEN, _SELDOM = 16, 512
"""So often at first, and so often at most where resting was in vain again and again."""
_TURNS = 3
"""As long as so many turns took, the first time."""
_LONGEST = 4e-3


class Rests:
    """How long one who iterates rests before waiting for more: not at all, unless commits come so fast that several
    come meanwhile. Who commits only after hearing of the commit before is hardly slowed down.

    It only guesses: any number of threads may rest by it.
    """

    def __init__(self) -> None:
        self._seconds = 0.0
        self._often, self._enough = 0, _OFTEN
        self._begun = self._last = monotonic()

    def due(self) -> float:
        """How many seconds to rest now, as nothing waits."""
        if self._seconds:
            return self._seconds
        now = monotonic()
        self._often, self._begun = (self._often + 1, self._begun) if now - self._last < _QUICK else (0, now)
        self._last = now
        if self._often >= self._enough:
            self._seconds = min(_TURNS * (now - self._begun) / self._often, _LONGEST)
        return self._seconds

    def rested(self, waiting: Backlog) -> None:
        """Learn from what has come meanwhile, behind what was `waiting`."""
        several = len(waiting.some(2)) > 1
        self._often, self._begun = 0, monotonic()
        self._last = self._begun
        self._seconds = min(2 * self._seconds, _LONGEST) if several else 0.0
        self._enough = _OFTEN if several else min(2 * self._enough, _SELDOM)

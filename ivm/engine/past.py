"""How far back tables and views can be read, and what time it was when each of the commits since then was made."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable
from datetime import timedelta
from threading import current_thread
from time import perf_counter_ns, time_ns

from ivm.trace.state import WeakList
from ivm.trace.time import BEGINNING

History = int | timedelta
"""For how many logical times before the present the past is kept, or for how long."""
_LEAST = 64
_COMMITS = 10_000


def _now() -> int:
    return time_ns() // 1000


class StillRead:
    """A time of which somebody reads, for as long as he holds this. `holder`: what he is; `begun`: since when."""

    def __init__(self, time: int, holder: str, begun: int) -> None:
        self.time, self.holder, self.begun = time, holder, begun
        self.thread = current_thread().name


class Past:
    """What is kept of the past. Moments are microseconds since 1970, in UTC.

    Size: two words for each commit that can still be read, and for some more.
    """

    def __init__(self, history: History) -> None:
        self.history = history
        self.present: Callable[[], int] = _now
        """What time it is."""
        self.commits: deque[tuple[int, int, float, int]] = deque(maxlen=_COMMITS)
        """Of the last ones, oldest first: the last logical time, how many changes it brought, milliseconds, when."""
        self.others: list[History] = []
        """Those of views that keep more of the past, or did once."""
        self.still_read: WeakList[StillRead] = WeakList()
        """What those who hold them read as of a time; where it is here, nobody lets go of what there was then."""
        self._begins = 0
        self._times, self._moments = [0], [0]  # before the first commit there is nothing, whenever that was
        self._look_at = _LEAST

    def begin_at(self, time: int, since: int | None = None) -> None:
        """The last commit was at this time; nothing is known of what was before it, or before `since`."""
        self._begins = time if since is None else since
        self._times, self._moments = [time], [self.present()]

    def since(self, time: int) -> int:
        """The earliest time that is kept once there is a commit at `time`."""
        history = self.history
        since = time - history if type(history) is int else self._since(time, history)
        return max(since, self._begins)

    def still_kept(self, since: int) -> int:
        """The time `since`, or an earlier one that somebody reads who is not done."""
        return min(since, *(each.time for each in self.still_read.each()))

    def keeping(self, history: History) -> Callable[[int], int]:
        """As `since`, of what is kept by a history of its own, however far back."""
        self.others.append(history)
        return lambda time: self._since(time, history)

    def _since(self, time: int, history: History) -> int:
        if not isinstance(history, timedelta):
            return time - history
        found = self.time_at(self.present() - history // timedelta(microseconds=1))
        return BEGINNING if found is None else found

    def note(self, time: int, since: int, updates: int, started: int) -> None:
        """A commit has been made, and nobody reads as of a time before `since`. Noted again, it changes nothing."""
        times, moments, commits = self._times, self._moments, self.commits
        if commits and commits[-1][0] == time:
            return
        moment, count = self.present(), len(times)
        if count == 1:
            moments[0] = min(moments[0], moment)  # the clock has been told that it is earlier
        moment = max(moment, moments[-1])
        times.append(time)
        moments.append(moment)
        if count >= self._look_at:
            since = min(since, *(self._since(time, each) for each in self.others)) if self.others else since
            gone = max(bisect_right(times, since) - 1, 0)
            del times[:gone], moments[:gone]
            self._look_at = _LEAST + 2 * len(times)
        commits.append((time, updates, (perf_counter_ns() - started) / 1e6, moment))

    def moment_of(self, time: int) -> int:
        """When there was the commit of a time, or the first one that is known."""
        return self._moments[max(bisect_right(self._times, time) - 1, 0)]

    def time_at(self, moment: int) -> int | None:
        """The time of the last commit that there was at a moment; None if that is not known any more."""
        place = bisect_right(self._moments, moment)
        return self._times[place - 1] if place else None

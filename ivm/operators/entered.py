"""What a loop looks up outside of it, as of the time that it is at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ivm.trace.columns.column import Bools, Ints
from ivm.trace.columns.computed import Computed
from ivm.trace.delta import Group
from ivm.trace.index.follower import Lookup


class Entered(Lookup):
    """Looks up in `lookup` as of `time`, a time outside of the loop; those of changes within it are its ticks."""

    def __init__(self, lookup: Lookup) -> None:
        self.lookup = self._present = lookup
        self.time = 0
        self.layout, self.at_once = lookup.layout, lookup.at_once

    def look_up_as_of(self, time: int | None) -> None:
        """Look up what was there at a time, while others commit; None: what is there from now on."""
        self.lookup = self._present if time is None else self._present.reader(time)

    def look_up(
        self, words: Ints, dropped: Bools | None, times: Ints | int, inclusive: bool, read: Sequence[int] = ()
    ) -> tuple[Ints, Group]:
        """See `Lookup.look_up`."""
        return self.lookup.look_up(words, dropped, self.time, inclusive, read)

    def reader(self, time: int) -> Lookup:
        """See `Lookup.reader`: nobody reads a loop as of another time."""
        raise AssertionError("a loop says itself as of when it looks up")

    def prepare(self, columns: Sequence[int], computed: Computed = ()) -> Iterator[int]:
        """See `Lookup.prepare`."""
        return self.lookup.prepare(columns, computed)

"""Logical time: int64, totally ordered, one per commit. The only module that knows what a time is made of."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ivm.kernels.numbers.stretches import are_ascending, ends_of_stretches
from ivm.trace.columns.column import Array, Ints, readonly
from ivm.trace.columns.growable import Growable

LAST = 1 << 62
"""The latest time that a change may bring. It leaves as many times for the commits that come after, which count on."""

ALIVE = 0
"""The stamp of a row that lives."""

_STAMPS = 0x7FFF_FFFF_FFFF_FFFF
_FEW = 64
_BATCHES, _MANY = 32, 1 << 14
"""The times of so many batches that have many are forgotten together, unless they are more than that."""
_KEPT_PART = 4
_NEAR = 4
"""So many of the latest times are looked at one by one: most readers ask for what was before the last one."""
BEGINNING = -0x8000_0000_0000_0000
"""Before every time: when the rows came whose history is forgotten."""


def stamp(time: int) -> int:
    """How a store notes that a row died at `time`: less than ALIVE, and in the order of times.

    So a row lives whose stamp nobody has written, in memory that comes as zeros and is not there before it is touched.
    Times begin at 1; the stamps of all before are the least.
    """
    return max(time, -1) - _STAMPS


def stamps(times: Ints | int) -> Ints:
    """The stamps of the times as an array, of length 1 if they are all the same."""
    return one(stamp(times)) if isinstance(times, int) else np.maximum(times, -1) - _STAMPS


def times_of(stamped: Ints) -> Ints:
    """The times that these are the stamps of."""
    return stamped + _STAMPS


def as_array(times: Ints | int) -> Ints:
    """The times as an array, of length 1 if they are all the same."""
    return one(times) if isinstance(times, int) else times


def all_or_each(times: Ints | int) -> tuple[int, Ints | None]:
    """Times as kernels are told them: the one of all rows, and None; or 0, and those of each one after the other."""
    return (times, None) if isinstance(times, int) else (0, np.ascontiguousarray(times))


@lru_cache(8)
def one(value: int) -> Ints:
    """An array of this value alone, which must not be written to; a commit asks for few of them, many times each."""
    return np.array([value], np.int64)


def chosen(times: Ints | int, rows: Array | slice) -> Ints | int:
    """The times of some rows, or the one time of all."""
    return times if isinstance(times, int) else times[rows]


def not_before(times: Ints | int, earliest: int) -> Ints | int:
    """Ascending times, at least one, `earliest` in place of those before it; one if that is all that is left."""
    if isinstance(times, int):
        return times if times > earliest else earliest
    first, last = times.item(0), times.item(-1)
    if first >= earliest:
        return first if first == last else times
    return np.maximum(times, earliest) if last > earliest else earliest


def ascend(times: Ints) -> bool:
    """Whether no time is before the one in front of it."""
    return are_ascending(np.ascontiguousarray(times))


def bounds_of(times: Ints) -> tuple[int, int]:
    """The earliest and the latest of times, of which there is one at least."""
    if ascend(times):
        return times.item(0), times.item(-1)
    return int(times.min()), int(times.max())


def readable_as_of(times: Ints | int, inclusive: bool) -> Ints | int:
    """The times to read as of, so that changes at `times` themselves are seen only if `inclusive`."""
    return times if inclusive else times - 1


class Births:
    """When the rows of a store came: the first row of each distinct time that was reached, in order, as far as anybody
    may ask.

    Who reads up to a row needs no lock while others append behind it, or take that back.

    Size: two words for each distinct time that is not forgotten (see `since`), of which it is looked at whether some
    are to be from `look_from` on.
    """

    def __init__(self) -> None:
        self.times = Growable(np.dtype(np.int64), may_be_stale=True)
        """The distinct times that are known; in `_rows` the first row of each."""
        self._rows = Growable(np.dtype(np.int64), may_be_stale=True)
        self.look_from = _FEW
        self.last = BEGINNING

    @property
    def nbytes(self) -> int:
        """Bytes in use."""
        return self.times.nbytes + self._rows.nbytes

    def reach(self, time: int, row: int) -> None:
        """All rows from `row` on come at `time` or later."""
        if time < self.last:
            raise ValueError(f"changes at time {time} come after changes at time {self.last}: times must not fall")
        if time > self.last:
            times, rows, known = self.times, self._rows, self.times.length
            if known == min(len(times.array), len(rows.array)):
                self.make_room()
            times.array[known], rows.array[known] = time, row
            times.length = rows.length = known + 1
            self.last = time

    def make_room(self, times: int = 1) -> None:
        """Room for so many times more."""
        known = self.times.length + times
        self.times.reserve(known)
        self._rows.reserve(known)

    def came(self, last: int, known: int) -> None:
        """A kernel has written down further times behind the others, and their first rows: there are so many now."""
        self.look_from = max(self.look_from, min(_BATCHES * (known - self.times.length), _MANY))
        self.times.length = self._rows.length = known
        self.last = last

    def told(self, block: Ints, at: int) -> tuple[int, int, int, int]:
        """Where times are, and how many fit, and the same of first rows, for the caller to write to a block from `at`
        on; from now on growth writes it.
        """
        return *self.times.bound(block, at, 1), *self._rows.bound(block, at + 2, 1)

    def between(self, since: int, until: int) -> tuple[Ints, Ints]:
        """The times after one up to another at which rows came, as far as they are known, and the first row of each."""
        known = min(self.times.length, self._rows.length)
        times, rows = self.times.array[:known], self._rows.array[:known]
        begin, end = np.searchsorted(times, [since, until], side="right")
        return times[begin:end].copy(), rows[begin:end].copy()

    def restore(self, times: Ints, rows: Ints) -> None:
        """Of rows that are there already those from `rows` on came at `times`, as `between` gave them."""
        if len(times):
            self.times.append(times)
            self._rows.append(rows)
            self.last = int(times[-1])

    def limit(self, time: int, rows: int) -> int:
        """How many of the store's `rows` had come by `time`, for a time that is not forgotten."""
        if time >= self.last:
            return rows
        times, later = self.times, self.times.length
        while later and times.array.item(later - 1) > time:
            later -= 1
            if times.length - later > _NEAR:
                later = int(np.searchsorted(times.view(), time, side="right"))
                break
        return min(self._rows.array.item(later), rows) if later < times.length else rows

    def limits(self, times: Ints, rows: int) -> Ints:
        """`limit` for each of `times`; cost: where they ascend, one pass; else a binary search among the times kept."""
        found = np.empty(len(times), np.int64)
        given, begun, places = readonly(np.ascontiguousarray(times)), self.times, self._rows.array
        ends_of_stretches(given, begun.array, places, begun.length, rows, found)
        return found

    def truncate(self, kept: int, last: int) -> None:
        """Forget the newest times: `kept` and `last` are what `len` and `last` were before they came."""
        self.times.truncate(kept)
        self._rows.truncate(kept)
        self.last = last

    def since(self, since: int) -> Births:
        """Births without the times before `since`, for which nobody asks any more; whoever reads these still has them.

        Cost: copying what is left when three quarters are gone, and that is many. It is looked at when a quarter more
        has come.
        """
        left = self.times.length
        if left < self.look_from:
            return self
        self.look_from = left + left // 4
        if since >= self.last:
            left = 0
        elif left:
            left -= int(np.searchsorted(self.times.view(), since, side="right"))
        if _KEPT_PART * left > self.times.length:
            return self
        made = Births()
        made.last = self.last
        made.times.reserve(self.times.length)  # as many are going to come
        made._rows.reserve(self.times.length)
        if left:
            made.times.append(self.times.view()[-left:])
            made._rows.append(self._rows.view()[-left:])
        return made

    def copy_from(self, other: Births, stretch: slice, rows: Ints, first: int) -> None:
        """Add the times of a stretch of rows of `other`, of which `rows`, ascending, are here from `first` on."""
        begin, end = np.searchsorted(other._rows.view(), [stretch.start, stretch.stop])
        self.times.append(other.times.view()[begin:end])
        self._rows.append(first + np.searchsorted(rows, other._rows.view()[begin:end]))
        self.last = other.last

    def times_at(self, rows: Ints) -> Ints:
        """When these rows came; BEGINNING where that is forgotten."""
        found = np.searchsorted(self._rows.view(), rows, side="right")
        known = self.times.view()
        return np.where(found > 0, known[found - 1], BEGINNING) if len(known) else np.full(len(rows), BEGINNING)

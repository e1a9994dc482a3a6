"""A delta: a columnar batch of updates in flight, whose columns are fetched only when somebody reads them.

A delta's rows are described by groups. A group is a source of columns (a row store, a slice of an input batch,
computed arrays) and a reference for each row of the delta into that source. A join adds a group, a filter narrows the
references, and neither touches a value: values are gathered once, where an expression reads them (late
materialization). Layouts say where a delta's columns come from; they are few, and the same ones at every commit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Protocol

import numpy as np

from ivm.trace.columns.column import Array, Column, Ints
from ivm.trace.columns.computed import Read, TextFunction
from ivm.trace.columns.places import places_of
from ivm.trace.time import ascend, chosen

Place = tuple[int, Read]
"""A group of a delta, and a column of its source, or a function of one."""
_Part = Array | slice


class Layout:
    """For each column its place; None where it is not bound yet (the inputs of a join that a path has not met).

    A layout remembers what was made of it: doing the same at the next commit gives the same object, so that others can
    remember by the layout what they found out about it.
    """

    __slots__ = ("_made", "columns", "places", "sources")

    def __init__(self, places: Iterable[Place | None]) -> None:
        self.places = tuple(places)
        self.columns = _columns(self.places)
        """Of which column of the source each is one, where there is one group, and no function is read of it."""
        self.sources: dict[tuple[int, ...], Any] = {}
        """The sources of some columns; see `ivm.trace.sources`."""
        self._made: dict[tuple[int, ...], Layout] = {}

    def __len__(self) -> int:
        return len(self.places)

    def bind(self, group: int, offset: int, width: int) -> Layout:
        """The `width` columns from `offset` on taken from group `group`, in their order."""
        made = self._made.get((group, offset, width))
        if made is None:
            bound = ((group, i) for i in range(width))
            made = Layout((*self.places[:offset], *bound, *self.places[offset + width :]))
            self._made[group, offset, width] = made
        return made

    def first(self, width: int) -> Layout:
        """The first `width` columns alone."""
        made = self._made.get((width,))
        if made is None:
            made = self._made[(width,)] = Layout(self.places[:width])
        return made

    def within(self, offset: int, total: int) -> Layout:
        """The columns from `offset` on, among `total` columns of which no other is bound."""
        made = self._made.get((offset, total))
        if made is None:
            behind = total - offset - len(self.places)
            made = self._made[offset, total] = Layout((*(None,) * offset, *self.places, *(None,) * behind))
        return made


def _columns(places: tuple[Place | None, ...]) -> tuple[int, ...] | None:
    columns = tuple(place[1] for place in places if place is not None and place[0] == 0 and isinstance(place[1], int))
    return columns if len(columns) == len(places) else None


@cache
def plain_layout(width: int) -> Layout:
    """That of a delta of one group, with the columns of its source in their order."""
    return Layout((0, i) for i in range(width))


class Placed(Protocol):
    """What lies in one `place` (see `ivm.kernels.memory.places`), which stands at `address`."""

    place: Ints
    address: int


class Source(Protocol):
    """Columns of one length at stable positions while a commit runs; repeated calls are cheap.

    Functions of text columns are read as columns are, but only where the source `computes` them.
    """

    @property
    def numbered_by(self) -> int:
        """By which numbering `number_of` numbers functions of texts; 0 if by none."""
        return 0

    def column(self, index: Read) -> Column:
        """Column `index`, whole, in physical form."""
        ...

    def places(self, columns: Iterable[int]) -> Ints:
        """Where kernels find columns, (more columns, WORDS), by their numbers; see `ivm.kernels.memory.places`.

        That holds until somebody asks for more of them, or changes the source. One that has no stride is to be had by
        `gather` alone.
        """
        wanted = set(columns)
        return places_of([self.column(i) if i in wanted else None for i in range(max(wanted, default=-1) + 1)])

    def values_of(self, index: int, function: TextFunction) -> Placed | None:
        """Where the values of a function of a text column lie, if they are there for all rows."""
        return None

    def gather(self, index: Read, rows: Array) -> Column:
        """Column `index` of `rows`; cost: one gather."""
        return self.column(index).take(rows)

    def computes(self, index: int, functions: Sequence[TextFunction]) -> int:
        """Whether these functions of text column `index` are better had from here than by its codes.

        They are not where the source would ask a function what it says of codes: that may be one over a scratch, whose
        codes are others. What is above 1 says that `number_of` gives numbers to functions, and by which numbering.
        """
        return 0

    def number_of(self, index: int, function: TextFunction) -> int:
        """Under which number `places` tell of the values of a function of column `index`; -1 if they do not.

        That is so in all sources that `computes` says the same of, as long as somebody has the function.
        """
        return -1


@dataclass(slots=True)
class Columns(Source):
    """The simplest source: columns that are already there."""

    columns: Sequence[Column]
    _places: Ints | None = field(default=None, repr=False)

    def places(self, columns: Iterable[int]) -> Ints:
        """See `Source.places`: all at once."""
        if self._places is None:
            self._places = places_of(self.columns)
        return self._places

    def column(self, index: Read) -> Column:
        """Column `index`."""
        assert not isinstance(index, tuple), "columns that are there compute nothing"
        return self.columns[index]


@dataclass(slots=True)
class Group:
    """`refs[i]` is the row of `source` that row i of the delta takes its columns from; None means row i itself."""

    source: Source
    refs: Array | None = None

    def column(self, index: Read) -> Column:
        """Column `index` of the source, gathered into the delta's rows."""
        return self.source.column(index) if self.refs is None else self.source.gather(index, self.refs)

    def computes(self, index: int, functions: Sequence[TextFunction]) -> int:
        """See `Source.computes`."""
        return self.source.computes(index, functions)

    def take(self, rows: _Part) -> Group:
        """The group for the delta's rows at `rows`."""
        if self.refs is not None:
            return Group(self.source, self.refs[rows])
        return Group(self.source, np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows)


@dataclass(slots=True)
class Delta:
    """A batch of updates (row, time, diff).

    `layout` says which group, and which column of its source, each column of the row comes from. `times` int64 (n,),
    or one int if all updates have the same time. `diffs` int64 (n,), or None if all are +1. Not necessarily
    consolidated.
    """

    groups: list[Group]
    layout: Layout
    length: int
    times: Ints | int
    diffs: Ints | None = None
    _is_mixed: bool | None = field(default=None, repr=False, compare=False)

    def __len__(self) -> int:
        return self.length

    @property
    def is_mixed(self) -> bool:
        """Whether some rows come and some go. Cost: reads the diffs, once."""
        if self.diffs is None:
            return False
        if self._is_mixed is None:
            self._is_mixed = np.count_nonzero(self.diffs < 0) not in (0, len(self.diffs))
        return self._is_mixed

    def column(self, index: Read) -> Column:
        """Column `index` of the rows, or a function of one, gathered (each call gathers anew)."""
        function = None
        if isinstance(index, tuple):
            index, function = index
        place = self.layout.places[index]
        assert place is not None, f"column {index} is not bound"
        group, inner = place
        if function is not None:
            assert not isinstance(inner, tuple), "of a function's values no function is computed at its source"
            inner = inner, function
        return self.groups[group].column(inner)

    def computes(self, index: int, functions: Sequence[TextFunction]) -> bool:
        """Whether these functions of text column `index` are better computed at its source than from its codes."""
        place = self.layout.places[index]
        if place is None:
            return False
        group, inner = place
        return not isinstance(inner, tuple) and self.groups[group].source.computes(inner, functions) > 0

    def columns(self) -> list[Column]:
        """All columns, gathered."""
        groups, found = self.groups, []
        for place in self.layout.places:
            assert place is not None, "some column is not bound"
            group = groups[place[0]]
            found.append(group.source.column(place[1]) if group.refs is None else group.column(place[1]))
        return found

    def gathered(self) -> Delta:
        """The same updates with all columns there, which reads no store any more. Cost: gathers them."""
        return delta_of(self.columns(), self.times, self.diffs, self.length)

    def copied(self) -> Delta:
        """The same updates, all that they have in memory of its own, one behind the other."""
        columns = [Column(c.values.copy(), None if c.valid is None else c.valid.copy()) for c in self.columns()]
        return delta_of(columns, self.times, None if self.diffs is None else self.diffs.copy(), self.length)

    def take(self, rows: Array) -> Delta:
        """The updates at positions `rows` (integers), in that order; no column value is touched."""
        return self._part(rows, len(rows))

    def slice(self, start: int, stop: int) -> Delta:
        """The updates from `start` to `stop`; no column value is touched."""
        return self if stop - start == self.length else self._part(slice(start, stop), stop - start)

    def _part(self, rows: _Part, length: int) -> Delta:
        diffs = None if self.diffs is None else self.diffs[rows]
        return Delta([g.take(rows) for g in self.groups], self.layout, length, chosen(self.times, rows), diffs)

    def bind(self, group: Group, offset: int, width: int) -> Delta:
        """The updates with the columns from `offset` on, `width` of them, taken from one more group."""
        layout = self.layout.bind(len(self.groups), offset, width)
        return Delta([*self.groups, group], layout, self.length, self.times, self.diffs)

    def first(self, width: int) -> Delta:
        """The updates with their first `width` columns alone; itself, if it has no more."""
        if len(self.layout.places) == width:
            return self
        return Delta(self.groups, self.layout.first(width), self.length, self.times, self.diffs)

    def within(self, offset: int, total: int) -> Delta:
        """The updates with their columns from `offset` on, among `total` columns of which no other is bound."""
        return Delta(self.groups, self.layout.within(offset, total), self.length, self.times, self.diffs)

    def laid(self, layout: Layout) -> Delta:
        """The updates with columns that lie elsewhere in the same groups; itself, if they lie there."""
        if layout is self.layout:
            return self
        return Delta(self.groups, layout, self.length, self.times, self.diffs)

    def with_diffs(self, diffs: Ints | None) -> Delta:
        """The updates with other diffs."""
        return Delta(self.groups, self.layout, self.length, self.times, diffs)

    def time_array(self) -> Ints:
        """The times as an array, also where they are all the same."""
        return np.full(self.length, self.times, np.int64) if isinstance(self.times, int) else self.times

    def diff_array(self) -> Ints:
        """The diffs as an array, also where they are all one."""
        return np.ones(self.length, np.int64) if self.diffs is None else self.diffs


def delta_of(columns: Sequence[Column], times: Ints | int, diffs: Ints | None, length: int | None = None) -> Delta:
    """A delta over dense columns; `length` is needed where there are no columns."""
    n = len(columns[0]) if length is None else length
    return Delta([Group(Columns(columns))], plain_layout(len(columns)), n, times, diffs)


def in_time_order(delta: Delta) -> Delta:
    """Some updates with times ascending, one int if there is only one. Cost: a sort where they are not in order."""
    times = delta.times
    if isinstance(times, int) or not len(times):
        return delta
    if not ascend(times):
        delta = delta.take(np.argsort(times, kind="stable"))
        times = delta.time_array()
    if times[0] == times[-1]:
        return Delta(delta.groups, delta.layout, delta.length, int(times[0]), delta.diffs)
    return delta

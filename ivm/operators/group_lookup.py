"""A reduce's groups as an arrangement of its output by its keys: joins look rows up in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ivm.operators.accumulable import Accumulators
from ivm.operators.group_rows import GroupRows
from ivm.trace.column import Bools, Ints
from ivm.trace.computed import Computed
from ivm.trace.delta import Group
from ivm.trace.group_reader import GroupReader
from ivm.trace.groups import Groups
from ivm.trace.time import readable_as_of


class GroupLookup:
    """See `ivm.operators.join.Lookup`. `sealed` is read if it is there."""

    def __init__(self, groups: Groups[Accumulators], sealed: GroupReader[Accumulators] | None = None) -> None:
        self.layout = replace(groups.layout, nulls="find")
        self._groups, self._sealed = groups, sealed

    def look_up(self, words: Ints, dropped: Bools | None, times: Ints | int, inclusive: bool) -> tuple[Ints, Group]:
        """The output's rows of the given keys as of their times, those of the last step included.

        The rows are copies of the groups' fields, and stay as they are. Cost: see `Groups.look_up`.
        """
        always = not self.layout.parts
        if self._sealed is None:
            parts = self._groups.fields
            found = self._groups.look_up(words, dropped, readable_as_of(times, inclusive), always)
        else:
            parts = self._sealed.fields
            found = self._sealed.look_up(words, dropped, always)
        positions, fields = found
        return positions, Group(GroupRows(self._groups.layout, words[positions], parts, fields))

    def prepare(self, columns: Sequence[int], computed: Computed = ()) -> Iterator[int]:
        """All columns can be read as they are."""
        yield from ()

    def reader(self, time: int) -> GroupLookup:
        """The groups as of `time`, the present, which are kept."""
        return GroupLookup(self._groups, self._groups.reader(time))

"""A reduce's groups as an arrangement of its output by its keys: joins look rows up in them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ivm.kernels.groups.finalize import AT, WORDS, finalize
from ivm.operators.accumulable import Accumulators, aggregate_values
from ivm.trace.column import Bools, Column, Ints
from ivm.trace.computed import Read
from ivm.trace.delta import Group, Source
from ivm.trace.follower import Lookup
from ivm.trace.group_reader import GroupReader
from ivm.trace.groups import Groups
from ivm.trace.keys import KeyLayout
from ivm.trace.time import readable_as_of


class GroupLookup(Lookup):
    """A reduce's groups by their keys, or what `sealed` reads of them, if it is there. Nothing is to be prepared."""

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

    def reader(self, time: int) -> GroupLookup:
        """The groups as of `time`, the present, which are kept."""
        return GroupLookup(self._groups, self._groups.reader(time))


@dataclass(slots=True)
class GroupRows(Source):
    """Groups as they were when they were looked up: `words`, their keys as `layout` packs them, and `fields`.

    A column is computed when it is first read, then kept; nothing depends on what becomes of the groups.
    """

    layout: KeyLayout
    words: Ints
    parts: Accumulators
    fields: Ints
    _made: dict[Read, Column] = field(init=False, default_factory=dict)

    def column(self, index: Read) -> Column:
        """A key, or behind the keys an aggregate. Cost: see `finalize`."""
        column = self._made.get(index)
        if column is None:
            assert not isinstance(index, tuple), "groups compute no functions of texts"
            keys = len(self.layout.parts)
            column = self._made[index] = self._key(index) if index < keys else self._aggregate(index - keys)
        return column

    def _key(self, index: int) -> Column:
        return self.layout.unpack(self.words)[index]

    def _aggregate(self, index: int) -> Column:
        output = self.parts.outputs[index : index + 1].copy()
        output[0, AT] = 0
        words = np.empty((int(output[0, WORDS]), len(self.fields)), np.int64)
        valid = np.empty((1, len(self.fields)), np.bool_)
        finalize(output, 0, False, self.fields, 0, 0, words, valid, self.parts.scratch)
        values = aggregate_values(np.ascontiguousarray(words.T), self.parts.aggregates[index])
        return Column(values, None if valid.all() else valid[0])

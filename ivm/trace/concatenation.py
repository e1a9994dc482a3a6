"""Sums of deltas: parts that stand one below the other as one delta."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ivm.kernels.memory.append import DONE
from ivm.kernels.memory.places import SOURCE, STRIDE, WORDS
from ivm.kernels.memory.stack import stack_rows
from ivm.trace.columns.column import Column, Ints, concat
from ivm.trace.columns.computed import Read, TextFunction
from ivm.trace.columns.places import NONE, places_of
from ivm.trace.delta import Delta, Group, Source, in_time_order, plain_layout
from ivm.trace.sources import sources_of

_NOWHERE: Ints = np.zeros((0, WORDS), np.int64)


@dataclass(slots=True)
class Concatenation(Source):
    """The columns of several parts, of so many rows each, one below the other; they are put together when they are
    first read, then kept.
    """

    parts: Sequence[Delta | Group]
    lengths: Sequence[int]
    _made: dict[Read, Column] = field(default_factory=dict)
    _places: Ints = field(default_factory=lambda: _NOWHERE)
    _rooms: list[Ints] = field(default_factory=list)

    def column(self, index: Read) -> Column:
        """Column `index` of all parts."""
        column = self._made.get(index)
        if column is None:
            column = self._made[index] = concat([part.column(index) for part in self.parts])
        return column

    def computes(self, index: int, functions: Sequence[TextFunction]) -> int:
        """Whether all parts do."""
        return index not in self._made and all(part.computes(index, functions) for part in self.parts)

    def places(self, columns: Iterable[int]) -> Ints:
        """See `Source.places`. Cost: a copy of what is asked for, by one call; where it cannot be read, as `column`."""
        wanted, known = sorted(set(columns)), self._places
        missing = [index for index in wanted if index >= len(known) or not known.item(index, STRIDE)]
        if missing:
            places: Ints = np.zeros((max(len(known), missing[-1] + 1), WORDS), np.int64)
            places[: len(known)] = known
            places[missing] = self._stacked(tuple(missing))
            self._places = places
        return self._places

    def _stacked(self, columns: tuple[int, ...]) -> Ints:
        """Where columns lie (columns, WORDS), that are put together for it."""
        listed, reads, parts, held = list[Any](), list[Ints](), list[tuple[int, int]](), list[Any]()
        for part, length in zip(self.parts, self.lengths, strict=True):
            parts.append((length, len(listed) // 2))
            delta = part if isinstance(part, Delta) else Delta([part], plain_layout(columns[-1] + 1), length, 0)
            sources = sources_of(columns, delta.layout)
            found = sources.of(delta)
            listed += found[: 2 * sources.count]
            reads.append(sources.places)
            held.append(found)
        places: Ints = np.empty((len(columns), WORDS), np.int64)
        laid: Ints = np.empty(len(listed) // 2 * SOURCE, np.int64)
        told, all_reads = np.array(parts, np.int64), np.concatenate(reads)
        said = sum(self.lengths) * len(columns)
        while said >= 0:
            room: Ints = np.empty(said, np.int64)
            said = stack_rows(id(listed), NONE, told, all_reads, laid, room, places)
        if said != DONE:
            return places_of([self.column(index) for index in columns])
        self._rooms.append(room)
        return places


def concat_deltas(deltas: Sequence[Delta]) -> Delta | None:
    """The sum of deltas with equally many columns, in the order of time; None of none. A single delta stays as it is.

    Parts of one walk stay as they are placed, and what is of one source in all is of it still. Cost: references, times
    and diffs now, and a sort where times do not ascend from one to the next; of other columns a copy of each that is
    read later.
    """
    if not deltas:
        return None
    if len(deltas) == 1:
        return deltas[0]
    first, layout = deltas[0].times, deltas[0].layout
    same = isinstance(first, int) and all(isinstance(d.times, int) and d.times == first for d in deltas)
    times = first if same else np.concatenate([d.time_array() for d in deltas])
    diffs = None if all(d.diffs is None for d in deltas) else np.concatenate([d.diff_array() for d in deltas])
    lengths = [d.length for d in deltas]
    if all(d.layout is layout and len(d.groups) == len(deltas[0].groups) for d in deltas):
        groups = [_together(each, lengths) for each in zip(*[d.groups for d in deltas], strict=True)]
    else:
        layout, groups = plain_layout(len(layout)), [Group(Concatenation(deltas, lengths))]
    return in_time_order(Delta(groups, layout, sum(lengths), times, diffs))


def _together(groups: Sequence[Group], lengths: Sequence[int]) -> Group:
    """The rows of groups, so many of each, one below the other."""
    source = groups[0].source
    if any(group.source is not source for group in groups):
        return Group(Concatenation(groups, lengths))
    refs = [
        np.arange(length) if group.refs is None else group.refs for group, length in zip(groups, lengths, strict=True)
    ]
    return Group(source, np.concatenate(refs))

"""Deltas one after the other, without touching a value before somebody reads it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ivm.trace.column import Column, concat
from ivm.trace.computed import Read, TextFunction
from ivm.trace.delta import Delta, Group, Source
from ivm.trace.layout import plain_layout


@dataclass(slots=True)
class Concatenation(Source):
    """The columns of several parts, one below the other; each is put together when it is first read, then kept."""

    parts: Sequence[Delta | Source]
    _made: dict[Read, Column] = field(default_factory=dict)

    def column(self, index: Read) -> Column:
        """Column `index` of all parts."""
        column = self._made.get(index)
        if column is None:
            column = self._made[index] = concat([part.column(index) for part in self.parts])
        return column

    def computes(self, index: int, functions: Sequence[TextFunction]) -> bool:
        """Whether all parts do."""
        return index not in self._made and all(part.computes(index, functions) for part in self.parts)


def concat_deltas(deltas: Sequence[Delta]) -> Delta | None:
    """The sum of deltas with equally many columns; None of none. A single delta is passed on as it is.

    Cost: the times and diffs now; a gather and a copy of each column that is read later.
    """
    if not deltas:
        return None
    if len(deltas) == 1:
        return deltas[0]
    first = deltas[0].times
    same = isinstance(first, int) and all(isinstance(d.times, int) and d.times == first for d in deltas)
    times = first if same else np.concatenate([d.time_array() for d in deltas])
    diffs = None if all(d.diffs is None for d in deltas) else np.concatenate([d.diff_array() for d in deltas])
    layout = plain_layout(len(deltas[0].layout))
    return Delta([Group(Concatenation(deltas))], layout, sum(len(d) for d in deltas), times, diffs)

"""Rows made of the elements of lists: a row's change is its elements' changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ivm.catalog.errors import NumericError
from ivm.catalog.types import SqlType
from ivm.operators.mfp import Mfp
from ivm.operators.operator import NOTHING, Contents
from ivm.operators.walk import Onward
from ivm.trace.columns.column import Column, Ints, every, offsets_of
from ivm.trace.columns.lists import Lists, places_of
from ivm.trace.delta import Columns, Delta, Group

ListsOf = Callable[[Delta], Lists]
"""The lists of each row of a delta."""

_ROWS, _MADE = 1 << 12, 1 << 20
"""So many rows are taken at first where contents are read; then as many as make about so many rows."""


class Unnesting:
    """The first `width` columns of each row, once for each place in its `lists`, and the elements there.

    See `ivm.sql.ir.unnest`. At most `most` rows are made of one delta; NumericError beyond. State: none. Cost: copies
    the elements, and a reference to its row for each.
    """

    def __init__(self, lists: Sequence[ListsOf], width: int, most: int, *, numbered: bool, optional: bool) -> None:
        self._lists, self._width, self._most = lists, width, most
        self._numbered, self._optional = numbered, optional
        self.at_once = _ROWS
        """So many rows are best taken at a time, as those say that came last."""

    def __call__(self, delta: Delta, onward: Onward | None = None, /) -> Delta | None:
        """The rows that are made of those of a delta; None if there are none."""
        lists = [each(delta) for each in self._lists]
        lengths = lists[0].lengths
        for each in lists[1:]:
            lengths = np.maximum(lengths, each.lengths)
        if self._optional:
            lengths = np.maximum(lengths, 1)
        total = int(lengths.sum())
        self.at_once = max(1, _MADE * len(delta) // max(total, len(delta), 1))
        if not total:
            return None
        if total > self._most:
            what = f"UNNEST makes {total:,} rows of one change, more than {self._most:,}, which is the limit"
            raise NumericError(f"{what}; shorten the lists, or commit the rows in parts")
        rows = np.repeat(np.arange(len(delta)), lengths)
        added = [_spread(each, lengths, rows) for each in lists]
        if self._numbered:
            added.append(self._numbers(lists, lengths, rows))
        kept = Delta(delta.groups, delta.layout.first(self._width), len(delta), delta.times, delta.diffs)
        return kept.take(rows).bind(Group(Columns(added)), self._width, len(added))

    def _numbers(self, lists: Sequence[Lists], lengths: Ints, rows: Ints) -> Column:
        numbers = places_of(lengths) + 1
        if not self._optional:
            return Column(numbers)
        there = np.zeros(len(lengths), np.bool_)
        for each in lists:
            there |= each.lengths > 0
        valid = there[rows]
        return Column(numbers * valid, valid)


def _spread(lists: Lists, lengths: Ints, rows: Ints) -> Column:
    """The elements, and NULL at the places that the list of a row does not have; `rows`: that of each place."""
    own, elements = lists.lengths, lists.elements
    if every(own == lengths):
        return elements
    places = places_of(lengths)
    valid = places < own[rows]
    at = np.where(valid, offsets_of(own)[rows] + places, 0)
    if not len(elements):
        return Column(np.zeros((len(rows), *elements.values.shape[1:]), elements.values.dtype), valid)
    found = elements.take(at)
    return Column(found.values, valid if found.valid is None else valid & found.valid)


class Unnest(Mfp):
    """Rows made of lists. State: none."""

    def __init__(self, made: Unnesting, types: Sequence[SqlType]) -> None:
        super().__init__(made, types)
        self._made = made

    def contents(self, inputs: Sequence[Contents], time: int) -> Iterator[Delta]:
        """What is made of the input's contents, in parts of bounded size."""
        return self._passed(self._in_parts(inputs[0]()))

    def _in_parts(self, chunks: Iterator[Delta]) -> Iterator[Delta]:
        for delta in chunks:
            if not delta.length:
                yield NOTHING
            start = 0
            while start < delta.length:
                stop = min(start + self._made.at_once, delta.length)
                yield delta.slice(start, stop)
                start = stop

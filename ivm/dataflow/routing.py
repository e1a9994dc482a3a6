"""Which readers of a node can want any of a delta's rows: readers that say so need not be looked at one by one.

It prunes and decides nothing: a reader that is found runs all of its program, one that is not found would have dropped
every row.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from math import inf

import numpy as np

from ivm.catalog.types import Physical
from ivm.dataflow.node import Node
from ivm.trace.columns.column import Array, Ints
from ivm.trace.delta import Delta
from ivm.trace.ordered.row_order import ordered_words

Range = tuple[int | float, int | float]
"""The least and the greatest value, both among them, or without end."""

_MANY = 1 << 6
_ROWS_EACH = 1 << 6
"""Of more rows for each reader all readers are stepped, unless they are many."""
_SHARED = 1 << 4
"""As with so many others a reader of a span is taken to be found."""
_DIVIDED = 1 << 15
"""From so many rows on readers get those alone that they may want."""
_FEW = 4
"""Where these are fewer than one of so many."""
_LOW = (1 << 64) - 1
_END = 1 << 63

Found = dict[Node, "Ints | None"]
"""Readers, with the rows that they may want; None: with all."""


@dataclass(frozen=True, slots=True)
class Wants:
    """The values of a column, by its input's number, without which no row is of any use to a reader. NULL never is.

    They are words as the column has them: numbers, the codes of texts; of doubles `ordered_words`. `held` is what keeps
    the codes.
    """

    column: int
    physical: Physical
    ranges: Sequence[Range]
    held: object = None


class Router:
    """Readers of one node, by what they want of its columns.

    Of several columns of which a reader wants something, one is chosen: that by which it is found with few others.
    """

    def __init__(self) -> None:
        self._columns: dict[int, _Readers] = {}
        self._by: dict[Node, tuple[_Readers, Wants]] = {}

    def __len__(self) -> int:
        return len(self._by)

    def __contains__(self, reader: Node) -> bool:
        return reader in self._by

    def add(self, reader: Node, wants: Collection[Wants]) -> None:
        """One more reader, which wants only rows that each of `wants` lets pass. Cost: follows its ranges."""
        columns = self._columns
        for each in wants:
            if each.column not in columns:
                columns[each.column] = _Readers(each.column, each.physical)
        chosen = min(wants, key=lambda each: columns[each.column].company(each.ranges))
        self._by[reader] = columns[chosen.column], chosen
        columns[chosen.column].add(reader, chosen.ranges)

    def remove(self, reader: Node) -> None:
        """One less. It may be interrupted, and called again; nothing happens if it is not there."""
        if reader in self._by:
            readers, wants = self._by[reader]
            readers.remove(reader, wants.ranges)
            del self._by[reader]

    def wanting(self, delta: Delta) -> Found:
        """The readers that some row may be for, each with these rows, ascending, or None: it may be all of them.

        Those are all readers where rows are so many that it costs more to look. Cost: reads the columns by which
        readers are found; then it follows the rows and the readers that are found.
        """
        found: Found = {}
        if len(self._by) < _MANY and delta.length > _ROWS_EACH * len(self._by):
            return dict.fromkeys(self._by)
        for readers in self._columns.values():
            if readers:
                readers.find(delta, found)
        return found


@dataclass(slots=True)
class _Readers:
    """Readers found by one column: by `points`, of values alone, or `spans`, which a tree has, but for the `fresh`."""

    column: int
    physical: Physical
    points: dict[int | float, dict[Node, None]] = field(default_factory=dict)
    spans: dict[Node, list[Range]] = field(default_factory=dict)
    fresh: dict[Node, list[Range]] = field(default_factory=dict)
    tree: _Tree | None = None

    def __bool__(self) -> bool:
        return bool(self.points or self.spans)

    def company(self, ranges: Sequence[Range]) -> float:
        """With how many others, about, a reader of these is found: spans with more than values, half-open ones with
        most.
        """
        most = 0.0
        for low, high in ranges:
            if low == high:
                most = max(most, len(self.points.get(low, ())))
            else:
                most = max(most, _SHARED if high - low < inf else _SHARED**2)
        return most

    def add(self, reader: Node, ranges: Sequence[Range]) -> None:
        """One more."""
        for low, high in ranges:
            if low == high:
                self.points.setdefault(low, {})[reader] = None
            else:
                self.spans.setdefault(reader, []).append((low, high))
                self.fresh[reader] = self.spans[reader]

    def remove(self, reader: Node, ranges: Sequence[Range]) -> None:
        """One less. It may be interrupted, and called again."""
        for low, _ in ranges:
            there = self.points.get(low)
            if there is not None:
                there.pop(reader, None)
                if not there:
                    self.points.pop(low, None)
        if reader in self.spans:
            self.tree = None
            self.fresh.pop(reader, None)  # which is looked through, and emptied, only where many read
            del self.spans[reader]

    def find(self, delta: Delta, found: Found) -> None:
        """Add the readers of the values that a delta has."""
        column = delta.column(self.column)
        words: Collection[int] = ()
        if delta.length < _DIVIDED or self.physical is Physical.WIDE:
            values = column.values if column.valid is None else column.values[column.valid]
            words = set(_words(values, self.physical))
            for word in self.points.keys() & words:
                found.update(self.points[word])
        else:
            numbers, rows = _numbers(column.values, self.physical), np.arange(delta.length)
            if column.valid is not None:
                rows = np.flatnonzero(column.valid)
                numbers = numbers[rows]
            if self.points:
                self._divide(numbers, rows, found)
            if self.spans:
                words = np.unique(numbers).tolist()
        if self.spans:
            self._cover(words, found)

    def _divide(self, numbers: Ints, rows: Ints, found: Found) -> None:
        """Add the readers of points with their rows, of which these are the numbers; with all if they are not few."""
        points = np.array(sorted(point for point in self.points if -_END <= point < _END), np.int64)
        if not len(points):
            return
        at = np.minimum(np.searchsorted(points, numbers), len(points) - 1)
        met = np.flatnonzero(points[at] == numbers)
        at = at[met]
        order = np.argsort(at.astype(np.uint16) if len(points) < 1 << 16 else at, kind="stable")  # fast of few bits
        counts = np.bincount(at, minlength=len(points))
        parts: dict[Node, list[Ints]] = {}
        for point, part in zip(points.tolist(), np.split(rows[met[order]], np.cumsum(counts)), strict=False):
            if len(part):
                for reader in self.points[point]:
                    parts.setdefault(reader, []).append(part)
        for reader, own in parts.items():
            few = _FEW * sum(map(len, own)) < len(numbers)
            found[reader] = (own[0] if len(own) == 1 else np.sort(np.concatenate(own))) if few else None

    def _cover(self, words: Collection[int], found: Found) -> None:
        """Add the readers of the spans in which values lie."""
        if self.tree is None or len(words) * len(self.fresh) > len(self.spans):
            self.tree, self.fresh = _Tree(self.spans), {}
        self.tree.find(words, found)
        for reader, ranges in self.fresh.items():
            if any(low <= word <= high for low, high in ranges for word in words):
                found[reader] = None


class _Tree:
    """Spans over the values between which some span begins or ends, as a segment tree.

    Each span stands at the fewest nodes that cover it, a logarithm of them. Size: that for each span.
    """

    def __init__(self, spans: dict[Node, list[Range]]) -> None:
        ends = {end for each in spans.values() for low, high in each for end in (low, high + 1)}
        self._ends = sorted(ends - {inf, -inf})
        self._leaves = len(self._ends) + 1
        self._at: dict[int, list[Node]] = {}
        for reader, each in spans.items():
            for low, high in each:
                self._put(reader, self._leaf(low), self._leaf(high) + 1)

    def find(self, words: Iterable[int], found: Found) -> None:
        """Add the readers of these values. Cost: a search for each, then that of the readers."""
        seen: set[int] = set()
        for leaf in {self._leaf(word) for word in words}:
            at = leaf
            while at and at not in seen:
                seen.add(at)
                found.update(dict.fromkeys(self._at.get(at, ())))
                at >>= 1

    def _leaf(self, value: int | float) -> int:
        """The leaf of the values between two ends among which one lies."""
        return self._leaves + bisect_right(self._ends, value)

    def _put(self, reader: Node, begin: int, end: int) -> None:
        """At the nodes that cover the leaves from `begin` to before `end`."""
        while begin < end:
            if begin & 1:
                self._at.setdefault(begin, []).append(reader)
                begin += 1
            if end & 1:
                end -= 1
                self._at.setdefault(end, []).append(reader)
            begin >>= 1
            end >>= 1


def _numbers(values: Array, physical: Physical) -> Ints:
    """Values, which are not WIDE, as words."""
    if physical is Physical.FLOAT64:
        return ordered_words(values, physical)[:, 0]
    return values.astype(np.int64, copy=False)


def _words(values: Array, physical: Physical) -> Iterable[int]:
    """Values as words, of any length."""
    if physical is Physical.WIDE:
        pairs: list[tuple[int, int]] = values.tolist()
        return [(high << 64) + (low & _LOW) for low, high in pairs]
    words: list[int] = (_numbers(values, physical) if physical is Physical.FLOAT64 else values).tolist()
    return words

"""Which readers of a node can want any of a delta's rows: readers that say so need not be looked at one by one.

It prunes and decides nothing: a reader that is found runs all of its program, one that is not found would have dropped
every row.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

from catalog.types import Physical
from ivm.dataflow.node import Node
from ivm.trace.columns.column import Array
from ivm.trace.delta import Delta
from ivm.trace.ordered.row_order import ordered_words

Range = tuple[int | float, int | float]
"""The least and the greatest value, both among them, or without end."""

_ROWS_EACH = 1 << 6
_MANY = 1 << 6
_SHARED = 1 << 4


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

    def wanting(self, delta: Delta) -> Iterable[Node]:
        """The readers that some row may be for; all where the rows are so many that it costs more to look.

        Cost: reads the columns by which readers are found; then it follows the rows and the readers that are found.
        """
        if len(self._by) < _MANY and delta.length > _ROWS_EACH * len(self._by):
            return self._by
        found: dict[Node, None] = {}
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
            del self.spans[reader]

    def find(self, delta: Delta, found: dict[Node, None]) -> None:
        """Add the readers of the values that a delta has."""
        column = delta.column(self.column)
        values = column.values if column.valid is None else column.values[column.valid]
        words = set(_READ.get(self.physical, _plain)(values))
        if self.points:
            for word in words & self.points.keys():
                found.update(self.points[word])
        if self.spans:
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

    def find(self, words: Iterable[int], found: dict[Node, None]) -> None:
        """Add the readers of these values. Cost: a search for each, then that of the readers."""
        seen = set[int]()
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


def _plain(values: Array) -> Iterable[int]:
    words: list[int] = values.tolist()
    return words


def _doubles(values: Array) -> Iterable[int]:
    return _plain(ordered_words(values, Physical.FLOAT64)[:, 0])


def _pairs(values: Array) -> Iterable[int]:
    pairs: Any = values
    return [(high << 64) + (low & _LOW) for low, high in pairs.tolist()]


_LOW = (1 << 64) - 1
_READ: dict[Physical, Callable[[Array], Iterable[int]]] = {Physical.FLOAT64: _doubles, Physical.WIDE: _pairs}

"""Ordered arrangements: the rows of a store by a key and, within it, in the order of a value; read as of any time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from catalog.errors import NumericError
from catalog.types import Physical, SqlType
from ivm.kernels.ordered.threshold_join import RANGE, read_ranges
from ivm.operators.ordering import ordered_words
from ivm.trace.column import Bools, Column, Ints
from ivm.trace.computed import Computed
from ivm.trace.delta import Delta, Group
from ivm.trace.dictionary import TextDictionary
from ivm.trace.keys import KeyLayout
from ivm.trace.layout import plain_layout
from ivm.trace.ordered_tree import OrderedTree
from ivm.trace.readonly import readonly
from ivm.trace.row_store import Compaction, RowStore, StoredRows
from ivm.trace.size import StateSize
from ivm.trace.time import BEGINNING, as_array, readable_as_of

Valued = Callable[[Delta], Column]
"""Computes a value of each row of a delta that is not empty; may raise NumericError."""

_CATCH_UP_ROWS = 1 << 17
_FILL_ROWS = 1 << 11
_FIRST_PART = 1 << 10
_PART = 1 << 17
_MANY = 64
_NOBODY = np.empty(0, np.int64)


@dataclass(slots=True)
class Ranges:
    """Ranges of the order, int64 (m, 6), over the words of `bounds`; each holds for the change `within` it.

    See `ivm.kernels.ordered.threshold_join`. `visited`: entries met so far by reading them; those `unordered` are read
    in the tree of rows without a value.
    """

    bounds: Ints
    ranges: Ints
    within: Ints
    unordered: bool = False
    visited: int = 0


class OrderedArrangement:
    """The rows of `store` by their columns `key`, as `layout` packs them, and the value that `valued` gives each.

    The order of values is SQL's, NaN being the greatest; rows with NULL in key or value are left out. Rows that
    `valued` raises for have no place in the order and stand in a tree of their own. `users` counts who asked for it;
    `keyed` is how many words the key takes, none where there is no key.
    Size: a tree over key words, value words and row numbers, 12 to 24 bytes a word; the rows belong to the store.
    Rows that have died by the time that anybody may read as of leave the tree when their death becomes final.
    """

    def __init__(
        self,
        store: RowStore,
        key: Sequence[int],
        layout: KeyLayout,
        valued: Valued,
        type_: SqlType,
        dictionary: TextDictionary,
    ) -> None:
        self.store = store
        self.key = tuple(key)
        self.layout = layout
        self.type = type_
        self.dictionary = dictionary
        self.users = 0
        self.rows = 0  # of the store, that are in order
        self._valued = valued
        self.keyed = layout.words if self.key else 0
        value = [0, 0] if type_.physical is Physical.WIDE else [int(type_.physical is Physical.CODE)]
        self._ordered = self._tree([0] * self.keyed + value + [0])
        self._unordered = self._tree([0] * self.keyed + [0])
        self._dying = _NOBODY
        self._since = BEGINNING

    @property
    def width(self) -> int:
        """How many words key and value take."""
        return len(self._ordered.kinds) - 1

    @property
    def has_unordered(self) -> bool:
        """Whether there are rows that have no value, since computing it raises."""
        return len(self._unordered) > 0

    def fill(self) -> Iterator[int]:
        """Put all rows of the store in order bit by bit, yielding the rows of each; commits may come between two."""
        self._ordered.make_room(self.store.rows)  # so that it is not copied on the way there
        while self.catch_up(_FILL_ROWS):
            yield _FILL_ROWS

    def catch_up(self, most: int | None = None) -> int:
        """Put the rows in order that the store has gained, at most so many of them; how many are left.

        Cost: O(log n) a row.
        """
        end = self.store.rows if most is None else min(self.rows + most, self.store.rows)
        while self.rows < end:
            rows = np.arange(self.rows, min(self.rows + _CATCH_UP_ROWS, end))
            self.rows += len(rows)
            died = self.store.died
            self._change(rows if len(died) == 0 else rows[died[rows] > self._since], 1)
        return self.store.rows - self.rows

    def look_up(self, words: Ints, dropped: Bools | None, times: Ints | int, inclusive: bool) -> tuple[Ints, Group]:
        """For each key all rows visible at its time: (position of the key, ascending; the rows)."""
        wanted = np.arange(len(words)) if dropped is None else np.flatnonzero(~dropped)
        parts = list(self.read(self._whole(self.bounds(words, len(words)), wanted), times, inclusive))
        if self.has_unordered:
            parts += self.read(self.unordered(words, wanted), times, inclusive)
        positions = np.concatenate([_NOBODY, *(wanted[p] for p, _ in parts)])
        rows = np.concatenate([_NOBODY, *(r for _, r in parts)])
        order = np.argsort(positions, kind="stable")
        return positions[order], Group(self.store, rows[order])

    def prepare(self, columns: Sequence[int], computed: Computed = ()) -> Iterator[int]:
        """Let these columns of the store, and functions of columns, be read by row number without a wait.

        It is done in bits, yielding the rows of each.
        """
        for column in columns:
            yield from self.store.heat(column)
        for column, functions in computed:
            yield from self.store.keep_computed(column, functions)

    def bounds(self, words: Ints, count: int, values: Column | None = None) -> Ints:
        """The words of `count` keys, as `layout` packs them, then those of their values; int64 (count, K + V)."""
        bounds = np.zeros((count, self.width), np.int64)
        if self.keyed:
            bounds[:, : self.keyed] = words.reshape(count, self.keyed)
        if values is not None:
            bounds[:, self.keyed :] = ordered_words(values.values, self.type.physical)
        return bounds

    def unordered(self, words: Ints, wanted: Ints) -> Ranges:
        """Of the keys at `wanted` all rows that have no value."""
        ranges = self._whole(words.reshape(len(words), self.layout.words), wanted)
        ranges.unordered = True
        return ranges

    def read(self, ranges: Ranges, times: Ints | int, inclusive: bool) -> Iterator[tuple[Ints, Ints]]:
        """The rows in the ranges as of the times of their changes, in parts: (number of the range, ascending; row).

        `times` are those of all changes; `inclusive`: what came or went at the time itself is seen. Cost: a search in
        the tree for each range, then what lies in it.
        """
        self.catch_up()
        tree = self._unordered if ranges.unordered else self._ordered
        as_of = readonly(as_array(readable_as_of(times, inclusive)))
        limits, died = self.store.limits(as_of), self.store.died
        at, place, part = 0, -1, _FIRST_PART
        while at < len(ranges.ranges):
            positions, rows = np.empty(part, np.int64), np.empty(part, np.int64)
            at, place, count, visited = read_ranges(
                *tree.arguments, ranges.bounds, ranges.ranges, ranges.within, limits, as_of, died, at, place,
                positions, rows,
            )  # fmt: skip
            ranges.visited += visited
            part = _PART
            if count:
                yield positions[:count], rows[:count]

    def size(self) -> StateSize:
        """Entries and bytes of the trees alone."""
        trees = (self._ordered, self._unordered)
        return StateSize(entries=sum(map(len, trees)), bytes=sum(tree.nbytes for tree in trees))

    def truncate(self, rows: int) -> None:
        """Take the rows from `rows` on out of the order, before the store drops them."""
        if self.rows > rows:
            self._change(np.arange(rows, self.rows), -1)
            self.rows = rows

    def forget(self, since: int) -> None:
        """Nobody reads as of a time before `since` any more; called before the store forgets who has died.

        Cost: O(log n) for each row whose death is final by that.
        """
        self._since = since
        killed = self.store.killed
        if len(killed) == 0 and len(self._dying) == 0:
            return
        dying = np.concatenate([self._dying, killed])
        gone = self.store.died[dying] <= since
        self._dying, gone = dying[~gone], dying[gone]
        # Those that are not in order yet never will be.
        self._change(gone[gone < self.rows], -1)

    def renumber(self, compaction: Compaction) -> None:
        """The store has renumbered its rows. Cost: the trees are made anew."""
        self._ordered = self._renumbered(self._ordered, compaction)
        self._unordered = self._renumbered(self._unordered, compaction)
        self._dying = compaction.mapping[self._dying].astype(np.int64)
        self.rows = int(compaction.survivors_before[self.rows])

    def _whole(self, bounds: Ints, wanted: Ints) -> Ranges:
        """The ranges of all rows of the keys at `wanted`."""
        ranges = np.zeros((len(wanted), RANGE), np.int64)
        ranges[:, 0] = ranges[:, 3] = wanted
        ranges[:, 1] = ranges[:, 4] = self.keyed
        ranges[:, 5] = True
        return Ranges(bounds, ranges, wanted)

    def _tree(self, kinds: Sequence[int]) -> OrderedTree:
        return OrderedTree(np.array(kinds, np.int64), 1, self.dictionary)

    def _renumbered(self, tree: OrderedTree, compaction: Compaction) -> OrderedTree:
        made = OrderedTree(tree.kinds, 1, self.dictionary)
        for entries in tree.read():
            keys = np.ascontiguousarray(entries[:, :-1])
            keys[:, -1] = compaction.mapping[keys[:, -1]]
            made.add(keys, _NOBODY, near=True)
        return made

    def _change(self, rows: Ints, sign: int) -> None:
        """Add the entries of `rows`, or take them out."""
        if len(rows) == 0:
            return
        words, dropped = self.layout.pack([self.store.gather(c, rows) for c in self.key], len(rows))
        if dropped is not None:
            kept = np.flatnonzero(~dropped)
            rows, words = rows[kept], words[kept]
        for places, value in self._values(rows, np.arange(len(rows))):
            self._enter(rows[places], words[places], value, sign)

    def _enter(self, rows: Ints, words: Ints, value: Column | None, sign: int) -> None:
        """Add or take out entries with their values; None if they have none."""
        if value is not None and value.valid is not None:
            kept = np.flatnonzero(value.valid)
            rows, words, value = rows[kept], words[kept], value.take(kept)
        tree, width = (self._unordered, self.keyed) if value is None else (self._ordered, self.width)
        entries = np.empty((len(rows), width + 1), np.int64)
        entries[:, :width] = self.bounds(words, len(rows), value)[:, :width]
        entries[:, width] = rows
        near = len(rows) >= _MANY and self.type.physical is not Physical.CODE
        tree.add(entries[np.lexsort(entries.T[::-1])] if near else entries, _NOBODY, sign, near)
        if sign < 0:
            tree.give_back()

    def _values(self, rows: Ints, places: Ints) -> Iterator[tuple[Ints, Column | None]]:
        """The values of rows[places]: (places, values), and the places of those that raise, one by one, with None."""
        if len(places) == 0:
            return
        source = StoredRows(self.store, rows[places])
        delta = Delta([Group(source)], plain_layout(len(self.store.types)), len(places), 0)
        try:
            value = self._valued(delta)
        except NumericError:
            if len(places) == 1:
                yield places, None
                return
            yield from self._values(rows, places[: len(places) // 2])
            yield from self._values(rows, places[len(places) // 2 :])
            return
        yield places, value

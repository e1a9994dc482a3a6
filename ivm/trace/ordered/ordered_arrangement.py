"""Ordered arrangements: the rows of a store by a key and, within it, in the order of a value; read as of any time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ivm.catalog.errors import NumericError
from ivm.catalog.types import Physical, SqlType
from ivm.kernels.ordered.batch import TreeBatch
from ivm.kernels.ordered.threshold_join import CHANGE, DIFF, FIRST, LAST, RANGE, TO_BEHIND, read_ranges
from ivm.trace.columns.column import ALL_ONE, NOBODY, Array, Bools, Column, Ints, readonly
from ivm.trace.columns.stored_rows import StoredRows
from ivm.trace.delta import Delta, Group, plain_layout
from ivm.trace.index.follower import Follower, owing
from ivm.trace.index.keys import KeyLayout
from ivm.trace.ordered.ordered_tree import ALL_COUNT, AS_THEY_COME, OrderedTree
from ivm.trace.ordered.row_order import ordered_words, word_kinds
from ivm.trace.rows.row_store import RowStore
from ivm.trace.state import StateSize
from ivm.trace.text.dictionary import TextDictionary
from ivm.trace.time import BEGINNING, as_array, readable_as_of, stamp, stamps

Valued = Callable[[Delta], Column]
"""Computes a value of each row of a delta that is not empty; may raise NumericError."""

_CATCH_UP_ROWS = 1 << 17
_FILL_ROWS = 1 << 11
_FIRST_PART = 1 << 10
_PART = 1 << 17
_MANY = 64
_FUEL = 1 << 10
_AT_ONCE, _SHARE = 1 << 8, 8
"""Dead rows leave when there are so many of them, or when they are one in so many of the entries."""


class _Mark(NamedTuple):
    """Rows that are in order, and the marks of both trees."""

    rows: int
    ordered: int
    unordered: int


@dataclass(slots=True)
class Ranges:
    """Ranges of the order, int64 (m, RANGE), over the words of bounds, of which so many are `ahead`.

    See `ivm.kernels.ordered.threshold_join`. `visited`: entries met so far by reading them; those `unordered` are read
    in the tree of rows without a value.
    """

    words: Ints
    ahead: int
    ranges: Ints
    unordered: bool = False
    visited: int = 0


class OrderedArrangement(Follower):
    """The rows of `store` by their columns `key`, as `layout` packs them, and the value that `valued` gives each.

    The order of values is SQL's, NaN being the greatest; rows with NULL in key or value are left out. Rows that
    `valued` raises for have no place in the order and stand in a tree of their own.
    `keyed` is how many words the key takes, none where there is no key, `width` how many it takes with the value, whose
    form is `physical`.
    Size: a tree over key words, value words and row numbers, 12 to 24 bytes a word; the rows belong to the store.
    Rows that have died by the time that anybody may read as of leave the tree when their death is final, many at once.
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
        self._columns = len(store.types)  # those that `valued` knows, whatever is added behind them
        self.key = tuple(key)
        self.layout = layout
        self.physical = type_.physical
        self.dictionary = dictionary
        self.rows = 0  # of the store, that are in order
        self.block = owing()
        self._valued = valued
        self.keyed = layout.words if self.key else 0
        self._type = type_
        self._ordered = self._tree([0] * self.keyed + word_kinds(self.physical) + [0])
        self.width = len(self._ordered.kinds) - 1
        self._unordered = self._tree([0] * self.keyed + [0])
        self._entered: list[tuple[int, _Mark]] = []  # up to which row, and where things were before; not final
        self._dying: deque[Ints] = deque()  # rows that died, by the time of that
        self._since = BEGINNING

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
            before = _Mark(self.rows, self._ordered.mark(), self._unordered.mark())
            self._entered.append((self.rows + len(rows), before))
            died = self.store.died
            alive = rows if len(died) == 0 else rows[died[rows] > stamp(self._since)]
            for tree, entries, order in self._entries(alive):
                tree.add(TreeBatch(readonly(entries), ALL_COUNT, ALL_ONE, order))
            self.rows += len(rows)
        return self.store.rows - self.rows

    def look_up(
        self, words: Ints, dropped: Bools | None, times: Ints | int, inclusive: bool, read: Sequence[int] = ()
    ) -> tuple[Ints, Group]:
        """For each key all rows visible at its time: (position of the key, ascending; the rows)."""
        wanted = np.arange(len(words)) if dropped is None else np.flatnonzero(~dropped)
        parts = [*self.read(self.whole(words, wanted), times, inclusive)]
        if self.has_unordered:
            parts += self.read(self.whole(words, wanted, unordered=True), times, inclusive)
        positions = np.concatenate([NOBODY, *(part[0] for part in parts)])
        rows = np.concatenate([NOBODY, *(part[2] for part in parts)])
        order = np.argsort(positions, kind="stable")
        return positions[order], Group(self.store.columns, rows[order])

    def put(self, words: Ints, keys: Ints, values: Column | None) -> None:
        """Write the words of keys, as `layout` packs them, then those of their values, if they have one."""
        if self.keyed:
            words[:, : self.keyed] = keys.reshape(len(words), self.keyed)
        if values is not None:
            words[:, self.keyed :] = ordered_words(values.values, self.physical)

    def whole(self, keys: Ints, wanted: Ints, diffs: Ints | int = 1, *, unordered: bool = False) -> Ranges:
        """All rows of the keys at `wanted`, which the diffs of these meet: those with a value, or those without."""
        ranges = np.zeros((len(wanted), RANGE), np.int64)
        ranges[:, FIRST] = ranges[:, LAST] = ranges[:, CHANGE] = wanted
        ranges[:, FIRST + 1] = ranges[:, LAST + 1] = self.keyed
        ranges[:, TO_BEHIND], ranges[:, DIFF] = True, diffs
        return Ranges(keys.reshape(len(keys), self.layout.words), 0, ranges, unordered)

    def read(self, ranges: Ranges, times: Ints | int, inclusive: bool) -> Iterator[Ints]:
        """The rows in the ranges as of the times of their changes, in parts int64 (3, n): changes, diffs, rows.

        They come range by range. `times` are those of all changes; `inclusive`: what came or went at the time itself is
        seen. Cost: a search in the tree for each range, then what lies in it.
        """
        tree = self._unordered if ranges.unordered else self._ordered
        as_of = readable_as_of(times, inclusive)
        limits, died, latest = self.store.limits(as_array(as_of)), self.store.died, readonly(stamps(as_of))
        words, at, place, part = readonly(ranges.words), 0, -1, _FIRST_PART
        while at < len(ranges.ranges):
            found = np.empty((3, part), np.int64)
            at, place, count, visited = read_ranges(
                *tree.readable, words, ranges.ahead, ranges.ranges, limits, latest, died, at, place, found
            )
            ranges.visited += visited
            part = _PART
            if count:
                yield found[:, :count]

    @property
    def kinds(self) -> Ints:
        """How the words of a key, a value and the number of a row compare."""
        return self._ordered.kinds

    @property
    def address(self) -> int:
        """Where the `meta` of the tree of rows with a value lies, until the next seal."""
        return self._ordered.address

    def codes(self) -> Iterator[Array]:
        """Those of values that are texts, and of dead rows whose values are still to be computed; see `State.codes`."""
        yield from self._ordered.codes()
        dying, columns = tuple(self._dying), self.store.columns.codes()
        for rows in dying:
            for codes in columns:
                yield codes[rows[rows < len(codes)]]  # there are none of what is no text

    def size(self) -> StateSize:
        """Entries and bytes of the trees alone."""
        trees = (self._ordered, self._unordered)
        return StateSize(entries=sum(map(len, trees)), bytes=sum(tree.nbytes for tree in trees))

    def truncate(self, rows: int) -> None:
        """Take the rows from `rows` on out of the order, before the store drops them."""
        while self._entered and self._entered[-1][0] > rows:
            before = self._entered[-1][1]
            self._ordered.rollback(before.ordered)
            self._unordered.rollback(before.unordered)
            self.rows = before.rows
            self._entered.pop()

    def seal(self, since: int) -> None:
        """All is final; nobody reads as of a time before `since` any more. Called before the store forgets who died.

        Cost: O(log n) for each row whose death is final by that, of about as many as have died now.
        """
        self._since = since
        for tree in (self._ordered, self._unordered):
            tree.seal(since, since)
        self._entered.clear()
        killed = self.store.killed
        if len(killed):
            self._note(killed)
        self._take_out(_FUEL + 2 * len(killed))

    def _note(self, killed: Ints) -> None:
        """Rows have died, after all that did before."""
        if self._dying and len(self._dying[-1]) < _AT_ONCE:
            self._dying[-1] = np.concatenate([self._dying[-1], killed])
        else:
            self._dying.append(killed)

    def _take_out(self, fuel: int) -> None:
        """Take rows out whose death is final, those that died first, up to so many, unless it is worth a wait."""
        while fuel > 0 and self._dying and self._is_worth(self._dying[0]):
            rows, rest = self._dying[0][:fuel], self._dying[0][fuel:]
            for tree, entries, order in self._entries(rows):
                tree.drop(entries if len(order) else entries[np.lexsort(entries.T[::-1])])
            fuel -= len(rows)
            if len(rest):
                self._dying[0] = rest
            else:
                self._dying.popleft()

    def _is_worth(self, rows: Ints) -> bool:
        """Whether the rows that died first are to leave: their deaths are final, and there are many."""
        few = len(self._dying) == 1 and len(rows) < _AT_ONCE
        if few and _SHARE * len(rows) < len(self._ordered) + len(self._unordered):
            return False
        return bool(self.store.died[rows].max() <= stamp(self._since))

    def over(self, store: RowStore) -> OrderedArrangement:
        """An empty one of the same kind, over another store."""
        made = OrderedArrangement(store, self.key, self.layout, self._valued, self._type, self.dictionary)
        made._since, made._columns = self._since, self._columns
        return made

    def adopt(self, other: OrderedArrangement) -> None:
        """Become what `other` is, whose store this one's has become."""
        self._ordered, self._unordered = other._ordered, other._unordered
        self._dying, self.rows = other._dying, other.rows

    def _tree(self, kinds: Sequence[int]) -> OrderedTree:
        return OrderedTree(np.array(kinds, np.int64), 1, self.dictionary)

    def _entries(self, rows: Ints) -> Iterator[tuple[OrderedTree, Ints, Ints]]:
        """The entries of `rows` and the tree that they belong to, in parts, with an order if there are many."""
        words, dropped = self.layout.pack([self.store.gather(c, rows) for c in self.key], len(rows))
        if dropped is not None:
            rows, words = rows[~dropped], words[~dropped]
        if len(rows) == 0:
            return
        value: Column | None = None
        with suppress(NumericError):
            source = Group(StoredRows(self.store.columns, rows))
            value = self._valued(Delta([source], plain_layout(self._columns), len(rows), 0))
        if value is None and len(rows) > 1:
            for half in np.array_split(rows, 2):
                yield from self._entries(half)
            return
        if value is not None and value.valid is not None:
            rows, words, value = rows[value.valid], words[value.valid], Column(value.values[value.valid])
        tree = self._unordered if value is None else self._ordered
        entries = np.empty((len(rows), len(tree.kinds)), np.int64)
        self.put(entries[:, :-1], words, value)
        entries[:, -1] = rows
        near = len(rows) >= _MANY and self.physical is not Physical.CODE
        yield tree, entries, readonly(np.lexsort(entries.T[::-1])) if near else AS_THEY_COME

"""Arrangements: a store with an index over it, which any number of joins and views read as of their own times."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Generic, Protocol, TypeVar

import numpy as np

from catalog.types import SqlType
from ivm.trace.applied import Applied
from ivm.trace.changes import in_order
from ivm.trace.column import Array, Bools, Ints
from ivm.trace.computed import Computed
from ivm.trace.delta import Delta, Group
from ivm.trace.dictionary import TextDictionary
from ivm.trace.distinct_keys import DistinctKeys
from ivm.trace.index import Index
from ivm.trace.keys import KeyLayout
from ivm.trace.living_rows import LivingRows
from ivm.trace.row_store import Compaction, Mark, RowStore
from ivm.trace.size import StateSize
from ivm.trace.time import BEGINNING, as_array, readable_as_of
from ivm.trace.turns import Aside, at_once

_CATCH_UP_ROWS = 1 << 17
_FILL_ROWS = 1 << 16
_COUNTED_FROM = 1 << 18

"""Within, others may commit."""


class Kept(Protocol):
    """What is kept in step with a store by its rows' numbers."""

    def catch_up(self, most: int | None = None) -> int:
        """Index the rows that the store has gained, at most so many of them; how many are left."""
        ...

    def size(self) -> StateSize:
        """Entries and bytes of the index alone."""
        ...

    def truncate(self, rows: int) -> None:
        """Take the rows from `rows` on out of the index, before the store drops them."""
        ...

    def forget(self, since: int) -> None:
        """Nobody reads as of a time before `since` any more; called before the store's own `commit`."""
        ...

    def renumber(self, compaction: Compaction) -> None:
        """The store has renumbered its rows."""
        ...


class Follower(Kept, Protocol):
    """An arrangement of any kind. `users` counts who asked for it."""

    users: int

    def codes(self) -> Iterator[Array]:
        """The codes that it keeps beside those of the rows; see `State.codes`."""
        ...

    def look_up(self, words: Ints, dropped: Bools | None, times: Ints | int, inclusive: bool) -> tuple[Ints, Group]:
        """For each key the rows visible at its time: (position of the key, ascending; the rows)."""
        ...


@dataclass(frozen=True, slots=True)
class _Keys:
    """The keys of a store's rows: their columns `key`, as `layout` packs them.

    The index reads them by this, not by the arrangement: two that held each other would outlive their last user.
    """

    store: RowStore
    key: tuple[int, ...]
    layout: KeyLayout

    def pack(self, rows: Ints | slice) -> tuple[Ints, Bools | None]:
        """The words of these rows, and which to drop."""
        length = rows.stop - rows.start if isinstance(rows, slice) else len(rows)
        return self.layout.pack([self.store.gather(c, rows) for c in self.key], length)

    def words(self, rows: Ints | slice) -> Ints:
        """The words (n, W) of these rows."""
        return self.pack(rows)[0].reshape(-1, self.layout.words)


class Arrangement:
    """The rows of `store` by their columns `key`, as `layout` packs them. Size: the index; rows belong to the store.

    `unique`: at most one row of a key lives at any time. `users` counts who asked for it.
    """

    def __init__(self, store: RowStore, key: Sequence[int], layout: KeyLayout, *, unique: bool = False) -> None:
        self.store = store
        self.key = tuple(key)
        self.layout = layout
        self.users = 0
        self._is_aside = False
        self._keys = _Keys(store, self.key, layout)
        runs = unique or layout.words == 1
        self.index = Index(layout.words, unique, self._keys.words if runs else None, layout.lead_shift if unique else 0)

    @property
    def unique(self) -> bool:
        """Whether at most one row of a key lives at any time."""
        return self.index.unique

    @property
    def visited(self) -> int:
        """Entries met by all probes so far."""
        return self.index.visited

    def catch_up(self, most: int | None = None) -> int:
        """Index the rows that the store has gained, at most so many of them; how many are left. Cost: 20 ns a row."""
        end = self.store.rows if most is None else min(self.index.rows + most, self.store.rows)
        while self.index.rows < end:
            rows = slice(self.index.rows, min(self.index.rows + _CATCH_UP_ROWS, end))
            words, dropped = self._keys.pack(rows)
            self.index.insert(words, dropped, self.store.died)
        return self.store.rows - self.index.rows

    def fill(self, aside: Aside = at_once) -> Iterator[int]:
        """Index all rows of the store bit by bit, yielding the rows of each; commits may come between two of them.

        Commits may come too while `aside` does what it is given, and tables grow: what takes long reads no store. Many
        keys that do not come in order are counted first, so that the hash table is made once. Cost: 30 ns a row.
        """
        self._fill_part(aside)
        if self.store.rows - self.index.rows >= _COUNTED_FROM and not self.index.backlog:
            yield from self._reserve(aside)
        while self.index.rows < self.store.rows:
            yield _FILL_ROWS
            self._fill_part(aside)

    def _fill_part(self, aside: Aside) -> None:
        if self.index.backlog:  # which reads the store
            self.catch_up(_FILL_ROWS)
            return
        words, dropped = self._keys.pack(slice(self.index.rows, min(self.index.rows + _FILL_ROWS, self.store.rows)))
        self._go_aside(aside, partial(self.index.insert, words, dropped, self.store.died))
        self.index.seal(self.index.since, self.store.died)

    def _reserve(self, aside: Aside) -> Iterator[int]:
        """Make room for the keys of all rows; yields no rows, bit by bit."""
        keys, end = DistinctKeys(), self.store.rows
        for start in range(0, end, _FILL_ROWS):
            keys.add(*self._keys.pack(slice(start, min(start + _FILL_ROWS, end))))
            yield 0
        self._go_aside(aside, partial(self.index.reserve, keys.count, self.store.died))

    def _go_aside(self, aside: Aside, work: Callable[[], None]) -> None:
        """Let commits in while the index is worked on, which they then must leave alone."""
        self._is_aside = True
        try:
            aside(work)
        finally:
            self._is_aside = False

    def probe(self, words: Ints, dropped: Bools | None, times: Ints | int, inclusive: bool) -> tuple[Ints, Ints]:
        """The rows of each key as of its time: (position of the key, row of the store), by position.

        `words` and `dropped` as `layout` packs them; keys with a True in `dropped` find nothing. `inclusive`: changes
        at the time itself are seen. Rows that the store has gained are indexed first. Cost: see `Index.probe`.
        """
        self.catch_up()
        as_of = readable_as_of(times, inclusive)
        if isinstance(as_of, int):
            limits = np.array([self.store.limit(as_of)], np.int64)
        else:
            limits = self.store.limits(as_of)
        return self.index.probe(words, dropped, limits, self.store.died, as_array(as_of))

    def look_up(self, words: Ints, dropped: Bools | None, times: Ints | int, inclusive: bool) -> tuple[Ints, Group]:
        """What `probe` finds, as the store's rows."""
        positions, rows = self.probe(words, dropped, times, inclusive)
        return positions, Group(self.store, rows)

    def prepare(self, columns: Sequence[int], computed: Computed = ()) -> Iterator[int]:
        """Let these columns of the store, and functions of columns, be read by row number without a wait.

        It is done in bits, yielding the rows of each.
        """
        for column in columns:
            yield from self.store.heat(column)
        for column, functions in computed:
            yield from self.store.keep_computed(column, functions)

    def codes(self) -> Iterator[Array]:
        """None: the keys are the rows' own."""
        yield from ()

    def size(self) -> StateSize:
        """Entries and bytes of the index alone."""
        return StateSize(entries=self.index.entries, bytes=self.index.nbytes)

    def truncate(self, rows: int) -> None:
        """Take the rows from `rows` on out of the index, before the store drops them."""
        if not self._is_aside:  # where it has no rows that are not final
            self.index.truncate(rows)

    def forget(self, since: int) -> None:
        """Make the rows final; nobody reads as of a time before `since` any more."""
        if self._is_aside:
            self.index.since = since
        else:
            self.index.seal(since, self.store.died)

    def renumber(self, compaction: Compaction) -> None:
        """The store has renumbered its rows. Cost: a pass over the index."""
        self.index = self.index.renumbered(compaction.mapping, compaction.survivors_before)


Arranged = TypeVar("Arranged", bound=Follower)


class DerivedRows(Generic[Arranged]):
    """A derived collection with its own columns of `types`, and `arranged`, which `arrange` makes of its store.

    Size: rows, what is arranged, and from the first retraction on an index of the living rows, so that retracting costs
    the same however many rows share a key, or are equal.
    """

    def __init__(
        self,
        types: Sequence[SqlType],
        dictionary: TextDictionary,
        arrange: Callable[[RowStore], Arranged],
        name: str = "derived collection",
    ) -> None:
        self.name = name
        self.store = RowStore(types, dictionary, cold=False)
        self.arranged = arrange(self.store)
        self._living: LivingRows | None = None
        self._begun: Mark | None = None
        self._since = BEGINNING

    def apply(self, delta: Delta) -> None:
        """Add the rows with positive diffs and retract living equal ones for negative diffs, in time order.

        Within a time rows are added first, so that updates which cancel need not be consolidated. Retracting a row
        that is not there is an internal error (AssertionError); the caller then aborts. Cost: 20-60 ns a row and
        hash.
        """
        changes = in_order(delta.times, delta.diffs, len(delta), deletes_first=False)
        if len(changes) == 0:
            return
        self._begin()
        ordered = delta if changes.positions is None else delta.take(changes.positions)
        if changes.only_inserts:
            self.store.append(ordered, len(changes), changes.times)
            self.arranged.catch_up()
            return
        if self._living is None:
            self._living = LivingRows(self.store)
        self._living.catch_up()
        words = self._living.words(ordered.columns(), len(changes))
        died = self.store.mortal(self.store.rows + len(changes))
        inserts = changes.inserts
        applied = self.store.expect(Applied(len(changes)))
        self._living.apply(words, inserts, as_array(changes.times), died, applied)
        added = np.flatnonzero(inserts)
        self.store.append(ordered.take(added), len(added), changes.times_of(added))
        if len(applied.failed):
            self._refuse(ordered, int(applied.failed[0]))
        self.arranged.catch_up()

    def mark(self) -> None:
        """See `_begin`, which notes where to come back to."""

    def seal(self, upper: int, since: int) -> None:
        """Make the changes final; history before `since` may be forgotten.

        Rows keep their numbers, so that deltas of this commit can still be read, until the next `apply`.
        """
        for arrangement in self._arrangements():
            arrangement.forget(since)
        self.store.commit(since)
        self._since = since
        self._begun = None

    def rollback(self, mark: None) -> None:
        """Undo everything since the last seal."""
        if self._begun is not None:
            for arrangement in self._arrangements():
                arrangement.truncate(self._begun.rows)
            self.store.rollback(self._begun)
            self._begun = None

    def codes(self) -> Iterator[Array]:
        """Those of the rows' texts, and of what orders them; see `State.codes`."""
        yield from self.store.codes(self._since)
        yield from self.arranged.codes()

    def size(self) -> StateSize:
        """Living and dying rows, entries of both indexes, all bytes."""
        sizes = [arrangement.size() for arrangement in self._arrangements()]
        bytes_ = self.store.nbytes + sum(size.bytes for size in sizes)
        return StateSize(self.store.rows - self.store.dead, sum(size.entries for size in sizes), bytes_)

    def _begin(self) -> None:
        """Before the first changes of a commit: compact if it is worth it, and note where to come back to."""
        if self._begun is not None:
            return
        compaction = self.store.compact(self._since)
        if compaction is not None:
            for arrangement in self._arrangements():
                arrangement.renumber(compaction)
        self._begun = self.store.mark()

    def _arrangements(self) -> list[Kept]:
        return [self.arranged] if self._living is None else [self.arranged, self._living]

    def _refuse(self, delta: Delta, position: int) -> None:
        row = [column.values[0] for column in delta.take(np.array([position])).columns()]
        raise AssertionError(
            f"internal error: the {self.name} has no row {row} (in stored form) to retract; the view that feeds it "
            "is wrong. Please report this with the view's SQL"
        )


class DerivedArrangement(DerivedRows[Arrangement]):
    """A derived collection arranged by `key`."""

    def __init__(
        self,
        types: Sequence[SqlType],
        key: Sequence[int],
        layout: KeyLayout,
        dictionary: TextDictionary,
        name: str = "derived collection",
    ) -> None:
        super().__init__(types, dictionary, lambda store: Arrangement(store, key, layout), name)

    @property
    def key(self) -> tuple[int, ...]:
        """The columns of the key."""
        return self.arranged.key

    @property
    def visited(self) -> int:
        """Entries met by all probes so far."""
        return self.arranged.visited

    def probe(self, words: Ints, dropped: Bools | None, times: Ints | int, inclusive: bool) -> tuple[Ints, Ints]:
        """The rows of each key as of its time; see `Arrangement.probe`."""
        return self.arranged.probe(words, dropped, times, inclusive)

    def look_up(self, words: Ints, dropped: Bools | None, times: Ints | int, inclusive: bool) -> tuple[Ints, Group]:
        """What `probe` finds, as the store's rows."""
        return self.arranged.look_up(words, dropped, times, inclusive)

"""Arrangements: a store with an index over it, which any number of joins and views read as of their own times."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from ivm.kernels.hashing.block import OWES
from ivm.kernels.step.append import BLOCK
from ivm.kernels.step.state import ARRANGEMENT, ASK, INDEX
from ivm.trace.columns.column import Bools, Ints
from ivm.trace.delta import Group
from ivm.trace.helpers import Errand, at_hand
from ivm.trace.index.follower import Follower, Told
from ivm.trace.index.index import Index
from ivm.trace.index.keys import DistinctKeys, KeyLayout, are_complete
from ivm.trace.index.search import Run
from ivm.trace.lessons import Met
from ivm.trace.rows.row_store import RowStore
from ivm.trace.state import StateSize
from ivm.trace.time import one, readable_as_of, stamp, stamps
from ivm.trace.turns import Aside, at_once

_CATCH_UP_ROWS = 1 << 17
_FILL_ROWS = 1 << 16
_COUNTED_FROM = 1 << 18


@dataclass(slots=True)
class _Keys:
    """The keys of a store's rows: their columns `key`, as `layout` packs them.

    The index reads them by this, not by the arrangement: two that held each other would outlive their last user.
    """

    store: RowStore
    key: tuple[int, ...]
    layout: KeyLayout
    form: Ints = field(init=False)
    _form_at: int = field(init=False)

    def __post_init__(self) -> None:
        self.form = self.layout.form_of([(0, column) for column in self.key])
        self._form_at = self.form.ctypes.data

    def at(self, rows: int) -> Run:
        """Where kernels find the keys of the first `rows` rows."""
        return self.store.columns.told(self.key, rows), self._form_at, len(self.key)

    def told(self, index: Index) -> Ints:
        """What `append_rows` is told of an index by them."""
        told = index.address, self._form_at, len(self.key), self.layout.words, self.store.columns.are_hot(self.key)
        return np.array(told, np.int64)

    def pack(self, rows: slice) -> tuple[Ints, Bools | None]:
        """The words of these rows, and which to drop."""
        return self.layout.pack([self.store.gather(c, rows) for c in self.key], rows.stop - rows.start)

    def words(self, rows: slice) -> Ints:
        """The words (n, W) of these rows."""
        return self.pack(rows)[0].reshape(-1, self.layout.words)


class Arrangement(Follower):
    """The rows of `store` by their columns `key`, as `layout` packs them. Size: the index; rows belong to the store.

    `unique`: at most one row of a key lives at any time. A follower of the store (see `Follower`).
    """

    def __init__(self, store: RowStore, key: Sequence[int], layout: KeyLayout, *, unique: bool = False) -> None:
        self.store = store
        self.key = tuple(key)
        self.layout = layout
        self._is_aside = False
        self._coming: Errand[bool] | Errand[None] | None = None
        self._keys = _Keys(store, self.key, layout)
        runs = unique or layout.words == 1
        if runs:
            store.columns.want(self.key)
        self.index = Index(layout.words, unique, self._keys if runs else None, layout.lead_shift if unique else 0)
        self.block = self.index.block
        self.told: Told = self._keys.told(self.index), self.index
        self.words: Ints = np.zeros(ARRANGEMENT, np.int64)
        """What kernels are told of it; see `ivm.kernels.step.state`."""
        self.words[ASK] = 1
        self._told: object = None

    @property
    def unique(self) -> bool:
        """Whether at most one row of a key lives at any time."""
        return self.index.unique

    @property
    def is_whole(self) -> bool:
        """Whether it has all rows of the store: one that only foreign keys use lags until a commit checks them."""
        return not self._is_aside and self.index.rows == self.store.rows

    def catch_up(self, most: int | None = None) -> int:
        """Index the rows that the store has gained, at most so many of them; how many are left. Cost: 20 ns a row.

        Others may be at it until somebody looks something up, if the commit has helpers for so many rows. It may be
        interrupted, and called again.
        """
        if self._coming is not None:
            self.settle()
        store, index = self.store, self.index
        row, end = index.rows, store.rows
        if row == end:
            return 0
        index.mend()
        index.expect(end - row)
        if most is not None:
            end = min(row + most, end)
        elif self._catch_up_aside(end - row):
            return 0
        died = store.died
        while row < end:
            stop = min(row + _CATCH_UP_ROWS, end)
            if not index.insert_packed(store.columns.keys_at(self._keys.form, self.key, row, stop), died):
                words, dropped = self._keys.pack(slice(row, stop))
                index.insert(words, dropped, died)
            row = stop
        return store.rows - row

    def learn(self, met: Met) -> None:
        """See `Learner.learn`."""
        if not self._is_aside:
            self.index.learn(met, self.store.died)

    def tell(self) -> None:
        """Write down in `words` where index, store and columns lie now, so that kernels search them without Python."""
        self.settle()
        index, store, columns = self.index, self.store, self.store.columns
        places, (_, *run) = columns.tell_wanted(), self._keys.at(index.run_rows)
        edition = columns.edition
        self.words[INDEX:] = (
            *(index.address, store.words.ctypes.data, edition.ctypes.data, edition.item(0), places),
            *run,
        )
        self._told = index, store.words, columns  # which are there for as long as that is told
        self.words[ASK] = 0

    def _catch_up_aside(self, count: int) -> bool:
        """Let others do it, unless there are none, or that are too many rows. Nobody changes the store meanwhile.

        Keys that kernels do not find are read here, where all is done that may fail for that. Their columns are brought
        to where reading them by row number changes nothing.
        """
        errands = at_hand(count)
        if errands is None or count > _CATCH_UP_ROWS:
            return False
        index, died, columns = self.index, self.store.died, self.store.columns
        keys = columns.keys_at(self._keys.form, self.key, index.rows, self.store.rows)
        columns.settle(self.key)
        self._keys.at(index.run_rows)
        self.words[ASK] = index.block[OWES] = True
        if are_complete(keys):
            self._coming = errands.send(partial(index.insert_packed, keys, died))
        else:
            words, dropped = self._keys.pack(slice(index.rows, self.store.rows))
            self._coming = errands.send(partial(index.insert, words, dropped, died))
        return True

    def settle(self) -> None:
        """Wait for what others index, or index it here."""
        if self._coming is not None:
            self._coming.get()
            self._coming = None

    def fill(self, aside: Aside = at_once) -> Iterator[int]:
        """Index all rows of the store bit by bit, yielding the rows of each; commits may come between two of them.

        Commits may come too while `aside` does what it is given, and tables grow: what takes long reads no store. Many
        keys that do not come in order are counted first, so that the hash table is made once. Cost: 30 ns a row.
        """
        if self.index.rows < self.store.rows:
            self.index.mend()
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
        self.told[0][BLOCK], self._is_aside = 0, True
        try:
            aside(work)
        finally:
            self._is_aside, self.told[0][BLOCK] = False, self.index.address

    def probe(self, words: Ints, dropped: Bools | None, times: Ints | int, inclusive: bool) -> tuple[Ints, Ints]:
        """The rows of each key as of its time: (position of the key, row of the store), by position.

        `words` and `dropped` as `layout` packs them; keys with a True in `dropped` find nothing. `inclusive`: changes
        at the time itself are seen. Of rows that the store has gained those are found that are caught up with. Cost:
        see `Index.probe`.
        """
        self.settle()
        as_of, store = readable_as_of(times, inclusive), self.store
        limits = one(store.limit(as_of)) if isinstance(as_of, int) else store.limits(as_of)
        return self.index.probe(words, dropped, limits, store.died, stamps(as_of), self)

    def look_up(
        self, words: Ints, dropped: Bools | None, times: Ints | int, inclusive: bool, read: Sequence[int] = ()
    ) -> tuple[Ints, Group]:
        """What `probe` finds, as the store's rows."""
        positions, rows = self.probe(words, dropped, times, inclusive)
        return positions, Group(self.store.columns, rows)

    def size(self) -> StateSize:
        """Entries and bytes of the index alone."""
        return StateSize(entries=self.index.entries, bytes=self.index.nbytes)

    def truncate(self, rows: int) -> None:
        """Take the rows from `rows` on out of the index, before the store drops them."""
        if not self._is_aside:  # where it has no rows that are not final
            self._coming = None
            self.index.truncate(rows)

    def seal(self, since: int) -> None:
        """Make the rows final; nobody reads as of a time before `since` any more."""
        if self._coming is not None:
            self.settle()
        index, store = self.index, self.store
        if self._is_aside:
            index.since = stamp(since)
        else:
            if index.rows < store.rows:
                index.mend()
            index.seal(stamp(since), store.died)

    def over(self, store: RowStore) -> Arrangement:
        """An empty one of the same kind, over another store."""
        made = Arrangement(store, self.key, self.layout, unique=self.unique)
        made.index.since = self.index.since
        return made

    def adopt(self, other: Arrangement) -> None:
        """Become what `other` is, whose store this one's has become."""
        self.words[ASK] = 1
        other._keys.store = self.store
        # In one line, for nothing is raised between stores.
        self._keys, self.index, self.block, self.told = other._keys, other.index, other.block, other.told

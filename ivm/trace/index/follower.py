"""What is kept in step with a store by its rows' numbers, and how others look rows up in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, Self

from ivm.trace.columns.column import Array, Bools, Ints
from ivm.trace.columns.computed import Computed
from ivm.trace.delta import Group
from ivm.trace.index.keys import KeyLayout
from ivm.trace.rows.row_store import RowStore
from ivm.trace.state import StateSize


class Lookup(Protocol):
    """Rows by their keys, as a join sees them."""

    layout: KeyLayout
    """How the columns of a key become the words that `look_up` takes."""

    at_once: int = 1 << 17
    """How many keys are looked up at once, at most."""

    def look_up(
        self, words: Ints, dropped: Bools | None, times: Ints | int, inclusive: bool, read: Sequence[int] = ()
    ) -> tuple[Ints, Group]:
        """For each key the rows visible at its time: (position of the key, ascending; the rows).

        Of the rows the columns `read` can be read.
        """
        ...

    def prepare(self, columns: Sequence[int], computed: Computed = ()) -> Iterator[int]:
        """Let these columns of the rows, and functions of columns, be read without a wait.

        It is done in bits, yielding the rows of each.
        """
        yield from ()

    def reader(self, time: int) -> Lookup:
        """What looks up as of `time`, the present, while others commit, as long as none of them lets go of history."""
        ...


class Follower(Lookup, Protocol):
    """An index of a store's rows, of any kind: changed in steps, as the store is, and undone and sealed with it."""

    store: RowStore

    def catch_up(self, most: int | None = None) -> int:
        """Index the rows that the store has gained, at most so many of them; how many are left."""
        ...

    def prepare(self, columns: Sequence[int], computed: Computed = ()) -> Iterator[int]:
        """The columns of the store can then be read by row number."""
        return self.store.columns.prepare(columns, computed)

    def reader(self, time: int) -> Self:
        """Itself: the rows have their times, and can be looked up as of any that nobody has let go of."""
        return self

    def truncate(self, rows: int) -> None:
        """Take the rows from `rows` on out of the index, before the store drops them; total, as `State.rollback`."""
        ...

    def seal(self, since: int) -> None:
        """Make all that was done final, before the store does; nobody reads as of a time before `since` any more."""
        ...

    def codes(self) -> Iterator[Array]:
        """The codes that it keeps beside those of the rows, if any; see `State.codes`."""
        yield from ()

    def size(self) -> StateSize:
        """Entries and bytes of the index alone."""
        ...

    def over(self, store: RowStore) -> Self:
        """An empty one of the same kind, over another store."""
        ...

    def adopt(self, other: Self) -> None:
        """Become what `other` is, whose store this one's has become. Done again, it changes nothing."""
        ...

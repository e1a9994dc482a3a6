"""What is kept in step with a store by its rows' numbers, and how others look rows up in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, Self
from weakref import ref

import numpy as np

from ivm.kernels.hashing.block import LAST, OWES
from ivm.kernels.step.state import KEPT, STORE_AT
from ivm.trace.columns.column import Array, Bools, Ints
from ivm.trace.columns.computed import Computed
from ivm.trace.delta import Group
from ivm.trace.index.keys import KeyLayout
from ivm.trace.rows.row_store import RowStore
from ivm.trace.state import StateSize, WeakList

Told = tuple[Ints, object]
"""Words of a key, see `ivm.kernels.step.append`, and what has to be there meanwhile."""


_Told = tuple[Ints, Ints, Ints, object]


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

    block: Ints
    """What `seal_runs` is told of it; `seal` is called where it OWES that (see `ivm.kernels.hashing.block`)."""

    told: Told | None = None
    """What `append_rows` is told of it, if its run may take rows as they come."""

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


class Followers:
    """Those that follow a store, in the order in which they came; kernels are told of them."""

    def __init__(self) -> None:
        self._lists = _Lists()
        self._each = _Each(self._lists)
        self.kept: Ints = self._lists.kept
        """What walks are told of the collection that is followed; see `ivm.kernels.step.state`."""
        self.first_proves = False
        """Whether rows are new only if the first one's key proves it, which is there for good."""

    def each(self) -> list[Follower]:
        """Those that are still held."""
        return self._each.each()

    def hold(self, each: Follower) -> None:
        """One more."""
        self._each.hold(each)
        self.forget()

    @property
    def blocks(self) -> Ints:
        """Where the blocks of all stand, int64."""
        return (self._lists.told or self._told())[0]

    @property
    def keys(self) -> Ints:
        """What `append_rows` is told of those that may take rows as they come."""
        return (self._lists.told or self._told())[1]

    @property
    def others(self) -> Ints:
        """The same where rows are known to be new."""
        return (self._lists.told or self._told())[2]

    def forget(self) -> None:
        """They are others by now, or lie elsewhere."""
        self._lists.forget()

    def _told(self) -> _Told:
        """The lists, and what they tell of, which is there as long as they are."""
        each = self.each()
        blocks, told = [follower.block for follower in each], [follower.told for follower in each]
        keys = [] if self.first_proves else [0]
        keys += [words[0].ctypes.data for words in told if words is not None]
        addresses = [block.ctypes.data for block in blocks]
        own, others = np.array(keys, np.int64), np.array([0, *keys[1:]], np.int64)
        lists = self._lists.told = np.array(addresses, np.int64), own, others, (blocks, told)
        return lists


class _Lists:
    """What kernels are told of followers, until one comes or goes."""

    def __init__(self) -> None:
        self.told: _Told | None = None
        self.kept: Ints = np.zeros(KEPT, np.int64)

    def forget(self) -> None:
        """Nothing that was told holds any longer."""
        self.kept[STORE_AT], self.told = 0, None


class _Each(WeakList[Follower]):
    """Followers; once one goes, nothing is told that holds what it had."""

    def __init__(self, lists: _Lists) -> None:
        super().__init__()
        self._lists = lists

    def _forget(self, reference: ref[Follower]) -> None:
        super()._forget(reference)
        self._lists.forget()


def owing() -> Ints:
    """The `block` of a follower that is sealed each time."""
    block: Ints = np.zeros(LAST, np.int64)
    block[OWES] = True
    return block

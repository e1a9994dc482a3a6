"""The rows kind of state: a store of rows with all that is kept in step with it, undone, sealed and read as one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

import numpy as np
import pyarrow as pa

from ivm.catalog.types import Physical, SqlType
from ivm.kernels.hashing.block import OWES, ROWS
from ivm.kernels.hashing.seal import seal_runs
from ivm.kernels.step.append import APART
from ivm.kernels.step.arrange import UNTOLD
from ivm.kernels.step.state import STORE_AT
from ivm.trace.columns.column import NOBODY, Array, Column, Ints
from ivm.trace.columns.segment import Segment, Segments
from ivm.trace.columns.stored_columns import StoredColumns
from ivm.trace.delta import Delta
from ivm.trace.helpers import LARGE, at_hand
from ivm.trace.index.arrangement import Arrangement
from ivm.trace.index.follower import Follower, Followers
from ivm.trace.index.index import IndexMark
from ivm.trace.rows import compaction
from ivm.trace.rows.changes import Applied, Changes, in_order
from ivm.trace.rows.compaction import Compaction
from ivm.trace.rows.living_rows import LivingRows
from ivm.trace.rows.retraction import find_by_key
from ivm.trace.rows.row_store import RowStore, StoreMark
from ivm.trace.rows.rows_reader import Lives, RowsReader
from ivm.trace.state import State, StateSize
from ivm.trace.text.dictionary import TextDictionary
from ivm.trace.time import BEGINNING, chosen, stamp, stamps

Arranged = TypeVar("Arranged", bound=Follower)
_AT_LEAST, _FOR_EACH = 1 << 11, 32
"""How many rows are indexed by their values with a commit, and for each row that came or died."""
_LEFT = 1 << 6
"""So many are left until more have come, or one is retracted: fewer are not worth it."""
RowsMark = tuple[StoreMark, IndexMark | None]
"""Where rows come back to: their store, and the index of the living ones."""


class Rows(State):
    """Rows of columns of `types` and what follows them: indexes by key, rows in order, living rows by their values.

    A follower is kept in step for as long as somebody else holds it. Size: the rows, and from the first retraction by
    value on an index of the living rows, so that retracting costs the same however many rows share a key, or are equal.
    """

    def __init__(self, types: Sequence[SqlType], dictionary: TextDictionary, *, cold: bool) -> None:
        self.store = RowStore(types, dictionary, cold=cold)
        self._followers = Followers()
        self._named: WeakValueDictionary[object, Follower] = WeakValueDictionary()
        self._living: LivingRows | None = None
        self._since = BEGINNING
        self._compaction: Compaction | None = None
        self._taking_over: Compaction | None = None
        self._compact_at = 0

    @property
    def count(self) -> int:
        """How many rows live."""
        return self.store.rows - self.store.dead

    @property
    def living(self) -> LivingRows:
        """The living rows by their values; all rows are there.

        Texts become hot for it: of those that stay as they came nobody keeps the codes by which rows are found.
        """
        if self._living is None:
            texts = [i for i, type_ in enumerate(self.store.types) if type_.physical is Physical.CODE]
            for _ in self.store.columns.prepare(texts):
                pass
            self._living = LivingRows(self.store)
        self._living.catch_up()
        return self._living

    def change(self, columns: Sequence[Column], changes: Changes, *, go_on: bool = False) -> tuple[Applied, RowsMark]:
        """Let living rows die that equal rows of these columns, as `changes` say; those that come `store` gets next.

        What was done, and the mark before it: of the living rows, which are all there by then, too.
        """
        store, living = self.store, self.living
        words = living.words(columns, len(changes))
        died = store.mortal(store.rows + len(changes))
        inserts, times, mark = changes.inserts, stamps(changes.times), self.mark()
        applied = store.expect(Applied(len(changes), go_on=go_on))
        living.index.apply(words, inserts, times, died, applied)
        return applied, mark

    def follow(self, follower: Follower, name: object = None) -> None:
        """Keep `follower` in step from now on; it is found under its name, if it has one."""
        follower.seal(self._since)
        self._followers.hold(follower)
        if name is not None:
            self._named[name] = follower

    def follower(self, name: object) -> Follower | None:
        """The follower of this name."""
        return self._named.get(name)

    def followers(self) -> list[Follower]:
        """All that follow, in the order in which they came."""
        return self._followers.each()

    def mark(self) -> RowsMark:
        """See `State.mark`."""
        return self.store.mark(), None if self._living is None else self._living.index.mark()

    def rollback(self, mark: RowsMark) -> None:
        """See `State.rollback`."""
        store, living = mark
        rows = store[0]
        for follower in self.followers():
            follower.truncate(rows)
        if living is None:
            self._living = None
        elif self._living is not None:
            self._living.index.rollback(living)
        self.store.rollback(store)

    def seal(self, upper: int, since: int) -> None:
        """See `State.seal`. Where most rows have died, the others get new numbers: bit by bit, beside those that count,
        whose place they take when nothing has to be still.

        Who has read rows by number keeps what he has read from.
        """
        if self._taking_over is not None:
            self._take_over(self._taking_over)
        store, self._since = self.store, since
        self.edition += 1
        if seal_runs(self._followers.blocks, stamp(since)):
            for follower in self.followers():
                if follower.block[OWES]:
                    follower.seal(since)
        if self._living is not None:
            self._living.seal(since)
        is_dying = self._compaction is not None or store.rows >= compaction.FROM_ROWS <= store.dead
        going = self._compacting(self.followers(), since) if is_dying else None
        store.seal(upper, since)
        if going is None or self.is_still or not going.is_done:
            self._compaction = going
        elif going.is_worth_it:
            self._taking_over = going
            self._take_over(going)
        else:  # look again when there is more to gain
            self._compact_at = self.store.dead + self.store.dead // 4

    def hold(self, columns: StoredColumns) -> None:
        """Hold these columns of the same rows from now on, see `RowStore.hold`. What knows rows by all of their values
        is made anew when it is needed.
        """
        self._living = self._compaction = None
        self.store.hold(columns)

    def reader(self, as_of: int | None = None) -> RowsReader:
        """The rows as of a time before the last seal (None: then). Needs no lock."""
        return self.store.reader(as_of)

    def segments(self) -> Iterator[Segment]:
        """See `State.segments`: the rows that anybody may still read; what follows them is made of them again."""
        return self.store.segments(self._since)

    def restore(self, segments: Iterable[Segment]) -> None:
        """See `State.restore`."""
        time, since = self.store.restore(Segments(segments))
        for follower in self.followers():
            follower.catch_up()
        self.seal(time + 1, since)

    def load(self, batches: Iterable[pa.RecordBatch], dead: Ints, time: int, lives: Lives | None = None) -> object:
        """Take rows into an empty store, see `RowStore.load`; what follows them is made of them again.

        The `numbering` in which they are numbered as they came: where most are dead, sealing gives the others new ones.
        """
        self.store.load(batches, dead, time, lives)
        numbering = self.store.columns.numbering
        for follower in self.followers():
            follower.catch_up()
        self.seal(time + 1, time if lives is None else lives.since)
        return numbering

    def codes(self) -> Iterator[Array]:
        """Those of the rows' texts, and of what orders them; see `State.codes`."""
        yield from self.store.codes(self._since)
        for follower in self.followers():
            yield from follower.codes()

    def size(self) -> StateSize:
        """Living rows, entries of the index of living rows, bytes of both; followers count for themselves."""
        living = StateSize() if self._living is None else self._living.size()
        return StateSize(self.count, living.entries, self.store.nbytes + living.bytes)

    def _compacting(self, followers: Sequence[Follower], since: int) -> Compaction | None:
        """The compaction that goes on or begins, if there is one. It is lost where it is interrupted."""
        going, self._compaction = self._compaction, None
        dead = self.store.dead
        begins = dead >= compaction.FROM_ROWS and dead >= self._compact_at
        if going is None and begins and compaction.is_due(dead, self.store.rows):
            going = Compaction(self.store, self._living, since)
        if going is not None:
            with suppress(MemoryError):  # it can wait
                if going.go_on(followers, self._living, since):
                    return going
        return None

    def _take_over(self, done: Compaction) -> None:
        done.take_over()
        self._followers.forget()
        self._compact_at = 0
        self._taking_over = None


class DerivedRows(Rows, Generic[Arranged]):
    """Rows of a derived collection, and `arranged`, which `arrange` makes of their store: the one that follows them.

    From the first retraction on the index of the living rows is made bit by bit, as commits are sealed.
    """

    def __init__(
        self, types: Sequence[SqlType], dictionary: TextDictionary, arrange: Callable[[RowStore], Arranged]
    ) -> None:
        super().__init__(types, dictionary, cold=False)
        self.arranged = arrange(self.store)
        self.follow(self.arranged)

    def apply(self, delta: Delta) -> None:
        """Add the rows with positive diffs and retract living equal ones for negative diffs, in time order.

        Within a time rows are added first, so that updates which cancel need not be consolidated. Retracting a row
        that is not there is an internal error (AssertionError); the caller then rolls back. Cost: 20-60 ns a row and
        hash.
        """
        times = delta.times
        if delta.diffs is None and isinstance(times, int):
            if delta.length:
                self.come(delta, delta.length, times)
            return
        changes = in_order(times, delta.diffs, len(delta), deletes_first=False)
        if len(changes) == 0:
            return
        ordered = delta if changes.positions is None else delta.take(changes.positions)
        if changes.only_inserts:
            self.come(ordered, len(changes), changes.times)
            return
        failed = self._retract(ordered, changes)
        if len(failed):
            self._refuse(ordered, int(failed[0]))
        self.arranged.catch_up()

    def come(self, delta: Delta, count: int, times: Ints | int) -> None:
        """Add the `count` rows of a delta, at `times`, ascending if many; the index has them then, too."""
        store = self.store
        keys = self._followers.keys if count < LARGE or at_hand(count) is None else NOBODY
        said = store.take(delta, count, times, keys)
        assert said <= APART, "rows are taken that need not be new"
        self._arrange()

    @property
    def kept(self) -> Ints:
        """What walks are told of the collection; see `ivm.kernels.step.state`."""
        return self._followers.kept

    def make_room(self, said: int, count: int, times: int) -> None:
        """Let a kernel know where the collection lies, or have the room that it says is lacking for `count` rows, which
        come at so many times.
        """
        kept = self.kept
        if said != UNTOLD:
            self.store.make_room(said, count, times)
        elif not kept[STORE_AT]:
            keys, store = self._followers.keys, self.store
            kept[STORE_AT:] = store.words.ctypes.data, keys.ctypes.data, len(keys), store.columns.told(())

    def came(self, count: int) -> None:
        """A kernel has added `count` rows; the index has them then, too."""
        self.store.came(count)
        self._arrange()

    def _arrange(self) -> None:
        """Let the index have all rows, if the kernel has not seen to that."""
        if self.arranged.block.item(ROWS) != self.store.rows:
            self.arranged.catch_up()

    def seal(self, upper: int, since: int) -> None:
        """See `Rows.seal`. The index of the living rows comes nearer to having all of them."""
        if self._living is not None and self.store.rows - self._living.index.rows > _LEFT:
            self._index_living(self._living)
        super().seal(upper, since)

    def size(self) -> StateSize:
        """Living rows, entries of both indexes, all bytes."""
        rows, arranged = super().size(), self.arranged.size()
        return StateSize(rows.rows, rows.entries + arranged.entries, rows.bytes + arranged.bytes)

    def _retract(self, ordered: Delta, changes: Changes) -> Ints:
        """Append the rows that come, let die those that go; the positions of changes that fail.

        An index of the living rows that lags behind catches up as it is sealed; until then rows are found by their keys
        where few go, so that the first one to go does not wait for all to be indexed.
        """
        store, columns = self.store, ordered.columns()
        living = self._living or LivingRows(store)
        found = find_by_key(self.arranged, living, columns, changes) if isinstance(self.arranged, Arrangement) else None
        applied = self.change(columns, changes)[0] if found is None else Applied(len(found.others), go_on=True)
        added = changes.inserts.nonzero()[0]
        if len(added):
            store.append(ordered.take(added), len(added), chosen(changes.times, added))
        else:
            store.reach(changes.bounds[1])
        if found is None:
            return applied.failed
        self._living = living
        store.kill(found.rows, stamps(chosen(changes.times, found.positions)))
        if len(found.others):
            living.retract(
                found.words[found.others], stamps(chosen(changes.times, found.others)), store.expect(applied)
            )
        return found.others[applied.failed]

    def _index_living(self, living: LivingRows) -> None:
        """Index more of the living rows, in proportion to what came and died; all is lost where it is interrupted."""
        self._living = None
        with suppress(MemoryError):  # it begins anew when it is needed
            living.catch_up(_AT_LEAST + _FOR_EACH * self.store.unsealed)
            self._living = living

    def _refuse(self, delta: Delta, position: int) -> None:
        row = [column.values[0] for column in delta.take(np.array([position])).columns()]
        raise AssertionError(
            f"internal error: the derived collection has no row {row} (in stored form) to retract; the view that feeds "
            "it is wrong. Please report this with the view's SQL"
        )

"""What a database is made of, below what users hold: what exists, the engine, who listens, and who may touch it when.

Two locks, taken in this order. `definitions` is held by who creates or drops, for as long as that takes: planning
included, so that what is planned against does not change. `lock` is held by whoever reads or changes the engine's
state: a commit, one chunk of an installation, the moment in which a reader takes hold of what it reads. No one plans,
asks DuckDB or compiles under it, but for the one statement that `adhoc.change` describes. Nobody who has `lock` waits
for the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from os import PathLike
from types import MappingProxyType
from typing import Any

from ivm.arguments import Tabular
from ivm.called import Functions
from ivm.catalog.altering import Altered
from ivm.catalog.catalog import Catalog
from ivm.catalog.errors import (
    AccessError,
    BindError,
    Error,
    InterfaceError,
    StorageError,
    UnsupportedError,
    ViewDroppedError,
)
from ivm.catalog.paths import Names
from ivm.catalog.schema import Table
from ivm.durable import ending
from ivm.durable.payload import Batch, Defining
from ivm.engine.backend import Backend, Maintained, Reading
from ivm.engine.engine import Engine
from ivm.engine.installing import Progress
from ivm.engine.reader import View
from ivm.engine.transaction import Change, Transaction
from ivm.intake.incoming import Incoming, check_times
from ivm.kernels.memory.allocator import give_back_freed_pages
from ivm.session.clock import Clock
from ivm.session.sequences import Numbers
from ivm.session.serving import Checkpoints, Closes, Follows, Loads
from ivm.session.settings import Named, Settings, as_it_is
from ivm.subscriptions.subscription import Subscription
from ivm.trace.columns.column import Ints
from ivm.trace.columns.exported import ArrowRows
from ivm.trace.turns import Turns

_NONE: Mapping[str, None] = MappingProxyType({})
_OWED = 8
"""Pieces of freeing texts that a commit leaves to those after it; many more have come with itself."""


class Core:
    """Plain parts, which statements, reads and commits work on; `lock` is taken around every use of `engine`."""

    def __init__(self, engine: Backend, *, external_access: bool) -> None:
        self.catalog = Catalog()
        self.settings = Settings(Names(self.catalog))
        self.engine = engine
        self.lock = Turns(self._begin)
        self.clock, self.numbers = Clock(self.catalog), Numbers(self)
        self.incoming = Incoming(self.catalog, engine.helpers, self.clock, self.numbers, lambda: self.settings.zone)
        self.external_access = external_access
        self.functions = Functions(self.catalog)
        """Those of the application's."""
        self.catalog.functions = self.functions.declared
        self.lock.within = self.functions.within
        engine.begin_with(self.functions, self.clock.present)
        self.read_only = ""
        """Of a database that is only read: where it is."""
        self.part = ""
        """Of one that has some of the rows alone: what it is."""
        self.definitions, self._copies = Turns(self._clear), Turns()
        self._left: tuple[Callable[[], None], Any] | None = None
        self._progress: Callable[[Progress], None] | None = None
        self.checkpoints: Checkpoints | None = None
        """What makes those of a database that outlives its process."""
        self.deliveries: list[Closes] = []
        """Those that deliver what changes in views."""
        self.more: Mapping[str, Callable[[], Reading]] = {}
        """Relations that can be read beside those of the engine."""
        self.loads: Loads | None = None
        """What loads what a SELECT answers, where rows are elsewhere."""
        self.comes_with: Callable[[Any, Any], Any] | None = None
        """The `ivm.session.coming.Coming` of a transaction on it, where rows are elsewhere."""
        self.follows: Follows | None = None
        """What brings it to where the process is that writes its directory."""
        self.at: Callable[[int], Any] | None = None
        """The `ivm.session.open_transaction.OpenTransaction` that reads as of a time."""
        self.sources: Any = None  # the `ivm.session.sources.Sources`, once there are some
        self.is_copied = True
        """Whether a process that is forked has all of it for itself: nothing on disk, nor in other processes."""
        self.is_left = False
        """Whether this is a process that was forked, and another one goes on with it."""
        ending.made(self)

    def check_writable(self) -> None:
        """AccessError if the database was opened to be read only."""
        if self.part:
            raise AccessError(f"cannot change {self.part}: it is only looked at; change the database that it is of")
        if self.read_only:
            raise AccessError(f"cannot change database {self.read_only}: it was opened with read_only; open it without")

    def check_whole(self, what: str) -> None:
        """UnsupportedError, which says `what` was to be done, if some of the rows are elsewhere."""
        if self.part:
            raise UnsupportedError(
                f"cannot {what} {self.part}, as it depends on the rows of other shards, too; do that where the whole "
                "database is open, or on a copy by `ivm recover`"
            )

    def relations(self) -> Mapping[str, Callable[[], Reading]]:
        """What takes hold of each relation that is neither table nor view, by its name; called with the lock."""
        return {**self.engine.relations(), **self.more}

    def begin_defining(self, progress: Callable[[Progress], None] | None) -> None:
        """The caller has `definitions`. BindError if this thread creates a view just now."""
        if self.engine.is_installing:
            raise BindError(
                "cannot create or drop anything while this thread creates a view: what is given as progress may "
                "read and commit; do the rest after the view is there"
            )
        self._progress = progress

    def carry_out(
        self, work: Callable[[], None], catalog: Catalog, made: Mapping[str, ArrowRows | None] = _NONE,
        altered: Sequence[Altered] = (),
    ) -> None:  # fmt: skip
        """Change what exists to `catalog`: `work` may be interrupted, and is then done again, by whoever comes next.

        `made` are tables with the rows that they begin with: new ones, or some of those that are `altered`. The caller
        has the lock. StorageError if it cannot be written down, and nothing has changed; from then on it takes effect,
        so it must not fail. Then it is certain; what else is due `settle` does, which is to follow.
        """
        journal, put = self.engine.journal, None
        try:
            if journal is not None:
                put = journal.define(Defining(self.catalog, catalog, self.engine.time, made, altered))
            self._left = work, put
        finally:
            if self._left is None and journal is not None:
                journal.take_back()
        self._finish_surely()

    def replace(self, work: Callable[[], None]) -> None:
        """Do `work`, which cannot fail, as a whole: if it is interrupted, whoever has the lock next does it again."""
        self._left = work, None
        self._finish_surely()

    def pause(self, progress: Callable[[], Progress]) -> None:
        """Between two chunks of an installation: report, and let others in."""
        told = self._progress
        if told is None:
            self.lock.let_others_in()
            return
        now = progress()

        def tell() -> None:
            self.certain()  # that there are so many rows
            told(now)

        self.lock.aside(tell)

    def close(self) -> None:
        """Let everything go, and nobody in; whoever is at work comes to an end first. Once is enough."""
        for each in tuple(self.deliveries):
            each.close()
        self.numbers.close()
        if self.checkpoints is not None and not self.lock.closed:
            self.checkpoints.close()
        with self._copies, self.definitions:
            self.begin_defining(None)
            if self.lock.closed:
                return
            self.clock.ended.set()
            with self.lock:
                self.end_subscriptions()
                self.engine.close()
                journal, self.engine = self.engine.journal, Engine(None, history=0)
                self.lock.close("cannot use this database: it is closed; make another with ivm.connect()")
            if journal is not None:
                journal.close()
                ending.closed(self)
        give_back_freed_pages()

    def fork(self) -> None:
        """In a process that was forked: what another one goes on with is not ours; nothing is let go, or written.

        What is in memory alone is a copy, of use unless a thread was at work on it, which is not here.
        """
        self._copies.fork()
        self.definitions.fork()
        is_whole = self.lock.fork()
        if self.lock.closed:
            return
        if self.is_copied and is_whole:
            self.engine.listeners.fork()
            return
        refusal = (
            "another thread was at work on it when this process was forked; fork while none is"
            if self.is_copied
            else "it is that of the process that forked this one; open it here with ivm.connect(path, read_only=True), "
            "or connect after the fork"
        )
        self.lock.close(f"cannot use this database: {refusal}")
        self.engine.listeners.fork(f"cannot use this subscription: {refusal}")
        self.is_left, self._left_behind = True, self.engine
        self._left, self.engine = None, Engine(None, history=0)

    def transaction(self, batch: Batch | None = None, *, settles: bool = True, named: Named = as_it_is) -> Transaction:
        """Changes at one logical time, of tables as they are `named`; see `commit`. AccessError if it is only read."""
        self.check_writable()
        return Transaction(partial(self._rows, named), partial(self.commit, batch=batch, settles=settles))

    def commit(self, changes: list[Change], batch: Batch | None = None, *, settles: bool = True) -> int:
        """Commit checked changes; returns the last logical time. See `check_times` and `Engine.commit`.

        `settles`: False for who has the lock, and calls `settle` when others have it again.

        Changes of a `batch` that was committed before, or of one before that, are left out. StorageError if it is not
        certain that the commit will be found again.
        """
        if self.read_only:
            self.check_writable()
        try:
            with self.lock:
                engine = self.engine
                if batch is not None and batch[1] <= engine.batches.get(batch[0], batch[1] - 1):
                    time, owed = engine.time, engine.texts_owed
                else:
                    for change in changes:
                        if change.times is not None:
                            check_times(change.table, change.times, engine.time)
                    if self.clock.unread is self.catalog.content:
                        time = engine.commit(changes, batch)
                    else:
                        time = self.clock.commit(engine, changes, batch)
                    owed = engine.tidy_texts()
        except Error:
            self.certain()  # what is wrong may be due to a commit that is not yet
            raise
        if settles and (owed > _OWED or engine.journal is not None or engine.listeners.waited_for):
            self.settle()
        return time

    def settle(self) -> None:
        """Return when what was committed survives a loss of power, if commits wait for that; StorageError if it is not
        certain. Then do what is due: a checkpoint, aside, and what is owed for texts, but for a few pieces. Last, wait
        for those who listen and wish that.
        """
        journal = self.engine.journal
        if journal is not None:
            journal.settle()
            if self.checkpoints is not None:
                self.checkpoints.make_if_due()
        if self.engine.texts_owed > _OWED:
            self.tidy_texts(_OWED)
        if self.engine.listeners.waited_for:
            self.engine.listeners.wait_for_room()

    def tidy_texts(self, left: int = 0) -> None:
        """Do what is owed for the texts that have come, piece by piece, until so many are left.

        Others go first between two pieces. Cost: none where no more are owed.
        """
        owed = self.engine.texts_owed
        if owed <= left:
            return
        with suppress(InterfaceError):  # it was closed meanwhile
            while owed > left:
                with self.lock:
                    owed = self.engine.tidy_texts()

    def check(self, changes: list[Change]) -> None:
        """Raise what a commit of checked changes would raise now; nothing is changed. Cost: that of the commit."""
        with self.lock:
            self.engine.check(changes)

    def backup(self, path: str | PathLike[str]) -> None:
        """Copy the database's files, as of now; see `Journal.copy`. InterfaceError where it has none.

        One copy is made after the other, and nobody closes the files meanwhile.
        """
        with self._copies:
            journal = self.engine.journal
            if journal is not None:
                journal.finish()  # so that there is little to write while nobody commits
            with self.lock:
                journal = self.engine.journal
                if journal is None:
                    raise InterfaceError(
                        "cannot back up this database: it is in memory, or only read; call backup where it is written, "
                        "or copy its directory with `ivm recover`"
                    )
                record = journal.finish()
            journal.copy(path, record)

    def certain(self) -> None:
        """Return when all that can be seen now survives a loss of power, if commits wait for that.

        So nobody acts on what is gone afterwards. Cost: none where no other thread is about to commit.
        """
        journal = self.engine.journal
        if journal is not None:
            journal.certain()

    def readable(self) -> tuple[int, int]:
        """The first and the last time that can be read; what was seen by now is certain."""
        seen = self.engine.since, self.engine.time
        self.certain()
        return seen

    def batches(self) -> dict[str, int]:
        """Of each source that numbers its batches the number of the last one that was committed."""
        with self.lock:
            found = dict(self.engine.batches)
        self.certain()
        return found

    def maintained(self, name: str) -> Maintained:
        """The maintained view of a name; the caller has the lock. Raises BindError."""
        found = self.catalog.view(name)
        if not found.maintained:
            raise BindError(
                f"cannot read view {found.name}: it is registered, not maintained; "
                f"query it with SELECT, or create it as MATERIALIZED"
            )
        return self.engine.views[found.name]

    def view(self, name: str) -> View:
        """What reads a maintained view. Nobody waits for a commit to look one up that is there. Raises BindError."""
        found = self.catalog.find(name)
        if found is None or found.name not in self.engine.views:  # unless it is on its way
            with self.lock:
                found = self.maintained(name).definition
        return View(found.name, lambda: self.engine, self.readable, self.lock)

    def end_subscriptions(self, view: str | None = None, reason: str = "") -> None:
        """End the subscriptions to a view, or all; after what is pending they raise ViewDroppedError, if for a reason.

        It may be interrupted, and called again.
        """
        for subscription in self.engine.listeners.of(view):
            subscription.end(ViewDroppedError(reason) if reason else None)
            self.engine.listeners.let_go(subscription)

    def _begin(self) -> None:
        """Finish what was interrupted."""
        if self._left is not None:
            self._finish()
        self.engine.settle()

    def _finish_surely(self) -> None:
        try:
            self._finish()
        except BaseException:
            self._finish()
            raise

    def _finish(self) -> None:
        if self._left is not None:
            (work, put), journal = self._left, self.engine.journal
            if put is not None and journal is not None:
                try:
                    journal.keep(put)
                except StorageError:  # so nothing has changed
                    self._left = None
                    raise
                journal.certain()  # what exists is seen without the lock, too
            self.engine.settle()
            work()
            self._left = None

    def _clear(self) -> None:
        """Nobody else creates anything: what an installation that was interrupted has left behind goes."""
        if self.engine.is_installing:
            with self.lock:
                self.engine.sweep()

    def _rows(self, named: Named, name: str, data: Tabular, keys_only: bool) -> tuple[Table, ArrowRows, Ints | None]:
        self.lock.check_open()
        return self.incoming.rows(named(name), data, keys_only)

    def unsubscribe(self, subscription: Subscription) -> None:
        """Tell it no more."""
        with suppress(InterfaceError), self.lock:  # once it is closed nobody is told of anything
            self.engine.listeners.let_go(subscription)


def engine_of(core: Core) -> Engine:
    """The engine of a database whose rows are all here, as those are that outlive the process."""
    assert isinstance(core.engine, Engine), "all rows are here"
    return core.engine

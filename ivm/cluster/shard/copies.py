"""Copies of shards in the memory of a process, and what a task does with them.

A copy was made from a version that was published, and may have gone through levels of the next one. Whether that is
published the process is not told: the next order says so, by the id of the version that it follows. What a copy has of
a try that came to nothing is undone, and what it lacks of one that was published comes from its logs. So any process
may be given any level of any shard at any time, more than once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any

from ivm.catalog.errors import Error, StorageError
from ivm.cluster.files.feeds import write_feed
from ivm.cluster.files.files import bundle_of
from ivm.cluster.files.logs import LARGE, by_file, in_full, log_name
from ivm.cluster.files.snapshots import write_snapshot
from ivm.cluster.files.versions import Versions
from ivm.cluster.protocol.notes import note_of, without_notes
from ivm.cluster.protocol.terms import (
    Exchange,
    Failure,
    Feed,
    Group,
    Inputs,
    Log,
    Message,
    Order,
    Shard,
    Status,
    Superseded,
    Unwritten,
)
from ivm.cluster.shard.copy import Copy
from ivm.cluster.shard.loading import Base, follow, load, replay
from ivm.storage.stored import Stored

_MOST_BEHIND = 16
"""A copy that is so many versions behind is dropped: the shard has moved elsewhere."""
_THREADS = 32


def _go_on() -> None:
    """Whatever is asked is waited for."""


class Copies:
    """The copies of a process. Tasks of several groups run side by side, but not what they do with one shard.

    `make` makes a new shard, and `exchange` messages of what shards say. Each shard is saved at every `every`th
    version, not all at the same; `beside` writes logs and feeds while shards step, and snapshots while they go on. A
    message goes by a file from `large` bytes on. `between` is called before each shard steps: what it raises ends a
    task that nobody waits for.
    """

    def __init__(
        self,
        versions: Versions,
        make: Callable[[int], Shard],
        exchange: Exchange,
        *,
        every: int = 256,
        beside: Executor | None = None,
        large: int = LARGE,
        between: Callable[[], None] = _go_on,
    ) -> None:
        self._versions = versions
        self._make = make
        self._exchange = exchange
        self._every = every
        self._beside = beside or ThreadPoolExecutor(_THREADS, "ivm-cluster")
        self._large = large
        self._between = between
        self._copies: dict[int, Copy] = {}
        self._locks: dict[int, threading.Lock] = {}
        self._saving: set[int] = set()

    def run(self, order: Order, group: Group, level: int, payloads: Sequence[bytes]) -> tuple[list[Message], Status]:
        """The task of a group at a level: what it says to others, and how it went. Log and feeds are certain
        on return.

        `payloads` is what was said to it at the level below; at the first level, what the driver has for it. Errors of
        the user's are in the status. StorageError: the task may be tried again. Superseded: that is of no use.
        """
        messages, status = self._run(order, group, level, payloads)
        return messages if level < order.levels else [], status

    @contextmanager
    def reading(self, shard: int, version: int, id: str) -> Iterator[Shard]:
        """A shard as of a version that was published, for as long as nobody else needs it.

        StorageError if its logs have been removed. Cost: what there is of a try of the next one has to come from logs
        again; where a later version is here, a copy is loaded for this alone.
        """
        with ExitStack() as stack:
            try:
                copy = stack.enter_context(self._at(shard, version, id))
            except Superseded:  # if by who asks, who need not wait for the one that commits
                copy = load(self._versions, self._exchange.inputs, self._make, shard, (version, id))
            copy.undo()
            yield copy.shard

    def _run(self, order: Order, group: Group, level: int, payloads: Sequence[bytes]) -> tuple[list[Message], Status]:
        below, given = without_notes(group, level, payloads)
        status = below._replace(level=level)
        if status.failure is not None:  # here or elsewhere, at a level below
            return [Message(group.number, note_of(status))], status
        inputs = self._inputs(order, group, in_full(self._versions.files, given))
        writing = self._log(order, group, level, given)
        said, telling = list[Any](), list[Future[list[Feed]]]()
        for shard in group.shards(order.shards):
            self._between()
            with self._at(shard, order.version - 1, order.published) as copy:
                self._go_through(copy, shard, order, below)
                try:
                    said += copy.step(order, level, inputs.get(shard, ()))
                    telling += [self._feed(order, shard, each) for each in copy.shard.tell(order, level)]
                except StorageError:
                    raise
                except Error as error:
                    copy.undo()
                    status = status._replace(failure=Failure(type(error).__name__, str(error)))
                    return [Message(to, note_of(status)) for to in range(group.of)], status
        messages = self._said(said, order, group, level)
        if writing is not None:
            status = status._replace(logs=(*status.logs, Log(group, level, writing.result())))
        if telling:
            status = status._replace(feeds=(*status.feeds, *(feed for each in telling for feed in each.result())))
        return [*messages, Message(group.number, note_of(status))], status

    def _inputs(self, order: Order, group: Group, payloads: Sequence[bytes]) -> Inputs:
        """What each shard of a group is given. StorageError if something is for a shard that is not in it."""
        inputs = self._exchange.inputs(payloads)
        others = sorted(shard for shard in inputs if not group.has(shard) or shard >= order.shards)
        if others:
            raise StorageError(
                f"cannot go through version {order.version}: what is for shard {others[0]} has come to group "
                f"{group.number} of {group.of}: try again"
            )
        return inputs

    def _said(self, said: Sequence[Any], order: Order, group: Group, level: int) -> Sequence[Message]:
        """What is said to others for the next level, if there is one; what is large is in files by then."""
        if level == order.levels:
            return ()
        messages = self._exchange.messages(said, order.shards, group.of)
        return by_file(self._versions.files, messages, order.version, level + 1, self._large, self._beside)

    @contextmanager
    def _at(self, shard: int, version: int, id: str) -> Iterator[Copy]:
        """The copy of a shard, made from this version. Nobody else has it meanwhile."""
        self._drop_others(shard, version)
        with self._locks.setdefault(shard, threading.Lock()):
            copy = self._copies.get(shard)
            if copy is not None and copy.base[0] > version:
                raise Superseded(
                    f"cannot make version {version + 1} of shard {shard}: version {copy.base[0]} was published "
                    "meanwhile; open the database anew"
                )
            if copy is None or not self._follows(copy, shard, (version, id)):
                self._copies.pop(shard, None)  # its memory goes before another takes as much
                copy = None
                copy = self._copies[shard] = load(
                    self._versions, self._exchange.inputs, self._make, shard, (version, id)
                )
            yield copy

    def _follows(self, copy: Copy, shard: int, base: Base) -> bool:
        """Whether a copy is made from this version by now."""
        return follow(self._versions, self._exchange.inputs, copy, shard, base, _MOST_BEHIND)

    def _go_through(self, copy: Copy, shard: int, order: Order, below: Status) -> None:
        """Let a copy be where the levels below have led, of which it may have seen all, some or none, or more."""
        if not 0 <= copy.done(order) <= below.level:
            copy.undo()
        if below.level == 0:
            self._save_in_turn(copy, shard)
        logs = {each.level: each.stored for each in below.logs}
        replay(self._versions.files, self._exchange.inputs, copy, shard, order, logs, below.level)

    def _log(self, order: Order, group: Group, level: int, payloads: Sequence[bytes]) -> Future[Stored] | None:
        """Begin to write what came in, under a name of this attempt's own."""
        if not payloads:
            return None
        name = log_name(order.version, level, group.number)
        return self._beside.submit(self._versions.files.write, name, bundle_of(payloads))

    def _feed(self, order: Order, shard: int, told: Unwritten) -> Future[list[Feed]]:
        """Begin to write what has changed of a view that is followed, likewise."""
        return self._beside.submit(write_feed, self._versions.files, shard, order.version, told)

    def _save_in_turn(self, copy: Copy, shard: int) -> None:
        """Write a snapshot of a copy without a try, if it is its turn. One that fails is made up for by the next."""
        version, version_id = copy.base
        if not version or version % self._every != shard % self._every or shard in self._saving:
            return
        if copy.saved == version:
            return
        saving = copy.shard.save()
        if saving is None:
            return
        copy.saved, held = version, copy.shard.hold()
        self._saving.add(shard)

        def write() -> None:
            try:
                write_snapshot(self._versions.files, shard, version, version_id, saving, held)
            except StorageError:
                pass
            finally:
                self._saving.discard(shard)

        self._beside.submit(write)

    def _drop_others(self, shard: int, version: int) -> None:
        """Let go of copies of shards that are elsewhere by now."""
        for other, copy in tuple(self._copies.items()):
            if other != shard and copy.base[0] < version - _MOST_BEHIND:
                lock = self._locks[other]
                if lock.acquire(blocking=False):
                    try:
                        if self._copies.get(other) is copy:
                            del self._copies[other]
                    finally:
                        lock.release()

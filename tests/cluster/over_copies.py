"""A database over shards in this process that keep what they have in a folder, as they do on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from ivm.catalog.errors import StorageError
from ivm.cluster.driver.database import ShardedCore, ShardedDatabase, reopen
from ivm.cluster.driver.driver import Driver
from ivm.cluster.driver.transport import Given, InProcess
from ivm.cluster.files.chains import files_of
from ivm.cluster.files.cleaner import Cleaner
from ivm.cluster.files.files import Files
from ivm.cluster.files.ledger import opened
from ivm.cluster.files.versions import Version, Versions
from ivm.cluster.protocol.questions import Question
from ivm.cluster.protocol.selection import Selection
from ivm.cluster.protocol.terms import Group, Order, Status, Superseded
from ivm.cluster.protocol.wire import EXCHANGE, Said, messages_of, said_of
from ivm.cluster.shard.answers import answer, rows_for
from ivm.cluster.shard.copies import Copies
from ivm.cluster.shard.resident import Resident
from ivm.cluster.shard.selecting import selected
from ivm.storage.storage import Shared
from ivm.trace.helpers import Helpers
from tests.cluster.beside import AtOnce

MOST = 1 << 10
"""So many groups: each shard is one of its own."""
Moves = Callable[[int], bool]
"""Whether the process of a group dies before its next task."""


class OverCopies:
    """See `ivm.cluster.driver.transport.Transport`. Each of `groups` has a process; a task that fails is tried again."""

    pace, is_remote = InProcess.pace, False

    def __init__(
        self,
        root: Files,
        name: str,
        shards: int,
        history: int = 0,
        moves: Moves = lambda shard: False,
        groups: int = MOST,
    ) -> None:
        self.shards = shards
        self.groups = min(groups, shards)
        self.is_left = False
        self._root, self._name, self._history, self._moves = root, name, history, moves
        self._versions = Versions(files_of(root, name))
        self._processes = [self._process() for _ in range(self.groups)]

    def _process(self) -> Copies:
        return Copies(
            self._versions,
            lambda shard: Resident(shard, self.shards, history=self._history),
            EXCHANGE,
            every=8,
            beside=AtOnce(),
        )

    def run(self, order: Order, given: Given, frames: Mapping[str, Any], mode: str) -> Sequence[Status]:
        """See `Transport.run`; frames are what is said by several, or selections."""
        statuses: list[Status] = []
        said = messages_of(said_of(given), self.shards, self.groups)
        for frame in frames.values():
            several = self._selected(order, frame) if isinstance(frame, Selection) else frame
            said += [message for each in several for message in messages_of(each, self.shards, self.groups)]
        for level in range(1, order.levels + 1):
            inputs = [[each.payload for each in said if each.to == group] for group in range(self.groups)]
            answers = [self._task(order, group, level, inputs[group]) for group in range(self.groups)]
            statuses = [status for _, status in answers]
            said = [each for messages, _ in answers for each in messages]
        return statuses

    def _task(self, order: Order, group: int, level: int, payloads: list[bytes]) -> Any:
        if self._moves(group):
            self._processes[group] = self._process()
        return _tried(lambda: self._processes[group].run(order, Group(group, self.groups), level, payloads))

    def anew(self, shards: int, time: int, name: str) -> OverCopies:
        """See `Transport.anew`."""
        return OverCopies(self._root, name, shards, self._history, self._moves, self.groups)

    def rows(
        self, version: Version, tables: Sequence[str], part: int = 0, of: int = 1
    ) -> Mapping[str, Sequence[Sequence[Said]]]:
        """See `Transport.rows`."""

        def of_table(name: str) -> list[list[Said]]:
            found = self.of_all(version, lambda each: list(rows_for(each, name, part, of)))
            return [said for several in found for said in several]

        return {name: of_table(name) for name in tables}

    def _selected(self, order: Order, selection: Selection) -> list[list[Said]]:
        """What shards have of a selection. A process may have been lost before, and what one has said may be, too."""

        def of(resident: Resident) -> list[list[Said]]:
            return list(selected(resident, selection, self.shards))

        for group in range(self.groups):
            if self._moves(group):
                self._processes[group] = self._process()
        version = Version(order.version - 1, order.published)
        return [said for several in self.of_all(version, of) for said in several]

    def settle(self, published: Version) -> None:
        """The next order tells."""

    def ask(self, version: Version, question: Question) -> Sequence[pa.Table]:
        """See `Transport.ask`."""
        return self.of_all(version, lambda resident: answer(resident, question))

    def of_all(self, version: Version, what: Callable[[Resident], Any]) -> list[Any]:
        """What each shard answers, as of a version."""

        def of(shard: int) -> Any:
            with self._processes[shard % self.groups].reading(shard, version.version, version.id) as resident:
                assert isinstance(resident, Resident)
                return what(resident)

        return [_tried(partial(of, shard)) for shard in range(self.shards)]

    def leave(self) -> None:
        """See `Transport.leave`."""
        self.is_left = True

    def close(self) -> None:
        """Nothing is held."""


def connect(
    folder: Shared,
    shards: int = 2,
    history: int = 0,
    moves: Moves = lambda shard: False,
    pauses: Sequence[float] = (0,) * 5,
    cleaner: type[Cleaner] = Cleaner,
    groups: int = MOST,
) -> ShardedDatabase:
    """The database of a folder; see `ivm.spark.connect`."""
    root = Files(folder, pauses)
    ledger, newest = opened(root, cleaner(root))
    carrier = OverCopies(root, ledger.name, newest.shards or shards, history, moves, groups)
    core = ShardedCore(Driver(carrier, ledger, Helpers(1), history), external_access=False)
    core.is_copied = False
    reopen(core, ledger.definitions(newest), ledger.names(newest))
    core.driver.sweep()
    return ShardedDatabase(core)


def _tried(work: Callable[[], Any]) -> Any:
    """As Spark does it: four times."""
    for again in range(4):
        try:
            return work()
        except Superseded:
            raise
        except StorageError:
            if again == 3:
                raise
    raise AssertionError

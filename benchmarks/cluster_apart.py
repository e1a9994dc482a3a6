"""A database over shards of this process that say to each other what they would as several processes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa

from ivm.cluster.driver.database import ShardedCore, ShardedDatabase
from ivm.cluster.driver.driver import Driver
from ivm.cluster.driver.transport import Given, InProcess
from ivm.cluster.files.files import Files
from ivm.cluster.files.ledger import opened
from ivm.cluster.files.logs import by_file
from ivm.cluster.files.versions import Version, Versions
from ivm.cluster.protocol.questions import Question
from ivm.cluster.protocol.terms import Group, Message, Order, Status
from ivm.cluster.protocol.wire import EXCHANGE, messages_of, said_of
from ivm.cluster.shard.answers import answer
from ivm.cluster.shard.copies import Copies
from ivm.cluster.shard.resident import Resident
from ivm.render.scalars.compiler import Compiler
from ivm.storage.storage import Shared
from ivm.trace.helpers import Helpers


class Apart(InProcess):
    """Shards in so many groups, each of which does what a process of them would, in a thread.

    `messages`: how many groups have sent each other; `bytes`: how many those have, without what went by files.
    """

    def __init__(self, files: Files, shards: int, groups: int) -> None:
        super().__init__(())
        self.shards = shards
        self.messages = 0
        self.bytes = 0
        self._files = files
        self._groups = min(groups, shards)
        self._threads = ThreadPoolExecutor(self._groups, "ivm-apart")
        self._compiler = Compiler(wait=False)
        self._copies = [self._of_group() for _ in range(self._groups)]

    def run(self, order: Order, given: Given, frames: Mapping[str, Any], mode: str) -> Sequence[Status]:
        """See `Transport.run`; there are no frames."""
        said: Sequence[Message] = messages_of(said_of(given), self.shards, self._groups)
        said = by_file(self._files, said, order.version, 1)
        statuses: list[Status] = []
        for level in range(1, order.levels + 1):
            self.messages += len(said)
            self.bytes += sum(len(each.payload) for each in said)
            begun = [self._threads.submit(self._task, order, group, level, said) for group in range(self._groups)]
            answers = [each.result() for each in begun]
            statuses = [status for _, status in answers]
            said = [each for messages, _ in answers for each in messages]
        return statuses

    def ask(self, version: Version, question: Question) -> Sequence[pa.Table]:
        """See `Transport.ask`."""
        found = []
        for shard in range(self.shards):
            with self._copies[shard % self._groups].reading(shard, version.version, version.id) as resident:
                assert isinstance(resident, Resident), "it is made so"
                found.append(answer(resident, question))
        return found

    def settle(self, published: Version) -> None:
        """Shards are told by the next order."""

    def close(self) -> None:
        """End what compiles for the shards, and the threads."""
        self._threads.shutdown()
        self._compiler.close()

    def _of_group(self) -> Copies:
        def made(shard: int) -> Resident:
            return Resident(shard, self.shards, self._compiler)

        return Copies(Versions(self._files), made, EXCHANGE)

    def _task(self, order: Order, group: int, level: int, said: Sequence[Message]) -> tuple[Sequence[Message], Status]:
        payloads = [each.payload for each in said if each.to == group]
        return self._copies[group].run(order, Group(group, self._groups), level, payloads)


def connect(folder: Shared, shards: int, groups: int) -> tuple[ShardedDatabase, Apart]:
    """A new database of a folder, and what carries its messages."""
    files = Files(folder)
    ledger, _ = opened(files)
    carrier = Apart(files, shards, groups)
    return ShardedDatabase(ShardedCore(Driver(carrier, ledger, Helpers(1)), external_access=False)), carrier

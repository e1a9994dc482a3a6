"""A small cluster of toys, driven step by step."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from ivm.cluster.files.files import Files
from ivm.cluster.files.versions import Version, Versions
from ivm.cluster.protocol.terms import Group, Message, Order, Status
from ivm.cluster.shard.copies import Copies
from tests.cluster.beside import AtOnce
from tests.cluster.faulty import Faulty
from tests.cluster.toy import EXCHANGE, Change, Toy, ToyShard


class Cluster:
    """A driver and processes over one folder, each shard a group unless there are fewer `groups`.

    `made`: the shards that were made, in their order.
    """

    def __init__(
        self, shards: int = 2, levels: int = 3, *, every: int = 1000, pauses: Sequence[float] = (0,), groups: int = 0
    ) -> None:
        self.toy = Toy(shards, levels)
        self.groups = groups or shards
        self.folder = Faulty(random.Random(0))
        self.versions = Versions(Files(self.folder, pauses))
        self.last = Version()
        self.made: list[ToyShard] = []
        self.changes: list[Change] = []
        self.every = every
        self.one, self.two = self.process(), self.process()

    def process(self, **more: Any) -> Copies:
        """Another process."""

        def make(shard: int) -> ToyShard:
            self.made.append(self.toy.make(shard, lambda: None))
            return self.made[-1]

        return Copies(self.versions, make, EXCHANGE, **{"every": self.every, "beside": AtOnce(), **more})

    def order(self, change: Change, id_: str) -> tuple[Order, list[list[bytes]]]:
        """An order for a change, and what each group gets at the first level."""
        what, said = self.toy.order(change)
        order = Order(self.last.version + 1, id_, self.last.id, what, self.toy.levels, self.toy.shards)
        return order, self._payloads(EXCHANGE.messages(said, self.toy.shards, self.groups))

    def _payloads(self, said: Sequence[Message]) -> list[list[bytes]]:
        return [[each.payload for each in said if each.to == group] for group in range(self.groups)]

    def run(
        self, process: Copies, order: Order, group: int, level: int, payloads: Sequence[bytes]
    ) -> tuple[list[Message], Status]:
        """The task of a group."""
        return process.run(order, Group(group, self.groups), level, payloads)

    def go(
        self, order: Order, inputs: list[list[bytes]], level: int, processes: Sequence[Copies]
    ) -> tuple[list[list[bytes]], list[Status]]:
        """One level, each group in its process; what each gets at the next."""
        answers = [self.run(processes[i], order, i, level, inputs[i]) for i in range(self.groups)]
        said = [each for messages, _ in answers for each in messages]
        return self._payloads(said), [status for _, status in answers]

    def try_(self, change: Change, id_: str, processes: Sequence[Copies] = ()) -> tuple[Order, list[Status]]:
        """All levels of a change, each in one of the processes in turn, or all in the first."""
        order, inputs = self.order(change, id_)
        statuses: list[Status] = []
        for level in range(1, order.levels + 1):
            process = processes[level % len(processes)] if processes else self.one
            inputs, statuses = self.go(order, inputs, level, [process] * self.groups)
        return order, statuses

    def commit(self, change: Change, processes: Sequence[Copies] = ()) -> Version:
        """Try a change, and publish it."""
        order, statuses = self.try_(change, f"id {self.last.version + 1}", processes)
        is_definition = self.toy.is_definition(change)
        self.last = self.versions.publish(self.last, order, statuses, time=order.version, is_definition=is_definition)
        self.changes.append(change)
        return self.last

    def contents(self, process: Copies) -> list[dict[str, object]]:
        """What each shard has in a process."""
        found = []
        for shard in range(self.toy.shards):
            with process.reading(shard, self.last.version, self.last.id) as copy:
                assert isinstance(copy, ToyShard)
                found.append(copy.contents())
        return found

    def compare(self, *processes: Copies) -> None:
        """Every process has what one engine has."""
        for process in processes or (self.one, self.two, self.process()):
            assert self.contents(process) == self.toy.expected(self.changes)

"""What a schedule needs to know of what shards hold."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from ivm.cluster.files.files import Files
from ivm.cluster.protocol.terms import Exchange, Order, Shard


class Subject(Protocol):
    """A kind of sharded database, and one engine as its reference."""

    shards: int
    levels: int
    exchange: Exchange

    def make(self, shard: int, meet: Callable[[], None]) -> Shard:
        """A new shard, which calls `meet` in the middle of its steps."""
        ...

    def draw(self, chance: random.Random, number: int, attempt: int) -> Any:
        """Any change, also a bad one, the try of a batch of this number."""
        ...

    def is_definition(self, change: Any) -> bool:
        """Whether it defines anything."""
        ...

    def order(self, change: Any) -> tuple[bytes, Sequence[Any]]:
        """What the driver says to all, and to some shards at the first level."""
        ...

    def time(self, order: Order, change: Any) -> int:
        """The logical time after a change."""
        ...

    def follow(self, root: Files, changes: Sequence[Any]) -> int:
        """Whether who follows views has what one engine has after these changes; how often that was to be seen."""
        ...

    def expected(self, changes: Sequence[Any]) -> Any:
        """The contents of each shard after all these changes. An error of the user's for one that is bad."""
        ...

    def contents(self, shard: Any) -> Any:
        """The contents of a shard, to be compared."""
        ...

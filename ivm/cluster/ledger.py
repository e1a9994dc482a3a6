"""Where it is written down which version there is: a folder, or nowhere, for shards that end with the process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ivm.cluster.protocol import Order, Status
from ivm.cluster.versions import Version


class Ledger(Protocol):
    """See `ivm.cluster.versions.Versions`."""

    def newest(self) -> Version:
        """The last version that was published."""
        ...

    def publish(
        self,
        last: Version,
        order: Order,
        statuses: Sequence[Status],
        *,
        time: int,
        batch: tuple[str, int] | None = None,
        is_definition: bool = False,
    ) -> Version:
        """Let an order that every shard has gone through be the version after `last`."""
        ...


class InMemory:
    """A ledger that nobody else reads."""

    def newest(self) -> Version:
        """None was published before."""
        return Version()

    def publish(
        self,
        last: Version,
        order: Order,
        statuses: Sequence[Status],
        *,
        time: int,
        batch: tuple[str, int] | None = None,
        is_definition: bool = False,
    ) -> Version:
        """See `Ledger.publish`."""
        batches = last.batches if batch is None else {**last.batches, batch[0]: batch[1]}
        return Version(order.version, order.id, order.published, time, batches=batches)

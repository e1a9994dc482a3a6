"""Where it is written down which version there is: a folder, or nowhere, for shards that end with the process."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol

from catalog.errors import StorageError
from ivm.cluster.cleaning import clean
from ivm.cluster.protocol import Order, Status
from ivm.cluster.versions import Version, Versions, made

_EVERY = 64


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

    def is_newest(self, version: Version) -> bool:
        """Whether no other version was published after this one, as far as anybody can know."""
        ...

    def tidy(self, newest: Version) -> None:
        """Now and then: remove what no version needs any more. It raises nothing."""
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
        return made(last, order, statuses, time, batch)

    def is_newest(self, version: Version) -> bool:
        """It is: nobody knows of any but who has it."""
        return True

    def tidy(self, newest: Version) -> None:
        """There is nothing."""


class InFolder(Versions):
    """A ledger that whoever opens the folder reads."""

    def is_newest(self, version: Version) -> bool:
        """See `Ledger.is_newest`. Cost: a list and a file."""
        return self.newest().id == version.id

    def tidy(self, newest: Version) -> None:
        """See `Ledger.tidy`. Cost: every so many versions some lists, and the files that go."""
        if newest.version % _EVERY == 0:
            with suppress(StorageError):
                clean(self.files, newest)

"""Where it is written down which version there is: a folder, or nowhere, for shards that end with the process."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from time import monotonic
from typing import Unpack

from ivm.catalog.errors import StorageError
from ivm.cluster.files import chains
from ivm.cluster.files.cleaner import Cleaner
from ivm.cluster.files.files import Files
from ivm.cluster.files.versions import More, Version, Versions, made
from ivm.cluster.protocol.terms import Order, Status

_EVERY = 64
LOOKS = 1.0
"""Seconds for which what was the last version is taken for it by who reads."""


class Ledger:
    """Where versions are published: nowhere but at who has it, as here, where shards end with the process; or in a
    folder, see `InFolder`. `name`: that of the chain that it is, under its root; see `ivm.cluster.files.chains`.
    """

    name = ""

    def newest(self) -> Version:
        """The last version that was published; here none was, when it is asked."""
        return Version()

    def publish(
        self, last: Version, order: Order, statuses: Sequence[Status], *, time: int, **more: Unpack[More]
    ) -> Version:
        """Let an order that every shard has gone through be the version after `last`; see `Versions.publish`."""
        return made(last, order, statuses, time, more)

    def is_newest(self, version: Version) -> bool:
        """Whether no other version was published after this one, as far as anybody can know."""
        return True

    def watched(self, version: Version) -> Version:
        """This version, for who reads it as the last one. StorageError if another was published after it, a second ago
        or more.
        """
        return version

    def beside(self, last: Version, shards: int) -> Ledger:
        """Another one, for so many shards, which nobody finds before `move`; this one is at its version `last`."""
        return Ledger()

    def move(self, last: Version, to: str) -> None:
        """Let that of a name, which `beside` has made, go on from `last`, and this one never; raises as `publish`."""

    def drop(self) -> None:
        """Remove all of one that nobody has moved to, nor ever will. It raises nothing."""

    def tidy(self, newest: Version) -> None:
        """Now and then: begin to remove what no version needs any more, beside the work. It raises nothing."""

    def close(self) -> None:
        """Let go of what works beside."""


class InFolder(Versions, Ledger):
    """A ledger that whoever opens the folder reads."""

    def __init__(self, root: Files, name: str = "", cleaner: Cleaner | None = None) -> None:
        super().__init__(chains.files_of(root, name))
        self.name = name
        self._root = root
        self._cleaner = cleaner or Cleaner(root)
        self._looked = monotonic()
        self._own = 0
        """The last version that was published by this, or is about to be."""

    def is_newest(self, version: Version) -> bool:
        """See `Ledger.is_newest`. Cost: a list and a file."""
        return self.newest().id == version.id

    def publish(
        self, last: Version, order: Order, statuses: Sequence[Status], *, time: int, **more: Unpack[More]
    ) -> Version:
        """See `Ledger.publish`. Who reads without the database's lock may find the page before this returns."""
        self._own = order.version
        try:
            return super().publish(last, order, statuses, time=time, **more)
        except BaseException:
            self._own = 0
            raise

    def watched(self, version: Version) -> Version:
        """See `Ledger.watched`. Cost: a list, once in `LOOKS` seconds. Where none can be had, nobody can know."""
        now = monotonic()
        if now < self._looked + LOOKS:
            return version
        try:
            last = self.last()
        except StorageError:
            return version
        if last > max(version.version, self._own):
            raise StorageError(_GONE_ON)
        self._looked = now
        return version

    def beside(self, last: Version, shards: int) -> InFolder:
        """See `Ledger.beside`. Cost: a small file, or two."""
        return InFolder(self._root, chains.begin(self._root, self.name, last, shards), self._cleaner)

    def drop(self) -> None:
        """See `Ledger.drop`. Cost: three lists for each shard, and the files that go."""
        with suppress(StorageError):
            chains.remove(self._root, self.name)

    def tidy(self, newest: Version) -> None:
        """See `Ledger.tidy`. Cost: that of a thread every so many versions."""
        if newest.version % _EVERY == 0:
            self._cleaner.begin(self.name, newest)

    def close(self) -> None:
        """See `Ledger.close`; it closes those that are beside too."""
        self._cleaner.close()


def opened(root: Files, cleaner: Cleaner | None = None) -> tuple[InFolder, Version]:
    """The ledger of a folder that somebody opens, and its newest version; see `chains.current`."""
    name, newest = chains.current(root)
    return InFolder(root, name, cleaner), newest


def check_newest(ledger: Ledger, version: Version) -> None:
    """Publishing has failed, and nobody knows whether it was done: look.

    StorageError if it was, as what this process knows may not be what there is any more.
    """
    if not ledger.is_newest(version):
        raise StorageError(_GONE_ON)


_GONE_ON = (
    "cannot go on: the last change was published, though that seemed to fail, or another driver has gone on; open the "
    "database anew"
)

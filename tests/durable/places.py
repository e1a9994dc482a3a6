"""Where a database outlives its process: the directory of one engine, and the folder of shards.

Whatever a database promises to its user is so over both; tests of it take a place of `PLACES`.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from ivm.cluster.driver.database import ShardedCore
from ivm.cluster.files.versions import COMMITS
from ivm.durable.recovery import reached
from ivm.engine.engine import Engine
from ivm.session.core import Core, engine_of
from ivm.session.database import Database, core_of
from tests.cluster import over_copies
from tests.cluster.memory import MemoryFolder
from tests.durable.disk import Disk
from tests.durable.opening import contents, held_by, opened


class Place(Protocol):
    """What a database is opened in again and again. `keeps_past`: whether who opens it has the past that was kept."""

    keeps_past: bool

    def open(self, history: int = 0) -> Database:
        """The database that is there; a new one at first."""

    def open_again(self, db: Database, history: int = 0) -> Database:
        """The same by another process, once this one has written all that need not be read from a log."""

    def beside(self, history: int) -> Database:
        """The same by another process, which only reads it, while this one goes on."""

    def left(self) -> Place:
        """What another process finds where this one is killed; from then on the two have nothing in common."""

    def contents(self) -> dict[str, object]:
        """What another process finds there; see `tests.durable.opening.contents`."""

    def steps(self) -> int:
        """How often something has been done so far to what is stored."""

    def moments(self, first: int = 1) -> list[int]:
        """From so many steps on: after which number of them something is to be lost. All, or some that tell most."""

    def lost(self, steps: int, chance: random.Random) -> Iterator[Place]:
        """What may be found after so many steps, where the machine of a directory loses power, or a driver is killed."""

    def fails(self, call: int, failure: int) -> None:
        """The call from now on that writes, of this number, fails by this errno; not those after it."""


class Directory:
    """That of one engine, on a disk in memory. `durability`: what commits wait for."""

    durability = "commit"
    keeps_past = True

    def __init__(self, disk: Disk | None = None) -> None:
        self.disk = disk or Disk()

    def open(self, history: int = 0) -> Database:
        """See `Place.open`."""
        return opened(self.disk, self.durability, history=history)

    def open_again(self, db: Database, history: int = 0) -> Database:
        """See `Place.open_again`."""
        db.sql("CHECKPOINT")
        self.disk = Disk(self.disk.files())
        return self.open(history)

    def beside(self, history: int) -> Database:
        """See `Place.beside`."""
        core = Core(Engine(None, history=history), external_access=False)
        reached(core, Disk(self.disk.files()), None)
        return Database(core)

    def left(self) -> Directory:
        """See `Place.left`."""
        return Directory(Disk(self.disk.files()))

    def contents(self) -> dict[str, object]:
        """See `Place.contents`."""
        return held_by(self.disk.files())

    def steps(self) -> int:
        """See `Place.steps`."""
        return len(self.disk.steps)

    def moments(self, first: int = 1) -> list[int]:
        """See `Place.moments`."""
        return list(range(first, self.steps() + 1))

    def lost(self, steps: int, chance: random.Random) -> Iterator[Directory]:
        """See `Place.lost`."""
        for files in self.disk.after_loss(steps, chance):
            yield Directory(Disk(files))

    def fails(self, call: int, failure: int) -> None:
        """See `Place.fails`."""
        self.disk.fails = {self.disk.calls + call: failure}


class Lazy(Directory):
    """Where commits do not wait for the disk."""

    durability = "off"


class OverShards:
    """The folder of three shards, which are saved after every eight versions; its files are written once, and what was
    written stays, whoever loses power. The past begins anew with each driver.
    """

    keeps_past = False

    def __init__(self, folder: Written | None = None) -> None:
        self._folder = folder or Written()

    def open(self, history: int = 0) -> Database:
        """See `Place.open`."""
        return over_copies.connect(self._folder, 3, history, pauses=())

    def open_again(self, db: Database, history: int = 0) -> Database:
        """See `Place.open_again`."""
        return self.open(history)

    def beside(self, history: int) -> Database:
        """See `Place.beside`."""
        return self.open(history)

    def left(self) -> OverShards:
        """See `Place.left`."""
        return OverShards(Written(self._folder.written))

    def contents(self) -> dict[str, object]:
        """See `Place.contents`."""
        with self.open() as db:
            return contents(db)

    def steps(self) -> int:
        """See `Place.steps`."""
        return len(self._folder.written)

    def moments(self, first: int = 1) -> list[int]:
        """See `Place.moments`: before and after the page of each fourth version."""
        pages = [at for at, (name, _) in enumerate(self._folder.written) if name.startswith(COMMITS) and at >= first]
        return [at + after for at in pages[::4] for after in (0, 1)]

    def lost(self, steps: int, chance: random.Random) -> Iterator[OverShards]:
        """See `Place.lost`."""
        yield OverShards(Written(self._folder.written[:steps]))

    def fails(self, call: int, failure: int) -> None:
        """See `Place.fails`."""
        self._folder.failure = call, failure


class Written(MemoryFolder):
    """A folder that knows what was written to it, file by file, with None for one that is removed; and that can fail at
    one call.
    """

    def __init__(self, written: Iterable[tuple[str, bytes | None]] = ()) -> None:
        super().__init__()
        self.written = list[tuple[str, bytes | None]]()
        self.failure = 0, 0
        for name, data in written:
            if data is None:
                self.remove(name)
            else:
                self.put(name, [data])

    def put(self, name: str, pieces: Iterable[bytes | memoryview]) -> None:
        """See `Shared.put`."""
        self._meet(name)
        data = b"".join(pieces)
        super().put(name, [data])
        self.written.append((name, data))

    def put_new(self, name: str, data: bytes) -> bool:
        """See `Shared.put_new`."""
        self._meet(name)
        is_new = super().put_new(name, data)
        if is_new:
            self.written.append((name, data))
        return is_new

    def remove(self, name: str) -> None:
        """See `Shared.remove`."""
        super().remove(name)
        self.written.append((name, None))

    def _meet(self, name: str) -> None:
        left, failure = self.failure
        self.failure = left - 1, failure
        if left == 1:
            raise OSError(failure, "made to fail", name)


def logs_of(db: Database, view: str) -> list[Any]:
    """What keeps the changes of a view: one log, or that of each shard."""
    core = core_of(db)
    if not isinstance(core, ShardedCore):
        return [engine_of(core).views[view].log]
    carrier = core.driver.transport
    assert isinstance(carrier, over_copies.OverCopies)
    return carrier.of_all(core.driver.version, lambda resident: resident.engine.views[view].log)


PLACES = (Directory, OverShards)

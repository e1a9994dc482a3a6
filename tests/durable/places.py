"""Where a database outlives its process: the directory of one engine, and the folder of shards."""

from __future__ import annotations

from typing import Protocol

from ivm.session.database import Database
from tests.cluster import over_copies
from tests.cluster.memory import MemoryFolder
from tests.durable.disk import Disk
from tests.durable.opening import opened


class Place(Protocol):
    """What a database is opened in again and again."""

    def open(self, history: int = 0) -> Database:
        """The database that is there; a new one at first."""

    def open_again(self, db: Database, history: int = 0) -> Database:
        """The same by another process, once this one has written all that need not be read from a log."""

    def left(self) -> Place:
        """What another process finds where this one is killed."""


class Directory:
    """That of one engine, on a disk in memory."""

    def __init__(self, disk: Disk | None = None) -> None:
        self._disk = disk or Disk()

    def open(self, history: int = 0) -> Database:
        """See `Place.open`."""
        return opened(self._disk, history=history)

    def open_again(self, db: Database, history: int = 0) -> Database:
        """See `Place.open_again`."""
        db.sql("CHECKPOINT")
        self._disk = Disk(self._disk.files())
        return self.open(history)

    def left(self) -> Directory:
        """See `Place.left`."""
        return Directory(Disk(self._disk.files()))


class OverShards:
    """The folder of three shards, which are saved after every eight versions; its files are written once."""

    def __init__(self) -> None:
        self._folder = MemoryFolder()

    def open(self, history: int = 0) -> Database:
        """See `Place.open`."""
        return over_copies.connect(self._folder, 3, history)

    def open_again(self, db: Database, history: int = 0) -> Database:
        """See `Place.open_again`."""
        return self.open(history)

    def left(self) -> OverShards:
        """See `Place.left`."""
        return self


PLACES = (Directory, OverShards)

"""Where a database is while a case runs: in memory, over shards, or in a directory that is opened again and again."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

import ivm

Connect = Callable[..., ivm.Database]


class Place:
    """In memory; `again` gives back the database that is open."""

    def __init__(self, connect: Connect) -> None:
        self.connect = connect

    def first(self) -> ivm.Database:
        """A new database."""
        return self.connect()

    def again(self, db: ivm.Database) -> ivm.Database:
        """The database as whoever comes next finds it; `db` is not used any more."""
        return db


class Directory(Place):
    """In a directory, one after another within `folder`, by the choices of `rng`."""

    def __init__(self, connect: Connect, folder: Path, rng: Random) -> None:
        super().__init__(connect)
        self._folder, self._rng = folder, rng
        self._copies = 0

    @property
    def _path(self) -> Path:
        return self._folder / f"{self._copies}.ivm"

    def first(self) -> ivm.Database:
        """A new database."""
        return self.connect(self._path)

    def again(self, db: ivm.Database) -> ivm.Database:
        """It goes on, is closed and opened, or its files are opened as they would be found had the process ended now."""
        match self._rng.randrange(6):
            case 0 | 1:
                db.close()
                return self.connect(self._path)
            case 2 | 3:
                files = self._path
                self._copies += 1
                shutil.copytree(files, self._path)
                db.close()
                return self.connect(self._path)
            case 4:
                db.sql("CHECKPOINT")
        return db

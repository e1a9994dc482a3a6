"""How a directory is opened: by the one process that holds it, or beside that to be read."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike

from catalog.errors import StorageError
from ivm.core import Core
from ivm.durable import ending
from ivm.durable.recovery import Told, open_storage, recover
from ivm.storage.directory import Directory
from ivm.storage.log import Durability
from ivm.storage.pinned import pinned


def held(
    new: Callable[[], Core], path: str | PathLike[str], durability: Durability, interval: float, progress: Told | None
) -> Core:
    """A `new` database that is what a directory holds, which nobody else can open to write."""
    storage, core = _only(path), new()
    try:
        open_storage(core, storage, durability, interval, progress)
    except BaseException:
        core.close()
        raise
    if core.engine.journal is not None:
        ending.opened(core, core.engine.journal, storage.where())
    return core


def seen(new: Callable[[], Core], path: str | PathLike[str], progress: Told | None) -> Core:
    """A `new` database that is what a directory holds now, whoever writes to it meanwhile."""
    storage, core = pinned(Directory(path, writable=False)), new()
    try:
        recover(core, storage, progress)
    except BaseException:
        core.close()
        raise
    core.read_only = storage.where()
    return core


def _only(path: str | PathLike[str]) -> Directory:
    """A directory, held by this process, after what it held and has lost hold of was closed."""
    try:
        return Directory(path)
    except StorageError:
        ending.close_lost()
        return Directory(path)

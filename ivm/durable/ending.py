"""Databases on disk that nobody closes: what becomes of them when the process ends, forks, or loses hold of them.

Nothing here may begin a thread once the process ends: Python does not let it.
"""

from __future__ import annotations

import atexit
import gc
import logging
import os
import threading
from typing import Any, Protocol
from weakref import WeakKeyDictionary, WeakSet, finalize


class Journal(Protocol):
    """What has a database's files."""

    def close(self) -> None:
        """Let them go. Once is enough."""
        ...


class Core(Journal, Protocol):
    """What a database is made of."""

    def fork(self) -> None:
        """Be what it is in a process that was forked."""
        ...


_told = logging.getLogger("ivm")
_open: WeakKeyDictionary[Core, finalize[..., Any]] = WeakKeyDictionary()
_lost: set[threading.Thread] = set()
_made: WeakSet[Core] = WeakSet()


def made(core: Core) -> None:
    """This database is there, on disk or not."""
    _made.add(core)


def opened(core: Core, journal: Journal, where: str) -> None:
    """Close this database when the process ends, and its journal when nobody has it any more."""
    _open[core] = finalize(core, _close_aside, journal, where)
    _open[core].atexit = False


def closed(core: Core) -> None:
    """This database was closed."""
    lost = _open.pop(core, None)
    if lost is not None:
        lost.detach()


def close_lost() -> None:
    """Find databases that nobody has any more, and return when they are closed."""
    gc.collect()
    for thread in list(_lost):
        thread.join()


def _close_aside(journal: Journal, where: str) -> None:
    """Garbage is found by whatever thread, whatever locks that has: another one does what takes them."""

    def close() -> None:
        try:
            _close(journal, where)
        finally:
            _lost.discard(thread)

    thread = threading.Thread(target=close, name="ivm-close")
    thread.start()
    _lost.add(thread)  # who waits for one that has not begun is refused
    if not thread.is_alive():
        _lost.discard(thread)


def _close(one: Journal, where: str) -> None:
    try:
        one.close()
    except Exception as error:  # noqa: BLE001  nobody is there to be told
        _told.error("%s was not closed as it should be: %s", where, error)


@atexit.register
def _close_all() -> None:
    for core, lost in list(_open.items()):
        found = lost.detach()
        if found is not None:
            journal, where = found[2]
            _close(core, where)
            _close(journal, where)  # which somebody who closed the database did not come to


def _fork_all() -> None:
    for lost in _open.values():
        lost.detach()
    _open.clear()
    _lost.clear()
    for core in list(_made):
        core.fork()


os.register_at_fork(after_in_child=_fork_all)

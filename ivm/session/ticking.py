"""Time that passes: a commit for views that compare with the clock, by itself or because somebody says so."""

from __future__ import annotations

import logging
from threading import Event, Thread
from typing import TypeVar
from weakref import ref

from catalog.errors import Error
from ivm.session.core import Core
from ivm.session.database import Database, core_of

_log = logging.getLogger(__name__)
Made = TypeVar("Made", bound=Database)


def ticking(database: Made, seconds: float | None) -> Made:
    """The database, in which time passes every so many seconds; None: when something is committed."""
    if seconds is not None:
        core = core_of(database)
        given = ref(core), core.clock.ended, seconds
        Thread(target=_tick_on, args=given, name="ivm-ticks", daemon=True).start()
    return database


def _tick_on(of: ref[Core], ended: Event, seconds: float) -> None:
    """Tick until the database is closed, or nobody has it any more. A tick that fails is told, and comes again."""
    while not ended.wait(seconds):
        core = of()
        if core is None or core.lock.closed:
            return
        try:
            core.clock.pass_on(core)
        except Error as error:
            if not core.lock.closed:
                _log.warning("a tick has failed, and views are as of the time before it: %s", error)
        del core

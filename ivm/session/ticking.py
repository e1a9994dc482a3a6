"""Time that passes: a commit for views that compare with the clock, by itself or because somebody says so."""

from __future__ import annotations

import logging
from threading import Event, Thread
from weakref import ref

from ivm.catalog.errors import Error
from ivm.session.core import Core
from ivm.session.retention import end_old_rows

_log = logging.getLogger(__name__)


def tick(core: Core) -> int:
    """Commit what changes because time passes, and end old rows; the time of the last commit.

    Cost: some microseconds where no view reads the clock, else that of a commit, and of the rows that cross.
    """
    with core.lock:
        is_due = core.clock.is_due(core.engine)
    if is_due:
        core.commit([])
    end_old_rows(core)
    return core.engine.time


def begin_ticks(core: Core, seconds: float) -> None:
    """Let time pass every so many seconds, until the database is closed or nobody has it any more."""
    given = ref(core), core.clock.ended, seconds
    Thread(target=_tick_on, args=given, name="ivm-ticks", daemon=True).start()


def _tick_on(of: ref[Core], ended: Event, seconds: float) -> None:
    """A tick that fails is told, and comes again."""
    while not ended.wait(seconds):
        core = of()
        if core is None or core.lock.closed:
            return
        try:
            tick(core)
        except Error as error:
            if not core.lock.closed:
                _log.warning("a tick has failed, and views are as of the time before it: %s", error)
        del core

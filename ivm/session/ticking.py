"""Time that passes: a commit for views that compare with the clock, by itself or because somebody says so."""

from __future__ import annotations

from ivm.session.core import Core


def tick(core: Core, at: int | None) -> int:
    """Let time pass: for the clock it is `at` until the next tick, or from now on what the system says.

    Returns the time of the last commit. InterfaceError if it would go backwards. Cost: some microseconds where no view
    reads the clock, else that of a commit, and of the rows that enter or leave views.
    """
    core.check_writable()
    with core.lock:
        core.clock.give(core.engine, at)
        if not core.clock.is_due(core.engine):
            return core.engine.time
    return core.commit([])

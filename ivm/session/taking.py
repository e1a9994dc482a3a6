"""What was taken in, committed: changes, and tables that are emptied before."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ivm.durable.payload import Batch
from ivm.engine.transaction import Change
from ivm.intake.formats import Taken
from ivm.session.core import Core


def commit_taken(core: Core, those: Sequence[Taken], batch: Batch | None) -> int:
    """Commit what was taken in as one batch; see `Core.commit`.

    What a table that is emptied holds is looked at when the turn to commit has come. Cost then: that of all of its
    rows, while nobody else commits.
    """
    changes = [each.change for each in those]
    if not any(each.empties for each in those):
        return core.commit(changes, batch)
    with core.lock:
        gone = [_all_rows(core, each.change.table.name) for each in those if each.empties]
        time = core.commit([*gone, *changes], batch, settles=False)
    core.settle()
    return time


def _all_rows(core: Core, name: str) -> Change:
    rows = core.engine.tables[name].reading()()
    table, data, addresses = core.incoming.rows(name, rows, True)
    return Change(table, data, addresses, np.full(data.num_rows, -1, np.int64))

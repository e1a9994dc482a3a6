"""Which logical time is meant by AT (VERSION => ..) or AT (TIMESTAMP => ..), and who reads as of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from ivm.catalog.errors import BindError
from ivm.catalog.schema import Table, View
from ivm.session.core import Core
from ivm.sql.times import Moment

Compute = Callable[[str], pa.Table]
"""Answers a SELECT that reads no relation."""


def core_of_past(core: Core, relation: str, moment: Moment, compute: Compute) -> Any:
    """The `OpenTransaction` of the time as of which a table or view is to be read.

    BindError for what has no past, or not so far back.
    """
    if not isinstance(core.catalog.find(relation), Table | View) and relation in core.relations():
        raise BindError(
            f"cannot read {relation} {moment}: it tells what is so now, and has no past; give the other relations of "
            "this query a time of their own"
        )
    core.catalog.lookup(relation)
    assert core.at is not None, "somebody has the database"
    if moment.kind == "TIMESTAMP":
        time = time_of(core, _number(moment, f"epoch_us(CAST(({moment.text}) AS TIMESTAMPTZ))", compute))
    elif moment.text.isdecimal():
        time = int(moment.text)
    else:
        time = _number(moment, f"CAST(({moment.text}) AS BIGINT)", compute)
    return core.at(time)


def time_of(core: Core, moment: int) -> int:
    """The time of the last commit that there was at a moment. BindError for one to come, or that is too long ago."""
    if moment > core.clock.present():
        raise BindError(f"cannot read as of {_shown(moment)}: that is still to come; give a time that has passed")
    found = core.engine.past.time_at(moment)
    if found is None:
        raise BindError(
            f"cannot read as of {_shown(moment)}: it is not known what there was by then; see column at of "
            "ivm_commits, and connect with a larger `history` to keep more of the past"
        )
    return found


def _number(moment: Moment, expression: str, compute: Compute) -> int:
    found = compute(f"SELECT {expression}").column(0)[0].as_py()
    if found is None:
        raise BindError(f"cannot read {moment}: that is NULL; give a number or a timestamp")
    return int(found)


def _shown(moment: int) -> str:
    return f"{pa.scalar(moment, pa.timestamp('us')).as_py()} UTC"

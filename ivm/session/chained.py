"""What a statement does whose WITH changes tables: its steps one after the other, in a transaction of its own."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from ivm.catalog.errors import TransactionError
from ivm.catalog.names import key
from ivm.engine.backend import Reading
from ivm.results.result import Result
from ivm.session.adhoc import asked
from ivm.session.changing import run_change
from ivm.session.core import Core
from ivm.session.open_transaction import OpenTransaction
from ivm.sql.bind.names.columns import unique_names
from ivm.sql.statements import Query, WithChanges


def run_with_changes(core: Core, statement: WithChanges, dialect: str) -> Result:
    """Carry out the steps and what stands behind them, each of which sees what those before it have changed.

    They become one commit; on any error nothing has changed. Where others were first, they are carried out once more,
    while others wait.
    """
    if isinstance(core, OpenTransaction):
        return _carried_out(core, statement, dialect)
    core.check_writable()
    try:
        own = OpenTransaction(core, read_only=False)
        result = _carried_out(own, statement, dialect)
        own.publish()
    except TransactionError:
        with core.lock:
            own = OpenTransaction(core, read_only=False)
            result = _carried_out(own, statement, dialect)
            own.publish(settles=False)
        core.settle()
    return result


def _carried_out(core: OpenTransaction, statement: WithChanges, dialect: str) -> Result:
    known = core.more
    try:
        for name, step in statement.steps:
            found = Result(asked(core, step, "duckdb")) if isinstance(step, Query) else run_change(core, step)
            core.more = {**core.more, key(name): _relation(found.arrow())}
        last = statement.last
        return Result(asked(core, last, dialect)) if isinstance(last, Query) else run_change(core, last)
    finally:
        core.more = known


def _relation(rows: pa.Table) -> Callable[[], Reading]:
    named = rows.rename_columns(unique_names(rows.column_names))
    return lambda: lambda: named

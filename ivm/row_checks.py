"""CHECK constraints: conditions that each row which comes into a table is held against, whatever road it comes by."""

from __future__ import annotations

from catalog.errors import ConstraintError, NumericError
from catalog.schema import Check, Table
from ivm.declarations import SHOWN, added
from ivm.render.scalars.program import MfpProgram
from ivm.trace.delta import Delta
from ivm.trace.dictionary import TextDictionary
from ivm.trace.table_store import TableStore
from sql.bind.expressions.conditions import condition_of
from sql.ir.conditions import negation

RowChecks = tuple[tuple[Check, MfpProgram], ...]
"""CHECK constraints of a table, each with a filter for the rows on which it is FALSE.

The filters are interpreted: they stand still for no compiler.
"""


def row_checks_of(table: Table, dictionary: TextDictionary) -> RowChecks:
    """The checks of a table; raises what binding raises."""
    width = len(table.fields)
    return tuple(
        (check, MfpProgram((), (negation(condition_of(check.condition, table)),), None, width, dictionary))
        for check in table.checks
    )


def check_rows(store: TableStore, checks: RowChecks, delta: Delta) -> None:
    """Raise ConstraintError if a condition is FALSE on a row that `delta` adds; NULL passes.

    Cost: some microseconds for each check, and that of computing it for the rows.
    """
    come = added(delta) if checks else delta
    for check, breaking in checks:
        _check(store, check, breaking, come)


def _check(store: TableStore, check: Check, breaking: MfpProgram, come: Delta) -> None:
    table = store.table
    try:
        found = breaking.run(come) if len(come) else None
    except NumericError as error:
        raise ConstraintError(
            f"cannot change table {table.name}: {check} cannot be computed: {error}. Nothing was changed"
        ) from error
    if found is None or len(found) == 0:
        return
    names = ", ".join(field.name for field in table.fields)
    shown = store.describe(found, range(len(table.fields)), SHOWN)
    raise ConstraintError(
        f"cannot change table {table.name}: {check} is false on {len(found)} row(s): ({names}) = {shown}; "
        "give values that satisfy it. Nothing was changed"
    )

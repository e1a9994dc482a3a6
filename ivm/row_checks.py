"""CHECK constraints: conditions that each row which comes into a table is held against, whatever road it comes by."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from catalog.errors import ConstraintError, NumericError
from catalog.schema import Check, Table
from ivm.render.scalars.program import MfpProgram
from ivm.trace.delta import Delta
from ivm.trace.dictionary import TextDictionary
from ivm.trace.table_store import TableStore
from sql.bind.expressions.conditions import condition_of
from sql.bind.expressions.logic import negation

SHOWN = 3


class RowChecks:
    """The CHECK constraints of tables, whose rows `tables` have and whose texts `dictionary` has.

    Each is a filter for the rows on which it is FALSE, interpreted: it stands still for no compiler.
    """

    def __init__(self, tables: Mapping[str, TableStore], dictionary: TextDictionary) -> None:
        self._tables = tables
        self._dictionary = dictionary
        self._breaking: dict[str, tuple[tuple[Check, MfpProgram], ...]] = {}

    def add(self, table: Table) -> None:
        """Read the checks of a table that is about to come; raises what binding raises."""
        if table.checks:
            self._breaking[table.name] = tuple((check, self._program(check, table)) for check in table.checks)

    def drop(self, table: Table) -> None:
        """Forget them."""
        self._breaking.pop(table.name, None)

    def check(self, deltas: Mapping[str, Delta]) -> None:
        """Raise ConstraintError if a condition is FALSE on a row that `deltas` add; NULL passes.

        Cost: some microseconds for each check of a table that changes, and that of computing it for the rows.
        """
        for name, delta in deltas.items() if self._breaking else ():
            checks = self._breaking.get(name, ())
            added = delta if delta.diffs is None or not checks else delta.take(np.flatnonzero(delta.diffs > 0))
            for check, breaking in checks:
                self._check(self._tables[name], check, breaking, added)

    def _program(self, check: Check, table: Table) -> MfpProgram:
        broken = negation(condition_of(check.condition, table))
        return MfpProgram((), (broken,), None, len(table.fields), self._dictionary)

    def _check(self, store: TableStore, check: Check, breaking: MfpProgram, added: Delta) -> None:
        table = store.table
        try:
            found = breaking.run(added) if len(added) else None
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

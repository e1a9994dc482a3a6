"""Rows and changes that come in for tables, checked against what the tables are declared as; needs no lock."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from catalog.catalog import Catalog
from catalog.errors import ConstraintError
from catalog.schema import Table
from ivm.arguments import Tabular
from ivm.constraints import check_upsert
from ivm.defaults import defaults_of
from ivm.trace.column import Ints
from ivm.trace.ingest import Intake, ingest
from ivm.trace.table_store import Mode
from ivm.trace.time import LAST
from ivm.transaction import Change


class Incoming:
    """Checks what users hand in, by the catalog's tables; remembers what it prepared for each."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._intakes: dict[str, Intake] = {}

    def rows(self, name: str, data: Tabular, keys_only: bool) -> tuple[Table, pa.Table]:
        """The table of a name, and the rows as it stores them; of a table with a key only that, if `keys_only`."""
        table = self._catalog.table(name)
        if keys_only and table.primary_key:
            return table, ingest(data, table.fields, f"table {table.name}", columns=table.primary_key)
        return table, self._intake(table).rows(data)

    def change(self, name: str, data: Tabular, present: int, mode: Mode) -> Change:
        """Rows with times and diffs of their own, the times after `present`; in mode "upsert" of a table with a key."""
        table = self._catalog.table(name)
        if mode == "upsert":
            check_upsert(table)
        rows, times, diffs = self._intake(table).updates(data)
        check_times(table, times, present)
        if mode == "diff":
            return Change(table, rows, diffs, times)
        return Change(table, rows, None if diffs is None else np.sign(diffs), times, mode, missing="ignore")

    def _intake(self, table: Table) -> Intake:
        known = self._intakes.get(table.name)
        if known is None or known.fields is not table.fields:
            known = self._intakes[table.name] = Intake(
                table.fields, f"table {table.name}", table.primary_key, defaults_of(table)
            )
        return known


def check_times(table: Table, times: Ints | None, present: int) -> None:
    """ConstraintError unless the times of a table's changes are later than the last commit's, and can be counted."""
    if times is not None and len(times) and int(times.min()) <= present:
        raise ConstraintError(
            f"cannot apply changes to table {table.name}: _time {int(times.min())} is not later than the last "
            f"commit's time {present}; give later times, or leave the column out"
        )
    if times is not None and len(times) and int(times.max()) > LAST:
        raise ConstraintError(
            f"cannot apply changes to table {table.name}: _time {int(times.max())} is later than {LAST} (2^62), "
            "the latest there is, so that commits after it still find times of 64 bits; give earlier times"
        )

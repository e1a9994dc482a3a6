"""Rows and changes that come in for tables, checked against what the tables are declared as, with what stands in for
columns that they leave out (DEFAULT, computed by DuckDB); needs no lock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa

from ivm.arguments import Tabular
from ivm.catalog.catalog import Catalog
from ivm.catalog.clock import in_duckdb, is_own
from ivm.catalog.errors import BindError, ConstraintError, Error, UnsupportedError
from ivm.catalog.function import PythonFunctions, named_in
from ivm.catalog.names import key
from ivm.catalog.schema import Default, Field, Table, View
from ivm.catalog.types import BIGINT, INTEGER
from ivm.catalog.zones import UTC
from ivm.engine.tables import check_upsert
from ivm.engine.transaction import Change
from ivm.intake.generated import GeneratedColumns
from ivm.intake.ingest import Intake
from ivm.trace.columns.arrow import arrow_type
from ivm.trace.columns.column import Ints
from ivm.trace.columns.exported import ArrowRows
from ivm.trace.helpers import Errands, Helpers
from ivm.trace.rows.table_store import Mode
from ivm.trace.time import LAST, bounds_of

if TYPE_CHECKING:
    import duckdb

_MOST_NAMES = 1 << 10


class Clocked(Protocol):
    """Knows what time it is."""

    @property
    def unknown(self) -> int | None:
        """What time it is, where DuckDB does not know by itself: microseconds since 1970."""


class Gives(Protocol):
    """Gives the numbers of sequences."""

    def answer(self, duck: duckdb.DuckDBPyConnection, text: str, *, tries: bool = False) -> pa.Table:
        """The rows of a query, which may ask for some; if it only `tries`, none is given."""

    def default(self, text: str) -> str | None:
        """The key of a sequence, where the text of a DEFAULT is its next number and nothing else."""

    def take(self, name: str, count: int) -> list[int]:
        """The next numbers of a sequence."""


class Incoming:
    """Checks what users hand in, by the catalog's tables; remembers what it prepared for each."""

    def __init__(
        self,
        catalog: Catalog,
        helpers: Helpers,
        clock: Clocked | None = None,
        numbers: Gives | None = None,
        zone: Callable[[], str] = lambda: UTC,
    ) -> None:
        """`zone`: that of the connection, by whose clocks defaults tell moments."""
        self.catalog, self._zone = catalog, zone
        self._clock, self.numbers = clock, numbers
        self._helpers = helpers
        self._intakes: dict[str, tuple[Table, Intake]] = {}
        self._known: tuple[Mapping[str, Table | View], dict[str, tuple[Table, Intake]]] = {}, {}
        """What the catalog had when tables were found by these names, as they were given."""

    def rows(self, name: str, data: Tabular, keys_only: bool) -> tuple[Table, ArrowRows, Ints | None]:
        """The table of a name, the rows as it stores them, of a table with a key only that, if `keys_only`, and where
        their columns lie, if that is known.
        """
        table, intake = self.intake(name)
        with Errands(self._helpers):
            rows, addresses = intake.rows(data, keys_only=keys_only and bool(table.primary_key))
        return table, rows, addresses

    def change(self, name: str, data: Tabular, mode: Mode) -> Change:
        """Rows with times (see `check_times`) and diffs of their own; in mode "upsert" of a table with a key."""
        table, intake = self.intake(name)
        if mode == "upsert":
            check_upsert(table)
        if self._helpers.threads == 1:
            rows, times, diffs, addresses = intake.updates(data)
        else:
            with Errands(self._helpers):
                rows, times, diffs, addresses = intake.updates(data)
        if mode == "diff":
            return Change(table, rows, addresses, diffs, times)
        return Change(table, rows, addresses, None if diffs is None else np.sign(diffs), times, mode, missing="ignore")

    def completed(self, table: Table, rows: ArrowRows) -> ArrowRows:
        """The rows with what their generated columns hold; see `GeneratedColumns.completed`."""
        intake = self.intake(table.name)[1]
        return rows if intake.generated is None else intake.generated.completed(rows)

    def intake(self, name: str) -> tuple[Table, Intake]:
        """The table of a name, and what checks its rows."""
        content, known = self._known
        found = known.get(name) if content is self.catalog.content else None
        return self._found(name) if found is None else found

    def _found(self, name: str) -> tuple[Table, Intake]:
        content, table = self.catalog.content, self.catalog.table(name)
        if is_own(table.name):
            raise BindError(f"cannot change table {table.name}: it is the engine's own; it can only be read")
        if content is not self._known[0]:
            self._intakes = {each: prepared for each, prepared in self._intakes.items() if key(each) in content}
        prepared = self._intakes.get(table.name)
        if prepared is None or prepared[0] is not table:
            defaults = {default.column: self._maker(table, default) for default in table.defaults}
            defaults |= {each.column: _nulls(table, each.column) for each in table.generated}
            generated = GeneratedColumns(table) if table.generated else None
            intake = Intake(table.fields, f"table {table.name}", table.primary_key, defaults, generated)
            prepared = self._intakes[table.name] = table, intake
        known = self._known[1] if content is self._known[0] and len(self._known[1]) < _MOST_NAMES else {}
        known[name] = prepared
        self._known = content, known
        return prepared

    def _maker(self, table: Table, default: Default) -> Callable[[int], pa.Array]:
        """Makes values of a default: a constant one is computed when it is first needed, any other for each row."""
        if not default.constant:
            numbers, type_ = self.numbers, table.fields[table.index(default.column)].type
            sequence = None if numbers is None else numbers.default(default.value)
            if numbers is not None and sequence is not None and type_ in (INTEGER, BIGINT):
                return lambda count: pa.array(numbers.take(sequence, count), pa.int64()).cast(arrow_type(type_))
            return lambda count: _values(table, default, count, self.numbers, self._clock, zone=self._zone())

        @cache
        def value(zone: str) -> pa.Scalar:
            return _values(table, default, 1, zone=zone)[0]

        return lambda count: pa.repeat(value(self._zone()), count)


def _nulls(table: Table, column: str) -> Callable[[int], pa.Array]:
    """Makes NULLs for a column that is computed afterwards."""
    type_ = arrow_type(table.fields[table.index(column)].type)
    return lambda count: pa.nulls(count, type_)


def check_times(table: Table, times: Ints | None, present: int) -> None:
    """ConstraintError unless the times of a table's changes are later than the last commit's, and can be counted."""
    if times is None or not len(times):
        return
    first, last = bounds_of(times)
    if first <= present:
        raise ConstraintError(
            f"cannot apply changes to table {table.name}: _time {first} is not later than the last "
            f"commit's time {present}; give later times, or leave the column out"
        )
    if last > LAST:
        raise ConstraintError(
            f"cannot apply changes to table {table.name}: _time {last} is later than {LAST} (2^62), "
            "the latest there is, so that commits after it still find times of 64 bits; give earlier times"
        )


def check_defaults(table: Table, numbers: Gives | None = None, functions: PythonFunctions | None = None) -> None:
    """Raise, for a table that is to be created, what computing one of its defaults raises.

    `functions`: those of the application's, which no default can call.
    """
    for default in table.defaults:
        try:
            _values(table, default, 1, numbers, zone=table.zone, tries=True)
        except Error as error:
            what = f"cannot create table {table.name!r}: DEFAULT {default.value} of column {default.column!r}"
            if isinstance(error, BindError) and named_in(functions or {}, default.value):
                raise UnsupportedError(
                    f"{what} calls a function of the application's, which is not supported; call it when rows are "
                    "inserted"
                ) from None
            raise type(error)(f"{what}: {error}; write an expression of the column's type") from error


def default_values(table: Table, fields: Sequence[Field]) -> list[pa.Scalar]:
    """What columns that come to a table hold in its rows, of defaults that are the same for all of them; else NULL."""
    found = []
    for field in fields:
        default = table.default(field.name)
        known = default if default is not None and default.constant else None
        found.append(
            pa.scalar(None, arrow_type(field.type)) if known is None else _values(table, known, 1, zone=table.zone)[0]
        )
    return found


def _values(
    table: Table,
    default: Default,
    count: int,
    numbers: Gives | None = None,
    clock: Clocked | None = None,
    *,
    zone: str,
    tries: bool = False,
) -> pa.Array:
    import duckdb  # noqa: PLC0415  which a program without defaults does not wait for

    from ivm.duck import Use, answer, connection, told  # noqa: PLC0415

    type_ = table.fields[table.index(default.column)].type
    try:
        with connection(Use.CLOSED, zone=zone) as duck:
            now = None if clock is None else clock.unknown
            for told_time in () if now is None else in_duckdb(now):
                duck.execute(told_time)
            text = f"SELECT CAST({default.value} AS {type_}) AS made FROM range({count})"
            rows = answer(duck, text) if numbers is None else numbers.answer(duck, text, tries=tries)
    except duckdb.Error as error:
        raise told(error, Use.CLOSED) from error
    return rows.column(0).combine_chunks()

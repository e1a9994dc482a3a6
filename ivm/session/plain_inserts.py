"""INSERTs of VALUES, without DuckDB: what they compute, what becomes of rows that they meet, and what they return."""

from __future__ import annotations

from functools import cache
from typing import TypeVar

import pyarrow as pa

from ivm.catalog.errors import BindError, NumericError
from ivm.catalog.names import key
from ivm.catalog.paths import Names
from ivm.catalog.schema import Table
from ivm.engine.transaction import Change
from ivm.intake.computed import Computed
from ivm.intake.ingest import Intake
from ivm.intake.plain_values import stored
from ivm.results.result import Result, counted
from ivm.session.core import Core
from ivm.session.putting import meetings, put
from ivm.sql.bind.insert_ending import InsertEnding, bind_ending, bind_value
from ivm.sql.changes import check_width, columns_to_insert
from ivm.sql.ir.scalar import Column, Literal, Value
from ivm.sql.parameters import Parameters
from ivm.sql.plain_insert import OpenInsert, PlainInsert, columns_of, open_insert, usual_head
from ivm.sql.recent import Recent
from ivm.trace.columns.column import Ints
from ivm.trace.columns.exported import ArrowRows
from ivm.trace.columns.stand_ins import with_huge
from ivm.trace.columns.zones import told_in

Insertion = TypeVar("Insertion", PlainInsert, OpenInsert)
_MOST_CHARACTERS = 4000
_NO_ROW = pa.table({"none": pa.nulls(1)})


def resolved(insert: Insertion, names: Names) -> Insertion | None:
    """An INSERT into what its table's name means; None if it names a schema, and there is no such table."""
    if names.is_plain and "." not in insert.table:
        return insert
    table = names.given(insert.table)
    return None if "." in insert.table and key(table) not in names.catalog.content else insert._replace(table=table)


def insert_plain(core: Core, statement: PlainInsert) -> Result | None:
    """Insert rows; None, and nothing has changed, where that is not for here.

    Cost: some 10 us a row of ten literals, 0.1 ms for an expression, and where rows may meet others.
    """
    table, intake, named = _columns(core, statement)
    if core.settings.reads_otherwise(table.fields):
        return None
    fields = cache(lambda: [table.fields[place] for place in table.places(named)])  # few statements ask

    def computed(text: str, place: int) -> Value:
        field = fields()[place]
        if text.upper() == "DEFAULT":
            return stored(intake.left_out(field.name, 1)[0], field.type)
        bound = bind_value(text, field, core.settings.zone, core.clock.present())
        if bound is None:
            raise ValueError(text)
        if isinstance(bound, Literal):
            return bound.value
        try:
            (made,) = Computed(0, [bound]).of_arrow(_NO_ROW, ())
        except NumericError as error:  # others say better what is wrong
            raise ValueError(text) from error
        return stored(made[0].as_py(), field.type)

    columns = columns_of(statement, intake.types(named), computed)
    if columns is None:
        return None
    rows = intake.values(named, columns, len(columns[0]), stored=True)
    return None if rows is None else _put(core, table, intake, named, statement, rows)


def insert_row(core: Core, text: str) -> Result | None:
    """Insert the row of a text that is an INSERT of one, as most are; None, and nothing has changed, for any other."""
    head = usual_head(text)
    if head is None:
        return None
    name, at = head
    try:
        table, intake = core.incoming.intake(core.settings.names.given(name))
    except BindError:  # what else is wrong with the text may come before
        return None
    row = None if core.settings.reads_otherwise(table.fields) else intake.usual.values(text, at)
    rows = None if row is None or intake.plain is None else intake.plain.row(row, range(len(row)))
    if rows is None:
        return None
    core.commit([Change(table, *rows)])
    return counted(1)


def insert_values(core: Core, text: str, params: Parameters) -> Result | None:
    """Insert the values of a text that is an INSERT of nothing but ?, as they are; None where that is not for here.

    They are what their literals would be; where that is not certain, nothing has changed.
    """
    if len(text) > _MOST_CHARACTERS or not isinstance(params, list | tuple):
        return None
    opened = open_insert(text)
    if opened is None or (opened.ending and core.catalog.macros):  # whose calls the ending may hold
        return None
    statement = resolved(opened, core.settings.names)
    if statement is None or len(params) != statement.width * statement.rows:
        return None
    table, intake, named = _columns(core, statement)
    columns = [params[place :: statement.width] for place in range(statement.width)]
    rows = intake.values(named, columns, statement.rows, stored=False)
    return None if rows is None else _put(core, table, intake, named, statement, rows)


def _columns(core: Core, statement: PlainInsert | OpenInsert) -> tuple[Table, Intake, tuple[str, ...]]:
    """The table that an INSERT is of, what takes its rows, and the columns that it names."""
    table, intake = core.incoming.intake(statement.table)
    named = columns_to_insert(statement, table)
    check_width(table, named, statement.width)
    return table, intake, named


def _put(
    core: Core,
    table: Table,
    intake: Intake,
    named: tuple[str, ...],
    statement: PlainInsert | OpenInsert,
    rows: tuple[ArrowRows, Ints | None],
) -> Result | None:
    """Insert rows, whose columns `named` were given, or do with them what the statement says; None as above."""
    data, addresses = rows
    if not statement.alternative and not statement.ending:
        core.commit([Change(table, data, addresses)])
        return counted(data.num_rows)
    ending = _ending(core, table, named, statement)
    if ending is None:
        return None
    given = pa.Table.from_batches([data]) if isinstance(data, pa.RecordBatch) else data
    with core.lock:
        if core.catalog.find(table.name) is not table:
            return None
        with core.transaction(settles=False) as tx:
            try:
                fresh, both = ending.met(core, given)
                result = ending.answer(core, put(fresh, both, table, tx))
            except NumericError:  # others say better what is wrong
                tx.rollback()
                return None
    core.settle()
    return result


class _Ending:
    """What stands behind the rows of an INSERT into a table, and computes what it says."""

    def __init__(self, table: Table, bound: InsertEnding) -> None:
        self.table, self._width = table, len(table.fields)
        self.bound = bound
        before = [Column(place, field.type, field.nullable) for place, field in enumerate(table.fields)]
        self._both = Computed(2 * self._width, [*before, *bound.after], bound.predicates)
        self._outputs = Computed(self._width, bound.outputs)

    def met(self, core: Core, given: pa.Table) -> tuple[pa.Table, pa.Table | None]:
        """The rows that meet none, and those that are met and change, as they are and then as they will be.

        The caller has the lock. NumericError for what cannot be computed.
        """
        if self.bound.conflict is None:
            return given, None
        fresh, meeting, met = meetings(core, self.table, self.bound.targets, given)
        if not self.bound.after or not met.num_rows:
            return fresh, None
        fields, names = (*self.table.fields, *self.table.fields), met.column_names
        sides = pa.Table.from_arrays([*met.columns, *meeting.columns], names=names * 2)
        return fresh, pa.Table.from_arrays(self._both.of_arrow(sides, fields), names=names * 2)

    def answer(self, core: Core, changed: pa.Table) -> Result:
        """How many rows came or changed, or what is returned of them. NumericError as above."""
        if not self.bound.outputs:
            return counted(changed.num_rows)
        columns = self._outputs.of_arrow(core.incoming.completed(self.table, changed), self.table.fields)
        rows = told_in(pa.Table.from_arrays(columns, names=list(self.bound.names)), core.settings.zone)
        return Result(with_huge(rows, [scalar.type for scalar in self.bound.outputs]))


_ENDINGS: Recent[tuple[int, tuple[str, ...], str, str, str], tuple[Table, _Ending | None]] = Recent(512)
"""By tables, which stay the same while they are remembered here."""


def _ending(core: Core, table: Table, named: tuple[str, ...], statement: PlainInsert | OpenInsert) -> _Ending | None:
    """What stands behind the rows, if that is for here."""
    zone = core.settings.zone
    key_ = id(table), named, statement.alternative, statement.ending, zone
    known = _ENDINGS.get(key_)
    if known is None:
        called = core.catalog.parts(table.name)[1]
        bound = bind_ending(table, called, named, statement.alternative, statement.ending, zone)
        known = table, None if bound is None else _Ending(table, bound)
        _ENDINGS.put(key_, known)
    return known[1]

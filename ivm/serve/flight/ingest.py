"""CommandStatementIngest: rows for a table, which may be made for them."""

from __future__ import annotations

import pyarrow as pa

from ivm.catalog.errors import BindError, ConstraintError, UnsupportedError
from ivm.catalog.names import TEMP, quoted
from ivm.results.cells import type_names
from ivm.serve.flight.messages import Message, read
from ivm.serve.inside import Session
from ivm.session.of_session import works_on

_CREATE, _APPEND, _REPLACE = 1, 2, 3


def ingest(session: Session, asked: Message, rows: pa.Table) -> int:
    """Insert the rows; how many they were. All of them, or none, and then a table that was made for them is gone.

    Says that the table is to be made, replaced, or had to be there, by the options of Flight SQL.
    """
    options, begins = read(asked.bytes(1)), not session.db.in_transaction
    if asked.number(5) and begins:
        raise UnsupportedError(
            "cannot put rows into a TEMP table, which would end with this call; begin a transaction, with which it ends"
        )
    parts = [part for part in (TEMP if asked.number(5) else asked.text(3), asked.text(2)) if part]
    table, written = ".".join(parts), ".".join(map(quoted, parts))
    core = works_on(session.db)
    is_there = core.catalog.find(core.settings.names.given(table)) is not None
    if is_there and options.number(2) not in (_APPEND, _REPLACE):
        raise ConstraintError(f"cannot create table {table}: it is there; ingest with mode append or replace")
    if not is_there and options.number(1) != _CREATE:
        raise BindError(f"cannot append to table {table}: it is not there; ingest with mode create")
    makes = not is_there or options.number(2) == _REPLACE
    if begins:
        session.sql("BEGIN")
    try:
        if makes:
            columns = ", ".join(
                f"{quoted(name)} {kind}" for name, kind in zip(rows.column_names, type_names(rows.schema), strict=True)
            )
            kind = "TEMP TABLE" if asked.number(5) else "TABLE"
            session.sql(f"CREATE OR REPLACE {kind} {written} ({columns})")
        session.put(table, rows)
        if begins:
            session.sql("COMMIT")
    finally:
        if begins:
            session.roll_back()
    return rows.num_rows

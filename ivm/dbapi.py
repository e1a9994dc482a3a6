"""The names by which DB-API 2 (PEP 249) finds things, for tools that are given a module of it.

`connect` gives an `ivm.Database`, which is a connection: `cursor`, `begin`, `commit`, `rollback`, `close`. As in DuckDB
each statement commits by itself until `begin`, or BEGIN, says otherwise; `commit` without one does nothing, `rollback`
raises. A transaction is that of a thread on a connection, and all its cursors are in it. Parameters are ?, $1 or $name.
Threads may share the module and connections, and not cursors.
"""

from __future__ import annotations

from datetime import date, datetime, time

from ivm import connect
from ivm.catalog.errors import (
    ConstraintError,
    DataError,
    Error,
    InterfaceError,
    OperationalError,
    ProgrammingError,
    UnsupportedError,
)
from ivm.session.database import Database
from ivm.session.oracle import VerificationError

__all__ = [
    "Binary",
    "Connection",
    "DataError",
    "DatabaseError",
    "Date",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "Time",
    "Timestamp",
    "Warning",
    "apilevel",
    "connect",
    "paramstyle",
    "threadsafety",
]

apilevel = "2.0"
threadsafety = 2
paramstyle = "qmark"

Connection = Database
Binary, Date, Time, Timestamp = bytes, date, time, datetime
DatabaseError = Error
IntegrityError = ConstraintError
NotSupportedError = UnsupportedError
InternalError = VerificationError


class Warning(Exception):  # noqa: A001  the name that DB-API 2 wants
    """What DB-API 2 wants to be there; nothing raises it."""

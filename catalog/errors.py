"""The errors that a user can meet. Messages say what was attempted, what is wrong and what to do."""

from __future__ import annotations


class Error(Exception):
    """Base of every error that the engine raises on purpose."""


class InterfaceError(Error):
    """A database, transaction or cursor is used that is closed or over, or is asked for what it does not have yet."""


class ProgrammingError(Error):
    """What was asked is wrong in itself; the name of DB-API 2 for ParseError and BindError."""


class DataError(Error):
    """A value is wrong; the name of DB-API 2 for TypeMismatchError and NumericError."""


class OperationalError(Error):
    """What was asked is not possible here; the name of DB-API 2 for MemoryLimitError and AccessError."""


class ParseError(ProgrammingError):
    """The SQL text does not parse; the message carries line and column."""


class BindError(ProgrammingError):
    """A name is unknown or ambiguous, or is used where it may not be (unknown table, second view of one name)."""


class UnsupportedError(Error):
    """The SQL is valid but is not maintained yet; names the construct, its position and what to write instead."""


class ConstraintError(Error):
    """A change breaks a table's constraint; names table, constraint and the offending rows."""


class TypeMismatchError(DataError):
    """An expression or a supplied column has a type that does not fit."""


class NumericError(DataError):
    """A computation overflowed or has no result (overflow, division by zero, a cast out of range)."""


class MissingFunctionError(NumericError):
    """A function of the application's is needed that was not given since the database was opened; says who calls it."""


class RecursionLimitError(NumericError):
    """A recursive view has not ended within its limit of rounds, or the database's; names the view and what recurs."""


class ViewDroppedError(OperationalError):
    """A view is read or listened to that was dropped, or whose place one has taken that cannot stand for it."""


class LagError(OperationalError):
    """A subscription has ended because more waited to be taken than was to wait; says from when to subscribe again."""


class TransactionError(OperationalError):
    """A transaction cannot go on or commit: it was aborted, others were first, or there is none, or one already."""


class MemoryLimitError(OperationalError):
    """A view is expected to need more memory than the database's limit leaves; it was not installed."""


class AccessError(OperationalError):
    """SQL text reaches for files, the network or DuckDB's configuration, or is to change what is only to be read."""


class StorageError(OperationalError):
    """What is on disk cannot be read, written or trusted; the message names the file and says what to do."""


class ClusterError(OperationalError):
    """Spark could not run what was asked; the message says why, and nothing has changed."""

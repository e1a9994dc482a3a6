"""The errors that a user can meet. Messages say what was attempted, what is wrong and what to do."""

from __future__ import annotations


class Error(Exception):
    """Base of every error that the engine raises on purpose."""


class ParseError(Error):
    """The SQL text does not parse; the message carries line and column."""


class BindError(Error):
    """A name is unknown or ambiguous, or is used where it may not be (unknown table, second view of one name)."""


class UnsupportedError(Error):
    """The SQL is valid but is not maintained yet; names the construct, its position and what to write instead."""


class ConstraintError(Error):
    """A change breaks a table's constraint; names table, constraint and the offending rows."""


class TypeMismatchError(Error):
    """An expression or a supplied column has a type that does not fit."""


class NumericError(Error):
    """A computation overflowed or has no result (overflow, division by zero, a cast out of range)."""


class MemoryLimitError(Error):
    """A view is expected to need more memory than the database's limit leaves; it was not installed."""


class AccessError(Error):
    """SQL text reaches for files, the network or DuckDB's configuration, which the application has not allowed."""

"""Errors as Postgres's clients know them: by five letters, SQLSTATE, with what to do as a hint."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ivm.catalog.errors import (
    AccessError,
    BindError,
    ConstraintError,
    DataError,
    Error,
    InterfaceError,
    MemoryLimitError,
    NumericError,
    OperationalError,
    ParseError,
    StorageError,
    TransactionError,
    TypeMismatchError,
    UnsupportedError,
    ViewDroppedError,
)
from ivm.serve.errors import CancelledError, DeniedError, LimitError
from ivm.serve.postgres.messages import MalformedError, told

FEATURE, PROTOCOL, INTERNAL = "0A000", "08P01", "XX000"
FAILED, NO_TRANSACTION, IN_TRANSACTION = "25P02", "25P01", "25001"
CANCELLED, SHUTDOWN, TOO_MANY, WRONG_PASSWORD = "57014", "57P01", "53300", "28P01"
UNKNOWN_NAME, BAD_VALUE, UNKNOWN_STATEMENT, UNKNOWN_CURSOR = "42704", "22023", "26000", "34000"


class SqlStateError(Error):
    """What the door itself finds wrong with what a client says."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


_BY_WORDS: tuple[tuple[type[Exception], str, str], ...] = (
    (ConstraintError, "PRIMARY KEY|UNIQUE", "23505"),
    (ConstraintError, "NOT NULL", "23502"),
    (ConstraintError, "CHECK", "23514"),
    (ConstraintError, "FOREIGN KEY|references", "23503"),
    (ConstraintError, "", "23000"),
    (TransactionError, "is aborted", FAILED),
    (TransactionError, "READ ONLY", "25006"),
    (TransactionError, "within a transaction", IN_TRANSACTION),
    (TransactionError, "no transaction", NO_TRANSACTION),
    (TransactionError, "no savepoint", "3B001"),
    (TransactionError, "", "40001"),
    (AccessError, "role|read_only|read only", "25006"),
    (AccessError, "", "42501"),
    (NumericError, "[Dd]ivision by zero|divided by zero", "22012"),
    (NumericError, "Conversion Error|cannot be read|Could not convert", "22P02"),
    (NumericError, "", "22003"),
    (TypeMismatchError, "cannot read", "22P02"),
    (TypeMismatchError, "does not exist|No function matches|no function", "42883"),
    (TypeMismatchError, "", "42804"),
    (ParseError, "", "42601"),
    (ViewDroppedError, "", "42P01"),
    (BindError, "there is a (?:table|view)", "42P07"),
    (BindError, "there is a schema", "42P06"),
    (BindError, "GROUP BY clause", "42803"),
    (BindError, "prepared statement", UNKNOWN_STATEMENT),
    (BindError, "configuration parameter", UNKNOWN_NAME),
    (BindError, "[Ff]unction", "42883"),
    (BindError, "no schema|set the schema", "3F000"),
    (BindError, "[Aa]mbiguous", "42702"),
    (BindError, "used by", "2BP01"),
    (BindError, "column", "42703"),
    (BindError, "[Tt]able|view", "42P01"),
    (BindError, "", "42000"),
    (UnsupportedError, "", FEATURE),
    (MemoryLimitError, "", "53200"),
    (StorageError, "", "58030"),
    (CancelledError, "", CANCELLED),
    (LimitError, "took longer", CANCELLED),
    (LimitError, "", "54000"),
    (DeniedError, "", WRONG_PASSWORD),
    (MalformedError, "", PROTOCOL),
    (InterfaceError, "closed", SHUTDOWN),
    (DataError, "cannot copy|what came|^line", "22P04"),
    (DataError, "", "22000"),
    (OperationalError, "", "58000"),
)
"""By the class of an error and words of its first line; the first that fits holds."""
_PLACE = re.compile(r" \(line (\d+), column (\d+)\)$")


def code_of(error: BaseException) -> str:
    """The SQLSTATE of an error."""
    if isinstance(error, SqlStateError):
        return error.code
    first = _PLACE.sub("", str(error).partition("\n")[0])
    fits = (code for kind, words, code in _BY_WORDS if isinstance(error, kind) and re.search(words, first))
    return next(fits, INTERNAL)


@dataclass(frozen=True, slots=True)
class _Parts:
    message: str
    hint: str = ""
    position: str = ""


def error_message(error: BaseException, text: str = "", severity: str = "ERROR") -> bytes:
    """An error about a statement's text as a message; what is not the database's own says that it is a fault here."""
    if not isinstance(error, Error | MalformedError):
        return told(b"E", severity, INTERNAL, f"a fault of the server: {type(error).__name__}: {error}")
    parts = _parts(str(error), text)
    return told(b"E", severity, code_of(error), parts.message, H=parts.hint, P=parts.position)


def notice(code: str, text: str) -> bytes:
    """A warning."""
    return told(b"N", "WARNING", code, text)


def _parts(words: str, text: str) -> _Parts:
    """What is wrong, what to do about it, and at which character of the text it is."""
    first, _, rest = words.partition("\n")
    place = _PLACE.search(first)
    position = ""
    if place is not None:
        first = first[: place.start()]
        position = _position(text, int(place[1]), int(place[2]))
        rest = "\n".join(rest.split("\n")[2:])  # without the line that is shown, and the mark below
    message, _, hint = first.rpartition("; ")
    if not message:
        message, hint = first, ""
    return _Parts(message, "\n".join(filter(None, (hint, rest.strip()))), position)


def _position(text: str, line: int, column: int) -> str:
    lines = text.split("\n")
    if line > len(lines):
        return ""
    return str(sum(len(each) + 1 for each in lines[: line - 1]) + column)

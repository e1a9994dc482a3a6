"""Statements that have names: PREPARE, EXECUTE and DEALLOCATE."""

from __future__ import annotations

from ivm.catalog.errors import BindError, ParseError, UnsupportedError
from ivm.catalog.names import key, suggestion
from ivm.session.core import Core
from ivm.sql.connection_statements import Deallocate, Execute, Prepare
from ivm.sql.parameters import filled_with_texts
from ivm.sql.parse import parse
from ivm.sql.schemas import with_schemas
from ivm.sql.statements import Delete, Insert, Merge, Query, Update, WithChanges

_PREPARED = (Query, Insert, Update, Delete, Merge, WithChanges)


def prepare(core: Core, statement: Prepare) -> None:
    """Let a name stand for a statement, with names as they mean now; ParseError or UnsupportedError if it is none.

    Whether what it reads is there is seen when it is carried out.
    """
    text = with_schemas(statement.text, core.settings.names)
    try:
        found = parse(text)
    except BindError as error:
        raise ParseError(f"cannot prepare {statement.name!r}: {error}") from error
    if not isinstance(found[0], _PREPARED):
        raise UnsupportedError(f"cannot prepare {statement.name!r}: queries, INSERT, UPDATE, DELETE and MERGE can be")
    core.settings.prepared[key(statement.name)] = text


def text_of(core: Core, statement: Execute) -> str:
    """What EXECUTE carries out; BindError if there is none of that name, or if values are missing or too many."""
    prepared = core.settings.prepared
    text = prepared.get(key(statement.name))
    if text is None:
        raise BindError(f"there is no prepared statement {statement.name!r}{suggestion(statement.name, prepared)}")
    return filled_with_texts(text, dict(statement.named) if statement.named else statement.values)


def deallocate(core: Core, statement: Deallocate) -> None:
    """Forget a name, if it stands for a statement."""
    core.settings.prepared.pop(key(statement.name), None)

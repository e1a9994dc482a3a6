"""What SQL has to say of functions of Python's: the types that they are declared with, and the names they may have."""

from __future__ import annotations

from sqlglot import exp

from ivm.catalog.errors import ParseError, TypeMismatchError, UnsupportedError
from ivm.catalog.types import SqlType
from ivm.sql.sql_text import SqlText
from ivm.sql.syntax import query
from ivm.sql.types.declared import declared_type


def type_written(text: str) -> SqlType:
    """The type that a text writes. TypeMismatchError for none; UnsupportedError or BindError as `declared_type`."""
    source = SqlText(f"CAST(NULL AS {text})")
    try:
        (cast,) = query(SqlText(f"SELECT {source.text}"), "duckdb").tree.expressions
    except (ParseError, ValueError):
        cast = None
    if not isinstance(cast, exp.Cast):
        raise TypeMismatchError(f"{text!r} is no type; write one as SQL does, such as 'INTEGER' or 'VARCHAR[]'")
    return declared_type(cast.to, source, "it")


def calls_by_name(name: str) -> bool:
    """Whether `name(x)` is read as a call of what has that name, and of nothing that SQL means by it."""
    if not name.isidentifier():
        return False
    try:
        (read,) = query(SqlText(f"SELECT {name}(x)"), "duckdb").tree.expressions
    except (ParseError, UnsupportedError, ValueError):
        return False
    return isinstance(read, exp.Anonymous) and str(read.this) == name

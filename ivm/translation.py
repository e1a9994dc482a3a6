"""Queries as DuckDB is asked them, whatever dialect they were written in."""

from __future__ import annotations

from ivm.core import Core
from sql.dialects import translated
from sql.sql_text import SqlText
from sql.statements import Query


def in_duckdb(core: Core, statement: Query, dialect: str) -> str:
    """The text of a query that was written in `dialect`, in DuckDB's, by the types that there are now."""
    if dialect == "duckdb":
        return statement.text
    return translated(SqlText(statement.written, *statement.origin), dialect, core.catalog.fixed())

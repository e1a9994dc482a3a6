"""Statements about schemas, and about what is said of tables and views, as those of `ivm.sql.statements`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CreateSchema:
    """CREATE SCHEMA: from then on tables and views may be in `name`; `database` is what stands before it."""

    name: str
    database: str = ""
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class CommentOn:
    """COMMENT ON: what is said about a table or view, or about one of its columns; None: nothing."""

    name: str
    column: str
    text: str | None

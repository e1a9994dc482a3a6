"""Statements: what a SQL text asks for, as plain frozen data. `sql.parse.parse` makes them."""

from __future__ import annotations

from dataclasses import dataclass, field

from catalog.schema import Table
from sql.syntax import Syntax


@dataclass(frozen=True, slots=True)
class CreateTable:
    """CREATE TABLE: declare `table`."""

    table: Table
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class CreateView:
    """CREATE [MATERIALIZED] VIEW: `query_text` is the SELECT as the user wrote it; `maintained` if MATERIALIZED.

    `origin` is the line and column at which the SELECT begins in the statement's text, for messages. `columns` are the
    names that the view gives to its columns; empty for the query's own. `syntax`: of `query_text`, for one reader, who
    need not read it again; None if it is not known.
    """

    name: str
    query_text: str
    maintained: bool
    if_not_exists: bool = False
    origin: tuple[int, int] = (1, 1)
    columns: tuple[str, ...] = ()
    syntax: Syntax | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class DropTable:
    """DROP TABLE."""

    name: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropView:
    """DROP [MATERIALIZED] VIEW."""

    name: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """A query to answer once.

    `text` is it in DuckDB's dialect, `names` the tables and views that it reads. `written` is it as
    the user wrote it, which begins at `origin` (line, column) of the statement's text. `syntax`: that of `text`,
    for one reader, if the query is to be explained.
    """

    text: str
    names: tuple[str, ...]
    written: str
    origin: tuple[int, int] = (1, 1)
    syntax: Syntax | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Insert:
    """INSERT INTO `table`: `columns` (empty: all, in order) of the rows that `query` yields.

    `values`: the texts of the values of each row, if the query is VALUES and nothing else.
    """

    table: str
    columns: tuple[str, ...]
    query: Query
    values: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Delete:
    """DELETE FROM `table`: the rows that satisfy `condition`, a text in DuckDB's dialect (empty: all rows).

    `names` are the tables and views that the condition reads, the table itself included.
    """

    table: str
    alias: str
    condition: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Update:
    """UPDATE `table` SET: `assignments` (column, text of the new value) on the rows that satisfy `condition`."""

    table: str
    alias: str
    assignments: tuple[tuple[str, str], ...]
    condition: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Explain:
    """EXPLAIN: how a query, or a view before it is installed, would be maintained."""

    inner: Query | CreateView


Statement = CreateTable | CreateView | DropTable | DropView | Query | Insert | Delete | Update | Explain

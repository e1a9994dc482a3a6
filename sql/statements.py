"""Statements: what a SQL text asks for, as plain frozen data. `ivm.sql.parse.parse` makes them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ivm.catalog.altering import Alteration
from ivm.catalog.macro import Macro
from ivm.catalog.schema import Index, Table
from ivm.catalog.sequence import Sequence
from ivm.catalog.types import SqlType
from ivm.sql.connection_statements import (
    Begin,
    Commit,
    Deallocate,
    Execute,
    Idle,
    Load,
    Prepare,
    Rollback,
    Set,
    SetVariable,
)
from ivm.sql.schema_statements import CommentOn, CreateSchema
from ivm.sql.syntax import Syntax


@dataclass(frozen=True, slots=True)
class CreateTable:
    """CREATE [OR REPLACE] TABLE: declare `table`."""

    table: Table
    if_not_exists: bool = False
    replace: bool = False


@dataclass(frozen=True, slots=True)
class CreateTableAs:
    """CREATE [OR REPLACE] TABLE `name` AS `query`: its columns and rows; none of the rows if `empty`.

    `columns` are the names that the table gives to its columns; empty for the query's own.
    """

    name: str
    query: Query
    columns: tuple[str, ...] = ()
    if_not_exists: bool = False
    replace: bool = False
    empty: bool = False
    temporary: bool = False


@dataclass(frozen=True, slots=True)
class CreateView:
    """CREATE [OR REPLACE] [MATERIALIZED] VIEW; `maintained` if MATERIALIZED.

    `query_text` is the SELECT as the user wrote it. `origin` is the line and column at which it begins in the
    statement's text, for messages. `columns` are the names that the view gives to its columns; empty for the query's
    own. `change_feed` and `history`: see `ivm.catalog.schema.View`. `syntax`: of `query_text`, for one reader, who need
    not read it again; None if it is not known.
    """

    name: str
    query_text: str
    maintained: bool
    if_not_exists: bool = False
    origin: tuple[int, int] = (1, 1)
    columns: tuple[str, ...] = ()
    syntax: Syntax | None = field(default=None, compare=False, repr=False)
    replace: bool = False
    change_feed: bool = False
    temporary: bool = False
    history: str = ""


@dataclass(frozen=True, slots=True)
class CreateIndex:
    """CREATE [UNIQUE] INDEX: `index`, over columns of the table called `table`."""

    table: str
    index: Index
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class Drop:
    """DROP TABLE, VIEW, INDEX, SCHEMA, TYPE or MACRO [TABLE].

    With `cascade` the views that read a table or view go too, and all that is in a schema.
    """

    kind: Literal["TABLE", "VIEW", "INDEX", "SCHEMA", "TYPE", "MACRO", "MACRO TABLE", "SEQUENCE"]
    name: str
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True, slots=True)
class CreateType:
    """CREATE TYPE: `name` stands for `type`."""

    name: str
    type: SqlType
    if_not_exists: bool = False
    replace: bool = False


@dataclass(frozen=True, slots=True)
class CreateMacro:
    """CREATE [OR REPLACE] MACRO: from then on `macro` can be called."""

    macro: Macro
    if_not_exists: bool = False
    replace: bool = False


@dataclass(frozen=True, slots=True)
class CreateSequence:
    """CREATE [OR REPLACE] SEQUENCE."""

    sequence: Sequence
    if_not_exists: bool = False
    replace: bool = False


@dataclass(frozen=True, slots=True)
class Alter:
    """ALTER TABLE or VIEW: `change` what is called `name`."""

    kind: Literal["TABLE", "VIEW"]
    name: str
    change: Alteration
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class AskedLoop:
    """A query with WITH MUTUALLY RECURSIVE within another, from `start` to `end` of the statement's text.

    The text of the other reads its answer as the relation `name`. It begins at `origin` (line, column).
    """

    name: str
    text: str
    origin: tuple[int, int]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Query:
    """A query to answer once.

    `text` is it in DuckDB's dialect, `names` the tables and views that it reads. `written` is it as
    the user wrote it, which begins at `origin` (line, column) of the statement's text. `syntax`: that of `text`,
    for one reader, if the query is to be explained. `loops`: what `text` reads that is computed before; among `names`.
    """

    text: str
    names: tuple[str, ...]
    written: str
    origin: tuple[int, int] = (1, 1)
    syntax: Syntax | None = field(default=None, compare=False, repr=False)
    loops: tuple[AskedLoop, ...] = ()


@dataclass(frozen=True, slots=True)
class RowPart:
    """One value, at `place`, of the row of `width` values that the subquery `query` gives; NULL if it gives none."""

    query: str
    place: int
    width: int


Assignments = tuple[tuple[str, str | RowPart | None], ...]
"""Of SET: each column with the text of its new value, or a part of a row; None stands for DEFAULT."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """What an INSERT does with a row that agrees with another one on `columns` (empty: on those of any constraint).

    `action` is "nothing", "update" (as `assignments` say, where `condition` holds), or "replace" (every column that
    the INSERT names). In the texts the row that was to be inserted is called excluded.
    """

    action: Literal["nothing", "update", "replace"]
    columns: tuple[str, ...] = ()
    assignments: Assignments = ()
    condition: str = ""


@dataclass(frozen=True, slots=True)
class Insert:
    """INSERT INTO `table`: `columns` (empty: all, in order) of the rows that `query` yields, or `by_name`.

    `values`: the texts of the values of each row, if the query is VALUES and nothing else; None stands for DEFAULT.
    `defaults`: one row of nothing but defaults. `names`: the tables and views that its texts read. `returning`: the
    text of what it answers with, over the rows that it has put into the table, which are called `alias`.
    """

    table: str
    columns: tuple[str, ...]
    query: Query
    values: tuple[tuple[str | None, ...], ...] = ()
    alias: str = ""
    names: tuple[str, ...] = ()
    by_name: bool = False
    defaults: bool = False
    conflict: Conflict | None = None
    returning: str = ""


@dataclass(frozen=True, slots=True)
class Delete:
    """DELETE FROM `table`: the rows that satisfy `condition`, a text in DuckDB's dialect (empty: all rows).

    `names` are the tables and views that it reads, the table itself included. `using` is the text of the relations that
    the condition names beside the table, `ctes` of its WITH, `returning` of what it answers with, over the rows that
    are gone.
    """

    table: str
    alias: str
    condition: str
    names: tuple[str, ...]
    using: str = ""
    ctes: str = ""
    returning: str = ""


@dataclass(frozen=True, slots=True)
class Update:
    """UPDATE `table` SET: `assignments` on the rows that satisfy `condition`.

    `source` is the text of the relations that its texts name beside the table; the rest as for `Delete`, with the new
    rows for `returning`.
    """

    table: str
    alias: str
    assignments: Assignments
    condition: str
    names: tuple[str, ...]
    source: str = ""
    ctes: str = ""
    returning: str = ""


@dataclass(frozen=True, slots=True)
class When:
    """A clause of MERGE: its `action` where `condition` (empty: always) holds and no clause before it was taken.

    `of`: of each pair that is "matched", or of a row without a partner that is "not matched by target" (a source's row)
    or "not matched by source" (a target's). An UPDATE makes `assignments`, an INSERT gives `columns` (empty: all, in
    order) the `values`, or each its default if there are none. Both take the source's own columns instead if `takes`
    says by what: "position" or "name". An ERROR, whose text is its one value, fails the statement.
    """

    of: Literal["matched", "not matched by target", "not matched by source"]
    action: Literal["insert", "update", "delete", "nothing", "error"]
    condition: str = ""
    assignments: Assignments = ()
    columns: tuple[str, ...] = ()
    values: tuple[str | None, ...] = ()
    takes: Literal["", "position", "name"] = ""


@dataclass(frozen=True, slots=True)
class Merge:
    """MERGE INTO `table` USING `source`, the text of a relation that is called `source_alias`.

    `how` is the text of what makes a pair: ON a condition, or USING columns. `whens` are its clauses in order; the rest
    as for `Update`, with the rows as they became for `returning`, and as they were if they are gone.
    """

    table: str
    alias: str
    source: str
    source_alias: str
    how: str
    whens: tuple[When, ...]
    names: tuple[str, ...]
    ctes: str = ""
    returning: str = ""


@dataclass(frozen=True, slots=True)
class WithChanges:
    """A statement whose WITH changes tables: its `steps` one after the other, and then `last`, which is answered.

    Each step has the name by which those after it read what it answers. All take effect together, or not at all.
    """

    steps: tuple[tuple[str, Query | Insert | Delete | Update | Merge], ...]
    last: Query | Insert | Delete | Update | Merge


SHOWN = ("tables", "all tables", "views")
"""What SHOW lists: tables and views, the same with their columns, views."""


@dataclass(frozen=True, slots=True)
class Show:
    """SHOW, of one of `SHOWN`; tables of the schemas of the search path, or `of` one."""

    what: str
    of: str = ""


@dataclass(frozen=True, slots=True)
class Describe:
    """DESCRIBE: the columns of a table or view, or of a query."""

    of: str | Query


@dataclass(frozen=True, slots=True)
class Summarize:
    """SUMMARIZE: figures about each column of a query's rows."""

    query: Query


@dataclass(frozen=True, slots=True)
class Copy:
    """COPY between a file at `path` of `format` ("csv", "parquet", "json" or "debezium") and rows.

    Into `table` (its `columns`; empty: all), or out of what `query` yields. `options` are names and texts of values.
    `is_folder`: it writes a folder of files.
    """

    path: str
    format: str
    options: tuple[tuple[str, str], ...]
    table: str = ""
    columns: tuple[str, ...] = ()
    query: Query | None = None
    is_folder: bool = False


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """CHECKPOINT: a database that outlives its process writes down its state, so that it is opened the sooner."""


@dataclass(frozen=True, slots=True)
class Explain:
    """EXPLAIN: how a query, or a view before it is installed, would be maintained."""

    inner: Query | CreateView


@dataclass(frozen=True, slots=True)
class Analyze:
    """EXPLAIN ANALYZE: what DuckDB does to answer a query, or what has been done for the maintained view of a name."""

    inner: Query | str


Statement = (
    CreateTable
    | CreateTableAs
    | CreateView
    | CreateIndex
    | CreateType
    | CreateMacro
    | CreateSchema
    | CommentOn
    | Drop
    | CreateSequence
    | Alter
    | Query
    | Insert
    | Delete
    | Update
    | Merge
    | WithChanges
    | Show
    | Set
    | SetVariable
    | Idle
    | Load
    | Prepare
    | Execute
    | Deallocate
    | Describe
    | Summarize
    | Checkpoint
    | Begin
    | Commit
    | Rollback
    | Copy
    | Explain
    | Analyze
)

"""ALTER TABLE and ALTER VIEW."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from sqlglot.tokenizer_core import Token

from ivm.catalog.altering import (
    AddColumn,
    AddKey,
    Alteration,
    DropColumn,
    Rename,
    RenameColumn,
    SetDefault,
    SetNullable,
    SetType,
)
from ivm.catalog.names import quoted
from ivm.catalog.schema import Table, Unique
from ivm.sql.create_table import create_table
from ivm.sql.duckdb_text import duckdb_text
from ivm.sql.sql_text import SqlText
from ivm.sql.statements import Alter
from ivm.sql.syntax import query, statements
from ivm.sql.words import Words

_FORM = (
    "ALTER TABLE name ADD [COLUMN] .. | DROP [COLUMN] .. | RENAME [COLUMN] a TO b | RENAME TO .. | "
    "ALTER [COLUMN] .. SET | DROP DEFAULT | NOT NULL, or TYPE .. | ADD PRIMARY KEY | UNIQUE (..)"
)
_VIEW_FORM = "ALTER VIEW name RENAME TO other"


def alter(tokens: Sequence[Token], source: SqlText, dialect: str) -> Alter:
    """The statement of these tokens. ParseError for what is none; UnsupportedError for what is not supported of it."""
    words = Words(tokens, source, _FORM)
    words.take("ALTER")
    if words.take("VIEW") or words.take("MATERIALIZED", "VIEW"):
        words.form = _VIEW_FORM
        if_exists, name = words.take("IF", "EXISTS"), words.name("a view")
        if not words.take("RENAME", "TO"):
            words.refuse(f"this is not supported of a view; {_VIEW_FORM} is, and CREATE OR REPLACE VIEW")
        found = Alter("VIEW", name, Rename(words.plain_name("a view")), if_exists)
    elif words.take("TABLE"):
        if_exists, name = words.take("IF", "EXISTS"), words.name("a table")
        found = Alter("TABLE", name, _change(words, name, dialect), if_exists)
    else:
        words.refuse("ALTER is supported of TABLE and VIEW; drop and create anything else")
    words.end()
    return found


def _change(words: Words, table: str, dialect: str) -> Alteration:
    if words.take("ADD"):
        return _add(words, table, dialect)
    if words.take("DROP"):
        if words.take("CONSTRAINT"):
            words.refuse("DROP CONSTRAINT is not supported, nor in DuckDB; create another table and copy the rows")
        words.take("COLUMN")
        exists, column = words.take("IF", "EXISTS"), words.plain_name("a column")
        cascade = words.take("CASCADE")
        words.take("RESTRICT")
        return DropColumn(column, exists, cascade)
    if words.take("RENAME", "TO"):
        return Rename(words.plain_name("a table"))
    if words.take("RENAME"):
        if words.take("CONSTRAINT"):
            words.refuse("RENAME CONSTRAINT is not supported, nor in DuckDB; create another table and copy the rows")
        words.take("COLUMN")
        column = words.plain_name("a column")
        if not words.take("TO"):
            words.fail("expected TO")
        return RenameColumn(column, words.plain_name("a column"))
    if words.take("ALTER"):
        words.take("COLUMN")
        return _of_column(words, table, words.plain_name("a column"), dialect)
    if words.take("SET") or words.take("RESET"):
        words.refuse("SET and RESET are not supported here; create another table and copy the rows")
    words.fail("expected ADD, DROP, RENAME or ALTER")


def _add(words: Words, table: str, dialect: str) -> AddColumn | AddKey:
    name = words.plain_name("a constraint") if words.take("CONSTRAINT") else ""
    if words.take("PRIMARY KEY"):
        return AddKey(Unique(words.names("columns"), name), is_primary=True)
    if words.rest[1:2] and words.rest[1].text == "(" and words.take("UNIQUE"):
        return AddKey(Unique(words.names("columns"), name), is_primary=False)
    if name or (words.rest and words.rest[0].text.upper() in ("CHECK", "FOREIGN")):
        words.refuse(
            "of constraints PRIMARY KEY (..) and UNIQUE (..) can be added, as in DuckDB; CREATE TABLE takes the others"
        )
    words.take("COLUMN")
    texts = [token.text.upper() for token in words.rest]
    if "GENERATED" in texts or ("AS", "(") in pairwise(texts):
        words.refuse("generated columns cannot be added, nor in DuckDB; CREATE TABLE takes them")
    exists, declared = words.take("IF", "NOT", "EXISTS"), _declared(table, words.text(), words, dialect)
    (field,) = declared.fields
    if declared.primary_key or declared.foreign_keys or declared.checks:
        words.refuse(
            f"ALTER TABLE {table} ADD COLUMN {field.name} takes NOT NULL, DEFAULT and UNIQUE; ADD PRIMARY KEY (..) "
            "follows, and CREATE TABLE takes the others"
        )
    return AddColumn(field, declared.default(field.name), declared.unique, exists)


def _of_column(words: Words, table: str, column: str, dialect: str) -> Alteration:
    if words.take("SET", "DEFAULT"):
        declared = _declared(table, f"{quoted(column)} INTEGER DEFAULT {words.text()}", words, dialect)
        return SetDefault(column, declared.default(column))
    if words.take("DROP", "DEFAULT"):
        return SetDefault(column, None)
    if words.take("SET", "NOT", "NULL"):
        return SetNullable(column, nullable=False)
    if words.take("DROP", "NOT", "NULL"):
        return SetNullable(column, nullable=True)
    if words.take("SET", "DATA", "TYPE") or words.take("SET", "TYPE") or words.take("TYPE"):
        (field,) = _declared(table, f"{quoted(column)} {words.text_before('USING')}", words, dialect).fields
        using = f"CAST({quoted(column)} AS {field.type})"
        if words.take("USING"):
            (item,) = query(SqlText(f"SELECT {words.text()}"), dialect).tree.expressions
            using = duckdb_text(item)
        return SetType(column, field.type, using)
    words.fail("expected SET DEFAULT, DROP DEFAULT, SET NOT NULL, DROP NOT NULL or TYPE")


def _declared(table: str, column: str, words: Words, dialect: str) -> Table:
    """A table that declares the column as it is written."""
    source = SqlText(f"CREATE TABLE {quoted(table)} ({column})")
    read = statements(source, dialect)
    declared = create_table(read[0].tree, source, dialect).table  # type: ignore[arg-type]
    if len(read) != 1 or len(declared.fields) != 1:
        words.fail("expected one column")
    return declared

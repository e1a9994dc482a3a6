"""The two that run a script: the engine, and DuckDB, which runs the same statements with plain views."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

import duckdb
import pyarrow as pa
import sqlglot

import ivm
from tests.slt.records import Record

_MATERIALIZED = re.compile(r"\bMATERIALIZED\s+VIEW\b", re.IGNORECASE)
_CREATED = re.compile(r"\s*CREATE\s+MATERIALIZED\s+VIEW\s+([\w.]+)", re.IGNORECASE)
_PLACEHOLDER = re.compile(r"'(?:[^']|'')*'|\?|\$(\d+)")
CHANGES = ("INSERT", "DELETE", "UPDATE", "TRUNCATE", "WITH", "ALTER")


class Engine(Protocol):
    """What a script needs."""

    name: str

    def run(self, record: Record) -> pa.Table | None:
        """Carry a record out; a query's rows. Raises what the engine raises."""
        ...


class Ivm:
    """The engine. Each view is compared with DuckDB when it is created, and all of them after each change of a table.

    `shards`: over so many, if that is given.
    """

    name = "ivm"

    def __init__(self, shards: int | None = None) -> None:
        self.db = ivm.connect(compile="off", shards=shards)

    def run(self, record: Record) -> pa.Table | None:
        """Carry a record out; VerificationError if a view is wrong afterwards."""
        result = self.db.sql(record.sql, record.params, dialect=record.dialect)
        if record.kind == "query":
            return result.arrow()
        created = _CREATED.match(record.sql)
        if created is not None:
            self.db.verify([created[1]])
        elif first_word(record.sql) in CHANGES:
            self.db.verify()
        return None


class DuckDB:
    """The reference: every view is a plain one."""

    name = "duckdb"

    def __init__(self) -> None:
        self.connection = duckdb.connect()

    def run(self, record: Record) -> pa.Table | None:
        """Carry a record out."""
        sql = _MATERIALIZED.sub("VIEW", record.sql)
        if record.dialect != "duckdb":
            (sql,) = sqlglot.transpile(sql, read=record.dialect, write="duckdb")
        if record.params is not None:
            sql = with_literals(sql, record.params)
        if record.kind == "query":
            return self.connection.sql(sql).to_arrow_table()
        self.connection.execute(sql)
        return None


def first_word(sql: str) -> str:
    """The keyword that a statement begins with, in upper case."""
    return re.sub(r"--[^\n]*", "", sql).split(maxsplit=1)[0].upper()


def with_literals(sql: str, params: Sequence[object]) -> str:
    """The text with its placeholders `?` and `$1` replaced by literals, since DuckDB's views take none."""
    rest = iter(params)

    def literal(found: re.Match[str]) -> str:
        if found[0].startswith("'"):
            return found[0]
        value = params[int(found[1]) - 1] if found[1] else next(rest)
        if value is None:
            return "NULL"
        return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)

    return _PLACEHOLDER.sub(literal, sql)

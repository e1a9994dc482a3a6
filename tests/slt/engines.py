"""The two that run a script: the engine, and DuckDB, which runs the same statements with plain views."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

import duckdb
import pyarrow as pa
import sqlglot

import ivm
from ivm.catalog.names import key
from ivm.catalog.schema import Table
from ivm.session.database import core_of
from tests.slt.records import Record

_MATERIALIZED = re.compile(r"\bMATERIALIZED\s+VIEW\b", re.IGNORECASE)
_CREATED = re.compile(r"\s*CREATE\s+MATERIALIZED\s+VIEW\s+([\w.]+)", re.IGNORECASE)
_PLACEHOLDER = re.compile(r"'(?:[^']|'')*'|\?|\$(\d+)")
CHANGES = ("INSERT", "DELETE", "UPDATE", "TRUNCATE", "MERGE", "WITH", "ALTER")
_OF_ONE_TABLE = re.compile(
    r"\s*(?:INSERT\s+(?:OR\s+\w+\s+)?INTO|DELETE\s+FROM|UPDATE|TRUNCATE(?:\s+TABLE)?|MERGE\s+INTO)\s+(\w+)(?![\w.;]).*",
    re.IGNORECASE | re.DOTALL,
)


class Engine(Protocol):
    """What a script needs."""

    name: str

    def run(self, record: Record) -> pa.Table | None:
        """Carry a record out; a query's rows. Raises what the engine raises."""
        ...


class Ivm:
    """The engine. Each view is compared with DuckDB when it is created, those that read a table after each change of it,
    and all of them at the end.

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
            self._verify_what_reads(changed_by(record.sql))
        return None

    def end(self) -> None:
        """VerificationError if a view is wrong."""
        self.db.verify()

    def _verify_what_reads(self, table: str | None) -> None:
        """Compare the views that read a table, also by way of others; all, if it is not known which has changed."""
        catalog = core_of(self.db).catalog
        if table is None or catalog.schema_names or not isinstance(catalog.find(table), Table):
            self.db.verify()
            return
        reached = {key(table)}
        for view in catalog.views:  # each behind those that it reads
            if not reached.isdisjoint(map(key, view.uses)):
                reached.add(key(view.name))
        if reading := [view.name for view in catalog.views if view.maintained and key(view.name) in reached]:
            self.db.verify(reading)


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


def changed_by(sql: str) -> str | None:
    """The table that a statement changes, None where that is not plain to see: in other schemas, or by several steps."""
    found = _OF_ONE_TABLE.fullmatch(sql)
    return found[1] if found and ";" not in sql.rstrip().rstrip(";") else None


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

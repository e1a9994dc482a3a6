"""Connections to DuckDB. All are made here, so that none lets SQL text out unless the application allows it.

An instance of DuckDB is made once for each kind of use, which takes some 20 ms, and a connection to it for each
query, which takes some microseconds. What a query makes (views over tables, types) is its connection's own and goes
with it; what would outlast it is the configuration, which is locked.
"""

from __future__ import annotations

import ctypes
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from functools import cache, lru_cache
from unicodedata import combining, east_asian_width

import duckdb
import pyarrow as pa

from ivm.catalog.errors import (
    AccessError,
    BindError,
    Error,
    MemoryLimitError,
    NumericError,
    ParseError,
    StorageError,
    TypeMismatchError,
    UnsupportedError,
)
from ivm.catalog.names import NO_ROWID, as_literal, quoted
from ivm.catalog.schema import Schema
from ivm.catalog.types import HUGEINT, JSON, UUID, Kind
from ivm.catalog.zones import UTC
from ivm.rows_of_duckdb import not_too_many, reader_of, rows_of
from ivm.spill import spill_directory
from ivm.sql.cast_text import REFUSED
from ivm.sql.types.zones import zone_names
from ivm.trace.columns import stand_ins
from ivm.trace.columns.stand_ins import as_bytes, as_hugeints, as_json, huge_columns, undivided, with_huge
from ivm.trace.columns.zones import zone_of
from ivm.trace.helpers import cores

_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")


class Use(Enum):
    """What a connection is for, which decides what it may reach."""

    CLOSED = "SQL text of anybody: no files, no network, no extensions; nothing is spilled to disk"
    FEW = "as CLOSED, over few rows: by one thread, as others cost more than they save"
    OPEN = "SQL text of somebody whom the application trusts with whatever DuckDB can reach"
    PART = "as OPEN; one of many that read side by side, by one thread each"
    OWN = "the engine's own texts: closed too, but large sorts and joins may spill to disk"
    ASIDE = "as OWN, for what takes long while others commit: it leaves a processor to them, if there are several"


_CLOSED = (Use.CLOSED, Use.FEW)


class _Instances:
    """The instances of this process, one for each use."""

    def __init__(self) -> None:
        self._made: dict[Use, duckdb.DuckDBPyConnection] = {}
        self._lock = threading.Lock()

    def cursor(self, use: Use) -> duckdb.DuckDBPyConnection:
        """A new connection; to be closed."""
        with self._lock:
            if use not in self._made:
                self._made[use] = _instance(use)
            return self._made[use].cursor()

    def forget(self, use: Use) -> None:
        """Make another instance for the next connection: DuckDB refuses all work after an internal error."""
        with self._lock:
            self._made.pop(use, None)

    def let_go(self) -> None:
        """Before a process is forked: a child cannot end instances, whose threads it does not have."""
        with self._lock:
            self._made.clear()

    def abandon(self) -> None:
        """In a forked child: what another thread has or made when it was forked is never let go of, for that reason."""
        for left in (*self._made.values(), *(cursor for cursor, _ in _running.values())):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(left))
        _running.clear()
        self._made, self._lock = {}, threading.Lock()


def _instance(use: Use, *, locked: bool = True) -> duckdb.DuckDBPyConnection:
    """A new instance, whose moments are told in UTC wherever it runs: a view must not depend on the machine's zone."""
    settings: dict[str, str | bool | int | float | list[str]] = {
        "python_enable_replacements": False,  # a name is a table or view, never a variable of some Python frame
        "temp_directory": "" if use in _CLOSED else spill_directory(),
        "order_by_non_integer_literal": use in (Use.OWN, Use.ASIDE),  # a view may have it
        "allocator_background_threads": True,  # what a query took goes back to the system soon after it
    }
    if use in (Use.FEW, Use.PART, Use.ASIDE):
        settings["threads"] = max(cores() - 1, 1) if use is Use.ASIDE else 1
    if use not in (Use.PART, Use.OPEN):
        settings |= dict.fromkeys(_WAYS_OUT, False)
    made = duckdb.connect(config=settings)
    made.execute(f"SET GLOBAL TimeZone = '{UTC}'")
    if locked:
        lock(made)
    return made


def lock(duck: duckdb.DuckDBPyConnection) -> None:
    """From now on nothing of an instance's configuration is changed; each connection has a zone of its own."""
    duck.execute("SET allowed_configs = ['TimeZone']")
    duck.execute("SET lock_configuration = true")


@contextmanager
def telling_in(duck: duckdb.DuckDBPyConnection, zone: str, before: str = UTC) -> Iterator[None]:
    """Meanwhile the connection tells moments by the clocks of a zone, and by those of the one `before` afterwards.

    Cost: some 0.1 ms, or nothing where they are the same.
    """
    if zone == before:
        yield
        return
    duck.execute(f"SET TimeZone = {as_literal(zone)}")
    try:
        yield
    finally:
        duck.execute(f"SET TimeZone = {as_literal(before)}")


_WAYS_OUT = (
    "enable_external_access",
    "autoload_known_extensions",
    "autoinstall_known_extensions",
    "allow_persistent_secrets",
)
_running: dict[int, tuple[duckdb.DuckDBPyConnection, int]] = {}
"""The connections that are in use, and by which thread."""
_instances = _Instances()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_instances.let_go, after_in_child=_instances.abandon)


@contextmanager
def connection(use: Use, *, alone: bool = False, zone: str = UTC) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection for one query or a few that belong together. Nothing of it is left afterwards.

    `zone`: by whose clocks it tells moments. `alone`: to an instance of its own, whose settings may be changed; who
    lets anybody ask it locks them first.
    A query that is interrupted, by Ctrl-C or `interrupt`, raises KeyboardInterrupt.
    """
    cursor = _instance(use, locked=False) if alone else _instances.cursor(use)
    _running[id(cursor)] = cursor, threading.get_ident()
    try:
        if zone != UTC:
            cursor.execute(f"SET TimeZone = {as_literal(zone)}")
        yield cursor
    except (duckdb.InternalException, duckdb.FatalException):
        _instances.forget(use)
        raise
    except duckdb.InterruptException as error:
        raise KeyboardInterrupt from error
    except UnicodeDecodeError as error:  # DuckDB shows the value that it cannot cast, which is no text
        raise duckdb.ConversionException(error.object.decode(errors="backslashreplace")) from error
    except RuntimeError as error:
        if str(error) == "Query interrupted":  # what DuckDB makes of Ctrl-C, where it looks
            raise KeyboardInterrupt from error
        raise
    finally:
        if _running.pop(id(cursor), None) is not None:  # else a process was forked meanwhile, and this is that
            cursor.close()


def interrupt(thread: int | None = None) -> None:
    """Cancel the queries that run now, in whatever threads, or in this one alone."""
    for cursor, of in list(_running.values()):
        if thread is None or of == thread:
            cursor.interrupt()


def with_hugeints(table: pa.Table, fields: Schema) -> pa.Table:
    """The table for DuckDB, which would take a HUGEINT for a DECIMAL, as Arrow has it, and divide otherwise, a UUID and
    JSON for texts. An ENUM, which it would take for a text too, says what it is, see `offer`; so does what holds such.
    """
    for place, (field, given) in enumerate(zip(fields, table.schema.types, strict=False)):
        if field.type == UUID and pa.types.is_string(given):
            table = table.set_column(place, table.schema.names[place], as_bytes(table.column(place)))
        if field.type == JSON and not isinstance(given, pa.BaseExtensionType):
            table = table.set_column(place, table.schema.names[place], as_json(table.column(place)))
        if field.type == HUGEINT and pa.types.is_decimal128(given):
            table = table.set_column(place, table.schema.names[place], as_hugeints(table.column(place)))
    return with_huge(table, [f.type if f.type.is_nested or f.type.kind is Kind.ENUM else None for f in fields])


def for_queries(table: pa.Table, fields: Schema) -> pa.Table:
    """The table as `with_hugeints` has it, its texts compared as SQL says, see `offer`."""
    return stand_ins.with_collations(with_hugeints(table, fields), [field.type for field in fields])


def offer(duck: duckdb.DuckDBPyConnection, name: str, table: pa.Table) -> None:
    """Let `name` stand for the rows of a table on this connection."""
    made = stand_ins.made_in_sql(table)
    if not made:
        duck.register(name, undivided(table))
        return
    names = [f"c{place}" for place in range(table.num_columns)]
    columns = [f"{each}{made.get(place, '')}" for place, each in enumerate(names)]
    texts = f"{name}, ENUMs as texts"
    duck.register(texts, undivided(table).rename_columns(names))
    named = ", ".join(map(quoted, table.column_names))
    duck.execute(f"CREATE TEMP VIEW {quoted(name)}({named}) AS SELECT {', '.join(columns)} FROM {quoted(texts)}")


def answer(duck: duckdb.DuckDBPyConnection, query: str) -> pa.Table:
    """The rows of a query. MemoryLimitError if they fill the memory, see `ivm.rows_of_duckdb`."""
    statement = _only(duck, query, _QUERIES)
    try:
        relation = duck.sql(statement)
    except (duckdb.BinderException, duckdb.CatalogException):
        duck.execute(statement)  # which says where, and fails before it does anything
        raise
    types, reader = relation.types, reader_of(relation)
    return with_huge(pa.Table.from_batches(not_too_many(rows_of(reader), _most_bytes()), reader.schema), types)


@cache
def _most_bytes() -> int:
    """What a result may take: half of what DuckDB may, which is most of the machine's memory. Cost: a query, once."""
    with duckdb.connect() as duck:
        ((limit,),) = duck.execute("SELECT current_setting('memory_limit')").fetchall()
    number, unit = limit.split()
    return int(float(number) * 1024 ** _UNITS.index(unit)) // 2


def columns(duck: duckdb.DuckDBPyConnection, query: str) -> list[str]:
    """The names of the columns of a query, which is read and not run; errors are DuckDB's."""
    return list(duck.sql(_only(duck, query, _QUERIES)).columns)


def batches(duck: duckdb.DuckDBPyConnection, query: str) -> Iterator[pa.Table]:
    """The rows of a query, some at a time, so that they are never all in DuckDB's memory; errors are DuckDB's."""
    relation = duck.sql(_only(duck, query, _QUERIES))
    types, reader = relation.types, reader_of(relation)
    for batch in rows_of(reader):
        yield with_huge(pa.Table.from_batches([batch]), types)


def write(duck: duckdb.DuckDBPyConnection, copy: str) -> int:
    """Carry out a COPY to a file; how many rows it wrote."""
    return int(duck.execute(_only(duck, copy, (duckdb.StatementType.COPY,))).fetchall()[0][0])


def texts_of(table: pa.Table, most: int | None = None) -> list[tuple[str | None, ...]]:
    """The rows with each value as DuckDB prints it, whole or cut to `most` characters; None for NULL."""
    if not table.num_columns:
        return []
    for place in huge_columns(table):
        if pa.types.is_decimal128(table.column(place).type):  # for some that have 39 digits
            table = table.set_column(place, table.schema.names[place], as_hugeints(table.column(place)))
    places = [f"c{place}" for place in range(table.num_columns)]  # names may come twice
    texts = [f"{each}::VARCHAR" if most is None else f"left({each}::VARCHAR, {most})" for each in places]
    with connection(Use.OWN, zone=_told_in(table)) as duck:
        duck.register("given", undivided(table).rename_columns(places))
        return duck.sql(f"SELECT {', '.join(texts)} FROM given").fetchall()


def _told_in(table: pa.Table) -> str:
    """The zone in which moments are told, if DuckDB knows it."""
    zone = zone_of(table)
    return zone if zone is not None and zone in zone_names().values() else UTC


@lru_cache(1024)
def type_of(given: pa.DataType, metadata: frozenset[tuple[bytes, bytes]]) -> str:
    """What DuckDB calls the type of a column with this metadata. Cost: a query to DuckDB, the first time."""
    field = pa.field("c", given, metadata=dict(metadata))
    with connection(Use.OWN) as duck:
        duck.register("given", pa.schema([field]).empty_table())
        return str(duck.table("given").types[0]).strip('"')  # that of NULL alone is quoted


def define(duck: duckdb.DuckDBPyConnection, name: str, query: str, *, kept: bool = False) -> None:
    """Let `name` stand for a query on this connection, or for its rows if they are `kept`."""
    kind = "TABLE" if kept else "VIEW"
    duck.execute(_only(duck, f"CREATE TEMP {kind} {quoted(name)} AS {query}", _VIEWS))


_QUERIES = (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN, duckdb.StatementType.MULTI)  # which PIVOT is
_VIEWS = (duckdb.StatementType.CREATE,)


def _only(duck: duckdb.DuckDBPyConnection, text: str, kinds: tuple[duckdb.StatementType, ...]) -> duckdb.Statement:
    """The one statement of a text. BindError if DuckDB finds another number of them, whatever other parsers found."""
    found = duck.extract_statements(text)
    if len(found) != 1 or found[0].type not in kinds:
        raise BindError("cannot run the query: DuckDB does not read it as one SELECT; write one query at a time")
    return found[0]


_RAISED = "Invalid Input Error: "
_REFUSAL = f"{_RAISED}{REFUSED} "
_SETTING = ", or SET error_on_division_by_zero=false to return NULL for all divisions by zero"


class UnknownNameError(BindError):
    """DuckDB knows no table or function of a name."""


_ROWID = 'olumn "rowid" not found'
_PLACE = re.compile(r"\n\nLINE (\d+): (.*)\n( *)\^+\s*\Z")


def place_in(error: BaseException | None, text: str) -> int | None:
    """The offset in a text at which an error of DuckDB's about it points; None if it does not."""
    found = _PLACE.search(str(error)) if isinstance(error, duckdb.Error) else None
    if found is None:
        return None
    lines, number, shown = text.split("\n"), int(found[1]), found[2]
    if number > len(lines):
        return None
    line, before = lines[number - 1], _characters(shown, len(found[3]) - len(f"LINE {number}: "))
    if not line.startswith(shown):  # DuckDB cuts what is long, and marks it
        cut = shown.removeprefix("...").removesuffix("...")
        before += line.find(cut) - (len("...") if shown.startswith("...") else 0) if cut in line else len(line)
    return sum(len(each) + 1 for each in lines[: number - 1]) + before if 0 <= before <= len(line) else None


def _characters(shown: str, cells: int) -> int:
    """How many characters of a text take so many cells of a terminal, as DuckDB counts them."""
    for place, character in enumerate(shown):
        if cells <= 0 and character != "\t":
            return place
        cells -= 0 if character == "\t" or combining(character) else 1 + (east_asian_width(character) in "WF")
    return len(shown) + max(cells, 0)


def told(error: duckdb.Error, use: Use) -> Error:
    """An error of DuckDB about a user's query as one of ours, which says what to do; where it is, `place_in` says."""
    words = _PLACE.sub("", str(error)).rstrip().replace(_SETTING, "")
    if words.startswith(_REFUSAL):
        return TypeMismatchError(words.removeprefix(_RAISED))
    first = words.partition("\n")[0]  # without DuckDB's advice, which is to change what cannot be changed
    if "configuration has been locked" in words:
        return AccessError(
            f"cannot run the query: {words}; SQL text cannot change DuckDB's configuration, with external_access or not"
        )
    unknown = isinstance(error, duckdb.CatalogException)
    if use in _CLOSED and (isinstance(error, duckdb.PermissionException) or (unknown and " extension." in words)):
        return AccessError(
            f"cannot run the query: {first}; SQL text reaches nothing outside unless the application allows it with "
            "ivm.connect(external_access=True)"
        )
    if use in _CLOSED and isinstance(error, duckdb.OutOfMemoryException):
        return MemoryLimitError(
            f"cannot run the query: {first}; ask for less at once, or let DuckDB use the disk "
            "with ivm.connect(external_access=True)"
        )
    return _class_of(error, words)(f"cannot run the query: {words}{NO_ROWID if _ROWID in words else ''}")


def _class_of(error: duckdb.Error, words: str) -> type[Error]:
    kind = next((ours for phrases, ours in _PHRASES if any(phrase in words for phrase in phrases)), None)
    return kind or next((ours for theirs, ours in _CLASSES if isinstance(error, theirs)), BindError)


_PHRASES: tuple[tuple[tuple[str, ...], type[Error]], ...] = (
    (("Error: No function matches", "Error: Could not choose a best candidate function",
      "Error: Unimplemented type for cast", "Error: Cannot compare values of type", "Error: Cannot mix values of type",
      "Error: Cannot combine types"), TypeMismatchError),
    (("Error: No magic bytes", "to be a Parquet file", "Error: Malformed JSON in file", "not utf-8 encoded"),
     StorageError),
    (("Error: No files found",), BindError),
)  # fmt: skip
"""How DuckDB says, in errors of several classes, that types do not go together, that a file is damaged, and that there
is none of a name."""
_CLASSES: tuple[tuple[type[duckdb.Error], type[Error]], ...] = (
    (duckdb.CatalogException, UnknownNameError),
    (duckdb.IOException, StorageError),
    (duckdb.OutOfMemoryException, MemoryLimitError),
    (duckdb.OutOfRangeException, NumericError),
    (duckdb.ConversionException, NumericError),
    (duckdb.InvalidInputException, NumericError),
    (duckdb.TypeMismatchException, TypeMismatchError),
    (duckdb.InvalidTypeException, TypeMismatchError),
    (duckdb.ParserException, ParseError),
    (duckdb.SyntaxException, ParseError),
    (duckdb.NotImplementedException, UnsupportedError),
)
"""What is wrong with a text is BindError where nothing else fits; what rows of some values make of it NumericError."""

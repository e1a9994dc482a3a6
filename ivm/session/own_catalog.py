"""What exists, as the catalog of an instance of DuckDB: what its information_schema, pg_catalog and duckdb_tables() say
then is true of ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache

import duckdb

from ivm.called_by_duckdb import let_call
from ivm.catalog.catalog import Catalog
from ivm.catalog.clock import CLOCK, READ, is_own
from ivm.catalog.errors import TransactionError, UnsupportedError
from ivm.catalog.macro import Macro, Macros
from ivm.catalog.names import MAIN, as_literal, key, quoted
from ivm.catalog.schema import Schema, Table
from ivm.duck import Use, connection, told
from ivm.session.core import Core
from ivm.shell.definitions import comment_texts, definition_text
from ivm.sql.duckdb_text import no_answer
from ivm.sql.schemas import spelled_text
from ivm.sql.tree import CATALOG

_SHOW = "show"
"""How `FROM (SHOW TABLES)` is read."""


def reads_catalog(core: Core, names: Sequence[str]) -> bool:
    """Whether a query over relations of these names asks what there is. UnsupportedError if it reads rows too."""
    found, others = False, []
    for name in names:
        if core.catalog.find(name) is not None:
            others.append(name)
        elif name == CATALOG or key(name) == _SHOW or key(name) in _relations():
            found = True
    if found and others:
        raise UnsupportedError(
            f"cannot read {', '.join(others)} and what there is (information_schema, duckdb_tables() and the like) in "
            "one query; ask one after the other"
        )
    return found


@contextmanager
def catalogued(core: Core) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to an instance of its own, in which there is all that the database has, without rows.

    Cost: making the instance, some 30 ms, and a millisecond or so for each table and view.
    """
    with core.lock:
        catalog, texts = core.catalog.lasting(core.settings.names.temp), dict(core.engine.oracle_sql)
        rows = row_counts(core, catalog)
    with connection(Use.OWN, alone=True, zone=core.settings.zone) as duck:
        let_call(duck, core.functions, catalog.functions.values())
        for statement in _definitions(catalog, texts, rows):
            _define(duck, statement)
        path = ",".join((*core.settings.path, MAIN))
        duck.execute(f"SET search_path = {as_literal(path)}")
        _add_macros(duck, catalog.macros)
        duck.execute("SET lock_configuration = true")
        yield duck


def row_counts(core: Core, catalog: Catalog) -> dict[str, int]:
    """How many rows tables have; none where a transaction sees a table that others have dropped since it began."""
    return {table.name: _count(core, table.name) for table in catalog.tables}


def _count(core: Core, table: str) -> int:
    try:
        return core.engine.tables[table].count
    except TransactionError:
        return 0


@dataclass(frozen=True, slots=True)
class _Definition:
    """A CREATE VIEW of a text, and the columns that the view has."""

    head: str
    text: str
    schema: Schema


def _define(duck: duckdb.DuckDBPyConnection, statement: str | _Definition) -> None:
    """Carry it out. A view that DuckDB does not take has its columns, and an error in the place of its rows: what there
    is is told whatever the views are.
    """
    if isinstance(statement, str):
        duck.execute(statement)
        return
    try:
        duck.execute(f"{statement.head} AS {statement.text}")
    except duckdb.Error:
        duck.execute(f"{statement.head} AS {no_answer('DuckDB cannot read this view', statement.schema)}")


def check_in_duckdb(core: Core, macro: Macro) -> None:
    """Raise what DuckDB says of a macro where it would not create it, such as that there is no table of a name.

    Cost: see `catalogued`.
    """
    with catalogued(core) as duck:
        try:
            duck.execute(macro.definition(replaces=True))
        except duckdb.Error as error:
            what = told(error, Use.OWN)
            words = str(what).replace("cannot run the query", f"cannot create macro {macro.name!r}", 1)
            raise type(what)(words) from error


def _add_macros(duck: duckdb.DuckDBPyConnection, macros: Macros) -> None:
    """Create macros, each after those that it calls; last, with an error for their body, those that cannot be called
    any more, because what they call or read has gone.
    """
    left = list(macros.values())
    while left:
        failed = []
        for macro in left:
            try:
                duck.execute(macro.definition())
            except duckdb.Error:
                failed.append(macro)
        if len(failed) == len(left):
            break
        left = failed
    for macro in left:
        why = as_literal(f"macro {macro.name} cannot be called: what it reads or calls has gone")
        bodies = (replace(each, body=f"{'SELECT ' if macro.is_table else ''}error({why})") for each in macro.overloads)
        duck.execute(replace(macro, overloads=tuple(bodies)).definition())


def _definitions(catalog: Catalog, texts: Mapping[str, str], rows: Mapping[str, int]) -> Iterator[str | _Definition]:
    """CREATE for all there is but what is the engine's own, for a duckdb_tables() that knows how many rows tables have,
    and for a duckdb_functions() that does not tell of these two.
    """
    if catalog.database != "memory":
        yield f"ATTACH ':memory:' AS {quoted(catalog.database)}"
        yield f"USE {quoted(catalog.database)}"
        yield "DETACH memory"
    for name in catalog.schemas:
        yield f"CREATE SCHEMA {quoted(name)}"
    for name, type_ in catalog.named_types():
        yield f"CREATE TYPE {catalog.spelled(name)} AS {type_}"
    for sequence in catalog.sequences.values():
        kind = "TEMP " if sequence.temporary else ""
        yield f"CREATE {kind}{sequence.definition(spelled=catalog.spelled(sequence.name))}"
    for entry in catalog.content.values():
        if is_own(entry.name) and entry.name != CLOCK.name:
            continue
        if isinstance(entry, Table):
            keys = tuple(replace(each, enforced=False) for each in entry.foreign_keys)
            plain = replace(entry, foreign_keys=keys, append_only=False, static=False, partitioned_by=(), retention="")
            yield definition_text(replace(plain, replicated=False), catalog)
        else:
            kind = "TEMP VIEW" if entry.temporary else "VIEW"
            named, text = catalog.spelled(entry.name), texts[entry.name]
            if CLOCK.name in entry.uses:  # shown as what was written, under the names that has
                text = text.replace(READ, "now()")
                named += f" ({', '.join(quoted(field.name) for field in entry.schema)})"
            yield _Definition(f"CREATE {kind} {named}", spelled_text(text, catalog), entry.schema)
    if catalog.find(CLOCK.name) is not None:  # which was there for views that read it by its name
        yield f"DROP TABLE {quoted(CLOCK.name)}"
    yield from comment_texts(catalog)
    sizes = "".join(f" WHEN ({', '.join(map(as_literal, catalog.place(name)))}) THEN {n}" for name, n in rows.items())
    place = "(database_name, schema_name, table_name)"
    size = f"CASE {place}{sizes} ELSE estimated_size END" if sizes else "estimated_size"
    yield (
        f"CREATE TEMP MACRO duckdb_tables() AS TABLE SELECT * REPLACE ({size} AS estimated_size) "
        "FROM system.main.duckdb_tables()"
    )
    yield (
        "CREATE TEMP MACRO duckdb_functions() AS TABLE SELECT * FROM system.main.duckdb_functions() "
        "WHERE database_name <> 'temp' OR function_name NOT IN ('duckdb_tables', 'duckdb_functions')"
    )


@cache
def _relations() -> frozenset[str]:
    """The names that DuckDB's relations of what there is have, in no schema."""
    text = "SELECT view_name FROM duckdb_views() WHERE internal AND schema_name <> 'information_schema'"
    with connection(Use.OWN) as duck:
        return frozenset(name for (name,) in duck.execute(text).fetchall())

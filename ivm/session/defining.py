"""What CREATE and DROP do to a database. The caller is the only one who creates or drops; see `Core.defining`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import get_args

import pyarrow as pa

from ivm.catalog.catalog import Catalog
from ivm.catalog.clock import CLOCK, OWN, is_own
from ivm.catalog.errors import BindError, UnsupportedError
from ivm.catalog.names import key, parts_of, suggestion
from ivm.catalog.schema import Table
from ivm.catalog.schema import View as Definition
from ivm.catalog.zones import UTC
from ivm.engine.rehearsal import rehearse
from ivm.engine.tables import Declared
from ivm.engine.view import Installed
from ivm.intake.incoming import check_defaults
from ivm.intake.ingest import Intake
from ivm.results.result import Result, counted
from ivm.session.altering import alter
from ivm.session.core import Core
from ivm.session.defining_indexes import create_index, drop_index
from ivm.session.defining_schemas import comment, create_schema, drop_schema
from ivm.session.defining_sequences import create_sequence, drop_sequence
from ivm.session.freeing import dropping
from ivm.session.replacing import replace_below
from ivm.session.reserved import check_reserved
from ivm.session.retention import text_of_old_rows, unwatched, view_of_old_rows
from ivm.session.succession import succession
from ivm.sql.bind import BoundQuery, bind, with_names
from ivm.sql.bind.names.columns import unique_names
from ivm.sql.changes import renamed
from ivm.sql.create_table import table_like
from ivm.sql.macros import check_macro, dropped
from ivm.sql.schema_statements import CommentOn, CreateSchema
from ivm.sql.statements import (
    Alter,
    CreateIndex,
    CreateMacro,
    CreateSequence,
    CreateTable,
    CreateTableAs,
    CreateType,
    CreateView,
    Drop,
)
from ivm.subscriptions.unnamed import unheard
from ivm.transform.pipeline import optimize

Definitions = (
    CreateTable | CreateTableAs | CreateView | CreateIndex | CreateType | CreateMacro | CreateSchema
    | CreateSequence | CommentOn | Alter | Drop
)  # fmt: skip
DEFINITIONS = get_args(Definitions)
"""The statements that change what exists; they must not meet."""

_NONE: Mapping[str, None] = MappingProxyType({})
_NO_SIZES: Mapping[str, float] = MappingProxyType({})


def _nobody() -> None:
    """Nobody listens."""


def define(core: Core, statement: Definitions, dialect: str) -> Result:
    """Carry out the statement; on any error nothing has changed."""
    result = None
    match statement:
        case CreateTable():
            _create_table(core, statement)
        case CreateTableAs():
            result = _create_table_as(core, statement, dialect)
        case CreateView():
            check_reserved(statement.name)
            create_view(core, statement, dialect)
        case CreateIndex():
            result = create_index(core, statement)
        case CreateType() | Drop(kind="TYPE"):
            _change_type(core, statement)
        case CreateMacro():
            _create_macro(core, statement)
        case Drop(kind="MACRO" | "MACRO TABLE"):
            _drop_macro(core, statement)
        case CreateSequence():
            create_sequence(core, statement)
        case Drop(kind="SEQUENCE"):
            drop_sequence(core, statement)
        case Alter():
            alter(core, statement)
        case Drop(kind="INDEX"):
            drop_index(core, statement)
        case CommentOn():
            comment(core, statement)
        case CreateSchema():
            create_schema(core, statement)
        case Drop(kind="SCHEMA"):
            drop_schema(core, statement)
        case Drop():
            _drop(core, statement)
    core.settle()
    return result or Result()


def _create_table(core: Core, statement: CreateTable) -> None:
    if statement.if_not_exists and core.catalog.find(statement.table.name) is not None:
        return
    if statement.table.generated and core.engine.is_remote:
        raise UnsupportedError(
            f"cannot create table {statement.table.name!r}: generated columns are not supported over Spark, where rows "
            "pass by the driver; compute them in a view"
        )
    table = replace(statement.table, zone=core.settings.zone)
    check_defaults(table, core.numbers, core.functions.declared)
    _put_table(core, table, statement.replace)
    if table.retention:
        _watch_old_rows(core, core.catalog.table(table.name))


def _create_table_as(core: Core, statement: CreateTableAs, dialect: str) -> Result | None:
    """The table holds what the query answered when the statement began."""
    # DuckDB, which a program without SELECTs does not wait for
    from ivm.session.adhoc import asked, text_of, told_of_columns  # noqa: PLC0415
    from ivm.session.collations import with_collations  # noqa: PLC0415

    if statement.if_not_exists and core.catalog.find(statement.name) is not None:
        return None
    found = told_of_columns(core, statement.query, dialect)
    names, types = found["column_name"].to_pylist(), found["column_type"].to_pylist()
    given = statement.columns
    if len(given) > len(names):
        raise BindError(
            f"cannot create table {statement.name!r}: {len(given)} names are given, and its query has {len(names)} "
            "columns; leave some out"
        )
    names = list(unique_names((*given, *names[len(given) :])))
    table = table_like(statement.name, list(zip(names, types, strict=True)), temporary=statement.temporary)
    table = replace(with_collations(core, statement.query, dialect, table), zone=core.settings.zone)
    if core.loads is not None and not statement.empty and table.zone == UTC:
        text = renamed(text_of(core, statement.query, dialect), names)
        loaded = core.loads.create(table, text, partial(_put_table, core, table, statement.replace))
        if loaded is not None:
            return counted(loaded)
    rows = asked(core, statement.query, dialect, "SELECT * FROM ({}) LIMIT 0" if statement.empty else "{}")
    rows, _ = Intake(table.fields, f"table {table.name}").rows(rows.rename_columns(names))
    _put_table(core, table, statement.replace, rows)
    return counted(rows.num_rows)


def _put_table(core: Core, table: Table, replaces: bool, rows: pa.Table | None = None) -> None:
    """A new table of these rows; with `replaces` in place of the one of its name, if there is one."""
    check_reserved(table.name)
    _check_temporary(core, table.temporary)
    with dropping(core), core.lock:
        catalog, tables = core.catalog.fixed(), core.engine.tables
        old = catalog.find(table.name)
        gone, watching = dict[str, None](), dict[str, None]()
        if replaces and isinstance(old, Table):
            watching = unwatched(catalog, old) | dict.fromkeys(unheard(catalog, old.name))
            gone = {catalog.drop_table(old.name).name: None}
        added = catalog.add_table(table)
        made = tables.made(added, rows, core.engine.time + 1)
        tell = succession(core, catalog, watching)
        work = partial(put, core, catalog, watching, tables=gone | {added.name: made}, tell=tell)
        core.carry_out(work, catalog, {added.name: rows})


def _watch_old_rows(core: Core, table: Table) -> None:
    """Keep a view of the rows that a table is to let go of; without it there is no table."""
    catalog = core.catalog.fixed()
    try:
        bound = bind(text_of_old_rows(table), catalog)
        begins_clock = _begins_clock(core, catalog)
        name, mark = view_of_old_rows(table), os.urandom(8).hex()
        definition = Definition(name, bound.text, bound.schema, bound.uses, True, mark=mark)
        catalog.add_view(definition)
        with _clock(core) if begins_clock else nullcontext():
            install(core, catalog, definition, bound)
    except BaseException:
        _drop(core, Drop("TABLE", table.name, if_exists=True, cascade=False))
        raise


def create_view(core: Core, statement: CreateView, dialect: str) -> None:
    """Create a view; nobody else creates anything."""
    old = core.catalog.find(statement.name)
    if statement.if_not_exists and old is not None:
        return
    _check_temporary(core, statement.temporary)
    catalog = core.catalog.fixed()
    name = statement.name
    readers: Sequence[Definition] = ()
    gone: tuple[str, ...] = ()
    if statement.replace and old is not None:
        gone = unheard(catalog, old.name)
        readers = catalog.dependents(old.name)
        for reader in readers:
            catalog.drop_view(reader.name)
        name = catalog.drop_view(name).name  # as it was written first
    catalog.making = name
    zone = core.settings.zone
    bound = bind(statement.query_text, catalog, dialect, statement.origin, statement.syntax, zone)
    begins_clock = CLOCK.name in bound.uses and _begins_clock(core, catalog)
    unnamed = bound.text if statement.columns else ""
    bound = with_names(bound, name, statement.columns)
    # Other views that use this one read its text again, in DuckDB's dialect and with its names.
    definition = Definition(
        name, bound.text, bound.schema, bound.uses, statement.maintained, bound.order, bound.hidden, unnamed,
        os.urandom(8).hex(), statement.change_feed, statement.temporary,
        tuple(catalog.functions[each].signature for each in bound.calls), zone, statement.history,
    )  # fmt: skip
    core.engine.check_new(definition)
    catalog.add_view(definition)
    if begins_clock:
        optimize(bound.relation)  # what cannot be maintained, fails here
    with _clock(core) if begins_clock else nullcontext():
        if readers:
            replace_below(core, catalog, definition, bound, gone)
        else:
            install(core, catalog, definition, bound, gone=gone)


def _begins_clock(core: Core, catalog: Catalog) -> bool:
    """Whether nobody has read the clock, so that it may have stood; `catalog`, for a view that does, has it now."""
    if catalog.find(CLOCK.name) is None:
        catalog.add_table(CLOCK)
    return not core.catalog.find(CLOCK.name) or not core.catalog.users_of(CLOCK.name)


@contextmanager
def _clock(core: Core) -> Iterator[None]:
    """From now on there is a clock, which goes on with each commit as long as a view reads it; or none, if what is done
    with it fails.
    """
    _begin_clock(core)
    try:
        yield
    except BaseException:
        with core.lock:
            catalog = core.catalog.fixed()
            if not catalog.users_of(CLOCK.name):
                gone = {catalog.drop_table(CLOCK.name).name: None}
                core.carry_out(partial(put, core, catalog, tables=gone), catalog)
        raise


def _begin_clock(core: Core) -> None:
    with core.lock:
        catalog = core.catalog.fixed()
        if catalog.find(CLOCK.name) is not None:
            catalog.drop_table(CLOCK.name)
        rows, _ = core.clock.row(core.clock.present())
        made = core.engine.tables.made(catalog.add_table(CLOCK), rows, core.engine.time + 1)
        core.carry_out(partial(put, core, catalog, tables={CLOCK.name: made}), catalog, {CLOCK.name: rows})


def install(
    core: Core,
    catalog: Catalog,
    definition: Definition,
    bound: BoundQuery,
    sizes: Mapping[str, float] = _NO_SIZES,
    *,
    rehearsed: bool = True,
    gone: Sequence[str] = (),
) -> None:
    """Fill a view, if it is maintained; then `catalog`, which has it, is what exists. Nobody creates anything else.

    `sizes`: as `Engine.planned` has them. `rehearsed`: others commit meanwhile, and are not to wait. `gone`: views that
    go then.
    """
    engine, installed = core.engine, None
    planned = engine.planned(bound.relation, sizes) if definition.maintained else None
    if planned is not None and rehearsed:
        rehearse(engine, definition, planned, core.lock)
    with dropping(core), core.lock:  # others see the view of its name, if there is one, until this one is whole
        if planned is not None:
            installed = engine.installed(definition, planned, core.pause, core.lock.aside)
        views = {definition.name: installed, **dict.fromkeys(gone)}
        tell = succession(core, catalog, views)
        core.carry_out(partial(put, core, catalog, views, bound.oracle_sql, tell=tell), catalog)
    core.tidy_texts()


def put(
    core: Core,
    catalog: Catalog,
    views: Mapping[str, Installed | None] = _NONE,
    oracle_sql: str | None = None,
    tables: Mapping[str, Declared | None] = _NONE,
    tell: Callable[[], None] = _nobody,
) -> None:
    """From now on `catalog` is what exists, and these are the views and tables of their names; None: there is none.

    `oracle_sql` is that of views that are there, and `tell` tells who listens to them. It may be interrupted, and
    called again.
    """
    for view, installed in views.items():
        core.engine.put(view, installed, None if catalog.find(view) is None else oracle_sql)
    for table, declared in tables.items():
        core.engine.put_table(table, declared)
    core.catalog.become(catalog)
    tell()


def _change_type(core: Core, statement: CreateType | Drop) -> None:
    catalog, names, parts = core.catalog.fixed(), core.settings.names, parts_of(statement.name)
    if isinstance(statement, CreateType):
        name = names.created(parts)
        if statement.if_not_exists and key(name) in catalog.types:
            return
        catalog.add_type(name, statement.type, replaces=statement.replace)
    else:
        name = names.type(parts, catalog.types) or statement.name
        if statement.if_exists and key(name) not in catalog.types:
            return
        catalog.drop_type(name)
    with core.lock:
        core.carry_out(partial(core.catalog.become, catalog), catalog)


def _create_macro(core: Core, statement: CreateMacro) -> None:
    from ivm.session.own_catalog import check_in_duckdb  # noqa: PLC0415  DuckDB, which a program need not load

    names, catalog = core.settings.names, core.catalog.fixed()
    macro = names.placed(statement.macro)
    if macro.key in catalog.macros:
        if statement.if_not_exists:
            return
        if not statement.replace:
            kind = "table macro" if macro.is_table else "macro"
            what = f"there is a {kind} of that name; drop it, or write CREATE OR REPLACE"
            raise BindError(f"cannot create macro {macro.name!r}: {what}")
    check_reserved(macro.name)
    _check_temporary(core, macro.temporary)
    check_macro(macro, names)
    check_in_duckdb(core, macro)
    catalog.add_macro(macro)
    with core.lock:
        core.carry_out(partial(core.catalog.become, catalog), catalog)


def _drop_macro(core: Core, statement: Drop) -> None:
    catalog, is_table = core.catalog.fixed(), statement.kind == "MACRO TABLE"
    macro = dropped(statement, core.settings.names, catalog.macros)
    if macro is None:
        if statement.if_exists:
            return
        kind, name = "table macro" if is_table else "macro", statement.name
        known = suggestion(name, (each.name for each in catalog.macros.values() if each.is_table or not is_table))
        raise BindError(f"cannot drop {kind} {name!r}: there is none of that name{known}")
    catalog.drop_macro(macro)
    with core.lock:
        core.carry_out(partial(core.catalog.become, catalog), catalog)


def _drop(core: Core, statement: Drop) -> None:
    if statement.if_exists and core.catalog.find(statement.name) is None:
        return
    if is_own(statement.name):
        raise BindError(f"cannot drop {statement.name!r}: names that begin with {OWN} are the engine's own")
    with dropping(core), core.lock:
        left = core.catalog.fixed()  # what fails, fails here
        is_table = statement.kind == "TABLE"
        name = (left.table(statement.name) if is_table else left.view(statement.name)).name
        views = list(unwatched(left, left.table(name))) if is_table else []
        views += unheard(left, name)
        views += [left.drop_view(view.name).name for view in left.dependents(name)] if statement.cascade else []
        tables = [left.drop_table(name).name] if is_table else []
        views += [] if is_table else [left.drop_view(name).name]
        gone, no_tables = dict.fromkeys(views), dict.fromkeys(tables)
        tell = succession(core, left, gone)
        core.carry_out(partial(put, core, left, gone, None, no_tables, tell), left)


def _check_temporary(core: Core, temporary: bool) -> None:
    if temporary and core.engine.is_remote:
        raise UnsupportedError("TEMP is not supported over Spark, where all is in files; create it and drop it")

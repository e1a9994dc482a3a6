"""What CREATE SCHEMA, DROP SCHEMA and COMMENT ON do. The caller is the only one who creates or drops."""

from __future__ import annotations

from contextlib import suppress
from functools import partial

from ivm.catalog.catalog import Catalog
from ivm.catalog.errors import BindError, InterfaceError
from ivm.catalog.names import is_temp, key, suggestion
from ivm.catalog.schema import Table
from ivm.session.core import Core
from ivm.session.freeing import dropping
from ivm.session.reserved import check_reserved
from ivm.session.succession import succession
from ivm.sql.schema_statements import CommentOn, CreateSchema
from ivm.sql.statements import Drop


def comment(core: Core, statement: CommentOn) -> None:
    """Say something of a table, a view or a column. BindError if there is none."""
    catalog = core.catalog.fixed()
    catalog.comment(statement.name, statement.column, statement.text)
    with core.lock:
        core.carry_out(partial(core.catalog.become, catalog), catalog)


def create_schema(core: Core, statement: CreateSchema) -> None:
    """Let there be a schema. BindError if there is one."""
    catalog, name = core.catalog.fixed(), statement.name
    if key(statement.database) not in ("", key(catalog.database)):
        raise BindError(f"cannot create schema {name!r}: there is no database {statement.database!r}; leave it out")
    if statement.if_not_exists and catalog.schema(name) is not None:
        return
    check_reserved(name)
    catalog.add_schema(name)
    with core.lock:
        core.carry_out(partial(core.catalog.become, catalog), catalog)


def drop_schema(core: Core, statement: Drop) -> None:
    """Let a schema go; BindError if there is none, or if there is anything in it.

    With `cascade` all that is in it goes, and the views elsewhere that read that.
    """
    name = core.settings.names.schema_of(statement.name)
    if statement.if_exists and name is None:
        return
    if name is None:
        known = suggestion(statement.name, core.catalog.schemas)
        raise BindError(f"cannot drop schema {statement.name!r}: there is no schema of that name{known}")
    if is_temp(name):
        raise BindError("cannot drop schema 'temp', which ends with the connection; drop what is in it")
    left = _drop_all(core, name, cascade=statement.cascade)
    core.settings.path = tuple(each for each in core.settings.path if left.schema(each) is not None)


def has_temporary(core: Core) -> bool:
    """Whether there is anything that ends with the connection."""
    return core.settings.names.temp in core.catalog.schema_names


def drop_temporary(core: Core, seen: Core) -> None:
    """Drop all that ends with the connection, as statements see it that work on `seen`: the core, or a transaction.

    Nothing if the database is closed. Cost: that of DROP .. CASCADE; nothing if there is none.
    """
    if core.lock.closed or not has_temporary(seen):
        return
    with suppress(InterfaceError), core.definitions:
        core.begin_defining(None)
        _drop_all(seen, core.settings.names.temp, cascade=True)
        seen.settle()


def _drop_all(core: Core, name: str, *, cascade: bool) -> Catalog:
    """Let a schema go with all that is in it, if it `cascade`s; what is left."""
    with dropping(core), core.lock:
        left = core.catalog.fixed()
        inside = left.within(name) if cascade else ()
        tables = [entry.name for entry in reversed(inside) if isinstance(entry, Table)]
        reading = {view.name for entry in inside for view in left.dependents(entry.name)}
        views = [view.name for view in reversed(left.views) if view in inside or view.name in reading]
        for view in views:
            left.drop_view(view)
        for table in tables:
            left.drop_table(table)
        sequences = left.sequences_within(name) if cascade else ()
        for each in sequences:
            left.drop_sequence(each.name)
        for name_of_type in left.types_within(name) if cascade else ():
            left.drop_type(name_of_type)
        for macro in left.macros_within(name) if cascade else ():
            left.drop_macro(macro)
        if not is_temp(name):  # which goes with the last that is in it
            left.drop_schema(name)
        tell = succession(core, left, dict.fromkeys(views))

        def carry_out() -> None:
            for view in views:
                core.engine.put(view, None, None)
            for table in tables:
                core.engine.put_table(table, None)
            core.catalog.become(left)
            tell()

        core.carry_out(carry_out, left)
    for each in sequences:
        core.numbers.forget(each.key)
    return left

"""What CREATE SCHEMA, DROP SCHEMA and COMMENT ON do. The caller is the only one who creates or drops."""

from __future__ import annotations

from functools import partial

from ivm.catalog.errors import BindError
from ivm.catalog.names import key
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
    with dropping(core), core.lock:
        left = core.catalog.fixed()
        inside = left.within(name or statement.name) if statement.cascade else ()
        tables = [entry.name for entry in reversed(inside) if isinstance(entry, Table)]
        reading = {view.name for entry in inside for view in left.dependents(entry.name)}
        views = [view.name for view in reversed(left.views) if view in inside or view.name in reading]
        for view in views:
            left.drop_view(view)
        for table in tables:
            left.drop_table(table)
        sequences = left.sequences_within(name or statement.name) if statement.cascade else ()
        for each in sequences:
            left.drop_sequence(each.name)
        for name_of_type in left.types_within(name or statement.name) if statement.cascade else ():
            left.drop_type(name_of_type)
        for macro in left.macros_within(name or statement.name) if statement.cascade else ():
            left.drop_macro(macro)
        left.drop_schema(name or statement.name)
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
    core.settings.path = tuple(each for each in core.settings.path if left.schema(each) is not None)

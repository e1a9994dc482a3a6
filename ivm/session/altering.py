"""What ALTER does to a database. The caller is the only one who changes what exists; see `Core.defining`.

Where it changes what is kept of a table's rows, views that read the table are planned again, and filled, before anybody
sees anything of it; else they go on as they are. Their texts go on to mean what they meant (`ivm.sql.pinned`), whatever
columns come, go or have other names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from ivm.catalog.altering import (
    AddColumn,
    AddKey,
    Alteration,
    Altered,
    DropColumn,
    Rename,
    SetType,
    altered,
    column_of,
    renamed_keys,
)
from ivm.catalog.catalog import Catalog
from ivm.catalog.errors import BindError, ConstraintError, UnsupportedError
from ivm.catalog.names import full_name, key, listed, quoted
from ivm.catalog.schema import Generated, View
from ivm.intake.incoming import check_defaults, default_values
from ivm.intake.ingest import Intake
from ivm.plan.lower import lower
from ivm.session.core import Core
from ivm.session.freeing import dropping
from ivm.session.redefining import Redefining
from ivm.session.reserved import check_reserved
from ivm.session.succession import succession
from ivm.sql.bind import bind
from ivm.sql.changes import default_text
from ivm.sql.pinned import columns_of, pinned_text, renamed_expression, renamed_text
from ivm.sql.statements import Alter
from ivm.transform.pipeline import optimize


def alter(core: Core, statement: Alter) -> None:
    """Carry out the statement; on any error nothing has changed.

    Cost: that of reading the text of each view that reads what is altered. Beside it, where rows are kept in another
    way from then on, that of the batches that they lie in, of writing columns that are new, and of filling these views,
    while others wait; a new type, a PRIMARY KEY and a default that is not the same for all rows write all rows anew.
    """
    entry, change = core.catalog.find(statement.name), statement.change
    if entry is None and statement.if_exists:
        return
    check_reserved(statement.name, "alter")
    if isinstance(change, Rename):
        check_reserved(change.name)
        schema, _ = core.catalog.parts(core.catalog.lookup(statement.name).name)
        change = Rename(full_name(schema, change.name))
    is_view = isinstance(entry, View) and isinstance(change, Rename)  # of which Postgres's tools say TABLE, too
    if statement.kind == "VIEW" or is_view:
        assert isinstance(change, Rename), "nothing else is read of a view"
        _rename_view(core, core.catalog.view(statement.name), change.name)
        return
    table = core.catalog.table(statement.name)
    if table.retention:
        raise UnsupportedError(f"cannot alter table {table.name}: it has a retention; create another in its place")
    found = altered(table, change)
    if found is not None:
        _alter_table(core, _with_checks(found, change), change)


def _alter_table(core: Core, change: Altered, asked: Alteration) -> None:
    work, gone = Redefining.of(core), list[str]()
    if isinstance(asked, DropColumn):
        gone = _not_read(work, change, asked)
    for name in gone:
        work.catalog.drop_view(name)
    _define(work, change, gone)
    old, table, engine = change.old, change.table, core.engine
    values, text = _new_values(core, change), _rows_text(change, asked, core.engine.moves(change))
    rows, seen = (_rows(core, change, text), engine.tables[old.name].last_time) if text else (None, -1)
    is_anew = bool(text) or change.is_stored_anew
    is_other = is_anew or (engine.plans_again and change.is_read_otherwise)
    again = None if is_other else _meeting_nulls(work, change)
    work.plan(core, {table.name: float(engine.tables[old.name].count)}, again)
    with dropping(core), core.lock:
        if text and engine.tables[old.name].last_time != seen:  # what others have committed is not to be lost
            rows = _rows(core, change, text)
        tables = engine.tables
        _check_nulls(core, change)
        declared = tables.made(table, rows, engine.time) if text else tables.altered(change, values)
        anew = dict.fromkeys((old.name, table.name), declared) if is_other else {}
        renderer = work.rename(core, old.name, table.name)
        if work.planned or anew:
            renderer = engine.beside(anew, set(work.planned))
        views = dict.fromkeys(gone, (None, None)) | work.installed(core, renderer)
        others = {name: put for name, (put, _) in views.items()} if isinstance(asked, SetType) else {}
        tell = succession(core, work.catalog, others | dict.fromkeys(gone))
        puts = {table.name: declared, **tables.referring(work.catalog, declared)}
        if old.name != table.name:
            puts = {old.name: None, **puts}

        def carry_out() -> None:
            work.put(core, views, renderer, puts)
            tell()

        core.carry_out(carry_out, work.catalog, {table.name: rows} if text else {}, (change,))
    core.tidy_texts()


def _with_checks(change: Altered, asked: Alteration) -> Altered:
    """The table with its CHECKs over the columns as they are called. BindError if one depends on a column that goes,
    or gets another type; a CHECK of a column that goes alone goes with it.
    """
    checks = []
    for check in change.old.checks:
        named = columns_of(check.condition)
        if not isinstance(asked, DropColumn | SetType) or key(asked.column) not in named:
            checks.append(replace(check, condition=renamed_expression(check.condition, change)))
        elif isinstance(asked, SetType) or len(named) > 1:
            raise BindError(
                f"cannot alter table {change.old.name!r}: {check} depends on column {asked.column!r}; create another "
                "table and copy the rows"
            )
    return replace(change, table=replace(change.table, checks=tuple(checks), generated=_generated(change, asked)))


def _generated(change: Altered, asked: Alteration) -> tuple[Generated, ...]:
    """The generated columns over the columns as they are called. BindError if one depends on a column that goes, or
    gets another type, as it does itself.
    """
    for each in change.old.generated:
        named = columns_of(each.value) | ({key(each.column)} if isinstance(asked, SetType) else set())
        is_left = isinstance(asked, DropColumn) and key(each.column) == key(asked.column)
        if isinstance(asked, DropColumn | SetType) and key(asked.column) in named and not is_left:
            raise BindError(
                f"cannot alter table {change.old.name!r}: generated column {each.column!r} depends on column "
                f"{asked.column!r}; drop it first"
            )
    return tuple(replace(each, value=renamed_expression(each.value, change)) for each in change.table.generated)


def _not_read(work: Redefining, change: Altered, asked: DropColumn) -> list[str]:
    """See to it that no view reads a column: the views that go for that, each before those that it reads.

    BindError that names the views, but for CASCADE.
    """
    old, column = work.old, column_of(change.old, asked.column).name
    readers = [v.name for v in old.views if change.old.name in v.uses and _reads(old, v, change, column)]
    if readers and not asked.cascade:
        raise BindError(
            f"cannot drop column {column!r} of table {change.old.name!r}: used by "
            f"{listed('view', readers)}; drop what uses it first, or DROP COLUMN ... CASCADE"
        )
    reached = {*readers, *(view.name for reader in readers for view in old.dependents(reader))}
    return [view.name for view in reversed(old.views) if view.name in reached]


def _reads(catalog: Catalog, view: View, change: Altered, column: str) -> bool:
    """Whether a view would be another one if a column were NULL in all rows, as far as plans tell."""
    bound = bind(view.unnamed or view.sql, catalog, zone=view.zone)
    same = Altered(change.old, change.old, tuple(range(len(change.old.fields))))
    other = bind(pinned_text(bound, same, {column}), catalog, zone=view.zone)
    return lower(optimize(bound.relation)) != lower(optimize(other.relation))


def _meeting_nulls(work: Redefining, change: Altered) -> set[str]:
    """The views that read what may be NULL from now on, also through others: they are planned for that."""
    old, found = work.old, set[str]()
    for field, now in zip(change.old.fields, change.table.fields, strict=False):
        if now.nullable and not field.nullable:
            found |= {v.name for v in old.views if change.old.name in v.uses and _reads(old, v, change, field.name)}
    return found | {view.name for name in found for view in old.dependents(name)}


def _define(work: Redefining, change: Altered, gone: Sequence[str]) -> None:
    """Let the table, what names it, and the views that read it be as they are to be; but for those that are gone."""
    old, table, catalog = change.old, change.table, work.catalog
    catalog.alter(old.name, table)
    for other in catalog.tables:
        if other.name != table.name and any(key(each.table) == key(old.name) for each in other.foreign_keys):
            catalog.alter(other.name, renamed_keys(other, change))

    def text(view: View) -> str:
        text = view.unnamed or view.sql
        if old.name not in view.uses:
            return text
        bound = bind(text, work.old, zone=view.zone)
        return pinned_text(bound, change) if old.name == table.name else renamed_text(bound, old.name, table.name)

    readers = ((view, text(view)) for view in work.readers(old.name, gone))
    work.redefine_each(readers, f"cannot alter table {old.name!r}", "drop what reads it first", renames=True)


def _new_values(core: Core, change: Altered) -> Sequence[pa.Scalar]:
    """What rows that are there hold in columns that are new. Raises what is wrong with a default."""
    if change.table.defaults != change.old.defaults:
        check_defaults(change.table, core.numbers, core.functions.declared)
    values = default_values(change.table, change.new)
    for each, value in zip(change.new, values, strict=True):
        if not each.nullable and not value.is_valid and core.engine.tables[change.old.name].count:
            raise ConstraintError(
                f"cannot alter table {change.old.name}: column {each.name!r} is NOT NULL, and the rows that there are "
                "would have NULL in it; give it a DEFAULT"
            )
    return values


def _check_nulls(core: Core, change: Altered) -> None:
    """ConstraintError for NULL where none may be from now on. Cost: reads these columns."""
    old, table = change.old, change.table
    for place, was in enumerate(change.taken):
        if was is not None and old.fields[was].nullable and not table.fields[place].nullable:
            nulls = core.engine.tables[old.name].nulls(was)
            if nulls:
                raise ConstraintError(
                    f"cannot alter table {old.name}: column {table.fields[place].name!r} would be NOT NULL, and is "
                    f"NULL in {nulls} row(s); give them values first"
                )


def _rows_text(change: Altered, asked: Alteration, moves: bool) -> str:
    """The SELECT of the rows as they are to be, where all are written anew, as they are if they move; empty if not."""
    old, new = change.old.fields, iter(change.new)
    values = [
        default_text(change.table, next(new)) if place is None else quoted(old[place].name) for place in change.taken
    ]
    match asked:
        case AddColumn(default=default) if default is not None and not default.constant:
            pass
        case AddKey(is_primary=True):
            pass
        case SetType():
            values[change.old.index(asked.column)] = f"CAST({asked.using} AS {asked.type})"
        case _ if not moves:
            return ""
    named = (f"{value} AS {quoted(each.name)}" for value, each in zip(values, change.table.fields, strict=True))
    return f"SELECT {', '.join(named)} FROM {quoted(change.old.name)}"


def _rows(core: Core, change: Altered, text: str) -> pa.Table:
    from ivm.session.adhoc import query  # noqa: PLC0415  DuckDB, which a program need not load

    rows, _ = Intake(change.table.fields, f"table {change.table.name}").rows(query(core, text, (change.old.name,)))
    return rows


def _rename_view(core: Core, view: View, name: str) -> None:
    work, engine = Redefining.of(core), core.engine
    renamed = replace(view, name=name)
    work.catalog.alter(view.name, renamed)
    if engine.plans_again:  # else it stays, and what reads it
        work.redefine(renamed, renamed.unnamed or renamed.sql)
    for each in work.readers(view.name):
        text = each.unnamed or each.sql
        if view.name in each.uses:
            text = renamed_text(bind(text, work.old, zone=each.zone), view.name, name)
        work.redefine(each, text, renames=True)
    if view.maintained and engine.plans_again:
        work.plan(core, {name: engine.sizes()[view.name]})
    with dropping(core), core.lock:
        there = engine.views.get(view.name)
        renderer = work.rename(core, view.name, name)
        if work.planned:
            renderer = engine.beside({}, {view.name, *work.planned})
        moved = None if there is None else there.of(renamed)
        views = {view.name: (None, None), name: (moved, engine.oracle_sql[view.name])} | work.installed(core, renderer)

        def carry_out() -> None:
            engine.listeners.rename(view.name, name)  # before: the view is to know by which names it is listened to
            work.put(core, views, renderer)

        core.carry_out(carry_out, work.catalog)
    core.tidy_texts()

"""Ad-hoc SELECTs, run by DuckDB over the tables, views and introspection relations that they name; the changes that are
computed from their answers; and SHOW, DESCRIBE and SUMMARIZE, which say what there is to ask.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from typing import Protocol, TypeVar

import duckdb
import pyarrow as pa

from ivm.called_by_duckdb import connection_with
from ivm.catalog.clock import in_duckdb, is_own
from ivm.catalog.errors import BindError, Error, UnsupportedError
from ivm.catalog.names import MAIN, key, quoted, reached, suggestion
from ivm.catalog.schema import Schema, Table, View
from ivm.duck import UnknownNameError, Use, answer, define, for_queries, offer, place_in, telling_in, told, write
from ivm.engine.backend import Reading
from ivm.engine.transaction import Transaction
from ivm.results.result import Result, table_of
from ivm.session.core import Core
from ivm.session.loop_answers import LoopBase
from ivm.session.own_catalog import catalogued, reads_catalog
from ivm.session.own_rows import own_rows
from ivm.session.past import core_of_past
from ivm.session.settings import TIME_ZONE
from ivm.session.where import say_where
from ivm.sql.bind.query import has_answer
from ivm.sql.duckdb_text import translated
from ivm.sql.sql_text import SqlText
from ivm.sql.statements import AskedLoop, Describe, Query, Show, Summarize
from ivm.sql.times import Moment, past_of

T = TypeVar("T")
_NONE: Mapping[str, pa.Table] = {}


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a query reads, as it was at one moment: held on to under the lock, read without it.

    Relations by the keys of their names: `stored` those that hold rows, `definitions` the views that do not, with their
    SQL. `versions` are what the rows depend on: each entry of the catalog, and of tables the time of
    their last change. `now`: what time it is, where DuckDB does not know by itself.
    """

    stored: Mapping[str, Reading]
    definitions: Mapping[str, tuple[View, str]]
    versions: Mapping[str, tuple[Table | View | None, int]]
    now: int | None = None


class Ask(Protocol):
    """Answers SELECTs in DuckDB's dialect, all as of one moment."""

    def __call__(self, text: str, given: Mapping[str, pa.Table] = _NONE) -> pa.Table:
        """The answer; the text may read what is `given` too, by names that no relation has."""
        ...


def query(core: Core, text: str, names: Sequence[str], loops: Sequence[AskedLoop] = ()) -> pa.Table:
    """A SELECT in DuckDB's dialect, answered as of now; `names` are the relations it mentions, the `loops` too."""
    return _answer(core, names, seen(core, names, loops=loops), text)


def asked(core: Core, statement: Query, dialect: str, form: str = "{}") -> pa.Table:
    """What a query that was written in `dialect` answers as of now, or a `form` that is made of its text."""
    text = form.replace("{}", text_of(core, statement, dialect))
    try:
        return query(core, text, statement.names, statement.loops)
    except Error as error:
        place = place_in(error.__cause__, text)
        if place is None or dialect != "duckdb":
            raise
        first, line, rest = str(error).partition("\n")
        written = SqlText(statement.written, *statement.origin)
        raise type(error)(written.locate(first, place - form.index("{}")) + line + rest) from error.__cause__


def told_of_columns(core: Core, statement: Query, dialect: str, form: str = "DESCRIBE {}") -> pa.Table:
    """What a `form` of a query answers that asks of its columns alone; see `asked`. No rows come here for it."""
    told = None if core.loads is None else core.loads.told(text_of(core, statement, dialect), form)
    return asked(core, statement, dialect, form) if told is None else told


def text_of(core: Core, statement: Query, dialect: str) -> str:
    """A query that was written in `dialect`, in DuckDB's."""
    if dialect == "duckdb":
        return statement.text
    return translated(SqlText(statement.written, *statement.origin), dialect, core.catalog.fixed())


def change(
    core: Core,
    names: Sequence[str],
    collect: Callable[[Transaction, Ask], T],
    watched: Sequence[str] = (),
    loops: Sequence[AskedLoop] = (),
) -> T:
    """Commit what `collect` puts into the transaction, which may ask SELECTs over `names`; returns what it returns.

    It is called without the lock. If what it read has changed when the turn to commit comes, it is called once more,
    with the lock, so that no change of others is lost. `watched` is what it reads in another way.
    """
    with core.transaction(settles=False) as tx:
        first = seen(core, names, watched, loops)
        result = collect(tx, partial(_answer, core, names, first))
        with core.lock:
            if any(_version(name, core) != version for name, version in first.versions.items()):
                tx.forget()
                result = collect(tx, partial(_answer, core, names, seen(core, names, loops=loops)))
            tx.commit()
    core.settle()
    return result


def seen(core: Core, names: Sequence[str], watched: Sequence[str] = (), loops: Sequence[AskedLoop] = ()) -> Snapshot:
    """What the relations called `names`, and all that registered views among them read, hold now; unknown names are
    left out, but for those of `loops`, which are computed when they are read. Of those that are only `watched` it is
    known whether they change, not what they hold.

    Cost: finding the rows of each table that are alive, and all of the `ivm_*` relations; no rows are copied. Views
    that have changed since they were read last are consolidated when they are read, without the lock.
    """
    catalog = core.catalog
    definitions: dict[str, tuple[View, str]] = {}
    base = LoopBase(core.engine.recursion_limit, core.settings.zone)
    stored = {key(name): _of_past(core, name, *past) for name in names if (past := past_of(name)) is not None}

    def uses(name: str) -> Sequence[str]:
        entry = catalog.find(name)
        return entry.uses if isinstance(entry, View) else ()

    def registered(name: str) -> Sequence[str]:
        entry = catalog.find(name)
        return () if isinstance(entry, View) and core.engine.has_rows(entry) else uses(name)

    with core.lock:
        for name in reached(names, registered):
            entry = catalog.find(name)
            if isinstance(entry, Table):
                stored[name] = _for_duckdb(base.add(entry, core.engine.tables[entry.name].reading()), entry.fields)
            elif isinstance(entry, View) and core.engine.has_rows(entry):
                stored[name] = _for_duckdb(base.add(entry, core.engine.contents(entry.name).arrow), entry.schema)
            elif isinstance(entry, View) and has_answer(core.engine.oracle_sql[entry.name]):
                definitions[name] = entry, core.engine.oracle_sql[entry.name]
            elif isinstance(entry, View):
                stored[name] = base.view(entry)
            elif name in (relations := core.relations()):
                stored[name] = cache(own_rows(relations[name](), core.settings.names))  # as of now
        stored.update((key(loop.name), base.loop(loop)) for loop in loops)
        base.define(catalog.fixed(), {*definitions, *stored})
        below = reached((*stored, *definitions, *watched), uses)  # views are functions of tables, and need no time
        versions = {name: _version(name, core) for name in below}
        return Snapshot(stored, definitions, versions, core.clock.unknown)


def _of_past(core: Core, name: str, relation: str, moment: Moment) -> Reading:
    """What makes the rows of a relation as of a time, under the name that `ivm.sql.times` has made for it."""
    before = core_of_past(core, relation, moment, lambda text: query(core, text, ()))
    try:
        held = seen(before, (relation,))
    finally:
        before.pending.end()
    read = held.stored.get(key(relation))
    return read or cache(lambda: _answer(before, (relation,), held, f"SELECT * FROM {quoted(relation)}"))


def _version(name: str, core: Core) -> tuple[Table | View | None, int]:
    entry = core.catalog.find(name)
    return entry, core.engine.tables[entry.name].last_time if isinstance(entry, Table) else 0


def _for_duckdb(read: Reading, fields: Schema) -> Reading:
    return cache(lambda: for_queries(read(), fields))


def wrote(core: Core, text: str, names: Sequence[str]) -> int:
    """Carry out a COPY to a file, of what the relations called `names` hold now; how many rows it wrote."""
    if reads_catalog(core, names):
        raise UnsupportedError("cannot copy what there is to a file; ask it with SELECT")
    held = seen(core, names)
    for name in names:
        if key(name) not in held.stored and key(name) not in held.definitions:
            core.catalog.lookup(name)
    with _over(core, text, names, held, Use.OPEN) as duck:
        return write(duck, text)


def _answer(
    core: Core, names: Sequence[str], held: Snapshot, text: str, given: Mapping[str, pa.Table] = _NONE
) -> pa.Table:
    """DuckDB's answer over what was seen of the relations called `names`, and what is `given`; needs no lock.

    Only what `names` mentions (through definitions too) is read; files and all else outside only with
    `external_access`. Raises AccessError for a text that reaches there without, MemoryLimitError where DuckDB's memory
    is not enough, and BindError with DuckDB's words where it refuses.
    """
    if reads_catalog(core, names):
        return _told_of_catalog(core, text)
    try:
        with _over(core, text, names, held, Use.OPEN if core.external_access else Use.CLOSED) as duck:
            for name, table in given.items():
                offer(duck, name, table)
            say_where(duck, core.settings, text)
            return core.numbers.answer(duck, text)
    except UnknownNameError as error:
        for name in names:
            if key(name) not in held.stored:
                try:
                    core.catalog.lookup(name)
                except BindError as better:  # with the names that are close
                    raise better from error.__cause__
        raise


def _told_of_catalog(core: Core, text: str) -> pa.Table:
    try:
        with catalogued(core) as duck:
            return answer(duck, text)
    except duckdb.Error as error:
        raise told(error, Use.CLOSED) from error


@contextmanager
def _over(core: Core, text: str, names: Sequence[str], held: Snapshot, use: Use) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection for a text, on which these names stand for what was seen of them. DuckDB's errors are told as ours.

    The application's functions can be called on it, where the text, or that of a view that it reads, names any.
    """
    try:
        called = core.functions.named_in(text, *(defined for _, defined in held.definitions.values()))
        zone = core.settings.zone
        with connection_with(core.functions, called, use, zone=zone) as duck:
            for told_time in () if held.now is None else in_duckdb(held.now):
                duck.execute(told_time)
            done: set[str] = set()
            for name in names:
                _provide(duck, name, held, done, zone)
            yield duck
    except duckdb.Error as error:
        raise told(error, use) from error


def _provide(duck: duckdb.DuckDBPyConnection, name: str, seen: Snapshot, done: set[str], zone: str) -> None:
    """Let a name stand for what was seen of it. A view of another zone than the query's is computed before that."""
    found = key(name)
    if found in done:
        return
    done.add(found)
    if found in seen.stored:
        offer(duck, name, seen.stored[found]())
    elif found in seen.definitions:
        view, text = seen.definitions[found]
        for used in view.uses:
            _provide(duck, used, seen, done, view.zone)
        with telling_in(duck, view.zone, zone):
            define(duck, name, text, kept=view.zone != zone)


def described(core: Core, statement: Show | Describe | Summarize, dialect: str) -> Result:
    """What there is, or the columns of a table, a view or a query in this dialect, as DuckDB lists them."""
    match statement:
        case Show():
            return _shown(core, statement)
        case Describe():
            return _columns_of(core, statement.of, dialect)
        case Summarize():
            return Result(asked(core, statement.query, dialect, "SUMMARIZE {}"))


def _shown(core: Core, statement: Show) -> Result:
    """The tables and views by name, in the columns that DuckDB gives them."""
    catalog = core.catalog.lasting(core.settings.names.temp)
    shown: Sequence[Table | View] = catalog.views if statement.what == "views" else (*catalog.tables, *catalog.views)
    entries = [entry for entry in shown if not is_own(entry.name)]
    entries.sort(key=lambda entry: catalog.parts(entry.name))
    if statement.what != "all tables":
        schemas = _shown_schemas(core, statement.of)
        named = (catalog.parts(entry.name) for entry in entries)
        return Result(table_of(sorted((name,) for schema, name in named if schema in schemas), name=pa.string()))
    rows = []
    for entry in entries:
        fields = entry.fields if isinstance(entry, Table) else entry.schema
        kind = "table" if isinstance(entry, Table) else "materialized view" if entry.maintained else "view"
        told = [field.name for field in fields], [str(field.type) for field in fields]
        rows.append((*catalog.place(entry.name), *told, entry.temporary, kind))
    text, texts = pa.string(), pa.list_(pa.string())
    columns = {"column_names": texts, "column_types": texts}
    return Result(table_of(rows, database=text, schema=text, name=text, **columns, temporary=pa.bool_(), kind=text))


def _shown_schemas(core: Core, of: str) -> tuple[str, ...]:
    """The schemas whose tables SHOW lists: one, or those in which names are looked up."""
    if not of:
        return (core.settings.names.temp, *core.settings.path, MAIN)
    found = core.settings.names.schema_of(of)
    if found is None:
        raise BindError(f"there is no schema {of!r}{suggestion(of, core.catalog.schemas)}")
    return (found,)


def _columns_of(core: Core, of: str | Query, dialect: str) -> Result:
    if isinstance(of, Query):
        return Result(asked(core, of, dialect, "DESCRIBE {}"))
    entry = core.catalog.find(of)
    if isinstance(entry, Table):
        return _listed(_column(entry, place) for place in range(len(entry.fields)))
    if isinstance(entry, View):
        return _listed((f.name, str(f.type), "YES" if f.nullable else "NO", None, None) for f in entry.schema)
    if key(of) == TIME_ZONE:
        return Result(query(core, "SELECT current_setting('TimeZone') AS TimeZone", ()))
    # One of the engine's own relations, or a name that there is not.
    return Result(query(core, f"DESCRIBE {quoted(of)}", (of,)))


def _column(table: Table, place: int) -> tuple[str | None, ...]:
    field = table.fields[place]
    unique = any(field.name in constraint.columns for constraint in table.unique_constraints)
    key = "PRI" if place in table.key_indexes else "UNI" if unique else None
    default = table.default(field.name)
    null = "YES" if field.nullable else "NO"
    return field.name, str(field.type), null, key, None if default is None else default.value


def _listed(columns: Iterable[tuple[str | None, ...]]) -> Result:
    types = dict.fromkeys(("column_name", "column_type", "null", "key", "default", "extra"), pa.string())
    return Result(table_of(((*column, None) for column in columns), **types))

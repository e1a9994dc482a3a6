"""Plain statements over the rows of one table or view, carried out on its state alone: no second engine is started.

Rows of a table are found by a key that the statement gives; those of a view see `ivm.session.rows_of_view`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

import numpy as np
import pyarrow as pa

from ivm.catalog.errors import NumericError
from ivm.catalog.schema import Table, View
from ivm.catalog.types import SqlType
from ivm.engine.sorting import sort_table
from ivm.engine.transaction import Change
from ivm.intake.computed import Computed
from ivm.render.scalars.columns import column_of_literals
from ivm.results.result import Result, counted
from ivm.session.core import Core
from ivm.session.rows_of_view import MOST_KEYS, Found, found_in_view, index_of
from ivm.sql.bind.rows import BoundRows, bind_rows
from ivm.sql.by_key import ByKey
from ivm.sql.ir.scalar import Column as Reference
from ivm.sql.ir.scalar import Literal, Scalar, Value
from ivm.sql.plain_rows import PlainRows, row_by_key
from ivm.trace.columns.arrow import arrow_type, to_arrow
from ivm.trace.columns.column import Ints
from ivm.trace.columns.stand_ins import with_huge
from ivm.trace.columns.stored_rows import StoredRows
from ivm.trace.columns.zones import told_in
from ivm.trace.delta import Delta, Group, plain_layout
from ivm.trace.index.arrangement import Arrangement
from ivm.trace.log_index import LogIndex
from ivm.trace.rows.table_store import TableStore
from ivm.trace.text.dictionary import Literals, TextDictionary


def run_plain(core: Core, statement: PlainRows) -> Result | None:
    """Carry out the statement, atomically; None, and nothing has changed, where that is not for here.

    An expression that fails is not for here either: DuckDB says what is wrong. Cost: some 0.1 ms to bind it, and a
    probe of the key or a pass over the view.
    """
    try:
        changed = _run_by_key(core, statement.by_key, statement.literals)
    except BaseException:
        statement.give_back()
        raise
    if changed is not None:
        statement.give_back()
        return changed
    zone = core.settings.zone
    bound = bind_rows(statement, core.catalog, zone, core.clock.present())
    if bound is None:
        return None
    index = index_of(core, bound)
    with core.lock:
        if core.catalog.find(bound.relation.name) is not bound.relation:
            return None
        try:
            found = _found(core, bound, index)
            columns = None if found is None else _computed(bound, *found)
        except NumericError:
            return None
        changed = _change(core, bound, columns) if columns is not None and (bound.gone or bound.come) else None
        if changed is None:
            core.engine.tidy_texts()  # literals are texts, too, and many SELECTs may come before a commit does
    if changed is not None:
        core.settle()
        return changed
    return None if columns is None else _given(bound, columns, zone)


def change_row(core: Core, text: str) -> Result | None:
    """Change the row of a key as a text says that differs from an earlier one in its literals alone; None, and nothing
    has changed, for any other text.
    """
    known = row_by_key(text)
    if known is None or core.catalog.types or not core.settings.names.is_plain:  # it might be read as another text
        return None
    return _run_by_key(core, *known)


def _run_by_key(core: Core, said: ByKey | None, literals: Sequence[str]) -> Result | None:
    """Change the one row of a key, if it is there; None, and nothing has changed, where that is not for here."""
    content = core.catalog.content
    table = None if said is None else core.catalog.find(said.table)
    if said is None or not isinstance(table, Table) or core.settings.reads_otherwise(table.fields):
        return None
    values = said.said(table, literals)
    if values is None:
        return None
    with core.lock:
        change = _change_by_key(core, table, *values) if core.catalog.content is content else None
        if change is None:
            return None
        core.commit([change], settles=False)
    core.settle()
    return counted(1)


def _change_by_key(core: Core, table: Table, key: dict[int, Value], after: dict[int, Value] | None) -> Change | None:
    """What takes the row of a key out, or gives some of its columns, by their places, the values that come `after`."""
    intake, store = core.incoming.intake(table.name)[1], core.engine.whole_table(table.name)
    if store is None:
        return None
    plain, keys = intake.plain, intake.plain_keys
    found = None if keys is None else keys.row([*key.values()], range(len(key)))
    number = None if found is None else store.number_of(*found)
    if found is None or number is None:
        return None
    if after is None:
        return Change(table, *found, diffs=np.full(1, -1, np.int64))
    if plain is None:
        return None
    known = {**key, **after}
    row = [known[c] if c in known else store.value(c, number) for c in range(len(table.fields))]
    rows = plain.row(row, range(len(row)))
    return None if rows is None else Change(table, *rows, mode="upsert")


def _found(core: Core, bound: BoundRows, index_of_view: LogIndex | None) -> Found | None:
    """The rows among which all are that pass; None where they are too many, or no key is given."""
    relation, engine = bound.relation, core.engine
    if isinstance(relation, View):
        whole = engine.whole_view(relation.name)
        return None if whole is None else found_in_view(whole.log.sealed, bound, engine.dictionary, index_of_view)
    fixed = bound.fixed
    for columns in (relation.primary_key, *(unique.columns for unique in relation.unique_constraints)):
        key = relation.places(columns)
        if not key or any(column not in fixed for column in key):
            continue
        if prod(len(fixed[column][1]) for column in key) > MOST_KEYS:
            continue
        wanted = list(product(*(fixed[column][1] for column in key)))
        store, dictionary = _store(core, relation, key, wanted)
        index = store.follower(key)
        if isinstance(index, Arrangement) and index.is_whole:
            numbers = _numbers(index, wanted, [relation.fields[c].type for c in key], dictionary)
            used = [fixed[column][0] for column in key]
            source = Group(StoredRows(store.store.columns, numbers))
            rows = Delta([source], plain_layout(len(relation.fields)), len(numbers), store.last_time)
            return rows, tuple(each for each in bound.predicates if each not in used), dictionary
    return None


def _store(
    core: Core, table: Table, key: tuple[int, ...], wanted: Sequence[Sequence[Literal]]
) -> tuple[TableStore, TextDictionary]:
    """What has the rows of a table with these keys, if they are there, and its texts."""
    whole = core.engine.whole_table(table.name)
    if whole is not None:
        return whole, core.engine.dictionary
    dictionary = TextDictionary()
    texts, columns = Literals(dictionary), []
    for place, field in enumerate(table.fields):
        if place in key:
            column = column_of_literals([row[key.index(place)] for row in wanted], field.type, texts)
            columns.append(to_arrow(column, field.type, dictionary.now()))
        else:
            columns.append(pa.nulls(len(wanted), arrow_type(field.type)))
    return core.engine.some_rows(table, [key], pa.table(columns, names=[field.name for field in table.fields]))


def _numbers(
    index: Arrangement, keys: Sequence[Sequence[Literal]], types: Sequence[SqlType], dictionary: TextDictionary
) -> Ints:
    """The numbers of the living rows with these keys, ascending."""
    texts = Literals(dictionary)  # which keeps their codes for as long as it is there
    columns = [column_of_literals([row[place] for row in keys], type_, texts) for place, type_ in enumerate(types)]
    words, dropped = index.layout.pack(columns, len(keys))
    return np.unique(index.probe(words, dropped, index.store.last_time, True)[1])


def _computed(
    bound: BoundRows, found: Delta, predicates: tuple[Scalar, ...], dictionary: TextDictionary
) -> list[pa.Array]:
    """Of the rows that pass: the columns `gone` and `come`, those by which the view is ordered, and the `outputs`."""
    relation = bound.relation
    every = _order_columns(relation) if isinstance(relation, View) and not bound.order else ()
    scalars = (*bound.gone, *bound.come, *every, *bound.outputs)
    return Computed(len(found.layout), scalars, predicates).of(found, dictionary)


def _order_columns(view: View) -> tuple[Reference, ...]:
    """The columns by which the view's rows are ordered: all, if it has an order."""
    fields = view.columns if view.order else ()
    return tuple(Reference(place, field.type, field.nullable) for place, field in enumerate(fields))


def _given(bound: BoundRows, columns: Sequence[pa.Array], zone: str) -> Result:
    """What a reader is given of the `outputs`, which come last; the columns before them are in the view's order.
    Moments are told in a zone.
    """
    first, relation = len(columns) - len(bound.outputs), bound.relation
    rows = pa.Table.from_arrays(list(columns), names=[f"c{place}" for place in range(len(columns))])
    order = [(first + place, descending, nulls_first) for place, descending, nulls_first in bound.order]
    rows = sort_table(rows, relation.order if first and isinstance(relation, View) else order)
    if bound.limit is not None or bound.offset:
        rows = rows.slice(bound.offset, bound.limit)
    shown = range(first, first + len(bound.names))
    rows = rows.select(shown).rename_columns(list(bound.names))
    return Result(with_huge(told_in(rows, zone), [bound.outputs[place - first].type for place in shown]))


def _change(core: Core, bound: BoundRows, columns: Sequence[pa.Array]) -> Result:
    """Take the rows out that go, and put in those that take their places. The caller has the lock."""
    assert isinstance(bound.relation, Table), "no other relation is changed"
    table, first = bound.relation, len(bound.gone)
    names = [field.name for field in table.fields]
    with core.transaction(settles=False) as tx:
        if bound.gone:
            gone = [names[column.index] for column in bound.gone]
            tx.delete(table.name, pa.Table.from_arrays(list(columns[:first]), names=gone))
        if bound.come:
            come = pa.Table.from_arrays(list(columns[first : first + len(names)]), names=names)
            (tx.insert if bound.gone else tx.upsert)(table.name, come)
    if not bound.outputs:
        return counted(len(columns[0]))
    return _given(bound, columns[first + len(bound.come) :], core.settings.zone)

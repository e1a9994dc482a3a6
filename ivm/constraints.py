"""What a table's declaration promises of its rows and their changes, checked when they come: that it is append-only or
static, CHECK, UNIQUE beside the primary key, and enforced foreign keys, as of every logical time that a commit brings.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from catalog.errors import ConstraintError, NumericError
from catalog.schema import Check, ForeignKey, Table, Unique
from ivm.render.scalars.program import MfpProgram
from ivm.trace.arrangement import Arrangement
from ivm.trace.column import Array
from ivm.trace.delta import Delta
from ivm.trace.dictionary import TextDictionary
from ivm.trace.keys import KeyLayout
from ivm.trace.table_store import TableStore
from sql.bind.expressions.conditions import condition_of
from sql.ir.conditions import negation

_SHOWN = 3
"""So many of the rows that break a promise are told."""

RowChecks = tuple[tuple[Check, MfpProgram], ...]
"""CHECK constraints of a table, each with a filter for the rows on which it is FALSE.

The filters are interpreted: they stand still for no compiler.
"""

UniqueIndexes = Mapping[Unique, Arrangement]
"""UNIQUE constraints of a table, each with the index of its columns, shared with the views that use the same."""

ForeignIndexes = Mapping[ForeignKey, tuple[Arrangement, Arrangement]]
"""Enforced foreign keys of a table, each with the index of the rows that refer and that of those referred to.

They are shared with the views that use the same, and filled when a check first looks something up in them.
"""


def check_static(table: Table, views: Collection[str]) -> None:
    """Raise ConstraintError if the table is static, and `views` read it."""
    if table.static and views:
        raise ConstraintError(
            f"cannot change table {table.name}: it is declared static, and is read by view {', '.join(sorted(views))}; "
            "fill it before views are created, drop them, or declare the table without static"
        )


def check_upsert(table: Table) -> None:
    """Raise ConstraintError if the table has no primary key, by which rows could replace others."""
    if not table.primary_key:
        raise ConstraintError(
            f"cannot upsert into table {table.name}: it has no PRIMARY KEY by which rows are found; declare one, or "
            "insert and delete"
        )


def check_append_only(store: TableStore, delta: Delta) -> None:
    """Raise ConstraintError if `delta`, which the table has just made, takes rows away though it is append-only."""
    if not store.table.append_only or len(gone := _removed(delta)) == 0:
        return
    table = store.table
    columns = table.key_indexes or tuple(range(len(table.fields)))
    names = ", ".join(table.fields[c].name for c in columns)
    raise ConstraintError(
        f"cannot change table {table.name}: it is declared append-only, and {len(gone)} row(s) would be deleted or "
        f"replaced: ({names}) = {store.describe(gone, columns, _SHOWN)}; insert only, or declare the table without "
        "append_only"
    )


def row_checks_of(table: Table, dictionary: TextDictionary) -> RowChecks:
    """The checks of a table; raises what binding raises."""
    width = len(table.fields)
    return tuple(
        (check, MfpProgram((), (negation(condition_of(check.condition, table)),), None, width, dictionary))
        for check in table.checks
    )


def check_rows(store: TableStore, checks: RowChecks, delta: Delta) -> None:
    """Raise ConstraintError if a condition is FALSE on a row that `delta` adds; NULL passes.

    Cost: some microseconds for each check, and that of computing it for the rows.
    """
    come, table = _added(delta) if checks else delta, store.table
    for check, breaking in checks if len(come) else ():
        try:
            found = breaking.run(come)
        except NumericError as error:
            raise ConstraintError(
                f"cannot change table {table.name}: {check} cannot be computed: {error}. Nothing was changed"
            ) from error
        if found is not None and len(found):
            names = ", ".join(field.name for field in table.fields)
            shown = store.describe(found, range(len(table.fields)), _SHOWN)
            raise ConstraintError(
                f"cannot change table {table.name}: {check} is false on {len(found)} row(s): ({names}) = {shown}; "
                "give values that satisfy it. Nothing was changed"
            )


def unique_indexes(store: TableStore, table: Table, known: UniqueIndexes) -> UniqueIndexes:
    """The indexes of the UNIQUE constraints that `table` declares of the rows of `store`.

    ConstraintError if rows break one that is not `known`. Cost: that of indexing the rows and of a probe for each.
    """
    found = {
        each: known.get(each) or store.arrangement(table.places(each.columns)) for each in table.unique_constraints
    }
    new = {unique: index for unique, index in found.items() if unique not in known}
    for rows in store.contents(store.last_time) if new else ():
        check_unique(store, new, rows)
    return found


def check_unique(store: TableStore, indexes: UniqueIndexes, delta: Delta) -> None:
    """Raise ConstraintError if a row that `delta` adds agrees with another one, at the time at which it comes.

    Later nothing can break until other rows come. A NULL agrees with nothing. Cost: a probe for each added row and
    constraint.
    """
    come, table = _added(delta) if indexes else delta, store.table
    for unique, index in indexes.items() if len(come) else ():
        words, dropped = index.layout.pack([come.column(c) for c in index.key], len(come))
        index.catch_up()
        positions, _ = index.probe(words, dropped, come.times, True)
        # Each row finds itself. What comes after is sorted by the position of the row.
        again = np.unique(positions[1:][positions[1:] == positions[:-1]])
        if len(again):
            twice, key = come.take(again), table.key_indexes
            shown = store.describe(twice, index.key, _SHOWN)
            rows = f", in rows with ({', '.join(table.primary_key)}) = {store.describe(twice, key, _SHOWN)}"
            raise ConstraintError(
                f"cannot change table {table.name}: {unique} would be broken: ({', '.join(unique.columns)}) = {shown} "
                f"would be there more than once{rows if key else ''}; give other values, or delete the rows that have "
                "them. Nothing was changed"
            )


def foreign_indexes(child: TableStore, tables: Mapping[str, TableStore]) -> ForeignIndexes:
    """The indexes that the checks of a table's own foreign keys use."""
    table, found = child.table, {}
    for key in table.foreign_keys:
        if key.enforced:
            parent = child if key.table == table.name else tables[key.table]
            referring = child.arrangement(table.places(key.columns))
            found[key] = referring, parent.arrangement(parent.table.places(key.referenced))
    return found


def check_foreign(
    child: TableStore, indexes: ForeignIndexes, tables: Mapping[str, TableStore], deltas: Mapping[str, Delta]
) -> None:
    """Raise ConstraintError unless every reference that `deltas` touch is satisfied at every time.

    Rows added must find their target at the time at which they come; rows taken away must not be referred to from
    that time on, unless a row with the same key takes their place at it. Between the times of changes nothing can
    break. Cost: a probe for each change of the tables of a key.
    """
    for key, (referring, referenced) in indexes.items():
        if child.table.name in deltas:
            _check_added(child, key, referenced, deltas[child.table.name])
        if key.table in deltas:
            _check_removed(child, key, tables[key.table].table, referring, referenced, deltas[key.table])


def _check_added(child: TableStore, key: ForeignKey, referenced: Arrangement, delta: Delta) -> None:
    columns, come = child.table.places(key.columns), _added(delta)
    missing = _unmatched(child.table, columns, come, referenced)
    if len(missing):
        _raise(child, key, come.take(missing), columns, "refer to no row of")


def _check_removed(
    child: TableStore, key: ForeignKey, parent: Table, referring: Arrangement, referenced: Arrangement, delta: Delta
) -> None:
    targets, gone = parent.places(key.referenced), _removed(delta)
    if len(gone) == 0:
        return
    gone = gone.take(_unmatched(parent, targets, gone, referenced))
    kept = _unmatched(parent, targets, gone, referring)
    orphans = np.setdiff1d(np.arange(len(gone)), kept)
    if len(orphans):
        _raise(child, key, gone.take(orphans), targets, "still refer to rows removed from")


def _unmatched(table: Table, columns: tuple[int, ...], delta: Delta, other: Arrangement) -> Array:
    """Positions in `delta` whose `columns`, none of them NULL, equal the key of no row of `other` at their time."""
    layout = KeyLayout(tuple((table.fields[c].type.physical, table.fields[c].nullable) for c in columns), nulls="drop")
    words, dropped = layout.pack([delta.column(c) for c in columns], len(delta))
    other.catch_up()
    positions, _ = other.probe(words, dropped, delta.times, True)
    found = np.zeros(len(delta), np.bool_)
    found[positions] = True
    if dropped is not None:
        found |= dropped
    return np.flatnonzero(~found)


def _raise(store: TableStore, key: ForeignKey, rows: Delta, columns: tuple[int, ...], what: str) -> None:
    shown = store.describe(rows, columns, _SHOWN)
    raise ConstraintError(
        f"cannot commit: FOREIGN KEY ({', '.join(key.columns)}) of table {store.table.name}: {len(rows)} row(s) {what} "
        f"{key.table} ({', '.join(key.referenced)}): {shown}; add the rows referred to in the same transaction, or "
        "declare the key without enforcement"
    )


def _added(delta: Delta) -> Delta:
    """The updates that add rows."""
    return delta if delta.diffs is None else delta.take(np.flatnonzero(delta.diffs > 0))


def _removed(delta: Delta) -> Delta:
    """The updates that take rows away."""
    return delta.take(np.empty(0, np.int64) if delta.diffs is None else np.flatnonzero(delta.diffs < 0))

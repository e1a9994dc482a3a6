"""The tables there are, and what each one's declaration promises of its rows and changes, checked when these come: that
it is append-only or static, CHECK, UNIQUE beside the primary key, and enforced foreign keys, as of every logical time
that a commit brings.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa

from ivm.catalog.altering import Altered
from ivm.catalog.catalog import Catalog
from ivm.catalog.errors import ConstraintError, NumericError
from ivm.catalog.schema import Check, ForeignKey, Table, Unique
from ivm.plan.mfp import identity
from ivm.render.scalars.program import MfpProgram
from ivm.sql.bind.check_condition import condition_of
from ivm.sql.ir.conditions import negation
from ivm.trace.columns.column import Bools, Ints
from ivm.trace.columns.exported import ArrowRows
from ivm.trace.delta import Delta
from ivm.trace.index.arrangement import Arrangement
from ivm.trace.index.keys import KeyLayout
from ivm.trace.rows.table_store import TableStore, Wider
from ivm.trace.state import Marks
from ivm.trace.text.dictionary import TextDictionary

_NONE: Mapping[Any, Any] = MappingProxyType({})
_SHOWN = 3
"""So many of the rows that break a promise are told."""


@dataclass(frozen=True, slots=True)
class Declared:
    """A table as it is declared, its rows, and what the checks of its constraints use.

    `checks`: each CHECK with a filter for the rows on which it is FALSE, interpreted, so that it waits for no compiler.
    `unique`: each UNIQUE with the index of its columns. `foreign`: each enforced foreign key with the index of the rows
    that refer and that of those referred to. Indexes are shared with the views that use the same, and filled when a
    check first looks something up in them. `wider`: its rows in more columns, which `store` is to have.
    """

    table: Table
    store: TableStore
    checks: Sequence[tuple[Check, MfpProgram]]
    unique: Mapping[Unique, Arrangement]
    foreign: Mapping[ForeignKey, tuple[Arrangement, Arrangement]]
    wider: Wider | None = None

    def indexed(self, table: Table) -> Declared:
        """The same rows, with the UNIQUE constraints that `table` declares of them; its columns may have other names.

        ConstraintError if rows break one that is new. Cost: that of indexing the rows and of a probe for each.
        """
        store, there = self.store, {index.key: index for index in self.unique.values()}
        found = {
            each: there.get(table.places(each.columns)) or store.arrangement(table.places(each.columns))
            for each in table.unique_constraints
        }
        new = {unique: index for unique, index in found.items() if index.key not in there}
        for index in new.values():
            for _ in index.fill():
                pass
        for rows in store.contents(store.last_time) if new else ():
            replace(self, unique=new).check_unique(rows)
        return replace(self, table=table, unique=found)

    def check_rows(self, delta: Delta) -> None:
        """Raise ConstraintError if a condition is FALSE on a row that `delta` adds; NULL passes.

        Cost: some microseconds for each check, and that of computing it for the rows.
        """
        come, table = _added(delta) if self.checks else delta, self.table
        for check, breaking in self.checks if len(come) else ():
            try:
                found = breaking.run(come)
            except NumericError as error:
                raise ConstraintError(
                    f"cannot change table {table.name}: {check} cannot be computed: {error}. Nothing was changed"
                ) from error
            if found is not None and len(found):
                names = ", ".join(field.name for field in table.fields)
                shown = self.store.describe(found, range(len(table.fields)), _SHOWN)
                raise ConstraintError(
                    f"cannot change table {table.name}: {check} is false on {len(found)} row(s): ({names}) = {shown}; "
                    "give values that satisfy it. Nothing was changed"
                )

    def check_unique(self, delta: Delta) -> None:
        """Raise ConstraintError if a row that `delta` adds agrees with another one, at the time at which it comes.

        The indexes have these rows already. Later nothing can break until other rows come. A NULL agrees with nothing.
        Cost: a probe for each added row and constraint.
        """
        come, table = _added(delta) if self.unique else delta, self.table
        for unique, index in self.unique.items() if len(come) else ():
            positions = _meeting(come, index.layout, index.key, index)[0]
            # Each row finds itself. What comes after is sorted by the position of the row.
            again = np.unique(positions[1:][positions[1:] == positions[:-1]])
            if len(again):
                twice, key = come.take(again), table.key_indexes
                shown = self.store.describe(twice, index.key, _SHOWN)
                rows = f", in rows with ({', '.join(table.primary_key)}) = {self.store.describe(twice, key, _SHOWN)}"
                raise ConstraintError(
                    f"cannot change table {table.name}: {unique} would be broken: ({', '.join(unique.columns)}) = "
                    f"{shown} would be there more than once{rows if key else ''}; give other values, or delete the "
                    "rows that have them. Nothing was changed"
                )

    def check_foreign(self, tables: Tables, deltas: Mapping[str, Delta], marks: Marks) -> None:
        """Raise ConstraintError unless every reference that `deltas` touch is satisfied at every time.

        Rows added must find their target at the time at which they come; rows taken away must not be referred to from
        that time on, unless a row with the same key takes their place at it. Between the times of changes nothing can
        break. A table of which an index lags is put among the `marks`, and the index catches up. Cost: a probe for each
        change of the tables of a key; for each row, where the other table is there `anew`.
        """
        for key, (referring, referenced) in self.foreign.items():
            parent = tables[key.table]
            if self.table.name in deltas:
                columns, come = self.table.places(key.columns), _added(deltas[self.table.name])
                missing = come.take(_unmatched(self.table, columns, come, (parent, referenced), marks))
                self._refuse(key, missing, columns, "refer to no row of")
            if key.table in deltas:
                gone, columns = _removed(deltas[key.table]), parent.table.places(key.referenced)
                gone = gone.take(_unmatched(parent.table, columns, gone, (parent, referenced), marks))
                kept = _unmatched(parent.table, columns, gone, (self.store, referring), marks)
                orphans = gone.take(np.setdiff1d(np.arange(len(gone)), kept))
                self._refuse(key, orphans, columns, "still refer to rows removed from")
            if key.table in tables.anew:
                columns = self.table.places(key.columns)
                for rows in self.store.contents(max(self.store.last_time, parent.last_time)):
                    missing = rows.take(_unmatched(self.table, columns, rows, (parent, referenced), marks))
                    self._refuse(key, missing, columns, "still refer to rows removed from")

    def _refuse(self, key: ForeignKey, rows: Delta, columns: tuple[int, ...], what: str) -> None:
        if len(rows):
            shown = self.store.describe(rows, columns, _SHOWN)
            raise ConstraintError(
                f"cannot commit: FOREIGN KEY ({', '.join(key.columns)}) of table {self.table.name}: {len(rows)} row(s) "
                f"{what} {key.table} ({', '.join(key.referenced)}): {shown}; add the rows referred to in the same "
                "transaction, or declare the key without enforcement"
            )


class Tables(dict[str, TableStore]):
    """The stores of all tables, by name. What of a change can fail (`made`, `indexed`) comes before it is `put`."""

    def __init__(self, dictionary: TextDictionary, time: Callable[[], int]) -> None:
        """`time`: what tells the logical time of the last commit."""
        self._dictionary, self.time = dictionary, time
        self.constrained: dict[str, Declared] = {}
        """Those that have constraints beside their keys."""
        self.anew: Collection[str] = ()
        """While a commit comes with them: those that begin without the rows that were there under their names."""

    def made(
        self, table: Table, rows: ArrowRows | None = None, time: int = 0, others: Mapping[str, Declared] = _NONE
    ) -> Declared:
        """A new table, with `rows` that have been checked, as of `time`. `others`: see `declared`.

        BindError, TypeMismatchError or UnsupportedError for a CHECK that cannot be computed.
        """
        store = TableStore(table, self._dictionary)
        if rows is not None and rows.num_rows:
            store.apply(rows, None, time)
            store.seal(time + 1, time)
        store.begins = max(store.last_time, self.time())
        return self.declared(table, store, others=others)

    def indexed(self, table: Table, others: Mapping[str, Declared] = _NONE) -> Declared:
        """The table there is, declared as `table`, whose columns are the same, of other names perhaps, with the indexes
        that it has; see `Declared.indexed`. `others`: see `declared`.
        """
        there = self.constrained.get(table.name)
        return self.declared(table, self[table.name], {} if there is None else there.unique, others)

    def declared(
        self,
        table: Table,
        store: TableStore,
        unique: Mapping[Unique, Arrangement] = _NONE,
        others: Mapping[str, Declared] = _NONE,
    ) -> Declared:
        """The rows of `store` as those of `table`. `unique`: the constraints that they keep already, by their indexes;
        `others`: tables that are to be others than they are.
        """
        every = identity(len(table.fields))
        checks = [
            (check, MfpProgram(every.filter((negation(condition_of(check.condition, table)),)), self._dictionary))
            for check in table.checks
        ]
        foreign = {}
        for key in table.foreign_keys:
            if key.enforced:
                parent, referred = (store, table) if key.table == table.name else self._parent(key.table, others)
                referring = store.arrangement(table.places(key.columns))
                foreign[key] = referring, parent.arrangement(referred.places(key.referenced))
        return Declared(table, store, checks, unique, foreign).indexed(table)

    def _parent(self, name: str, others: Mapping[str, Declared]) -> tuple[TableStore, Table]:
        """The rows of a table that others refer to, and what it is declared as."""
        if name in others:
            return others[name].store, others[name].table
        return self[name], self[name].table

    def altered(
        self, change: Altered, values: Sequence[pa.Scalar], others: Mapping[str, Declared] = _NONE, *,
        beside: bool = False,
    ) -> Declared:  # fmt: skip
        """The table there is as it is to be, with its rows, which hold these values in columns that are new.

        `others`: see `declared`. `beside`: columns that are new are there before it is put, too.
        Cost: none where columns stay; that of writing those that are new behind the others; else see `with_columns`,
        and indexes are made anew.
        """
        table, store = change.table, self[change.old.name]
        if change.has_other_columns and (beside or not change.only_adds):
            return self.declared(table, self.with_columns(change, values, self.time()), others=others)
        there = self.constrained.get(change.old.name)
        made = self.declared(table, store, {} if there is None else there.unique, others)
        return replace(made, wider=store.wider(change.new, values)) if change.new else made

    def there(self, name: str) -> Declared:
        """A table with its rows as it is now, to be put again."""
        store = self[name]
        found = self.constrained.get(name) or Declared(store.table, store, (), _NONE, _NONE)
        return replace(found, wider=store.as_it_is())

    def referring(self, catalog: Catalog, declared: Declared) -> dict[str, Declared]:
        """The other tables of `catalog` whose foreign keys are checked against a table that is to be another."""
        name, found = declared.table.name, dict[str, Declared]()
        for other in catalog.tables:
            if other.name != name and any(each.enforced and each.table == name for each in other.foreign_keys):
                there = self.constrained.get(other.name)
                unique, others = _NONE if there is None else there.unique, {name: declared}
                found[other.name] = self.declared(other, self[other.name], unique, others)
        return found

    def with_columns(self, change: Altered, values: Sequence[pa.Scalar], time: int) -> TableStore:
        """The rows of a table in the columns that it is to have; those that are new hold these values.

        Of columns that stay nothing is copied where they are kept as they came. Cost: that of their batches, and of
        writing the columns that are new.
        """
        new = dict(zip((place for place, old in enumerate(change.taken) if old is None), values, strict=True))
        reader, names = self[change.old.name].reader(), [field.name for field in change.table.fields]

        def batches() -> Iterator[pa.RecordBatch]:
            for kept in reader.kept(0, reader.rows):
                rows = len(kept[0])
                arrays = [
                    pa.repeat(new[place], rows) if old is None else kept[old] for place, old in enumerate(change.taken)
                ]
                yield pa.RecordBatch.from_arrays(arrays, names=names)

        store = TableStore(change.table, self._dictionary)
        store.begins = time
        store.load(batches(), np.empty(0, np.int64), time)
        return store

    def put(self, name: str, declared: Declared | None) -> None:
        """The table of a name is this one from now on; None: there is none. Called again, it changes nothing."""
        if declared is None:
            self.pop(name, None)
            self.constrained.pop(name, None)
            return
        self[name] = declared.store
        if declared.wider is not None:
            declared.store.widen(declared.wider)
            declared = replace(declared, wider=None)
        declared.store.table = declared.table
        if declared.checks or declared.unique or declared.foreign:
            self.constrained[name] = declared
        else:
            self.constrained.pop(name, None)

    def tell_times_apart(self, names: Collection[str]) -> bool:
        """Whether what these tables promise is promised as of every time: UNIQUE, and foreign keys from or to them."""
        return any(
            (held.unique and name in names) or any(name in names or key.table in names for key in held.foreign)
            for name, held in self.constrained.items()
        )

    def check(self, deltas: Mapping[str, Delta], marks: Marks) -> None:
        """Raise ConstraintError if what `deltas` bring breaks a constraint. Cost: nothing for tables without any.

        The tables that are changed are among the `marks`; so are afterwards all whose indexes have caught up.
        """
        changed = [(held, deltas[name]) for name, held in self.constrained.items() if name in deltas]
        for held, delta in changed:
            held.check_rows(delta)
        for held, delta in changed:
            for index in held.unique.values():
                index.catch_up()
            held.check_unique(delta)
        for held in self.constrained.values():
            held.check_foreign(self, deltas, marks)


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


def _unmatched(
    table: Table, columns: tuple[int, ...], delta: Delta, other: tuple[TableStore, Arrangement], marks: Marks
) -> Ints:
    """Positions in `delta` whose `columns`, none of them NULL, equal the key of no row of `other` at their time.

    An index that lags catches up, and its table is put among the `marks` before.
    """
    store, index = other
    if not len(delta):
        return np.arange(0)
    if not index.is_whole:
        marks.add((store,))
        index.catch_up()
    layout = KeyLayout(tuple((table.fields[c].type.physical, table.fields[c].nullable) for c in columns), nulls="drop")
    positions, dropped = _meeting(delta, layout, columns, index)
    found = np.zeros(len(delta), np.bool_)
    found[positions] = True
    if dropped is not None:
        found |= dropped
    return np.flatnonzero(~found)


def _meeting(delta: Delta, layout: KeyLayout, columns: Sequence[int], index: Arrangement) -> tuple[Ints, Bools | None]:
    """The positions of updates, each for every row of `index` that it meets by its `columns` at its time; and which
    updates have a NULL there, as the layout packs them.
    """
    words, dropped = layout.pack([delta.column(c) for c in columns], len(delta))
    return index.probe(words, dropped, delta.times, True)[0], dropped


def _added(delta: Delta) -> Delta:
    """The updates that add rows."""
    return delta if delta.diffs is None else delta.take(np.flatnonzero(delta.diffs > 0))


def _removed(delta: Delta) -> Delta:
    """The updates that take rows away."""
    return delta.take(np.empty(0, np.int64) if delta.diffs is None else np.flatnonzero(delta.diffs < 0))

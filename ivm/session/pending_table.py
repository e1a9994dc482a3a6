"""A table as a transaction sees it, which has changed rows that nobody else sees yet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

from ivm.catalog.altering import Altered
from ivm.catalog.errors import TransactionError
from ivm.catalog.schema import Table, Unique
from ivm.engine.engine import Engine
from ivm.engine.tables import Tables
from ivm.engine.transaction import Change
from ivm.session.conflicts import store_of, unmet
from ivm.session.pairing import paired, without
from ivm.session.reshaped import Past, Reshaped, reshaped
from ivm.trace.columns.column import Ints
from ivm.trace.columns.exported import ArrowRows
from ivm.trace.rows.changes import net_in_order
from ivm.trace.rows.table_store import TableStore
from ivm.trace.text.dictionary import TextDictionary


class PendingTable:
    """What a table held `before`, less the rows that are gone from there, and with the transaction's own.

    Gone are all rows that a change may touch: those that it would meet on a key, or take away. They are the
    transaction's own from then on, so that its own engine finds out what can be changed, by the same rules as ever.
    What it then has of them unchanged is no change. `before` is None for a table that is new, also where its rows are
    those of one that `was` there, which nobody else may have changed then.
    """

    def __init__(
        self, table: Table, before: Past | None, own: Engine, time: int, was: PendingTable | None = None
    ) -> None:
        self.table = table
        self.change = Altered(table, table, tuple(range(len(table.fields))))
        """What the transaction has made of the table that there was."""
        self.last_time = time
        self._before = before
        self._was = was
        self._own = own
        self._left: tuple[int, pa.Table] | None = None
        self._gone = replace(table, name=f"\0{table.name}", foreign_keys=(), checks=(), append_only=False)

    @property
    def is_new(self) -> bool:
        """Whether it was not there when the transaction began."""
        return self._before is None

    @property
    def has_changed(self) -> bool:
        """Whether others have changed it since, or the one in whose place it is."""
        if self._was is not None:
            return self._was.has_changed
        return self._before is not None and self._before.has_changed

    @property
    def is_changed(self) -> bool:
        """Whether the transaction has changed any of its rows, or begun to."""
        return self._before is None or self.table.name in self._own.tables

    def altered(self, change: Altered, values: Sequence[pa.Scalar]) -> PendingTable:
        """The table as it is to be, in whose new columns these values are, also in the transaction's own rows.

        All rows become its own, at the cost of copying them, where those that were there before would not have the
        default that the log says of a new column, or where COMMIT would check a new constraint too early.
        """
        new = self._new_constraints(change)
        if (new and self.is_changed) or self._has_other_defaults(change):
            return self._rewritten(change, values)
        before = None if self._before is None else Reshaped(self._before, change, values)
        made = PendingTable(change.table, before, self._own, self.last_time, self._was)
        made.change = self.change.then(change)
        for each in new:
            made._check_unique(each)
        for old, now in ((self._gone, made._gone), (self.table, made.table)):
            if old.name in self._own.tables:
                there, to_be = (replace(each, foreign_keys=()) for each in (old, now))
                declared = self._own.tables.altered(Altered(there, to_be, change.taken), values)
                self._own.put_table(old.name, None)
                self._own.put_table(now.name, declared)
        return made

    def _has_other_defaults(self, change: Altered) -> bool:
        """Whether columns that the transaction has added have another default from now on."""
        kept = ((field.name, change.now(field.name)) for field in self.change.new)
        return any(now is not None and change.old.default(name) != change.table.default(now) for name, now in kept)

    def _new_constraints(self, change: Altered) -> list[Unique]:
        """The UNIQUE constraints that are new, whatever columns are called."""
        old = {change.old.places(each.columns) for each in change.old.unique_constraints}
        places = ((each, change.table.places(each.columns)) for each in change.table.unique_constraints)
        return [each for each, columns in places if tuple(change.taken[c] for c in columns) not in old]

    def _rewritten(self, change: Altered, values: Sequence[pa.Scalar]) -> PendingTable:
        """The same rows, all of which are the transaction's own."""
        rows = reshaped(self.reading()(), change, values)
        self.drop()
        made = PendingTable(change.table, None, self._own, self.last_time, self)
        made.begin(rows)
        return made

    def _check_unique(self, unique: Unique) -> None:
        """ConstraintError if rows break a constraint. Cost: reads its columns."""
        table = self.table
        fields = tuple(table.fields[c] for c in table.places(unique.columns))
        rows = self.reading()().select(list(table.places(unique.columns)))
        keys = Table(table.name, fields, unique=(unique,))
        Tables(TextDictionary(), lambda: 1).made(keys, rows, 1)

    def nulls(self, column: int) -> int:
        """In how many rows a column is NULL. Cost: reads the table."""
        return int(self.reading()().column(column).null_count)

    def begin(self, rows: ArrowRows | None) -> None:
        """Be a new table with these rows."""
        self._of(self.table)
        if rows is not None and rows.num_rows:
            self._own.commit([Change(self.table, rows)])

    def drop(self) -> None:
        """Be none any more."""
        for each in (self._gone, self.table):
            self._own.put_table(each.name, None)

    def saved(self) -> tuple[pa.Table, pa.Table] | None:
        """The rows that are gone, and the transaction's own, for `restore`; None where there are none yet."""
        if self.table.name not in self._own.tables:
            return None
        return self._of(self._gone).arrow(), self._of(self.table).arrow()

    def restore(self, saved: tuple[pa.Table, pa.Table] | None) -> None:
        """Be as when this was `saved`. Cost: that of the transaction's own rows."""
        self._left = None
        if self.table.name in self._own.tables:
            self.drop()
        if saved is not None:
            self._of(self.table)
            given = zip((self._gone, self.table), saved, strict=True)
            self._own.commit([Change(table, rows) for table, rows in given if rows.num_rows])

    @property
    def count(self) -> int:
        """How many rows there are, roughly where others have changed them since."""
        before = 0 if self._before is None else self._before.count
        return before - self._of(self._gone).count + self._of(self.table).count if self.is_changed else before

    def reading(self, as_of: int | None = None) -> Callable[[], pa.Table]:
        """What makes an Arrow table of the rows, of which there is one time.

        Cost: none; then, where rows have gone, that of finding them.
        """
        before = None if self._before is None else self._before.reading()
        if before is None or not self.is_changed:
            return self._of(self.table).reading() if before is None else before
        gone = self._of(self._gone)
        return partial(self._read, before, gone.count, gone.reading(), self._of(self.table).reading())

    def _read(
        self, before: Callable[[], pa.Table], count: int, gone: Callable[[], pa.Table], own: Callable[[], pa.Table]
    ) -> pa.Table:
        if self._left is None or self._left[0] != count:  # rows that are gone do not come back
            rows = before()
            self._left = count, without(rows, paired(rows, gone(), self._identity, self.table.fields))
        left, mine = self._left[1], own()
        return pa.concat_tables([left, mine.cast(left.schema)]) if mine.num_rows else left

    def met(self, keys: Sequence[tuple[int, ...]], rows: pa.Table) -> tuple[TableStore, TextDictionary]:
        """What has, among others, the rows that meet some of `rows`, which have the table's columns, on a key; and its
        texts.
        """
        if self._before is not None and not self.is_changed:
            dictionary = TextDictionary()
            return store_of(self.table, dictionary, self._before.met(keys, rows)), dictionary
        self._take(keys, rows)
        return self._of(self.table), self._own.dictionary

    def take_in(self, change: Change) -> None:
        """Have all rows that a change may touch, which is carried out by the transaction's own engine then."""
        whole, table = self._whole(change.data), self.table
        self._of(table)
        adds = change.diffs is None or bool((change.diffs > 0).any())
        keys = [table.key_indexes] if table.primary_key else []
        if adds:
            keys += [table.places(each.columns) for each in table.unique_constraints]
        self._take(keys, whole)
        if not table.primary_key and change.diffs is not None:
            going = whole.filter(pa.array(change.diffs < 0))
            own = self._of(table).arrow()
            self._move(without(going, paired(going, own, self._identity, table.fields)))

    def changes(self) -> tuple[pa.Table, Ints] | None:
        """The rows that differ from what was there before, each with its diff; None if none do."""
        gone, own = self._of(self._gone).arrow(), self._of(self.table).arrow()
        rows = pa.concat_tables([gone, own.cast(gone.schema)])
        diffs = np.repeat(np.array([-1, 1]), [gone.num_rows, own.num_rows])
        net = net_in_order(rows, [field.type for field in self.table.fields], 0, diffs)
        if not len(net):
            return None
        found = rows if net.positions is None else rows.take(pa.array(net.positions))
        return found, np.where(net.inserts, 1, -1)

    def check_first(self, rows: pa.Table, diffs: Ints) -> None:
        """Raise TransactionError if others have changed since a row that the transaction takes away.

        The caller has the database's lock. Cost: a look-up for each such row, where the table has changed at all.
        """
        if self._before is None or not self._before.has_changed or not self.table.primary_key:
            return
        gone = rows.filter(pa.array(diffs < 0))
        there = self._before.met_now([self.table.key_indexes], gone)
        if len(paired(gone, there, range(len(self.table.fields)), self.table.fields)) < gone.num_rows:
            raise TransactionError(
                f"cannot commit: rows of table {self.table.name} that the transaction has changed were changed by "
                "others since it began, who were first. Nothing was changed; run it again"
            )

    def check_alone(self) -> None:
        """Raise TransactionError if others have changed a table in whose place this is. The caller has the lock."""
        if self._was is not None and self.has_changed:
            raise TransactionError(
                f"cannot commit: the transaction has written all rows of table {self.table.name} anew, and others have "
                "changed it since it began. Nothing was changed; run it again"
            )

    @property
    def _identity(self) -> Sequence[int]:
        """The columns that tell rows apart."""
        return self.table.key_indexes if self.table.primary_key else range(len(self.table.fields))

    def _of(self, table: Table) -> TableStore:
        """The transaction's own rows, or those that are gone."""
        tables = self._own.tables
        if table.name not in tables:
            for each in (self._gone, self.table):
                self._own.put_table(each.name, tables.made(replace(each, foreign_keys=())))
        return tables[table.name]

    def _whole(self, rows: ArrowRows) -> pa.Table:
        """Rows with all columns of the table; those of keys alone have NULL in the others."""
        table, fields = pa.table(rows), self.table.fields
        if table.num_columns == len(fields):
            return table
        given = dict(zip(self.table.key_indexes, table.columns, strict=True))
        nulls = pa.nulls(table.num_rows)
        return pa.table([given.get(c, nulls) for c in range(len(fields))], names=[field.name for field in fields])

    def _take(self, keys: Sequence[tuple[int, ...]], rows: pa.Table) -> None:
        """Have the rows that were there before and meet some of these on a key."""
        if self._before is None:
            return
        for key in keys:
            found = self._before.met([key], rows)
            if found.num_rows:
                self._move(unmet(self._of(self._gone), self._own.dictionary, key, found))

    def _move(self, rows: pa.Table) -> None:
        """Rows that were there before become the transaction's own."""
        if rows.num_rows:
            self._of(self.table)
            self._own.commit([Change(self._gone, rows), Change(self.table, rows)])

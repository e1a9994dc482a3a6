"""A base table: its rows, stored once, its primary key, and the arrangements of it that views have asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa

from ivm.catalog.schema import Field, Table
from ivm.catalog.types import Kind, SqlType
from ivm.kernels.hashing.ascending import NO_ROOM, REFUSED
from ivm.kernels.memory.append import DONE
from ivm.kernels.step.append import APART, KEYED
from ivm.trace.columns.arrow import to_arrow
from ivm.trace.columns.batch import Batch, Reader, Readers
from ivm.trace.columns.column import NOBODY, Ints, value_in
from ivm.trace.columns.exported import ArrowRows
from ivm.trace.columns.in_place import is_readable
from ivm.trace.columns.stored_columns import StoredColumns
from ivm.trace.columns.stored_rows import StoredRows
from ivm.trace.concatenation import Concatenation
from ivm.trace.delta import Delta, Group, Source, plain_layout
from ivm.trace.index.arrangement import Arrangement
from ivm.trace.index.keys import KeyLayout
from ivm.trace.rows.changes import Applied, Changes, impossible_changes, in_order, net_in_order, null_in_key
from ivm.trace.rows.rows import Rows, RowsMark
from ivm.trace.state import StateSize
from ivm.trace.text.dictionary import TextDictionary
from ivm.trace.time import BEGINNING, ascend, chosen, not_before, stamps, times_of

_FEW = 1 << 11
"""Rows that are read together from where they are stored, those that have just come too."""

_TAKEN = DONE, APART

Mode = Literal["diff", "upsert"]
Missing = Literal["error", "ignore"]


class Wider(NamedTuple):
    """A table's rows in further columns, and what reads those that come."""

    columns: StoredColumns
    readers: Sequence[Reader]


class TableStore(Rows):
    """The rows of `table`. With a primary key they form a set of rows with distinct keys, without one a multiset.

    Size: the rows, the index of the primary key, and for a table without one, from the first delete on, an index of the
    living rows (see `Rows`). Between two calls of `seal` any number of `apply`, in time order.
    """

    def __init__(self, table: Table, dictionary: TextDictionary) -> None:
        super().__init__([field.type for field in table.fields], dictionary, cold=True)
        self.table = table
        self.begins = BEGINNING
        """The first time of which its rows are known."""
        self._dictionary = dictionary
        self._read_as(self.store.types, [Reader(each, dictionary) for each in self.store.types])
        self._key_readers = Readers([self._readers.each[c] for c in table.key_indexes])
        self._key = self.arrangement(table.key_indexes) if table.primary_key else None
        self._followers.first_proves = self._key is not None
        self._is_refused = False  # whether rows that came last were not proved new: a hint where not to ask
        self._followers.forget()
        if self._key is not None:  # of batches that have the key's columns alone, and of whole ones
            layout, key = self._key.layout, self._key.key
            self._forms = (layout.form, range(len(key))), (layout.form_of([(0, column) for column in key]), key)

    def _read_as(self, types: tuple[SqlType, ...], readers: Sequence[Reader]) -> None:
        self._types, self._layout, self._readers = (
            types,
            plain_layout(len(types)),
            Readers(readers, self.store.columns.wanted),
        )

    def wider(self, fields: Sequence[Field], values: Sequence[pa.Scalar]) -> Wider:
        """The rows there are in further columns, which hold these values; `widen` is to follow, before any commit.

        Cost: that of writing these columns.
        """
        if self._taking_over is not None:  # a compaction was interrupted
            self._take_over(self._taking_over)
        types = [field.type for field in fields]
        more = {field.name: value for field, value in zip(fields, values, strict=True)}
        readers = [*self._readers.each, *(Reader(each, self._dictionary) for each in types)]
        return Wider(self.store.columns.wider(types, more), readers)

    def as_it_is(self) -> Wider:
        """The columns there are, to be had again by `widen`, once what has come meanwhile is undone."""
        return Wider(self.store.columns, self._readers.each)

    def widen(self, wider: Wider) -> None:
        """Have these columns from now on. Indexes stay as they are, and so does who reads the columns there were: see
        `Delta.first`. It may be interrupted, and called again.
        """
        self.hold(wider.columns)
        self._read_as(wider.columns.types, wider.readers)

    @property
    def last_time(self) -> int:
        """The time of the last change."""
        return self.store.last_time

    @property
    def primary(self) -> Arrangement | None:
        """The arrangement by the primary key, which the table keeps for itself."""
        return self._key

    def apply(
        self,
        data: ArrowRows,
        diffs: Ints | None,
        times: Ints | int,
        mode: Mode = "diff",
        missing: Missing = "error",
        earliest: int = BEGINNING,
        addresses: Ints | None = None,
    ) -> Delta | None:
        """Carry out the updates (row i of `data`, times[i], diffs[i]); the change of the table that they make, by time.

        `data` has the table's columns in their order, or, where all diffs are negative and there is a primary key, only
        the key's columns: a delete identifies its row by the key alone, and may have NULL in any other column. `diffs`
        None: all +1. `addresses`: where the columns of the rows lie, which are a record batch then, if that is known.
        `times` are not before any applied earlier
        (ValueError). The order of the updates of one time is irrelevant: deletes come before inserts, and where that is
        not possible, diffs of equal rows at equal times are added up first (mode "diff"). An update of diff d stands
        for |d| changes. With mode "upsert", for tables with a primary key, an insert replaces the row of its key, if
        there is one, and the updates of one time count in the order in which they come. Nobody is to see a time before
        `earliest`: what comes before it comes at it, in its order. None: nothing changes. Columns of the delta are
        gathered when they are read.
        Raises ConstraintError, and changes nothing, if an insert meets a row of its key, or a delete finds no row and
        what is `missing` is not to be ignored.
        Cost: a few ns a row and key word for inserts of ascending keys, else one or two random accesses a change;
        twice that and a pass over all columns where diffs had to be added up.
        """
        replace, go_on = mode == "upsert", missing == "ignore"
        count = data.num_rows
        if diffs is None and (isinstance(times, int) or ascend(times)):
            if not count:
                return None
            times = not_before(times, earliest)
            first = times if isinstance(times, int) else times.item(0)
            if first < self.store.last_time:
                raise self._too_late(first)
            batch = Batch(data, self._readers, addresses)
            said = self._taken(batch, count, times)
            if said in _TAKEN:
                return Delta([Group(batch)], self._layout, count, times)
            changes = Changes(count, None, times, None)
            outcome = self._carry_out(batch, changes, replace, go_on, said)
        else:
            changes = in_order(times, diffs, count, deletes_first=True if mode == "diff" else None)
            if changes.length == 0:
                return None
            changes.times = not_before(changes.times, earliest)
            if changes.bounds[0] < self.store.last_time:
                raise self._too_late(changes.bounds[0])
            batch = self._batch(data, changes, addresses)
            outcome = self._carry_out(batch, changes, replace, go_on)
        if isinstance(outcome, Delta):
            return outcome if outcome.length else None
        if mode == "diff" and diffs is not None and changes.inserts.any():
            net = net_in_order(data, self._types, times, diffs)
            if len(net) == 0:
                return None
            net.times = not_before(net.times, earliest)
            if len(net) < len(changes):
                batch, changes = self._batch(data, net), net
                outcome = self._carry_out(batch, changes, replace, go_on)
                if isinstance(outcome, Delta):
                    return outcome if outcome.length else None
        raise impossible_changes(self.table, batch.rows, changes, outcome)

    def number_of(self, keys: ArrowRows, addresses: Ints) -> int | None:
        """The number of the living row of the primary key that `keys` has, lying there; None: there is none."""
        key = self._key
        assert key is not None, "there is a primary key"
        batch = Batch(keys, self._key_readers, addresses)
        form, places = self._forms[False]
        words = key.index.packed((form, batch.places(places), 0, 1))
        if words is None:
            words = key.layout.pack([batch.column(c) for c in range(len(key.key))], 1)[0]
        return key.index.newest(words.reshape(1, -1), self.store.died)

    def value(self, column: int, number: int) -> object:
        """The value of a column in the row of a number: as Python has it, or as it is stored if it is read in place."""
        type_, columns = self._types[column], self.store.columns
        if is_readable(type_):
            return value_in(columns.gather(column, np.array([number])))
        text = columns.text(column, number) if type_.kind is Kind.VARCHAR else None
        return columns.cell(column, number)[0].as_py() if text is None else text.decode()

    def arrangement(self, key: tuple[int, ...], *, shared: bool = True) -> Arrangement:
        """The arrangement of the rows by these columns, made if there is none; kept in step while somebody holds it.

        Its layout is that of a join: NULL equals nothing. A new one is empty until it is told to catch up. If it is not
        to be `shared`, nobody else is given it.
        """
        known = self.follower(key) if shared else None
        if isinstance(known, Arrangement):
            return known
        layout = KeyLayout(tuple((self._types[c].physical, self.table.fields[c].nullable) for c in key), nulls="drop")
        unique = bool(self.table.primary_key) and set(self.table.key_indexes) <= set(key)
        for _ in self.store.columns.prepare(key):
            pass
        made = Arrangement(self.store, key, layout, unique=unique)
        self.follow(made, key if shared else None)
        return made

    def arrangements(self) -> tuple[Arrangement, ...]:
        """The arrangements by key that exist: the primary key's first, then in the order of their making."""
        return tuple(each for each in self.followers() if isinstance(each, Arrangement))

    def contents(self, time: int) -> Iterator[Delta]:
        """The rows as of `time`, which nobody has let go of, as updates of +1, in chunks of at most 16,384.

        Rows may come and die while it is read.
        """
        for rows, length in self.reader(time).chunks():
            yield self._delta(rows, length, time, None)

    def arrow(self, as_of: int | None = None) -> pa.Table:
        """The rows as of a time that is retained (None: now), under the table's column names."""
        return self.reading(as_of)()

    def nulls(self, column: int) -> int:
        """In how many rows a column is NULL. Cost: reads it."""
        return int(self.reader().arrow(["c"], (column,)).column(0).null_count)

    def first(self, most: int) -> pa.Table:
        """At most so many of the rows, of those that have been there longest, as they are kept."""
        return self.reader().first([field.name for field in self.table.fields], most)

    def reading(self, as_of: int | None = None) -> Callable[[], pa.Table]:
        """What makes `arrow` of the rows there are now, whatever happens meanwhile. Needs no lock; see `RowsReader`."""
        return partial(self.reader(as_of).arrow, [field.name for field in self.table.fields])

    def part(self, part: int, of: int) -> pa.Table:
        """One of so many parts of the rows there are now, which are all of them together. Cost: that of its rows."""
        return self.reader().arrow([field.name for field in self.table.fields], None, part, of)

    def describe(self, delta: Delta, columns: Sequence[int], limit: int) -> str:
        """The values of these columns in the first `limit` rows of a delta of this table, for a message."""
        shown = delta.take(np.arange(min(limit, len(delta))))
        values = [to_arrow(shown.column(c), self._types[c], self._dictionary.now()).to_pylist() for c in columns]
        more = ", ..." if len(delta) > limit else ""
        return ", ".join(str(row) for row in zip(*values, strict=True)) + more

    def size(self) -> StateSize:
        """Living rows, entries of the primary key's index, bytes of both; other arrangements count for themselves."""
        rows, key = super().size(), StateSize() if self._key is None else self._key.size()
        return StateSize(rows.rows, rows.entries + key.entries, rows.bytes + key.bytes)

    def _too_late(self, time: int) -> ValueError:
        return ValueError(
            f"cannot change table {self.table.name} at time {time}: it has changes at time {self.last_time} "
            "already; apply changes in the order of time"
        )

    def _batch(self, data: ArrowRows, changes: Changes, addresses: Ints | None = None) -> Batch:
        """The changes' rows in their order, under the positions of the table's columns, or of the key's alone."""
        readers = self._readers
        if data.num_columns != len(self._types):
            readers = self._key_readers
            if addresses is None:
                data = data.select(list(self.table.primary_key))
        batch = Batch(data, readers, addresses)
        return batch if changes.positions is None else batch.take(changes.positions)

    def _taken(self, batch: Batch, count: int, times: Ints | int) -> int:
        """Insert rows, if the index of their keys proves these new; what `RowStore.take` says."""
        key = self._key
        if self._is_refused and key is not None and key.index.backlog and not key.index.is_ascending:
            return KEYED + REFUSED
        while (said := self.store.take(batch, count, times, self._followers.keys)) == KEYED + NO_ROOM:
            assert key is not None, "only its run asks for room"
            key.index.make_room(count)
        self._is_refused = said == KEYED + REFUSED
        return said

    def _carry_out(
        self, batch: Batch, changes: Changes, replace: bool, go_on: bool, said: int | None = None
    ) -> Delta | Ints:
        """The delta of the changes; or else the places of changes that are not possible, and nothing is changed.

        `said`: what `_taken` has, if that was asked.
        """
        key, store, count, only_inserts = self._key, self.store, changes.length, changes.inserts_or_all is None
        if only_inserts and said is None:
            said = self._taken(batch, count, changes.times)
            if said in _TAKEN:
                return self._inserted(batch, changes)
        if key is None:
            applied, mark = self.change([batch.column(i) for i in range(len(self._types))], changes, go_on=go_on)
            return self._changed(batch, changes, applied, go_on, mark)
        whole = batch.rows.num_columns == len(self._types)
        form, places = self._forms[whole]
        keys = form, batch.places(places), 0, count
        words = key.index.packed(keys)
        if words is None:
            columns = [batch.column(c) for c in (key.key if whole else range(len(key.key)))]
            words, dropped = key.layout.pack(columns, len(batch))
            if dropped is not None and dropped.any():
                raise null_in_key(self.table, batch.rows, np.flatnonzero(dropped)[:3])
        if only_inserts and said != KEYED + REFUSED and key.index.extend(words, None):
            self._add(batch, count, changes.times)
            return self._inserted(batch, changes)
        deadly = replace or not only_inserts or store.died_at != 0
        died = store.mortal(store.rows + count) if deadly else NOBODY
        inserts, times, mark = changes.inserts, stamps(changes.times), self.mark()
        applied = store.expect(Applied(count, go_on=go_on))
        key.index.apply(words, inserts, times, died, applied, replace=replace)
        return self._changed(batch, changes, applied, go_on, mark)

    def _add(self, batch: Batch, count: int, times: Ints | int) -> int:
        """Add rows that are new, which the key's index has already; the number of the first one."""
        first = self.store.rows
        said = self.store.take(batch, count, times, self._followers.others)
        assert said in _TAKEN, "rows are not taken that need not be new"
        return first

    def _inserted(self, batch: Batch, changes: Changes) -> Delta:
        return Delta([Group(batch)], self._layout, changes.length, changes.times)

    def _changed(self, batch: Batch, changes: Changes, applied: Applied, go_on: bool, mark: RowsMark) -> Delta | Ints:
        """The delta of changes that have been made in the index, if they were possible; the rows follow."""
        _, born, dead, failures = applied.counts
        if failures:
            failed = applied.failed
            failed = failed[changes.inserts[failed]] if go_on else failed.copy()
            if len(failed):
                self.rollback(mark)
                return failed
        births, times = batch, changes.times
        if born < changes.length:
            places = changes.inserts.nonzero()[0] if born else NOBODY
            births, times = batch.take(places) if born else batch, chosen(times, places)
        first = self._add(births, born, times) if born else 0
        if (dead or born) and not (born and isinstance(times, int)):  # then it has been reached
            self.store.reach(changes.bounds[1])
        if not dead:
            return self._delta(births, born, times, None)
        died_at = times if isinstance(times, int) else times_of(applied.killed_at)
        return self._difference(births, born, first, times, applied.killed, died_at)

    def _difference(
        self, births: Batch, born: int, first: int, times: Ints | int, killed: Ints, died_at: Ints | int
    ) -> Delta:
        """The delta of rows that came, from number `first` on, and rows that went, by time, what went first."""
        columns, died = self.store.columns, len(killed)
        length = died + born
        diffs: Ints = np.empty(length, np.int64)
        diffs[:died], diffs[died:] = -1, 1
        if born == 0:
            return self._delta(StoredRows(columns, killed), died, died_at, diffs)
        if length <= _FEW:
            source: Source = StoredRows(columns, np.array([*killed.tolist(), *range(first, first + born)]))
        else:
            source = Concatenation((Group(StoredRows(columns, killed)), Group(births)), (died, born))
        if isinstance(times, int) or isinstance(died_at, int):
            return self._delta(source, length, times, diffs, is_mixed=True)
        each = np.concatenate([died_at, times])
        return self._delta(source, length, each, diffs, is_mixed=True).take(np.argsort(each, kind="stable"))

    def _delta(
        self, source: Source, length: int, times: Ints | int, diffs: Ints | None, is_mixed: bool = False
    ) -> Delta:
        return Delta([Group(source)], self._layout, length, times, diffs, is_mixed)

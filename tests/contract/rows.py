"""Rows under the contract's test: a table with a key, one without, a derived collection, and what follows its rows."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

from ivm.catalog.errors import NumericError
from ivm.catalog.schema import Field, Table
from ivm.catalog.types import BIGINT, DOUBLE, VARCHAR
from ivm.trace.columns.batch import Batch, Reader, Readers
from ivm.trace.columns.column import Column, Ints
from ivm.trace.columns.stored_columns import StoredColumns
from ivm.trace.delta import Delta, Group, plain_layout
from ivm.trace.index.arrangement import Arrangement
from ivm.trace.index.keys import KeyLayout
from ivm.trace.ordered.ordered_arrangement import OrderedArrangement
from ivm.trace.rows.row_store import RowStore
from ivm.trace.rows.rows import DerivedRows
from ivm.trace.rows.table_store import TableStore
from ivm.trace.text.dictionary import TextDictionary
from ivm.trace.time import LAST
from tests.contract.kinds import History, Kind, Row, Update, multiset, some_updates

TYPES = (BIGINT, VARCHAR, DOUBLE)
FIELDS = (Field("a", BIGINT, nullable=False), Field("t", VARCHAR), Field("d", DOUBLE))
LAYOUT = KeyLayout(((BIGINT.physical, False),), nulls="drop")
KEYS = LAYOUT.pack([Column(np.arange(20))], 20)


def _table(rows: list[Row]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    arrow = (pa.int64(), pa.string(), pa.float64())
    return pa.table([pa.array(list(c), t) for c, t in zip(columns, arrow, strict=True)], names=["a", "t", "d"])


def _counted(table: pa.Table) -> dict[Row, int]:
    rows: dict[Row, int] = {}
    for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
        rows[row] = rows.get(row, 0) + 1
    return rows


class TableKind(Kind):
    """A table without a key."""

    name = "table"

    def new(self, dictionary: TextDictionary) -> Any:
        return TableStore(Table("t", FIELDS), dictionary)

    def change(self, random: Random, time: int, history: History) -> list[Update]:
        return some_updates(random, history)

    def step(self, state: Any, change: list[Update], time: int) -> None:
        if change:
            state.apply(_table([row for row, _ in change]), np.array([diff for _, diff in change]), time)

    def expected(self, history: History) -> dict[Row, int]:
        return multiset(history)

    def contents(self, state: Any) -> dict[Row, int]:
        living = state.store.died == 0 if len(state.store.died) else np.ones(state.store.rows, np.bool_)
        rows = np.flatnonzero(living)
        return _counted(pa.table([state.store.columns.arrow(c, rows) for c in range(3)], names=["a", "t", "d"]))

    def reader(self, state: Any, as_of: int) -> Callable[[], dict[Row, int]]:
        read = state.reading(as_of)
        return lambda: _counted(read())


class KeyedTableKind(TableKind):
    """A table with a key, changed by upserts and deletes."""

    name = "keyed table"

    def new(self, dictionary: TextDictionary) -> Any:
        return TableStore(Table("t", FIELDS, ("a",)), dictionary)

    def change(self, random: Random, time: int, history: History) -> list[Update]:
        there = {row[0]: row for row in multiset(history)}
        updates: list[Update] = []
        for key in random.sample(range(20), random.randint(0, 6)):
            if key in there:
                updates.append((there[key], -1))
            if random.random() < 0.7:
                updates.append(((key, random.choice(("", "ant", "bee", None)), random.choice((None, 1.5))), 1))
        return updates


class Derived(DerivedRows[Any]):
    """Derived rows, with what makes columns of theirs of Arrow's."""

    def __init__(self, dictionary: TextDictionary, arrange: Callable[[RowStore], Any]) -> None:
        super().__init__(TYPES, dictionary, arrange)
        self.dictionary = dictionary
        self.readers = Readers([Reader(each, dictionary) for each in TYPES])


class DerivedKind(TableKind):
    """A derived collection arranged by its first column."""

    name = "derived rows"

    def new(self, dictionary: TextDictionary) -> Any:
        return Derived(dictionary, lambda store: Arrangement(store, (0,), LAYOUT))

    def step(self, state: Any, change: list[Update], time: int) -> None:
        batch = Batch(_table([row for row, _ in change]), state.readers)
        diffs = np.array([diff for _, diff in change], np.int64)
        state.apply(Delta([Group(batch)], plain_layout(3), len(change), time, diffs))

    def reader(self, state: Any, as_of: int) -> Callable[[], dict[Row, int]]:
        reader = state.reader(as_of)
        return lambda: _counted(reader.arrow(["a", "t", "d"]))


class IndexKind(DerivedKind):
    """An index by the first column."""

    name = "index"

    def contents(self, state: Derived) -> dict[Row, int]:
        return _found(state, LAST)

    def reader(self, state: Derived, as_of: int) -> Callable[[], dict[Row, int]]:
        rows = _found(state, as_of)  # only steps read it, at once
        return lambda: rows


class OrderedArrangementKind(DerivedKind):
    """Rows by their first column and in the order of a number: without NULL, and with one that cannot be computed."""

    name = "ordered arrangement"

    def new(self, dictionary: TextDictionary) -> Any:
        return Derived(dictionary, lambda store: OrderedArrangement(store, (0,), LAYOUT, _value, DOUBLE, dictionary))

    def expected(self, history: History) -> dict[Row, int]:
        return {row: count for row, count in super().expected(history).items() if row[2] is not None}

    def contents(self, state: Derived) -> dict[Row, int]:
        return _found(state, LAST)

    def reader(self, state: Derived, as_of: int) -> Callable[[], dict[Row, int]]:
        rows = _found(state, as_of)  # only steps read it, at once
        return lambda: rows


def _found(state: Derived, as_of: int) -> dict[Row, int]:
    """What is found under all keys."""
    _, group = state.arranged.look_up(*KEYS, as_of, True)
    return _counted(_arrow(state.store.columns, group.refs))


def _arrow(columns: StoredColumns, rows: Ints) -> pa.Table:
    rows = np.sort(rows)
    return pa.table([columns.arrow(c, rows) for c in range(3)], names=["a", "t", "d"])


def _value(delta: Delta) -> Column:
    value = delta.column(2)
    if ((value.values == -2.0) & (True if value.valid is None else value.valid)).any():
        raise NumericError("it is out of range")
    return value

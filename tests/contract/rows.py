"""Rows under the contract's test: a table with a key, one without, and a derived collection."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

from catalog.schema import Field, Table
from catalog.types import BIGINT, DOUBLE, VARCHAR
from ivm.trace.arrangement import Arrangement
from ivm.trace.arrow import Reader
from ivm.trace.batch import Batch
from ivm.trace.delta import Delta, Group
from ivm.trace.derived_rows import DerivedRows
from ivm.trace.dictionary import TextDictionary
from ivm.trace.keys import KeyLayout
from ivm.trace.layout import plain_layout
from ivm.trace.table_store import TableStore
from tests.contract.kinds import History, Kind, Row, Update, multiset, some_updates

TYPES = (BIGINT, VARCHAR, DOUBLE)
FIELDS = (Field("a", BIGINT, nullable=False), Field("t", VARCHAR), Field("d", DOUBLE))
LAYOUT = KeyLayout(((BIGINT.physical, False),), nulls="drop")


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


class DerivedKind(TableKind):
    """A derived collection arranged by its first column."""

    name = "derived rows"

    def new(self, dictionary: TextDictionary) -> Any:
        rows = DerivedRows(TYPES, dictionary, lambda store: Arrangement(store, (0,), LAYOUT))
        rows.readers = [Reader(each, dictionary) for each in TYPES]  # type: ignore[attr-defined]
        return rows

    def step(self, state: Any, change: list[Update], time: int) -> None:
        batch = Batch(_table([row for row, _ in change]), state.readers)
        diffs = np.array([diff for _, diff in change], np.int64)
        state.apply(Delta([Group(batch)], plain_layout(3), len(change), time, diffs))

    def reader(self, state: Any, as_of: int) -> Callable[[], dict[Row, int]]:
        reader = state.reader(as_of)
        return lambda: _counted(reader.arrow(["a", "t", "d"]))

"""Ordered rows and the rows of windows under the contract."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np

from ivm.catalog import types
from ivm.catalog.schema import Field
from ivm.operators.window import Window as WindowOperator
from ivm.plan.lower import lower
from ivm.plan.window import WindowPlan
from ivm.render.ordered import window_operator
from ivm.sql.ir.relation import Get, Order, Window
from ivm.sql.ir.scalar import Column
from ivm.sql.ir.window_function import Frame, WindowFunction
from ivm.trace.delta import delta_of
from ivm.trace.ordered.ordered_tree import OrderedReader, OrderedRows
from ivm.trace.ordered.row_order import RowOrder, Term
from ivm.trace.text.dictionary import TextDictionary
from tests.contract.kinds import History, Kind, Row, Update, multiset, some_updates
from tests.contract.log import TYPES, columns_of, counted

TERMS = (Term(1, TYPES[1], True, descending=True), Term(2, TYPES[2], True, nulls_first=True), Term(0, TYPES[0], False))


class OrderedKind(Kind):
    """Rows, of which the number is the slot of their group as well."""

    name = "ordered"
    keeps_history = False

    def new(self, dictionary: TextDictionary) -> OrderedRows:
        return OrderedRows(RowOrder(TERMS), dictionary, places=True)

    def change(self, random: Random, time: int, history: History) -> list[Update]:
        return some_updates(random, history)

    def step(self, state: OrderedRows, change: list[Update], time: int) -> None:
        columns = columns_of([row for row, _ in change], state.dictionary)
        slots = np.array([row[0] for row, _ in change], np.int64)
        state.add(state.batch(columns, slots, diffs=np.array([diff for _, diff in change], np.int64)))

    def expected(self, history: History) -> dict[Row, int]:
        return multiset(history)

    def contents(self, state: OrderedRows) -> dict[Row, int]:
        return self._seen(state, state.reader())

    def reader(self, state: OrderedRows, as_of: int) -> Callable[[], Any]:
        reader = state.reader()
        return lambda: self._seen(state, reader)

    def _seen(self, state: OrderedRows, reader: OrderedReader) -> dict[Row, int]:
        found: dict[Row, int] = {}
        for entries in reader.read():
            columns = state.row_order.decode(np.ascontiguousarray(entries[:, 1:-1]))
            assert (columns[0].values == entries[:, 0]).all(), "a row is in the group of another"
            found |= counted(columns, entries[:, -1], state.dictionary)
        return found


class UngroupedKind(OrderedKind):
    """Rows that are in no groups."""

    name = "ordered, ungrouped"

    def new(self, dictionary: TextDictionary) -> OrderedRows:
        return OrderedRows(RowOrder(TERMS), dictionary, grouped=False)

    def step(self, state: OrderedRows, change: list[Update], time: int) -> None:
        columns = columns_of([row for row, _ in change], state.dictionary)
        state.add(state.batch(columns, None, diffs=np.array([diff for _, diff in change], np.int64)))

    def _seen(self, state: OrderedRows, reader: OrderedReader) -> dict[Row, int]:
        found: dict[Row, int] = {}
        for entries in reader.read():
            columns = state.row_order.decode(np.ascontiguousarray(entries[:, :-1]))
            found |= counted(columns, entries[:, -1], state.dictionary)
        return found


FUNCTIONS = (
    WindowFunction("row_number", (), types.BIGINT, False),
    WindowFunction("sum", (Column(2, types.DOUBLE, True),), types.DOUBLE, True, Frame(None, 0)),
    WindowFunction("max", (Column(1, types.VARCHAR, True),), types.VARCHAR, True, Frame(-1, 1)),
)
TABLE = Get("t", (Field("n", types.BIGINT, False), Field("s", types.VARCHAR), Field("d", types.DOUBLE)))


class WindowKind(Kind):
    """A window function over partitions by number; the groups that count them are sealed beside them."""

    name = "windows"
    keeps_history = False

    def new(self, dictionary: TextDictionary) -> Any:
        plan = lower(Window(TABLE, (0,), (Order(1),), FUNCTIONS, ("a", "b", "c")))
        assert isinstance(plan, WindowPlan)
        return _Window(window_operator(plan, dictionary), dictionary)

    def states(self, state: Any) -> Sequence[Any]:
        return tuple(state.operator.states)

    def change(self, random: Random, time: int, history: History) -> list[Update]:
        return some_updates(random, history, spread=3)

    def step(self, state: Any, change: list[Update], time: int) -> None:
        columns = columns_of([row for row, _ in change], state.dictionary)
        state.operator.step([delta_of(columns, time, np.array([d for _, d in change], np.int64), len(change))])

    def expected(self, history: History) -> Any:
        partitions: dict[int, list[Row]] = {}
        for row, count in multiset(history).items():
            partitions.setdefault(row[0], []).extend([row] * count)
        return Counter(shown for rows in partitions.values() for shown in _shown(rows))

    def contents(self, state: Any) -> Any:
        return self.reader(state, 0)()

    def reader(self, state: Any, as_of: int) -> Callable[[], Any]:
        return state.read(state.operator._rows.reader())


class _Window:
    """The operator, and how to read its rows."""

    def __init__(self, operator: WindowOperator, dictionary: TextDictionary) -> None:
        self.operator = operator
        self.dictionary = dictionary

    def read(self, reader: Any) -> Callable[[], Any]:
        from ivm.trace.columns.segment import column_to_arrow

        of = (*TYPES, *(f.type for f in FUNCTIONS))

        def seen() -> Counter[Row]:
            found: Counter[Row] = Counter()
            for layout, words, diffs in reader.read():
                columns = zip(layout.columns(words), of, strict=True)
                rows = zip(*(column_to_arrow(c, t, self.dictionary.now()).to_pylist() for c, t in columns), strict=True)
                for row, diff in zip(rows, [1] * len(words) if diffs is None else diffs.tolist(), strict=True):
                    found[row] += diff
            return Counter({row: count for row, count in found.items() if count})

        return seen


def _shown(rows: list[Row]) -> list[Row]:
    """The rows of a partition with the functions' values; text in the order of bytes, NULLs last."""
    ordered = sorted(rows, key=lambda row: (row[1] is None, (row[1] or "").encode(), row[2] is None, row[2] or 0))
    found = []
    for at, row in enumerate(ordered):
        before = [each[2] for each in ordered[: at + 1] if each[2] is not None]
        near = [each[1] for each in ordered[max(at - 1, 0) : at + 2] if each[1] is not None]
        found.append((*row, at + 1, sum(before) if before else None, max(near, key=str.encode, default=None)))
    return found

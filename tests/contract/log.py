"""A view's log under the contract."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

from ivm.catalog import types
from ivm.trace.columns.arrow import to_column
from ivm.trace.columns.column import Column, Ints
from ivm.trace.columns.segment import column_to_arrow
from ivm.trace.delta import delta_of
from ivm.trace.text.dictionary import TextDictionary
from ivm.trace.view_log import ViewLog
from tests.arrays import array_of
from tests.contract.kinds import History, Kind, Row, Update, multiset, some_updates

TYPES = (types.BIGINT, types.VARCHAR, types.DOUBLE)


def columns_of(rows: list[Row], dictionary: TextDictionary) -> list[Column]:
    """Columns of `TYPES`."""
    return [to_column(array_of([row[i] for row in rows], type_), type_, dictionary) for i, type_ in enumerate(TYPES)]


def counted(columns: list[Column], diffs: Ints, dictionary: TextDictionary) -> dict[Row, int]:
    """Rows of `TYPES` and how often each is there."""
    arrays = [column_to_arrow(c, t, dictionary.now()).to_pylist() for c, t in zip(columns, TYPES, strict=True)]
    found = dict(zip(zip(*arrays, strict=True), diffs.tolist(), strict=True))
    assert len(found) == len(diffs), "a row came twice"
    return found


class _Log:
    def __init__(self, dictionary: TextDictionary) -> None:
        self.dictionary = dictionary
        self.log = ViewLog(TYPES, dictionary)


class LogKind(Kind):
    name = "log"

    def new(self, dictionary: TextDictionary) -> _Log:
        return _Log(dictionary)

    def states(self, state: _Log) -> list[ViewLog]:
        return [state.log]

    def change(self, random: Random, time: int, history: History) -> list[Update]:
        return some_updates(random, history)

    def step(self, state: _Log, change: list[Update], time: int) -> None:
        columns = columns_of([row for row, _ in change], state.dictionary)
        state.log.append(delta_of(columns, time, np.array([diff for _, diff in change], np.int64), len(change)))

    def expected(self, history: History) -> dict[Row, int]:
        return multiset(history)

    def contents(self, state: _Log) -> dict[Row, int]:
        return counted(*state.log.rows(None), state.dictionary)

    def reader(self, state: _Log, as_of: int) -> Callable[[], Any]:
        sealed = state.log.sealed
        return lambda: counted(*sealed.rows(as_of), state.dictionary)

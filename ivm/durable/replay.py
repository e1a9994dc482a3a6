"""Replay: commits that were logged, many of them at once, each at the times that it had."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ivm.durable.payload import Given
from ivm.engine import Engine
from ivm.trace.column import Ints
from ivm.transaction import Change

_ROWS = 1 << 20
"""So many rows are applied together."""
_COMMITS = 1 << 16


class Replay:
    """Applies commits in their order. What can be one commit with several times is one."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._left: dict[str, list[tuple[Given, int]]] = {}
        self._time = 0
        self._rows = 0
        self._commits = 0

    def add(self, head: dict[str, Any], given: Sequence[Given]) -> None:
        """One more commit."""
        is_plain = len({each.table for each in given}) == len(given)
        if not is_plain or not all(self._fits(each) for each in given):
            self.flush()
        self._time = head["time"]
        if head["batch"] is not None:
            source, number = head["batch"]
            self._engine.batches[source] = number
        if not is_plain:  # changes of one table count in their order, time by time
            self._engine.commit([self._change(each.table, [(each, self._time)]) for each in given], time=self._time)
            return
        for each in given:
            self._left.setdefault(each.table, []).append((each, self._time))
            self._rows += each.rows.num_rows
        self._commits += 1
        if self._rows >= _ROWS or self._commits >= _COMMITS:
            self.flush()

    def flush(self) -> None:
        """Apply what has come."""
        if not self._commits:
            return
        left, self._left, self._rows, self._commits = self._left, {}, 0, 0
        self._engine.commit([self._change(name, several) for name, several in left.items()], time=self._time)

    def _fits(self, given: Given) -> bool:
        """Whether it can be one change with those of its table that have come."""
        last = self._left.get(given.table)
        if not last:
            return True
        other = last[-1][0]
        is_like = other.mode == given.mode and other.missing == given.missing
        return is_like and other.rows.schema.equals(given.rows.schema)

    def _change(self, name: str, several: Sequence[tuple[Given, int]]) -> Change:
        table, first = self._engine.tables[name].table, several[0][0]
        if len(several) == 1 and several[0][1] == self._time:
            return Change(table, first.rows, None, first.diffs, first.times, first.mode, first.missing)
        rows = pa.concat_tables([each.rows for each, _ in several])
        times = np.concatenate([_times(each, time) for each, time in several])
        diffs = None if all(each.diffs is None for each, _ in several) else _diffs(several)
        return Change(table, rows, None, diffs, times, first.mode, first.missing)


def _times(given: Given, time: int) -> Ints:
    return np.full(given.rows.num_rows, time, np.int64) if given.times is None else given.times


def _diffs(several: Sequence[tuple[Given, int]]) -> Ints:
    ones = (np.ones(each.rows.num_rows, np.int64) if each.diffs is None else each.diffs for each, _ in several)
    return np.concatenate(list(ones))

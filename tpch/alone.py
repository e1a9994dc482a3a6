"""Changes one by one: a few steps in the middle of a stream are commits of their own, to see what one of them does."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa

import ivm
from ivm.tpch.manifest import Manifest
from ivm.tpch.schema import DIFF, TIME, relations

_STEPS = 10

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class RowChange:
    """What became of a row: `before` is None of one that came, `after` of one that went."""

    before: Row | None
    after: Row | None


@dataclass(frozen=True, slots=True)
class Alone:
    """A step of a stream in a commit of its own: of each table, and of each view, the rows that it changed.

    `ms`: what the commit took. `others_ms`: the median of all `steps` that were committed so.
    """

    tables: dict[str, tuple[RowChange, ...]]
    views: dict[str, tuple[RowChange, ...]]
    ms: float
    others_ms: float
    steps: int


def middle(manifest: Manifest, after: int) -> range:
    """The times to be committed alone, of those that come after one: where everything is warm, and there are rows."""
    first = max(manifest.first_time, after + 1)
    half = first + (manifest.last_time + 1 - first) // 2
    return range(half, min(half + _STEPS, manifest.last_time + 1))


class Watch:
    """Watches the views while the steps at `times` are committed alone, and keeps the one that changed most of them."""

    def __init__(self, db: ivm.Database, views: Sequence[str], times: range) -> None:
        self.times = times
        self._db = db
        self._views = views
        self._open = ExitStack()
        self._changes: dict[str, ivm.Subscription] = {}
        self._seconds: list[float] = []
        self._best: tuple[dict[str, pa.Table], dict[str, pa.Table], float] | None = None

    def watches(self, time: int) -> bool:
        """Whether the step at a time, which is about to be committed, is one of those; if it is, it is watched."""
        if time in self.times and not self._changes:
            self._changes = {view: self._open.enter_context(self._db.subscribe(view)) for view in self._views}
        return time in self.times

    def step(self, time: int, tables: dict[str, pa.Table], seconds: float) -> None:
        """The step at a time has been committed: these changes of tables, in so many seconds."""
        self._seconds.append(seconds)
        found = {view: changes.fetch() for view, changes in self._changes.items()}
        changed = {view: table for view, table in found.items() if table.num_rows}
        if self._best is None or len(changed) > len(self._best[1]):
            self._best = tables, changed, seconds
        if time == self.times[-1]:
            self._open.close()

    def best(self) -> Alone | None:
        """What the one did that changed most views; None if there was no step."""
        if self._best is None:
            return None
        tables, changed, seconds = self._best
        keys = {name: relation.primary_key for name, relation in relations().items()}
        return Alone(
            {name: row_changes(table, keys[name]) for name, table in tables.items()},
            {view: row_changes(table) for view, table in changed.items()},
            seconds * 1e3,
            statistics.median(self._seconds) * 1e3,
            len(self._seconds),
        )


def row_changes(changes: pa.Table, key: Sequence[str] = ()) -> tuple[RowChange, ...]:
    """Updates as what became of each row: one that went is paired with one of the same `key` that came.

    Without a key, with the one that has most values in common with it, if there is any.
    """
    rows: list[Row] = changes.to_pylist()
    gone = [_plain(row) for row in rows if row.get(DIFF, 1) < 0]
    come = [_plain(row) for row in rows if row.get(DIFF, 1) > 0]
    found = []
    for before in gone:
        alike = [sum(before[name] == row[name] for name in key or row) for row in come]
        best = max(range(len(come)), key=alike.__getitem__, default=None)
        paired = best is not None and alike[best] >= (len(key) or min(1, len(before) - 1))
        found.append(RowChange(before, come.pop(best) if paired and best is not None else None))
    return (*found, *(RowChange(None, after) for after in come))


def _plain(row: Row) -> Row:
    return {name: value for name, value in row.items() if name not in (TIME, DIFF)}


def told(change: RowChange, most: int) -> str:
    """What became of a row, with at most so many of its values: `n_name PERU, o_year 1995: profit 12.50 → 13.00`."""
    before, after = change.before, change.after
    if before is None or after is None:
        return f"{'gone' if after is None else 'new'}: {_cells(before or after or {}, most)}"
    other = [name for name in after if before[name] != after[name]]
    same = {name: value for name, value in before.items() if name not in other}
    cells = [f"{name} {_text(before[name])} → {_text(after[name])}" for name in other]
    more = len(cells) - 1
    return (
        (f"{_cells(same, 2, ends=False)}: " if same else "")
        + cells[0]
        + (f", and {more} more column{'s' if more > 1 else ''}" if more else "")
    )


def _cells(row: Row, most: int, *, ends: bool = True) -> str:
    cells = [f"{name} {_text(value)}" for name, value in row.items()]
    return ", ".join(cells[:most]) + (", …" if ends and len(cells) > most else "")


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return f"{value:,}" if isinstance(value, Decimal) else str(value)

"""Views over shards as their readers see them: the rows of all shards together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from catalog.schema import View as Definition
from ivm.distribute.distribute import Distributed
from ivm.distribute.exchange import Channels
from ivm.distribute.placement import Hashed, Placement
from ivm.engine.view import in_order
from ivm.trace.columns.arrow import numbers_from
from ivm.trace.columns.python_values import values_or_texts
from sql.ir.relation import Relation

_TIME, _DIFF = "_time", "_diff"
_NOBODY = Definition("", "", (), (), maintained=True)


@dataclass(frozen=True, slots=True)
class ShardedContents:
    """What a view holds at one moment, as the shards have said, hidden columns included.

    See `ivm.engine.view.Contents`.
    """

    definition: Definition
    parts: Sequence[pa.Table]

    def __len__(self) -> int:
        return sum(part.num_rows for part in self.parts)

    def arrow(self) -> pa.Table:
        """Each row as often as it counts, in the definition's order. Cost: all rows, and their sort."""
        return in_order(pa.concat_tables(self.parts), self.definition)

    def head(self, rows: int) -> pa.Table:
        """The first rows of `arrow()`."""
        return self.arrow().slice(0, rows)

    def changes(self, time: int) -> pa.Table:
        """The rows as changes at a time."""
        rows = self.arrow()
        for name, value in ((_TIME, time), (_DIFF, 1)):
            rows = rows.append_column(name, pa.repeat(pa.scalar(value, pa.int64()), rows.num_rows))
        return rows

    def no_changes(self) -> pa.Table:
        """No changes, in the columns that they would have."""
        return self.changes(0).slice(0, 0)


@dataclass(frozen=True, slots=True)
class ShardedView:
    """A maintained view over shards, how it is distributed, and by which sizes and values that was planned.

    `channels`: those that there are once it is put.
    """

    distributed: Distributed
    tables: frozenset[str]
    sizes: Mapping[str, float]
    values: Mapping[tuple[str, int], float]
    channels: Channels
    installed_ms: float
    definition: Definition = _NOBODY

    def of(self, definition: Definition) -> ShardedView:
        """The view of this definition."""
        return replace(self, definition=definition)

    @property
    def relation(self) -> Relation:
        """What each shard maintains of it, over channels."""
        return self.distributed.relation

    @property
    def placement(self) -> Placement:
        """Where its rows are."""
        return self.distributed.placement

    @property
    def level(self) -> int:
        """The level of a commit at which its changes are there."""
        return self.distributed.level


@dataclass(frozen=True, slots=True)
class PlannedView:
    """A view before it is installed: how it is distributed, what it reads, by which sizes that was planned, and of
    which relation.
    """

    view: ShardedView
    tables: frozenset[str]
    sizes: Mapping[str, float]
    relation: Relation


@dataclass(frozen=True, slots=True)
class Committing:
    """A commit under way, by the id of its order: what is left to do once it is published. `watched`: the views whose
    changes somebody wants to be told.
    """

    id: str
    time: int
    names: Sequence[str]
    updates: int
    started: int
    watched: Sequence[str]


def are_apart(placement: Placement, definition: Definition) -> bool:
    """Whether rows of a view that are equal to its readers are at one shard."""
    return isinstance(placement, Hashed) and all(c < len(definition.schema) for c in placement.columns)


def whole_changes(tables: Sequence[pa.Table], view: ShardedView) -> pa.Table | None:
    """What shards say of the changes of a view, together, sorted by time; None if there are none."""
    tables = [each for each in tables if each.num_rows]
    if not tables:
        return None
    whole = pa.concat_tables(tables) if len(tables) > 1 else tables[0]
    if len(tables) > 1:
        if not are_apart(view.placement, view.definition):
            whole = added_up(whole, whole.column_names[:-1])
        whole = whole.take(pc.sort_indices(whole, sort_keys=[(_TIME, "ascending")]))
    return whole if whole.num_rows else None


def replaced(before: pa.Table, after: pa.Table) -> pa.Table | None:
    """The changes that lead from rows at a time, as `ShardedContents.changes` has them, to others; None: none do."""
    gone = before.set_column(before.num_columns - 1, _DIFF, pc.negate(before.column(_DIFF)))
    changes = added_up(pa.concat_tables([gone, after]), after.column_names[:-1])
    return changes if changes.num_rows else None


def added_up(changes: pa.Table, names: Sequence[str]) -> pa.Table:
    """Changes that agree in these columns added up, by `_diff`: shards may tell different halves of one."""
    columns, given = [f"c{i}" for i in range(len(names))], changes.select([*names, _DIFF])
    rows = numbers_from(np.arange(given.num_rows))
    alike = pa.table([*map(_alike, given.columns[:-1]), given.column(_DIFF), rows], [*columns, _DIFF, "row"])
    summed = alike.group_by(columns).aggregate([(_DIFF, "sum"), ("row", "min")])
    kept = summed.filter(pc.not_equal(summed.column(f"{_DIFF}_sum"), 0))
    found = given.take(kept.column("row_min"))
    return found.set_column(len(names), given.schema.field(_DIFF), kept.column(f"{_DIFF}_sum"))


def _alike(column: pa.ChunkedArray) -> pa.ChunkedArray | pa.Array:
    """Values by which Arrow groups those that are equal: there are two zeros, and many that are no number."""
    type_ = column.type
    if pa.types.is_floating(type_):
        return pc.if_else(pc.is_nan(column), pa.scalar(float("nan"), type_), pc.add(column, pa.scalar(0, type_)))
    if pa.types.is_nested(type_):
        return pa.array([None if value is None else repr(value) for value in values_or_texts(column)], pa.string())
    return column.cast(type_.value_type) if pa.types.is_dictionary(type_) else column


def summed_sizes(parts: Iterable[pa.Table]) -> dict[str, float]:
    """The rows of each table and view at all shards together."""
    found: dict[str, float] = {}
    for part in parts:
        for name, rows in zip(part["name"].to_pylist(), part["rows"].to_pylist(), strict=True):
            found[name] = found.get(name, 0.0) + rows
    return found

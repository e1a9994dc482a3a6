"""Views over shards as their readers see them: the rows of all shards together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from ivm.catalog.schema import View as Definition
from ivm.distribute.distribute import Distributed
from ivm.distribute.exchange import Channels
from ivm.distribute.placement import Hashed, Placement
from ivm.engine.view import in_order
from ivm.results.difference import added_up
from ivm.sql.ir.relation import Relation

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
    """A maintained view over shards, how it is distributed, and by which sizes that was planned.

    `channels`: those that there are once it is put.
    """

    distributed: Distributed
    tables: frozenset[str]
    sizes: Mapping[str, float]
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


def summed_sizes(parts: Iterable[pa.Table]) -> dict[str, float]:
    """The rows of each table and view at all shards together."""
    found: dict[str, float] = {}
    for part in parts:
        for name, rows in zip(part["name"].to_pylist(), part["rows"].to_pylist(), strict=True):
            found[name] = found.get(name, 0.0) + rows
    return found

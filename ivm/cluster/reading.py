"""Views over shards as their readers see them: the rows of all shards together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from catalog.schema import View as Definition
from ivm.cluster.shard import Shard
from ivm.distribute.distribute import Distributed
from ivm.distribute.exchange import Channels
from ivm.distribute.placement import Hashed, Placement, Replicated
from ivm.trace.dictionary import TextDictionary
from ivm.view import Contents, Installed, in_order
from ivm.view_changes import changes_to_arrow, view_changes

_TIME, _DIFF = "_time", "_diff"


@dataclass(frozen=True, slots=True)
class ShardedContents:
    """What a view holds at one moment, as the shards have it; see `ivm.view.Contents`."""

    definition: Definition
    parts: Sequence[Contents]

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def arrow(self) -> pa.Table:
        """Each row as often as it counts, in the definition's order. Cost: all rows, and their sort."""
        return in_order(pa.concat_tables([part.rows() for part in self.parts]), self.definition)

    def head(self, rows: int) -> pa.Table:
        """The first rows of `arrow()`."""
        return self.arrow().slice(0, rows)


@dataclass(frozen=True, slots=True)
class ShardedView:
    """A maintained view over shards: its definition and fragments, and the view that each shard has of its rows.

    `channels`: those that there are once it is put.
    """

    definition: Definition
    distributed: Distributed
    tables: frozenset[str]
    sizes: Mapping[str, float]
    parts: Sequence[Installed]
    channels: Channels
    installed_ms: float

    @property
    def placement(self) -> Placement:
        """Where its rows are."""
        return self.distributed.placement

    @property
    def level(self) -> int:
        """The level of a commit at which its changes are there."""
        return self.distributed.level

    @property
    def own(self) -> Sequence[Installed]:
        """The parts that have each row once."""
        return self.parts[:1] if isinstance(self.placement, Replicated) else self.parts

    def count_roughly(self) -> int:
        """How many rows there are, before they are consolidated."""
        return sum(len(part.log) for part in self.own)

    def contents(self, shards: Sequence[Shard], as_of: int | None = None) -> ShardedContents:
        """The rows at present, or as of a time that is kept. The caller keeps all others from changing them."""
        parts = [
            part.shown(part.log.sealed, shard.dictionary.now(), as_of)
            for part, shard in zip(self.own, shards, strict=False)
        ]
        return ShardedContents(self.definition, parts)

    def snapshot(self, shards: Sequence[Shard], time: int) -> pa.Table:
        """The present rows as changes at a time."""
        found = [
            view_changes(self.definition, part.snapshot(time), shard.dictionary)
            for part, shard in zip(self.own, shards, strict=False)
        ]
        present = [each for each in found if each is not None]
        return pa.concat_tables(present or [no_changes(self.parts[0], shards[0].dictionary)])


def no_changes(part: Installed, dictionary: TextDictionary) -> pa.Table:
    """No changes of a view, in the columns that they would have."""
    return changes_to_arrow(part.definition, part.snapshot(0).slice(0, 0), dictionary.now())


def changes_of(view: ShardedView, shards: Sequence[Shard]) -> pa.Table | None:
    """The changes of a view in the commit under way, sorted by time; None if there are none."""
    name = view.definition.name
    found = [
        view_changes(view.definition, shard.changed(name), shard.dictionary)
        for shard, _ in zip(shards, view.own, strict=False)
    ]
    return whole_changes([each for each in found if each is not None], view.placement)


def whole_changes(tables: Sequence[pa.Table], placement: Placement) -> pa.Table | None:
    """What shards say of the changes of a view, together, sorted by time; None if there are none."""
    if not tables:
        return None
    whole = pa.concat_tables(tables) if len(tables) > 1 else tables[0]
    if len(tables) > 1:
        if not isinstance(placement, Hashed):
            whole = _net(whole)
        whole = whole.take(pc.sort_indices(whole, sort_keys=[(_TIME, "ascending")]))
    return whole if whole.num_rows else None


def _net(changes: pa.Table) -> pa.Table:
    """Changes of equal rows at equal times added up: shards may tell different halves of one."""
    names = changes.column_names
    columns = [f"c{i}" for i in range(len(names) - 1)]
    summed = changes.rename_columns([*columns, _DIFF]).group_by(columns).aggregate([(_DIFF, "sum")])
    kept = summed.filter(pc.not_equal(summed.column(f"{_DIFF}_sum"), 0))
    return kept.select([*columns, f"{_DIFF}_sum"]).rename_columns(names).cast(changes.schema)

"""By which columns rows are hashed, so that they spread evenly over the shards and need not go elsewhere again."""

from __future__ import annotations

from collections.abc import Sequence

from ivm.distribute.exchange import BALANCED
from ivm.distribute.placement import SINGLE, Hashed
from ivm.distribute.rows import Rows
from sql.ir.relation import Relation

_MOST = 3


def targets(relation: Relation, columns: Sequence[int], rows: Rows) -> tuple[Hashed, ...]:
    """Placements that have all rows that agree on `columns` at one shard: by one that has many values, or by all."""
    even = [c for c in columns if rows.distinct(relation, c) >= min(BALANCED, rows.count(relation))]
    whole = Hashed(tuple(columns)) if columns else SINGLE
    return tuple(dict.fromkeys((*(Hashed((c,)) for c in even[:_MOST]), whole)))

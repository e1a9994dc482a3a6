"""By which columns rows are hashed, so that they spread evenly over the shards and need not go elsewhere again."""

from __future__ import annotations

from collections.abc import Sequence

from ivm.distribute.exchange import BALANCED, Exchanges
from ivm.distribute.placement import SINGLE, Hashed
from ivm.sql.ir.relation import Relation

_MOST = 3


def targets(
    relation: Relation, columns: Sequence[int], exchanges: Exchanges, above: Sequence[int] = ()
) -> tuple[Hashed, ...]:
    """Placements that have all rows that agree on `columns` at one shard: by one that has many values, or by all.

    `above`: those of the columns by which rows are to be together next. The first placement is the best where nothing
    else tells them apart: where shards are many, one by several columns, as that one of them has many values is
    often no more than a guess.
    """
    rows = exchanges.rows
    even = [c for c in columns if rows.distinct(relation, c) >= min(BALANCED, rows.count(relation))]
    single, whole = [Hashed((c,)) for c in even[:_MOST]], Hashed(tuple(columns)) if columns else SINGLE
    if not exchanges.are_many:
        return tuple(dict.fromkeys((*single, whole)))
    return tuple(dict.fromkeys((whole, *([Hashed(tuple(above))] if above else ()), *single)))

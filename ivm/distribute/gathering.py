"""Parts of rows that are put together at few of many shards: in two steps, so that nobody gets one from everybody.

Of 128 shards that send their part of a sum at each commit, the one that has the sum would do more for it than for all
else. So each dozen of neighbours send theirs to one of the shards, which makes one part of them and sends that on: it
gets twelve, and whoever has the sum eleven. It takes one more level.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import isqrt

from ivm.distribute.exchange import Exchanges, Option
from ivm.distribute.placement import ANYWHERE, Gathered, Hashed
from ivm.sql.ir.relation import Relation, inputs_of

_FEW = 256
"""With no more groups than so many for each shard, the busiest has a sixth more than the mean, by chance."""
_SHRINKS = 0.5


def gathered(option: Option, to: Hashed, together: Callable[[Relation], Relation], exchanges: Exchanges) -> Option:
    """Parts of rows, sent where `to` says. `together`: parts of those of several shards, in the same columns."""
    if exchanges.are_many and _pays(option.relation, to, exchanges):
        sent = exchanges.through(option, Gathered(to.columns, isqrt(exchanges.shards - 1) + 1), partial=True)
        made = together(sent.relation)
        assert made.schema == option.relation.schema, "parts of parts are parts"
        option = replace(sent, relation=made, placement=ANYWHERE)
    return exchanges.through(option, to, partial=True)


def _pays(parts: Relation, to: Hashed, exchanges: Exchanges) -> bool:
    """Whether few shards may get the parts, or there are so few of these that sending them twice costs little."""
    rows, shards = exchanges.rows, exchanges.shards
    whole = sum(map(rows.count, inputs_of(parts)))
    return rows.combinations(parts, to.columns) <= _FEW * shards or rows.count(parts) * shards <= whole * _SHRINKS

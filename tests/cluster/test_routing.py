"""What each shard gets of rows that are sent: those whose place it is, whoever sends them, each once."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from ivm.catalog.schema import Field
from ivm.catalog.types import BIGINT
from ivm.cluster.protocol.routing import routed
from ivm.distribute.placement import SINGLE, Gathered, Hashed, Placement
from ivm.trace.columns.column import Column
from ivm.trace.delta import delta_of
from ivm.trace.text.dictionary import TextDictionary

FIELDS = (Field("n", BIGINT, False),)
ROWS = 40


def sent(to: Placement, sender: int, shards: int) -> dict[int, list[int]]:
    """The numbers that each shard gets of a delta of a shard."""
    delta = delta_of([Column(np.arange(ROWS))], 1, None)
    found = routed(delta, FIELDS, to, sender, TextDictionary())
    assert found is not None
    assert found.to is not None
    numbers, chosen = found.rows.column(0).to_numpy(), (found.to.shards(found.rows, shards) + found.to.beyond) % shards
    return {shard: numbers[chosen == shard].tolist() for shard in np.unique(chosen).tolist()}


def places(to: Placement, shards: int) -> dict[int, dict[int, list[int]]]:
    """Of each number the shards that get it, with those that send it there."""
    found: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for sender in range(shards):
        for shard, numbers in sent(to, sender, shards).items():
            for number in numbers:
                found[number][shard].append(sender)
    return found


def test_rows_go_where_their_hash_says_whoever_sends_them():
    found = places(Hashed((0,)), 7)
    assert all(len(senders) == 7 for each in found.values() for senders in each.values())
    assert len({shard for each in found.values() for shard in each}) == 7
    assert set(sent(SINGLE, 3, 7)) == {0}


@pytest.mark.parametrize(("shards", "of"), [(7, 3), (9, 3), (64, 8), (100, 10), (128, 12)])
@pytest.mark.parametrize("columns", [(0,), ()])
def test_what_neighbours_send_is_together_and_that_of_others_elsewhere(columns, shards, of):
    neighbours = [list(range(first, min(first + of, shards))) for first in range(0, shards, of)]
    found = places(Gathered(columns, of), shards)
    assert len(found) == ROWS
    for each in found.values():
        assert sorted(each.values()) == neighbours
    if not columns:
        assert 0 not in found[0], "where all ends that is on one shard"
    else:
        assert len({shard for each in found.values() for shard in each}) > shards * 0.8

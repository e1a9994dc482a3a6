"""Schedules of dangers over shards that are engines: what they hold is what one engine holds, exactly once."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.cluster.schedule import ALL, Dangers, Schedule
from tests.cluster.shards import FIRST, Shards

BATCHES = len(FIRST) + 8


def run(shards: int, seeds: range, dangers: Dangers) -> Counter[str]:
    counts: Counter[str] = Counter()
    for seed in seeds:
        try:
            counts += Schedule(Shards(shards), seed, dangers, batches=BATCHES).run()
        except BaseException as error:
            error.add_note(f"{shards} shards, seed {seed}")
            raise
    return counts


@pytest.mark.parametrize("shards", [1, 2, 3])
def test_shards_hold_what_one_engine_holds(shards):
    assert run(shards, range(1), Dangers())["published"] >= BATCHES


@pytest.mark.parametrize("shards", [2, 3])
def test_nothing_is_lost_or_doubled(shards):
    counts = run(shards, range(2), ALL)
    assert counts["published"]
    assert counts["made"] > shards


@pytest.mark.slow
@pytest.mark.parametrize("shards", [1, 2, 3, 7])
def test_nothing_is_lost_or_doubled_in_many_schedules(shards):
    run(shards, range(100, 250), ALL)

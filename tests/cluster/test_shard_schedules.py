"""Schedules of dangers over shards that are engines: what they hold is what one engine holds, exactly once."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.cluster.schedule import ALL, Dangers, Schedule
from tests.cluster.shards import AT_ONCE, BETWEEN, Script, Shards
from tests.engine.chunks import chunks_of

MORE = 5
"""So many batches come after all that a script says."""


def run(shards: int, seeds: range, dangers: Dangers, script: Script = AT_ONCE) -> Counter[str]:
    counts: Counter[str] = Counter()
    for seed in seeds:
        try:
            with chunks_of(2):
                counts += Schedule(Shards(shards, script), seed, dangers, batches=max(script) + MORE).run()
        except BaseException as error:
            error.add_note(f"{shards} shards, seed {seed}")
            raise
    return counts


@pytest.mark.parametrize("shards", [1, 2, 3])
def test_shards_hold_what_one_engine_holds(shards):
    assert run(shards, range(1), Dangers())["published"] >= max(AT_ONCE) + MORE


@pytest.mark.parametrize("shards", [2, 3])
def test_nothing_is_lost_or_doubled(shards):
    counts = run(shards, range(2), ALL)
    assert counts["published"]
    assert counts["made"] > shards


@pytest.mark.parametrize(("shards", "dangers"), [(1, Dangers()), (3, Dangers()), (2, ALL), (3, ALL)])
def test_views_are_filled_between_commits(shards, dangers):
    counts = run(shards, range(4, 5), dangers, BETWEEN)
    assert counts["published"] >= (max(BETWEEN) if dangers is ALL else max(BETWEEN) + MORE)


@pytest.mark.slow
@pytest.mark.parametrize("script", [AT_ONCE, BETWEEN], ids=["at once", "between commits"])
@pytest.mark.parametrize("shards", [1, 2, 3, 7])
def test_nothing_is_lost_or_doubled_in_many_schedules(shards, script):
    run(shards, range(100, 250), ALL, script)

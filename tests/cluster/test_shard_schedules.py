"""Schedules of dangers over shards that are engines: what they hold is what one engine holds, exactly once."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext

import pytest

from tests.cluster.many import planned_as_many
from tests.cluster.schedule import ALL, Dangers, Schedule
from tests.cluster.shards import AT_ONCE, BETWEEN, BETWEEN_MANY, TOGETHER, Script, Shards
from tests.engine.chunks import chunks_of

MORE = 5
"""So many batches come after all that a script says."""


def run(shards: int, seeds: range, dangers: Dangers, script: Script = AT_ONCE) -> Counter[str]:
    """How often what has happened. Views are planned as over many shards if the script says so, or an odd seed."""
    counts: Counter[str] = Counter()
    for seed in seeds:
        are_many = script is BETWEEN_MANY or (script is AT_ONCE and seed % 2 == 1)
        try:
            with chunks_of(2), planned_as_many(min(shards, 2)) if are_many else nullcontext():
                counts += Schedule(Shards(shards, script), seed, dangers, batches=max(script) + MORE).run()
        except BaseException as error:
            error.add_note(f"{shards} shards, seed {seed}")
            raise
    return counts


@pytest.mark.parametrize("shards", [1, 2, 3])
def test_shards_hold_what_one_engine_holds(shards):
    counts = run(shards, range(1), Dangers())
    assert counts["published"] >= max(AT_ONCE) + MORE
    assert counts["followed"] > MORE, "views at times"


@pytest.mark.parametrize(("shards", "seed", "script"), [(2, 0, AT_ONCE), (2, 2, TOGETHER)])
def test_nothing_is_lost_or_doubled(shards, seed, script):
    counts = run(shards, range(seed, seed + 1), ALL, script)
    assert counts["published"]
    assert counts["made"] > shards


@pytest.mark.parametrize(
    ("shards", "dangers", "script"),
    [(1, Dangers(), BETWEEN), (3, Dangers(), BETWEEN), (2, ALL, BETWEEN), (3, ALL, BETWEEN_MANY)],
    ids=["1", "3", "2 in danger", "3 as many in danger"],
)
def test_views_are_filled_between_commits(shards, dangers, script):
    counts = run(shards, range(4, 5), dangers, script)
    assert counts["published"] >= (max(script) if dangers is ALL else max(script) + MORE)


@pytest.mark.slow
@pytest.mark.parametrize(
    "script", [AT_ONCE, BETWEEN, BETWEEN_MANY, TOGETHER], ids=["at once", "between commits", "as many", "together"]
)
@pytest.mark.parametrize("shards", [1, 2, 3, 7])
def test_nothing_is_lost_or_doubled_in_many_schedules(shards, script):
    run(shards, range(100, 250), ALL, script)

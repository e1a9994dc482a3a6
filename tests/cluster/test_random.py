"""Random views over shards equal DuckDB at every logical time, as those of one engine do; see `tests.random`.

Every other case is planned as over many shards.
"""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from tests.cluster.many import planned_as_many
from tests.more import by_day
from tests.random.case import written
from tests.random.search import Counts, try_seed

SEEDS = 2


def run(seeds: range, shards: int) -> Counts:
    """What came of these cases."""
    counts = Counts()
    for number, seed in enumerate(seeds):
        with planned_as_many() if number % 2 else nullcontext():
            case, outcome = try_seed(seed, counts, shards=shards)
        planned = f"planned as {'many' if number % 2 else 'few'}"
        assert outcome.failure is None, f"seed {seed}, {shards} shards {planned}: {outcome.failure}\n{written(case)}"
    return counts


@pytest.mark.parametrize("shards", by_day([1, 2, 3, 7], 2))
def test_random_views_over_shards_are_as_duckdb_says(shards):
    assert run(range(40_000 + shards, 40_000 + shards + 10 * SEEDS, 10), shards).filled


@pytest.mark.slow
@pytest.mark.parametrize("shards", [1, 2, 3, 7])
def test_many_random_views_over_shards(shards):
    run(range(50_000 + 1_000 * shards, 50_000 + 1_000 * shards + 150), shards)

"""Random views over shards equal DuckDB at every logical time, as those of one engine do; see `tests.random`."""

from __future__ import annotations

import pytest

from tests.random.case import written
from tests.random.search import Counts, try_seed

SEEDS = 4


@pytest.mark.parametrize("shards", [1, 2, 3, 7])
def test_random_views_over_shards_are_as_duckdb_says(shards):
    counts = Counts()
    for seed in range(40_000 + shards, 40_000 + shards + 10 * SEEDS, 10):
        case, outcome = try_seed(seed, counts, shards=shards)
        assert outcome.failure is None, f"seed {seed}, {shards} shards: {outcome.failure}\n{written(case)}"
    assert counts.filled


@pytest.mark.slow
@pytest.mark.parametrize("shards", [1, 2, 3, 7])
def test_many_random_views_over_shards(shards):
    counts = Counts()
    for seed in range(50_000 + 1_000 * shards, 50_000 + 1_000 * shards + 150):
        case, outcome = try_seed(seed, counts, shards=shards)
        assert outcome.failure is None, f"seed {seed}, {shards} shards: {outcome.failure}\n{written(case)}"

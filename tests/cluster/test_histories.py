"""Short histories over one, two and three shards end as one engine and DuckDB say; see `tests.cluster.histories`."""

from __future__ import annotations

import pytest

from tests.cluster.histories import play

SEEDS = 5


@pytest.mark.parametrize("shards", [1, 2, 3])
def test_what_goes_and_comes_back_over_shards(shards):
    for seed in range(1_000 * shards, 1_000 * shards + SEEDS):
        play(seed, shards)


@pytest.mark.slow
@pytest.mark.parametrize("shards", [1, 2, 3])
def test_many_short_histories_over_shards(shards):
    for seed in range(100_000 * shards, 100_000 * shards + 400):
        play(seed, shards)

"""Loops over shards, cut or gathered: through short histories as one engine and DuckDB say; see `tests.cluster.histories`."""

from __future__ import annotations

import pytest

from tests.cluster.histories import Drawn, play
from tests.cluster.loops import CARRYING, GATHERED

QUERIES = (*CARRYING.values(), *GATHERED.values())
LOOPS = Drawn(QUERIES)
OVER_COPIES = Drawn(QUERIES, kept=1, shards=(1, 2, 6))


@pytest.mark.parametrize("shards", [1, 2, 3])
def test_loops_whose_rows_go_and_come_back(shards: int) -> None:
    for seed in range(1_700 + 1_000 * shards, 1_708 + 1_000 * shards):
        play(seed, shards, LOOPS)


@pytest.mark.parametrize("seed", range(4))
def test_loops_over_shards_that_die_and_become_more(seed: int) -> None:
    play(500 + seed, 2, OVER_COPIES)


@pytest.mark.slow
@pytest.mark.parametrize("shards", [1, 2, 3, 7])
def test_many_short_histories_of_loops(shards: int) -> None:
    for seed in range(200_000 * shards, 200_000 * shards + 300):
        play(seed, shards, OVER_COPIES if seed % 4 == 0 else LOOPS)

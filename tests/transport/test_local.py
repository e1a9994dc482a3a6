"""In one process, where a shard's tasks change workers: right answers all the same, from what is stored."""

from __future__ import annotations

from tests.transport.sessions import Numbers

MASTER = "local[2]"
ROWS = dict.fromkeys(range(20), 1)


def test_shards_that_change_workers_are_loaded(spark, root):
    numbers = Numbers(spark, root)
    for round_ in range(3):
        numbers.commit(ROWS, levels=2, frame=bool(round_ % 2))
        numbers.check()
    numbers.transport.close()

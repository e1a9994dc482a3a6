"""In one process, where a shard's tasks change workers: right answers all the same, from what is stored."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from tests.transport.sessions import Numbers

ROWS = dict.fromkeys(range(20), 1)


def test_shards_that_change_workers_are_loaded(spark: SparkSession, tmp_path: Path) -> None:
    numbers = Numbers(spark, tmp_path)
    for round_ in range(3):
        numbers.commit(ROWS, levels=2, frame=bool(round_ % 2))
        numbers.check()
    numbers.transport.close()

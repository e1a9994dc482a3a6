"""In one process, where a shard's tasks change workers: right answers all the same, from what is stored."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ivm.spark import anchor, direct, transport
from tests.transport.sessions import Numbers

ROWS = dict.fromkeys(range(20), 1)


def test_shards_that_change_workers_are_loaded(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (anchor, direct, transport):  # as without a daemon of ours
        monkeypatch.setattr(module, "is_kept", lambda settings: False)
    numbers = Numbers(spark, tmp_path)
    for round_ in range(3):
        numbers.commit(ROWS, levels=2, frame=bool(round_ % 2))
        numbers.check()
    numbers.transport.close()

"""One Spark session for all tests of this folder that want one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tpch.spark import session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """With two processors; its Python workers find `ivm` in this checkout."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        patch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
        with session("local[2]", brief=True) as running:
            running.conf.set("spark.sql.shuffle.partitions", "2")
            yield running

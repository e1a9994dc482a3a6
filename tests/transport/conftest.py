"""One Spark session for all modules of tests: it takes long to start, and to get warm."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ivm.tpch.generate import generate
from ivm.tpch.options import Options
from tests.transport.sessions import session

TWO_EXECUTORS = "local-cluster[2,1,1024]"
SF = 0.01


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """On two executors of one core."""
    with session(TWO_EXECUTORS, tmp_path_factory.mktemp("spark")) as running:
        yield running


@pytest.fixture(scope="session")
def streams(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stream `refresh` at `SF`; over it each of the 22 views has rows."""
    out = tmp_path_factory.mktemp("streams")
    generate(SF, ("refresh",), out, 7, Options(parts=1, pairs=60, updates=400, window=500))
    return out


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Where a database of numbers keeps them."""
    return tmp_path

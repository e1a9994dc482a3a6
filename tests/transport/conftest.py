"""One Spark session for each module of tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.transport.sessions import session

TWO_EXECUTORS = "local-cluster[2,1,1024]"


@pytest.fixture(scope="module")
def spark(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """On two executors of one core, unless the module says `MASTER`."""
    master = getattr(request.module, "MASTER", TWO_EXECUTORS)
    with session(master, tmp_path_factory.mktemp("spark")) as running:
        yield running


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Where a database of numbers keeps them."""
    return tmp_path

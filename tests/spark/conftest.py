"""One Spark session for all tests of this folder that want one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.sparks import running_here


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """That of `tests.sparks`."""
    with running_here() as running:
        yield running

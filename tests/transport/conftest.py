"""One Spark session for all modules of tests that ask for the same one: it takes long to start, and to get warm."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.transport.sessions import session
from tpch.generate import generate
from tpch.options import Options

TWO_EXECUTORS = "local-cluster[2,1,1024]"
SF = 0.01


def _master(module: Any) -> str:
    """On two executors of one core, unless the module says `MASTER`."""
    return getattr(module, "MASTER", TWO_EXECUTORS)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Modules that take the same session come one after the other."""
    items.sort(key=lambda item: _master(getattr(item, "module", None)) != TWO_EXECUTORS)


@pytest.fixture(scope="session")
def _sessions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], SparkSession]]:
    """Gives the session of a master; there is one at a time in a process."""
    running: dict[str, SparkSession] = {}
    with ExitStack() as open_:

        def of(master: str) -> SparkSession:
            if master not in running:
                open_.close()
                running.clear()
                running[master] = open_.enter_context(session(master, tmp_path_factory.mktemp("spark")))
            return running[master]

        yield of


@pytest.fixture(scope="module")
def spark(request: pytest.FixtureRequest, _sessions: Callable[[str], SparkSession]) -> SparkSession:
    """The session that the module asks for."""
    return _sessions(_master(request.module))


@pytest.fixture(scope="session")
def _streams(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("streams")


@pytest.fixture(scope="module")
def streams(spark: SparkSession, _streams: Path) -> Path:
    """The stream `refresh` at `SF`, which is made once; over it each of the 22 views has rows."""
    if not (_streams / "refresh").exists():
        generate(SF, ("refresh",), _streams, 7, Options(parts=1, pairs=60, updates=400, window=500))
    return _streams


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Where a database of numbers keeps them."""
    return tmp_path

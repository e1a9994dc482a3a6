"""One Spark session, and one set of small streams, for all tests of the TPC-H package."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from ivm.benchmarks import process
from ivm.tpch.generate import generate
from ivm.tpch.options import STREAMS, Options
from tests.sparks import running_here

SF = 0.001
SEED = 7
OPTIONS = Options(parts=1, pairs=900, updates=400, window=500)


@contextmanager
def measuring_here() -> Iterator[None]:
    """While the block runs, measurements have no process of their own: to start Python takes longer than they do."""

    def measured(module: str, task: Any, tell: Any) -> dict[str, Any]:
        engine = importlib.import_module(module)
        found: dict[str, Any] = json.loads(json.dumps(engine.measure(engine.Task(**asdict(task)))))
        return found

    threads = pa.cpu_count()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(process, "_measured", measured)
        yield
    pa.set_cpu_count(threads)


@pytest.fixture
def in_this_process() -> Iterator[None]:
    """See `measuring_here`."""
    with measuring_here():
        yield


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """That of `tests.sparks`, which `generate` then uses."""
    with running_here() as running:
        yield running


@pytest.fixture(scope="session")
def streams(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All four streams at scale factor 0.001; `pairs` is such that new orders are deleted too."""
    out = tmp_path_factory.mktemp("streams")
    generate(SF, STREAMS, out, SEED, OPTIONS)
    return out


@pytest.fixture(scope="session")
def larger_streams(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All four streams at scale factor 0.01."""
    out = tmp_path_factory.mktemp("larger_streams")
    generate(0.01, STREAMS, out, 11, Options(parts=1, pairs=40, updates=3000, window=20_000))
    return out

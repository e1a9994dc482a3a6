"""The Spark session in this process that tests share: it takes long to start, and to get warm."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from pyspark.sql import SparkSession

from ivm.spark.settings import ADVISED, NEEDED
from ivm.tpch.spark import session
from tests.house.modules import ROOT

QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Jobs of milliseconds: what the optimizing compiler and the threads of a collector would cost is never earned back."""
INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""Spark writes and compiles Java for each query, which is never earned back by a few thousand rows."""
FEW_TASKS = {"spark.sql.shuffle.partitions": "2"}
"""200 by default, of which each is a task."""


@contextmanager
def running_here() -> Iterator[SparkSession]:
    """With two processors; its Python workers find `ivm` in this checkout. One that runs already is taken."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_TOOL_OPTIONS", QUICK_JAVA)
        patch.setenv("PYTHONPATH", str(ROOT))
        with session("local[2]", brief=True, more={**INTERPRETED, **FEW_TASKS, **NEEDED, **ADVISED}) as running:
            yield running

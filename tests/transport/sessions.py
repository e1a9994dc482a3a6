"""Spark sessions for tests, and databases of numbers on them."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from ivm.spark.bringing import Changes, Functions
from ivm.spark.settings import ADVISED, NEEDED
from ivm.spark.transport import SparkTransport
from ivm.tpch.java import java_home
from tests.house.modules import ROOT
from tests.sparks import FEW_TASKS, INTERPRETED, QUICK_JAVA
from tests.transport import toy

FUNCTIONS = Functions("tests.transport.toy.task", "tests.transport.toy.ingest")

_LOGGING = """\
rootLogger.level = off
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
"""
_SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.executor.memory": "512m",
    # A task is tried again once; errors that stay would else take their time.
    "spark.task.maxFailures": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


@contextlib.contextmanager
def session(master: str, scratch: Path) -> Iterator[SparkSession]:
    """A Spark session with what ivm needs; its workers find the tests."""
    logging = scratch / "log4j2.properties"
    logging.write_text(_LOGGING)
    java = f"{QUICK_JAVA} -Dlog4j2.configurationFile=file:{logging}"
    config: dict[str, Any] = {
        **_SETTINGS, **INTERPRETED, **FEW_TASKS, **NEEDED, **ADVISED,
        "spark.driver.extraJavaOptions": java,
        "spark.executor.extraJavaOptions": java,
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
    }  # fmt: skip
    environment = {
        "JAVA_HOME": str(java_home()),
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(ROOT),
    }
    before = dict(os.environ)
    os.environ.update(environment)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            spark = SparkSession.builder.master(master).appName("ivm tests").config(map=config).getOrCreate()
        try:
            yield spark
        finally:
            spark.stop()
    finally:
        os.environ.clear()
        os.environ.update(before)


class Numbers:
    """The toy database on a cluster, and what it should hold."""

    def __init__(self, spark: SparkSession, root: Path, shards: int = 2, **options: Any) -> None:
        self.root = root
        self.spark = spark
        self.transport = SparkTransport(spark, shards, FUNCTIONS, **options)
        self.version = 0
        self.expected: Counter[int] = Counter()
        self.levels = 1

    def order(self, levels: int, **trouble: Any) -> bytes:
        return toy.order(self.root, self.version + 1, self.transport.shards, levels, **trouble)

    def commit(self, rows: Mapping[int, int], levels: int = 3, *, frame: bool = False, **trouble: Any) -> list[Any]:
        """What each group said at each level, in a dict."""
        table = pa.table({"key": pa.array(rows.keys(), pa.int64()), "n": pa.array(rows.values(), pa.int64())})
        changes = Changes({"t": self.frame(rows)}, {}) if frame else Changes({}, {"t": table})
        found = self.transport.run(self.order(levels, **trouble), levels, changes)
        assert [(s.group, s.level) for s in found] == [
            (group, level) for group in range(self.transport.tasks) for level in range(1, levels + 1)
        ]
        self.version += 1
        self.levels = levels
        self.expected.update(rows)
        return [{"group": s.group, "level": s.level, **json.loads(s.status)} for s in found]

    def until_reached(self, are_reached: bool = True) -> None:
        """All processes of shards have called the driver, or one has gone."""
        until = time.monotonic() + 30
        keepers = self.transport._keepers
        assert keepers is not None
        while keepers.are_there(self.transport.places.values()) != are_reached:
            assert time.monotonic() < until, self.transport.places
            time.sleep(0.01)

    def frame(self, rows: Mapping[int, int]) -> DataFrame:
        return self.spark.createDataFrame(list(rows.items()), "key bigint, n bigint").repartition(2)

    def check(self) -> None:
        """Each level holds what it should, each key on its shard."""
        for level in range(1, self.levels + 1):
            for shard in range(self.transport.shards):
                wanted = {
                    key + level - 1: n
                    for key, n in self.expected.items()
                    if (key + level - 1) % self.transport.shards == shard
                }
                assert toy.numbers(self.root, self.version, shard, level) == wanted

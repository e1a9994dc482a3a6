"""Spark sessions: local by default, or on any master that is named; and how far their work is."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession

from ivm.tpch.errors import SetupError
from ivm.tpch.java import java_home

ROW_GROUP_ROWS = 131_072
_EVERY_SECONDS = 0.5
_REASON = re.compile(r"(?:Reason|Exception|Error): (.+)")

_LOGGING = """\
rootLogger.level = error
rootLogger.appenderRef.console.ref = console
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = error
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %p %c{1}: %m%n
"""

_CONFIG = {
    "spark.driver.memory": "3g",  # with the Python side, well inside 8 GiB
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.adaptive.enabled": "false",  # the partitioning of what is written must not depend on statistics
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.parquet.compression.codec": "snappy",
    # One file of the generator is one partition: rows keep their order, and order decides a row's logical time.
    "spark.sql.files.maxPartitionBytes": str(1 << 40),
    "spark.sql.files.openCostInBytes": str(1 << 40),
    "spark.hadoop.parquet.block.row.count.limit": str(ROW_GROUP_ROWS),
    "spark.hadoop.parquet.enable.dictionary": "true",
    "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
}

_NONE: Mapping[str, str] = MappingProxyType({})


@contextlib.contextmanager
def session(
    master: str | None = None, *, brief: bool = False, more: Mapping[str, str] = _NONE
) -> Iterator[SparkSession]:
    """A Spark session; stopped at the end unless it was already running. `more`: further settings.

    `brief`: the work is over in seconds, for which Java's faster compiler serves better than its better one.
    `master` defaults to the environment's SPARK_MASTER, else `local[*]`. On a cluster the output directory must be
    one that all its machines see. Raises SetupError if there is no Java that Spark can run on, or if it does not start.
    Cost: 3-6 s to start.
    """
    running = SparkSession.getActiveSession()
    if running is not None:
        yield running
        return
    with tempfile.TemporaryDirectory(prefix="ivm-spark-", ignore_cleanup_errors=True) as scratch:
        spark = _start(master or os.environ.get("SPARK_MASTER", "local[*]"), Path(scratch), brief, more)
        try:
            yield spark
        finally:
            spark.stop()


def _start(master: str, scratch: Path, brief: bool, more: Mapping[str, str]) -> SparkSession:
    os.environ["JAVA_HOME"] = str(java_home())
    os.environ["PYSPARK_PYTHON"] = sys.executable
    messages = scratch / "messages.txt"
    with _standard_error_to(messages), warnings.catch_warnings():
        # pyspark warns that it has not been tried with the newest pandas, which nothing here uses.
        warnings.simplefilter("ignore", FutureWarning)
        try:
            return _builder(master, scratch, brief, more).getOrCreate()
        except Exception as error:
            said = messages.read_text(encoding="utf-8", errors="replace") + str(error)
            raise SetupError(f"Spark does not start on {master}: {why(said)}") from error


def why(said: str) -> str:
    """The one line of what Java said that tells why; all of it, if none does."""
    found = _REASON.search(said)
    return found[1] if found else said.strip()


def _builder(master: str, scratch: Path, brief: bool, more: Mapping[str, str]) -> SparkSession.Builder:
    logging = scratch / "log4j2.properties"
    logging.write_text(_LOGGING, encoding="utf-8")
    java = [f"-Dlog4j2.configurationFile=file:{logging}", *(("-XX:TieredStopAtLevel=1",) if brief else ())]
    settings: dict[str, bool | float | int | str | None] = {
        **_CONFIG,
        **more,
        "spark.driver.extraJavaOptions": " ".join(java),
        "spark.executor.extraJavaOptions": " ".join(java),
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
    }
    return SparkSession.builder.master(master).appName("ivm tpch").config(map=settings)


@contextlib.contextmanager
def _standard_error_to(path: Path) -> Iterator[None]:
    """Let what is started here inherit a file as its standard error: the JVM announces its own modules there."""
    sys.stderr.flush()
    saved = os.dup(2)
    try:
        with path.open("wb") as log:
            os.dup2(log.fileno(), 2)
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)


def parquet(folder: Path) -> DataFrame:
    """The rows of the files in a folder, a DataFrame of the session that runs."""
    return SparkSession.active().read.parquet(str(folder))


@contextlib.contextmanager
def watched(context: SparkContext, tell: Callable[[float], None]) -> Iterator[None]:
    """While the block runs, call `tell`, on another thread, with the share (0 to 1) of the running job's tasks done."""
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(_EVERY_SECONDS):
            tell(_share_done(context))

    watcher = threading.Thread(target=watch, name="tpch-watch", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


def _share_done(context: SparkContext) -> float:
    """The tasks done of the running jobs, by all their tasks so far known; 0 if nothing runs."""
    tracker = context.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getActiveJobsIds()]
    stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
    tasks = sum(stage.numTasks for stage in stages if stage)
    return sum(stage.numCompletedTasks for stage in stages if stage) / tasks if tasks else 0.0

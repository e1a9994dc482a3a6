"""The session of Spark's that commits run in, beside the user's own."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import SparkSession

from ivm.spark.settings import OF_SESSION, lacking

SCHEDULED = "spark.scheduler.pool"
POOL = "ivm"
"""Where Spark's scheduler is fair among pools, jobs of commits are in one of their own."""


def settings_of(spark: SparkSession) -> dict[str, str]:
    """The settings that an application of Spark's was started with."""
    return dict(spark.sparkContext.getConf().getAll())


def own_session(spark: SparkSession, shards: int) -> SparkSession:
    """A session on the same cluster, with the user's settings of queries but for those that commits need."""
    own = spark.newSession()
    before = own.conf.getAll
    width = max(shards, spark.sparkContext.defaultParallelism)
    ours = {**OF_SESSION, "spark.sql.shuffle.partitions": str(width)}
    for name, value in {**spark.conf.getAll, **ours}.items():
        if before.get(name) != value:
            own.conf.set(name, value)
    return own


def tell_once(settings: Mapping[str, str]) -> None:
    """Say in the log which advised settings an application lacks, the first time that it is asked of."""
    application = settings.get("spark.app.id", "")
    if application in _told or (line := lacking(settings)) is None:
        return
    _told.add(application)
    _log.warning("%s", line)


_told: set[str] = set()
_log = logging.getLogger("ivm")


@contextmanager
def scheduled_apart(session: SparkSession) -> Iterator[None]:
    """Jobs that this thread starts within the block are in `POOL`."""
    context = session.sparkContext
    before = context.getLocalProperty(SCHEDULED)
    context.setLocalProperty(SCHEDULED, POOL)
    try:
        yield
    finally:
        if is_running(session):
            context._jsc.setLocalProperty(SCHEDULED, before)  # None takes it away


def is_running(session: SparkSession) -> bool:
    """True unless the Spark session was stopped."""
    return session.sparkContext._jsc is not None

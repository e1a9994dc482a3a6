"""The settings of Spark that commits rely on: which to start it with, and what is wrong with those it has."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ivm.catalog.errors import ClusterError, UnsupportedError

NEEDED = {
    "spark.dynamicAllocation.enabled": "false",
    "spark.python.worker.reuse": "true",
    "spark.shuffle.reduceLocality.enabled": "false",
    "spark.speculation": "false",
}
"""Without these shards do not stay where they are, or run twice; a session that has others is refused."""

DAEMON = "ivm.spark.daemon"
"""The module that forks workers so."""

ADVISED = {
    # Workers are forked of a process that has imported the engine, in milliseconds instead of seconds, and all tasks of
    # shards run in one process of an executor, so that they need not have it for themselves.
    "spark.python.daemon.module": DAEMON,
    # A commit gets the next core that becomes free, rather than wait for all tasks of the jobs before it.
    "spark.scheduler.mode": "FAIR",
    # A shard waits for its own executor rather than be loaded on another.
    "spark.locality.wait": "30s",
    # What a lost executor had is given up after a second instead of fifteen.
    "spark.shuffle.io.maxRetries": "1",
    "spark.shuffle.io.retryWait": "500ms",
}
"""What makes commits faster after a pause or a loss."""

OF_SESSION = {
    # A job of a commit goes over partitions that are shards: nothing may split, merge or measure them in between.
    "spark.sql.adaptive.enabled": "false",
    # Few rows are a batch, and large messages go by files: that keeps batches below what Arrow can count.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "4096",
    # Spark adds up the bytes of a batch anew for each of its rows, unless it may have any number of them.
    "spark.sql.execution.arrow.maxBytesPerBatch": str((1 << 31) - 1),
}
"""Settings of queries: commits run in a session of their own, which has these whatever the user's has."""

FIRST = (4, 1)
"""The first version of Spark in which a frame can say which row goes to which partition."""

_DEFAULTS = {
    "spark.dynamicAllocation.enabled": "false",
    "spark.python.worker.reuse": "true",
    "spark.shuffle.reduceLocality.enabled": "true",
    "spark.speculation": "false",
}
_WHY_ADVISED = {
    "spark.python.daemon.module": "else a commit waits until an executor has no other task, and is a job of Spark's",
    "spark.scheduler.mode": "else jobs of commits wait for all tasks of the jobs before them",
    "spark.locality.wait": "else a shard is soon loaded elsewhere when its executor is busy",
    "spark.shuffle.io.maxRetries": "else a lost executor is waited for",
    "spark.shuffle.io.retryWait": "else a lost executor is waited for",
}
_WHY = {
    "spark.dynamicAllocation.enabled": (
        "executors that are let go of take shards with them; spark.executor.instances says how many there are"
    ),
    "spark.python.worker.reuse": "shards live in Python workers",
    "spark.shuffle.reduceLocality.enabled": "shards stay where they are, wherever their input is",
    "spark.speculation": "a second copy of a slow shard would have to be loaded first",
}


def check_session(spark: Any) -> None:
    """UnsupportedError for what is no session of Spark's that has its driver here, ClusterError for one that ended."""
    if type(spark).__module__.startswith("pyspark.sql.connect."):
        raise UnsupportedError(
            "cannot run a database on a session of Spark Connect, as serverless ones are: its driver is elsewhere, and "
            "that of a database is this process; make a session with SparkSession.builder.master(...), run this where "
            "the driver is, or use ivm.connect, which takes rows as rows.toArrow()"
        )
    if not hasattr(spark, "sparkContext"):
        raise UnsupportedError(
            f"cannot run a database on a {type(spark).__name__}: it is no SparkSession; give one, such as "
            "SparkSession.builder.getOrCreate()"
        )
    if spark.sparkContext._jsc is None:
        raise ClusterError("cannot run a database on a Spark session that was stopped; give a new one")


def check(settings: Mapping[str, str], version: str) -> None:
    """Raise UnsupportedError, with a line for each setting that is wrong, if commits cannot run with them.

    `settings`: those that are set, of which what is absent has Spark's default. `version`: Spark's.
    """
    if wrong := list(problems(settings, version)):
        raise UnsupportedError("\n".join(["cannot run a database on this Spark session:", *wrong]))


def problems(settings: Mapping[str, str], version: str) -> Iterator[str]:
    """What is wrong, a line each: what is set, what to set, and why."""
    if _numbers(version)[:2] < FIRST:
        needed = ".".join(map(str, FIRST))
        yield f"Spark {version} cannot send rows to given partitions; use Spark {needed} or later"
        return
    for name, needed in NEEDED.items():
        found = settings.get(name, _DEFAULTS[name])
        if found.strip().lower() != needed:
            yield f"{name} is {found}; set it to {needed}: {_WHY[name]}"
    wait = settings.get("spark.locality.wait", "3s")
    if _seconds(wait) < 1:
        yield f"spark.locality.wait is {wait}; set it to {ADVISED['spark.locality.wait']}: {_WHY['spark.speculation']}"
    if cores(settings) is None and not is_kept(settings):
        yield (
            "spark.executor.cores is not set; set it to the cores of an executor: one task at a time has all of them, "
            f"so that a shard is in one process; or set spark.python.daemon.module to {DAEMON}"
        )


def lacking(settings: Mapping[str, str]) -> str | None:
    """One line that names the advised settings that are not set, each with what it costs; None if all are."""
    absent = [f"{name}={value} ({_WHY_ADVISED[name]})" for name, value in ADVISED.items() if name not in settings]
    if not absent:
        return None
    return f"this Spark session is without settings that a database on it is advised to have: {'; '.join(absent)}"


def expected_executors(settings: Mapping[str, str]) -> int | None:
    """How many executors an application is to have by its settings, however many there are yet; None if unsaid."""
    master = settings.get("spark.master", "")
    if is_one_process(settings):
        return 1
    if local := re.fullmatch(r"local-cluster\[\s*(\d+)\s*,.*\]", master):
        return int(local[1])
    if found := settings.get("spark.executor.instances"):
        return int(found)
    most, each = settings.get("spark.cores.max"), settings.get("spark.executor.cores")
    return max(1, int(most) // int(each)) if master.startswith("spark://") and most and each else None


def cores(settings: Mapping[str, str]) -> int | None:
    """The cores of an executor; None where the cluster decides and does not tell. In one process, as many as it has."""
    master = settings.get("spark.master", "")
    if local := re.fullmatch(r"local-cluster\[\s*\d+\s*,\s*(\d+)\s*,\s*\d+\s*\]", master):
        return int(local[1])
    if found := settings.get("spark.executor.cores"):
        return int(found)
    return None if master.startswith("spark://") else 1


def is_kept(settings: Mapping[str, str]) -> bool:
    """True if all tasks of shards run in one process of an executor, whatever runs beside them."""
    forks = settings.get("spark.python.use.daemon", "true").strip().lower() == "true"
    return forks and settings.get("spark.python.daemon.module") == DAEMON


_ENCRYPTING = (
    "spark.authenticate.enableSaslEncryption",
    "spark.network.crypto.enabled",
    "spark.ssl.enabled",
    "spark.ssl.rpc.enabled",
)


def is_encrypted(settings: Mapping[str, str]) -> bool:
    """True if what machines say to each other is not to be read on its way."""
    return any(settings.get(name, "false").strip().lower() == "true" for name in _ENCRYPTING)


def side_by_side(settings: Mapping[str, str]) -> int:
    """How many tasks an executor runs at once, where its cores are known; else one."""
    return max(1, (cores(settings) or 1) // int(settings.get("spark.task.cpus", 1)))


def is_one_process(settings: Mapping[str, str]) -> bool:
    """True if driver and executor are one process, in which tasks cannot be kept from running side by side."""
    return re.fullmatch(r"local(\[.*\])?", settings.get("spark.master", "")) is not None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(digits) for digits in re.findall(r"\d+", version))


_UNITS = {"us": 1e-6, "ms": 1e-3, "": 1, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}


def _seconds(duration: str) -> float:
    """A duration as Spark writes it; without a unit in seconds or less, which is what it could mean at most."""
    match = re.fullmatch(r"\s*(\d+)\s*([a-z]*)\s*", duration.lower())
    return int(match[1]) * _UNITS.get(match[2], 1) if match else 0

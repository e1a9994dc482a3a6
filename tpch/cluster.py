"""The databases that `ivm tpch run` maintains views in: one engine, shards in this process, or shards on Spark."""

from __future__ import annotations

import re
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

import ivm
from ivm.progress import opening, progress
from ivm.tpch.errors import SetupError
from ivm.tpch.options import Place

if TYPE_CHECKING:
    from ivm.spark import SparkDatabase


@contextmanager
def database(place: Place, console: Console) -> Iterator[ivm.Database]:
    """The database of a place, closed at the end.

    Raises SetupError where there is no Spark, or no Java, or Spark does not start.
    """
    if place.master is not None:
        with on_spark(place.master, place.path, place.shards) as spread:
            yield spread
        return
    if place.shards is not None and place.path is not None:
        raise SetupError("shards of one process are in memory; leave --db out, or say by --spark where they are")
    with progress(console, "") as tell:
        db = ivm.connect(place.path, shards=place.shards, progress=opening(tell))
    with db:
        yield db


@contextmanager
def on_spark(master: str, path: Path | None, shards: int | None) -> Iterator[SparkDatabase]:
    """A database over a cluster, which is started, and ends with the block. `path`: its folder; None for one that goes.

    Cost: ten seconds to start two executors of one machine.
    """
    try:
        import ivm.spark  # noqa: PLC0415  Spark, which few commands need
        from ivm.spark.settings import ADVISED, NEEDED  # noqa: PLC0415
        from ivm.tpch.spark import session  # noqa: PLC0415
    except ImportError as error:
        raise SetupError(f"--spark needs pyspark ({error}); install ivm-engine[spark]") from error
    with (
        warnings.catch_warnings(action="ignore", category=FutureWarning),  # of pyspark: of the newest pandas
        session(master, more=NEEDED | ADVISED | _memory(master)) as spark,
        tempfile.TemporaryDirectory(prefix="ivm-shards-", ignore_cleanup_errors=True) as scratch,
        ivm.spark.connect(spark, str(path or scratch), shards=shards) as db,
    ):
        yield db


def _memory(master: str) -> dict[str, str]:
    """An executor of a cluster of this machine takes what its worker has."""
    found = re.fullmatch(r"local-cluster\[.*,\s*(\d+)\s*\]", master)
    return {"spark.executor.memory": f"{found[1]}m"} if found else {}

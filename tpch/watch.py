"""Tell how far a running Spark job is, so that a long one does not look stuck."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator

from pyspark import SparkContext

_EVERY_SECONDS = 0.5


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

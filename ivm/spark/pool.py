"""The pool of Python workers that a database has to itself.

Spark keeps idle workers by what environment they were started with, so a variable of our own keeps all other jobs out
of the workers that hold shards, and ours out of theirs.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark import SparkContext

from ivm.spark.daemon import IMPORTS, POOL

_lock = threading.Lock()


@dataclass(frozen=True)
class Pool:
    """Workers by name, and what they import before they are forked if the daemon is ours."""

    name: str
    imports: tuple[str, ...]

    @contextmanager
    def of(self, context: SparkContext) -> Iterator[None]:
        """Functions that are given to Spark within the block run in this pool."""
        ours = {POOL: self.name, IMPORTS: ",".join(self.imports)}
        with _lock:  # one environment for all threads of the driver
            context.environment.update(ours)
            try:
                yield
            finally:
                for name in ours:
                    del context.environment[name]

"""The pool of Python workers that a database has to itself.

Spark keeps idle workers by what environment they were started with, so a variable of our own keeps all other jobs out
of the workers that hold shards, and ours out of theirs. The pool of a database that is closed is the next one's: its
workers have imported everything already.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count

from pyspark import SparkContext

from ivm.spark.daemon import IMPORTS, POOL
from ivm.spark.keeper import KEPT, THREADS

_lock = threading.Lock()
_taken: set[str] = set()
INGESTING = "ingest"
"""The pool of workers that hold no shard, which all databases of an application share."""


def taken() -> str:
    """The name of a pool that no database has; `release` gives it back."""
    with _lock:
        name = next(name for name in map(str, count()) if name not in _taken)
        _taken.add(name)
        return name


def release(name: str) -> None:
    """Another database may have the pool of this name."""
    with _lock:
        _taken.discard(name)


@dataclass(frozen=True)
class Pool:
    """Workers by name, and what they import before they are forked if the daemon is ours.

    `is_kept`: whether their tasks run in one process of each executor; see `ivm.spark.keeper`. `threads`: with how many
    a shard works there.
    """

    name: str
    imports: tuple[str, ...]
    is_kept: bool = False
    threads: int = 1

    @contextmanager
    def of(self, context: SparkContext) -> Iterator[None]:
        """Functions that are given to Spark within the block run in this pool."""
        ours = {POOL: self.name, IMPORTS: ",".join(self.imports)}
        if self.is_kept:
            ours |= {KEPT: "1", THREADS: str(self.threads)}
        with _lock:  # one environment for all threads of the driver
            context.environment.update(ours)
            try:
                yield
            finally:
                for name in ours:
                    del context.environment[name]

"""The process that Spark forks Python workers of, where `spark.python.daemon.module` names this module.

Workers of shards find the engine imported when they are forked, and share its memory. All others start as Spark's own.
"""

from __future__ import annotations

import gc
import os
from importlib import import_module

from pyspark import daemon

from ivm.spark.home import is_held
from ivm.spark.keeper import EXECUTOR, KEPT, Relay

POOL = "IVM_POOL"
"""The variable that names a pool of workers; whoever has another value, or none, has other workers."""
IMPORTS = "IVM_IMPORTS"
"""The variable that lists the modules which workers of a pool need."""


def main() -> None:
    """Import what the pool's workers will need, then fork them when Spark asks."""
    for name in filter(None, os.environ.get(IMPORTS, "").split(",")):
        import_module(name)
    if POOL in os.environ:
        gc.freeze()
    if KEPT in os.environ:
        os.environ[EXECUTOR] = str(os.getpid())
        setattr(daemon, "worker", Relay(daemon.worker, is_held))  # noqa: B010  by which it runs tasks, whatever its type
    daemon.manager()


if __name__ == "__main__":
    main()

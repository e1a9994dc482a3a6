"""Databases whose shards are on a Spark cluster: `ivm.spark.connect`; and what Spark needs to read from databases that
are not: `spark.dataSource.register(ivm.spark.ViewChanges)`.

It needs pyspark 4.3, which comes with `ivm-engine[spark]`; nothing else of `ivm` imports it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ivm.spark.database import SparkDatabase, SparkView, connect
    from ivm.spark.source import ViewChanges

__all__ = ["SparkDatabase", "SparkView", "ViewChanges", "connect"]

_DATABASE = "ivm.spark.database"
_PLACES = {
    "SparkDatabase": _DATABASE,
    "SparkView": _DATABASE,
    "ViewChanges": "ivm.spark.source",
    "connect": _DATABASE,
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'ivm.spark' has no attribute {name!r}")
    try:
        return getattr(import_module(_PLACES[name]), name)
    except ModuleNotFoundError as error:
        if error.name != "pyspark":
            raise
        said = "cannot use ivm.spark: pyspark is not installed; install ivm-engine[spark]"
        raise ModuleNotFoundError(said, name=error.name) from None

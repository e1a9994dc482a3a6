"""What is loaded and cannot be counted is not said to have failed; it needs no Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest

import ivm
from ivm.catalog.errors import ClusterError, StorageError
from ivm.cluster.database import ShardedCore
from ivm.cluster.file_parts import FileParts
from ivm.session.database import core_of
from ivm.spark import loader
from ivm.spark.loader import Loader
from ivm.spark.scans import LARGE_SCAN


def test_rows_that_cannot_be_counted_are_said_to_be_there():
    with ivm.connect(shards=2, compile="off") as db:
        db.sql("CREATE TABLE t (a BIGINT)")
        core = core_of(db)
        assert isinstance(core, ShardedCore)

        def fails(*given: Any) -> None:
            raise StorageError("no answer")

        def commits(*given: Any) -> None:
            db.apply({"t": [{"a": 1}]})
            core.driver.transport.ask = fails  # type: ignore[method-assign,assignment]

        with (
            patch.object(loader, "carrier_of", lambda driver: SimpleNamespace()),
            patch.object(core.driver, "commit_frames", commits),
            pytest.raises(
                ClusterError, match=r"all rows were loaded into table t, but cannot be counted now: no answer"
            ),
        ):
            Loader(core)._insert(core.catalog.table("t"), FileParts([], LARGE_SCAN, []))
        del core.driver.transport.ask
        assert db.sql("SELECT a FROM t").fetchall() == [(1,)]

"""Compile the kernels that views need, or load them from their cache, before anything is measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

import pyarrow as pa

import ivm
from tpch import queries
from tpch.reader import Stream
from tpch.schema import ddl

_ROWS = 2_000


def warm_up(
    stream: Stream, base: Mapping[str, pa.Table], views: Sequence[str], *, sharing: bool, coalesce: bool
) -> None:
    """Run every view over a few rows in a database that is then dropped, installed before and after they came.

    `base` is the stream's.
    """
    db = ivm.connect(compile="wait", sharing=sharing)
    db.sql(ddl())
    for view in views:
        db.sql(queries.view_sql(view))
    if base:
        db.apply(_few(base))
    for batch in islice(stream.batches(_ROWS // 2, coalesce=coalesce, ahead=False), 2):
        db.apply(_few(batch.tables))
    for view in views:
        db.sql(f"DROP VIEW {view}")
        db.sql(queries.view_sql(view))
        db.view(view).arrow()


def _few(tables: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    return {name: table.slice(0, _ROWS) for name, table in tables.items()}

"""Compile the kernels that views need, or load them from their cache, before anything is measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

import numpy as np
import pyarrow as pa

from ivm.benchmarks.engine import connect
from ivm.tpch import queries
from ivm.tpch.reader import Stream
from ivm.tpch.schema import DIFF, TIME, ddl

_ROWS = 2_000


def warm_up(
    stream: Stream,
    base: Mapping[str, pa.Table],
    views: Sequence[str],
    *,
    sharing: bool = True,
    coalesce: bool = True,
    threads: int = 1,
) -> None:
    """Run every view over a few rows in a database that is then dropped, installed before and after they came.

    `base` is the stream's. Half of its few rows go and come again, each at a time of its own unless `coalesce`; what
    the stream itself does to them need not fit them. A relation without a base has its first changes.
    """
    db = connect(threads, sharing=sharing)
    db.sql(ddl())
    for view in views:
        db.sql(queries.view_sql(view))
    few = _few(base)
    if few:
        db.apply(few)
    others = [name for name in stream.manifest.relations if name not in base]
    for batch in islice(stream.batches(_ROWS // 2, others, coalesce=coalesce, ahead=False), 2):
        if batch.tables:
            db.apply(_few(batch.tables))
    for diff in (-1, 1) if few else ():
        db.apply({name: _half(rows, diff, None if coalesce else db.time + 1) for name, rows in few.items()})
    for view in views:
        db.sql(f"DROP VIEW {view}")
        db.sql(queries.view_sql(view))
        db.view(view).arrow()


def _few(tables: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    return {name: table.slice(0, _ROWS) for name, table in tables.items()}


def _half(rows: pa.Table, diff: int, first: int | None) -> pa.Table:
    """The first half of the rows as changes, one a time from `first` on, or without times."""
    half = rows.slice(0, rows.num_rows // 2)
    if first is not None:
        half = half.append_column(TIME, pa.array(np.arange(first, first + half.num_rows)))
    return half.append_column(DIFF, pa.array(np.full(half.num_rows, diff)))

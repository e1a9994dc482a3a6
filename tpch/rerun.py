"""What it would cost without the engine: running every view's query again in DuckDB."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence

import duckdb

import ivm
from ivm.duck import Use, connection
from tpch import queries

RUNS = 3


def rerun_seconds(db: ivm.Database, views: Sequence[str]) -> float:
    """How long DuckDB takes to run the queries of `views` once, one after the other, over the present tables.

    The median of RUNS runs, after one that is not counted, on all cores and over DuckDB's own tables: as a user would
    run them who keeps the data there. Cost: a copy of the tables that the views read, and the runs.
    """
    with connection(Use.OWN) as other:
        for relation in sorted({name for view in views for name in queries.reads(view)}):
            other.register("present", db.sql(f"SELECT * FROM {relation}").arrow())
            other.execute(f"CREATE TEMP TABLE {relation} AS FROM present")
            other.unregister("present")
        _run_once(other, views)
        return statistics.median(_run_once(other, views) for _ in range(RUNS))


def _run_once(other: duckdb.DuckDBPyConnection, views: Sequence[str]) -> float:
    started = time.perf_counter()
    for view in views:
        other.execute(queries.text(view)).fetchall()
    return time.perf_counter() - started

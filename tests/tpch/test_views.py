"""The delivered views equal DuckDB after every batch of every stream, at scale factor 0.01."""

from __future__ import annotations

from pathlib import Path

import pytest

import ivm
from tpch.options import STREAMS
from tpch.queries import NAMES, view_sql
from tpch.reader import Stream, open_stream
from tpch.schema import ddl

BATCHES = 6
CASES = [
    pytest.param(name, coalesce, early, marks=[] if (number + coalesce + early) % 2 else pytest.mark.slow)
    for number, name in enumerate(STREAMS)
    for coalesce in (False, True)
    for early in (False, True)
]
"""Half of all, so that any two things meet: a stream, whether times are coalesced, and when views are installed."""


def _database(stream: Stream, early: bool) -> ivm.Database:
    """The views installed before (`early`) or after the base snapshot is loaded."""
    db = ivm.connect(compile="wait" if early else "off")
    db.sql(ddl())
    if early:
        _install(db)
    base = stream.base()
    if base:
        db.apply(base)
    if not early:
        _install(db)
    return db


def _install(db: ivm.Database) -> None:
    for name in NAMES:
        db.sql(view_sql(name))


@pytest.mark.parametrize(("name", "coalesce", "early"), CASES)
def test_views_equal_duckdb_after_every_batch(larger_streams: Path, name: str, coalesce: bool, early: bool) -> None:
    stream = open_stream(larger_streams / name)
    db = _database(stream, early)
    times = -(-(stream.manifest.last_time - stream.manifest.first_time + 1) // BATCHES)
    filled: set[str] = set()
    for batch in stream.batches(times, coalesce=coalesce):
        db.apply(batch.tables)
        filled |= {verified.view for verified in db.verify() if not verified.empty}
    assert filled == set(NAMES)

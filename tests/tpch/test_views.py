"""The delivered views equal DuckDB after every batch of every stream, at scale factor 0.01."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

import ivm
from ivm.tpch.options import STREAMS
from ivm.tpch.queries import NAMES, view_sql
from ivm.tpch.reader import Stream, open_stream
from ivm.tpch.schema import ddl
from tests.more import by_day, with_more

BATCHES = 6
ALL = list(product(STREAMS, (False, True), (False, True)))
SOME = [case for case in ALL if (STREAMS.index(case[0]) + case[1] + case[2]) % 2]
"""Half of all, so that any two things meet: a stream, whether times are coalesced, which is so every other day, and when
views are installed."""


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


@pytest.mark.parametrize("case", with_more(by_day(SOME, 2), [case for case in ALL if case not in SOME]), ids=str)
def test_views_equal_duckdb_after_every_batch(larger_streams: Path, case: tuple[str, bool, bool]) -> None:
    name, coalesce, early = case
    stream = open_stream(larger_streams / name)
    db = _database(stream, early)
    times = -(-(stream.manifest.last_time - stream.manifest.first_time + 1) // BATCHES)
    filled: set[str] = set()
    for batch in stream.batches(times, coalesce=coalesce):
        db.apply(batch.tables)
        filled |= {verified.view for verified in db.verify() if not verified.empty}
    assert filled == set(NAMES)

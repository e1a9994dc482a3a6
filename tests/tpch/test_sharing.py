"""The 22 views share and share nothing: the same answers over every stream, and nothing stays when they are gone."""

from __future__ import annotations

import random
from collections import Counter
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pytest

import ivm
from ivm.plan.existing import Existing
from ivm.session.core import engine_of
from ivm.session.database import core_of
from ivm.tpch.options import STREAMS
from ivm.tpch.queries import NAMES, view_sql
from ivm.tpch.reader import Stream, StreamBatch, open_stream
from ivm.tpch.schema import ddl
from tests.more import by_day, with_more

HELD = "SELECT arrangement, kind, rows, views FROM ivm_arrangements ORDER BY ALL"


def database(*, sharing: bool) -> ivm.Database:
    db = ivm.connect(compile="off", sharing=sharing)
    db.sql(ddl())
    return db


def contents(db: ivm.Database, name: str) -> Counter[tuple[object, ...]]:
    """A view's rows as a multiset; DOUBLE is exact in both, so nothing is rounded."""
    return Counter(db.view(name).fetchall())


def times_of(stream: Stream, batches: int) -> int:
    return -(-stream.manifest.times // batches)


def entries(db: ivm.Database) -> int:
    return int(db.sql("SELECT sum(entries)::BIGINT FROM ivm_arrangements").fetchall()[0][0])


def compare(stream: Stream, batches: int, order: list[str], *, coalesce: bool) -> None:
    """Install the views in different orders around the base, and compare after each batch."""
    shared, apart = database(sharing=True), database(sharing=False)
    for db, names in ((shared, order), (apart, order[::-1])):
        for name in names[::2]:
            db.sql(view_sql(name))
        base = stream.base()
        if base:
            db.apply(base)
        for name in names[1::2]:
            db.sql(view_sql(name))
    filled: set[str] = set()
    for batch in stream.batches(times_of(stream, batches), coalesce=coalesce):
        for db in (shared, apart):
            db.apply(batch.tables)
        for name in NAMES:
            rows = contents(shared, name)
            assert rows == contents(apart, name), name
            filled |= {name} if rows else set()
    assert filled == set(NAMES)
    assert entries(apart) > 2 * entries(shared)
    shared.verify()


@pytest.mark.parametrize("name", with_more(by_day(["load", "refresh"], 2), ["churn", "window"]))
def test_the_same_answers_from_more_state(larger_streams: Path, name: str) -> None:
    order = random.Random(name).sample(NAMES, len(NAMES))
    compare(open_stream(larger_streams / name), 3, order, coalesce=name in ("load", "churn"))


@pytest.mark.slow
@pytest.mark.parametrize("coalesce", [False, True], ids=["every-time", "coalesced"])
@pytest.mark.parametrize("name", STREAMS)
def test_the_same_answers_in_small_batches(larger_streams: Path, name: str, coalesce: bool) -> None:
    order = random.Random(f"{name} {coalesce}").sample(NAMES, len(NAMES))
    compare(open_stream(larger_streams / name), 60, order, coalesce=coalesce)


def commit(db: ivm.Database, batches: list[StreamBatch], chance: random.Random) -> None:
    """A batch on most occasions, and sometimes one that fails and is undone."""
    if batches and chance.random() < 0.7:
        db.apply(batches.pop(0).tables)
    elif chance.random() < 0.3:
        with pytest.raises(ivm.ConstraintError):
            db.apply({"nation": pa.concat_tables([engine_of(core_of(db)).tables["nation"].arrow()] * 2)})


@pytest.mark.parametrize("sharing", [True, False], ids=["shared", "apart"])
@pytest.mark.parametrize("seed", with_more([0], [1, 2]))
def test_nothing_is_left_of_views_in_any_order(streams: Path, seed: int, sharing: bool) -> None:
    chance = random.Random(seed)
    db = database(sharing=sharing)
    stream = open_stream(streams / chance.choice(("refresh", "churn", "window")))
    db.apply(stream.base())
    batches = list(islice(stream.batches(times_of(stream, 30), coalesce=chance.random() < 0.5), 30))
    before = db.sql(HELD).fetchall()
    for name in chance.sample(NAMES, len(NAMES)):
        db.sql(view_sql(name))
        commit(db, batches, chance)
    db.verify()
    for name in chance.sample(NAMES, len(NAMES)):
        db.sql(f"DROP VIEW {name}")
        commit(db, batches, chance)
        if chance.random() < 0.3:  # and back again, among those that are still there
            db.sql(view_sql(name))
            db.sql(f"DROP VIEW {name}")
    engine = engine_of(core_of(db))
    assert engine.renderer.graph.nodes == []
    assert list(engine.rendered()) == []
    assert engine.renderer.existing == Existing()
    assert [*engine.renderer.sources, *engine.renderer.views, *engine.views] == []
    for store in engine.tables.values():
        assert [each is store.primary for each in store.arrangements()] == [True]
    after = db.sql(HELD).fetchall()
    assert [(a, kind, views) for a, kind, _, views in after] == [(a, kind, views) for a, kind, _, views in before]
    tables = sum(store.size().bytes for store in engine.tables.values())
    assert engine.state_bytes() == tables + engine.text_bytes()

"""A source that sends again what it has sent: however often and from wherever, the views end as if it had not."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ivm

Event = tuple[int, int | None]
"""A key, and its new value; None: it goes."""


def _database() -> ivm.Database:
    db = ivm.connect(compile="off")
    db.sql(
        """CREATE TABLE t (id BIGINT PRIMARY KEY, x INTEGER NOT NULL, s VARCHAR NOT NULL);
        CREATE TABLE u (id BIGINT PRIMARY KEY, x INTEGER NOT NULL);
        CREATE MATERIALIZED VIEW by_x AS SELECT x, count(*) AS n, max(s) AS s FROM t GROUP BY x;
        CREATE MATERIALIZED VIEW top AS SELECT id, x FROM t ORDER BY x DESC, id LIMIT 3;
        CREATE MATERIALIZED VIEW pairs AS SELECT t.id, t.x, u.x AS y FROM t LEFT JOIN u ON t.id = u.id"""
    )
    return db


def rows(events: list[Event], form: str) -> Any:
    if form == "dicts":
        return [
            {"id": id_, "_diff": -1} if x is None else {"id": id_, "x": x, "s": f"s{x}", "_diff": 1}
            for id_, x in events
        ]
    values = [x for _, x in events]
    return pa.table(
        {
            "id": pa.array([id_ for id_, _ in events], pa.int64()),
            "x": pa.array(values, pa.int32()),
            "s": pa.array([None if x is None else f"s{x}" for x in values], pa.string()),
            "_diff": pa.array([-1 if x is None else 1 for x in values], pa.int64()),
        }
    )


def replay(contents: dict[int, int], events: list[Event]) -> None:
    """What the events make of a table."""
    for id_, x in events:
        contents.pop(id_, None)
        if x is not None:
            contents[id_] = x


EVENTS = st.lists(st.tuples(st.integers(0, 6), st.one_of(st.none(), st.integers(0, 4))), max_size=12)
BATCHES = st.lists(EVENTS, min_size=1, max_size=5)


@settings(max_examples=30)
@given(
    batches=BATCHES,
    restarts=st.lists(st.tuples(st.integers(0, 4), st.integers(1, 4)), max_size=3),
    form=st.sampled_from(["dicts", "arrow"]),
)
def test_a_stream_that_is_sent_again_ends_in_the_same_views(
    batches: list[list[Event]], restarts: list[tuple[int, int]], form: str
) -> None:
    """It is sent for some batches, then from a checkpoint some batches back, and so on, and at last to its end."""
    sent, reached = list[int](), 0
    for forth, back in restarts:
        sent += range(reached, min(reached + forth, len(batches)))
        reached = max(min(reached + forth, len(batches)) - back, 0)
    db, expected = _database(), dict[int, int]()
    for number in [*sent, *range(reached, len(batches))]:
        db.apply({"t": rows(batches[number], form)}, mode="upsert")
    for events in batches:
        replay(expected, events)
    assert dict(db.sql("SELECT id, x FROM t").fetchall()) == expected
    db.verify()


@settings(max_examples=20)
@given(batches=BATCHES, again=st.integers(1, 3))
def test_a_batch_that_is_sent_again_changes_nothing(batches: list[list[Event]], again: int) -> None:
    db = _database()
    with db.subscribe("by_x") as changes:
        for events in batches:
            db.apply({"t": rows(events, "arrow")}, mode="upsert")
            changes.fetch()
            before = sorted(db.view("pairs").fetchall(), key=str)
            for _ in range(again):
                db.apply({"t": rows(events, "arrow")}, mode="upsert")
            assert changes.fetch().num_rows == 0
            assert sorted(db.view("pairs").fetchall(), key=str) == before
    db.verify()


@settings(max_examples=40)
@given(events=EVENTS, times=st.lists(st.integers(1, 4), min_size=12, max_size=12))
def test_each_time_is_as_if_committed_alone(events: list[Event], times: list[int]) -> None:
    """Within a time rows count in their order, and times in theirs, wherever they stand in the batch."""
    db, expected = _database(), dict[int, int]()
    given = rows(events, "arrow").append_column("_time", pa.array(times[: len(events)], pa.int64()))
    db.apply({"t": given}, mode="upsert")
    replay(expected, [event for event, _ in sorted(zip(events, times, strict=False), key=lambda pair: pair[1])])
    assert dict(db.sql("SELECT id, x FROM t").fetchall()) == expected
    db.verify()


def test_diffs_count_by_their_sign_and_tables_together() -> None:
    db = _database()
    db.apply(
        {"t": {"id": [1, 2], "x": [1, 1], "s": ["a", "b"], "_diff": [3, 1]}, "u": [{"id": 1, "x": 9}]}, mode="upsert"
    )
    assert sorted(db.view("pairs").fetchall()) == [(1, 1, 9), (2, 1, None)]
    db.apply({"t": {"id": [1, 5], "_diff": [-4, -1]}, "u": [{"id": 1, "x": 8}, {"id": 2, "x": 7}]}, mode="upsert")
    assert db.view("pairs").fetchall() == [(2, 1, 7)]
    with pytest.raises(ivm.ConstraintError, match="_time 1 is not later"):
        db.apply({"t": {"id": [1], "x": [1], "s": ["a"], "_time": [1]}}, mode="upsert")
    db.verify()


def test_what_a_replay_leaves_keeps_its_own_history_and_declarations() -> None:
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE e (id BIGINT PRIMARY KEY, x INTEGER) WITH (append_only = true)")
    db.apply({"e": [{"id": 1, "x": 1}, {"id": 2, "x": 1}]}, mode="upsert")
    with pytest.raises(ivm.ConstraintError, match="append-only"):
        db.apply({"e": [{"id": 2, "x": 1}]}, mode="upsert")
    db.apply({"e": [{"id": 9, "_diff": -1}]}, mode="upsert")
    assert db.sql("SELECT count(*) FROM e").fetchall() == [(2,)]

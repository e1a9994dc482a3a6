"""Views of every aggregate against DuckDB, after each of many random changes, and the laws that they keep."""

from __future__ import annotations

from functools import cache
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import ivm
from tests.aggregates.world import ROWS, TABLE, VIEWS, Row


def connect() -> ivm.Database:
    db = ivm.connect(compile="off")
    db.sql(TABLE)
    return db


def install(db: ivm.Database) -> None:
    for name, text in VIEWS.items():
        db.sql(f"CREATE MATERIALIZED VIEW {name} AS {text}")


def batch(db: ivm.Database, changes: list[tuple[Row, int, int]]) -> pa.Table:
    """Changes as (row, time, diff)."""
    table = pa.Table.from_pylist([row for row, _, _ in changes], schema=db.sql("SELECT * FROM t").schema)
    table = table.append_column("_time", pa.array([time for _, time, _ in changes], pa.int64()))
    return table.append_column("_diff", pa.array([diff for _, _, diff in changes], pa.int64()))


def draw_changes(data: st.DataObject, held: dict[int, Row], time: int) -> list[tuple[Row, int, int]]:
    """Deletes of rows that are there, then inserts of keys that are not."""
    gone = data.draw(st.sets(st.sampled_from(sorted(held)), max_size=4)) if held else set()
    changes = [(held.pop(key), time, -1) for key in sorted(gone)]
    for row in data.draw(st.lists(ROWS, max_size=7)):
        if row["id"] not in held:
            held[row["id"]] = row
            changes.append((row, time, 1))
    return changes


def contents(db: ivm.Database) -> dict[str, Any]:
    return {name: sorted(map(repr, db.view(name).fetchall())) for name in VIEWS}


@settings(deadline=None, max_examples=3, phases=[Phase.explicit, Phase.generate])
@given(st.data())
def test_views_equal_duckdb_after_each_step(data):
    db, late = connect(), connect()
    install(db)
    held: dict[int, Row] = {}
    changes = []
    for time in range(1, 1 + data.draw(st.integers(2, 4))):
        step = draw_changes(data, held, time)
        changes += step
        if step:
            db.apply({"t": batch(db, step)})
        db.verify()
    # One batch of all times, and installing after it, come to the same.
    if changes:
        late.apply({"t": batch(late, changes)})
    install(late)
    late.verify()
    assert contents(late) == contents(db)
    back = [(row, 9, -1) for row in held.values()]
    if back:
        db.apply({"t": batch(db, back)})
    db.verify()
    assert contents(db) == _contents_of_nothing()


@cache
def _contents_of_nothing() -> dict[str, Any]:
    db = connect()
    install(db)
    return contents(db)


@settings(deadline=None, max_examples=4, phases=[Phase.explicit, Phase.generate])
@given(st.data())
def test_one_batch_of_many_times_has_the_changes_of_each(data):
    apart, together = connect(), connect()
    held: dict[int, Row] = {}
    steps = [draw_changes(data, held, time) for time in range(1, 5)]
    logs = []
    for db in (apart, together):
        install(db)
    subs = [{name: db.subscribe(name) for name in VIEWS} for db in (apart, together)]
    for step in steps:
        if step:
            apart.apply({"t": batch(apart, step)})
    if any(steps):
        together.apply({"t": batch(together, [change for step in steps for change in step])})
    for each in subs:
        logs.append({name: sorted(map(repr, sub.fetch().to_pylist())) for name, sub in each.items()})
    assert logs[0] == logs[1]


@pytest.mark.parametrize("name", VIEWS)
def test_types_are_duckdbs(name):
    db = connect()
    db.sql(f"CREATE MATERIALIZED VIEW {name} AS {VIEWS[name]}")
    found = db.view(name).arrow().schema.types
    assert found == db.sql(VIEWS[name]).arrow().schema.types or "HUGEINT" not in str(found)

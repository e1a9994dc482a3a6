"""Four laws, for whole queries: right at every time; many small steps equal one big one; the order of updates within a
time does not matter; what is inserted and retracted leaves nothing behind."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ivm
from tests.engine.world import VIEWS, Step, Tables, apply_step, batch, connect, install

RELAXED = settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
FEW = settings(RELAXED, max_examples=3)


@RELAXED
@given(data=st.data())
def test_every_view_is_right_after_every_commit(data: st.DataObject) -> None:
    _right_after_every_commit("off", data)


@FEW
@given(data=st.data())
def test_so_it_is_where_loops_are_compiled(data: st.DataObject) -> None:
    _right_after_every_commit("wait", data)


def _right_after_every_commit(compile: Any, data: st.DataObject) -> None:
    db, tables = connect(compile=compile), Tables()
    install(db)
    for _ in range(data.draw(st.integers(1, 6))):
        apply_step(db, tables.draw_step(data))
        db.verify()


@RELAXED
@given(data=st.data())
def test_hydrated_views_are_right_and_stay_right(data: st.DataObject) -> None:
    db, tables = connect(compile="off"), Tables()
    apply_step(db, tables.draw_step(data))
    apply_step(db, tables.draw_step(data))
    install(db)
    db.verify()
    apply_step(db, tables.draw_step(data))
    db.verify()


def _log(db: ivm.Database, subscriptions: dict[str, ivm.Subscription]) -> dict[str, Counter[tuple[Any, ...]]]:
    """For each view its changes as a bag of (row, time), with their diffs."""
    logs = {}
    for name, subscription in subscriptions.items():
        log: Counter[tuple[Any, ...]] = Counter()
        for row in subscription.fetch().to_pylist():
            diff = row.pop("_diff")
            log[tuple(repr(value) for value in row.values())] += diff
        logs[name] = Counter({row: diff for row, diff in log.items() if diff})
    return logs


@pytest.mark.parametrize("compile", ["off", "wait"])
@FEW
@given(data=st.data())
def test_one_batch_of_many_times_changes_views_as_many_commits_do(compile: Any, data: st.DataObject) -> None:
    tables = Tables()
    steps = [tables.draw_step(data) for _ in range(data.draw(st.integers(2, 5)))]
    slow, fast = connect(compile=compile), connect(compile=compile)
    install(slow)
    install(fast)
    slow_logs = {name: slow.subscribe(name) for name in VIEWS}
    fast_logs = {name: fast.subscribe(name) for name in VIEWS}
    for step in steps:
        apply_step(slow, step)
    merged = {
        name: batch(
            fast,
            name,
            [change for step in steps for change in step[name]],
            [time for time, step in enumerate(steps, 1) for _ in step[name]],
        )
        for name in steps[0]
    }
    fast.apply(merged)
    fast.verify()
    expected, found = _log(slow, slow_logs), _log(fast, fast_logs)
    if fast.time == slow.time:
        for name in VIEWS:
            assert found[name] == expected[name], name


@RELAXED
@given(data=st.data(), seed=st.randoms())
def test_order_within_a_time_does_not_matter(data: st.DataObject, seed: Any) -> None:
    tables = Tables()
    steps = [tables.draw_step(data) for _ in range(3)]
    one, other = connect(compile="off"), connect(compile="off")
    install(one)
    install(other)
    for step in steps:
        apply_step(one, step)
        shuffled: Step = {name: seed.sample(changes, len(changes)) for name, changes in step.items()}
        apply_step(other, dict(seed.sample(list(shuffled.items()), len(shuffled))))
    for name in VIEWS:
        assert sorted(map(repr, one.view(name).fetchall())) == sorted(map(repr, other.view(name).fetchall())), name


@RELAXED
@given(data=st.data())
def test_retracting_everything_leaves_nothing(data: st.DataObject) -> None:
    db, tables = connect(compile="off"), Tables()
    install(db)
    empty = {name: db.view(name).fetchall() for name in VIEWS}
    for _ in range(data.draw(st.integers(1, 4))):
        apply_step(db, tables.draw_step(data))
    apply_step(db, tables.clear_step())
    assert {name: db.view(name).fetchall() for name in VIEWS} == empty
    db.verify()


@RELAXED
@given(data=st.data())
def test_a_failed_commit_leaves_everything_as_it_was(data: st.DataObject) -> None:
    db, tables = connect(compile="off"), Tables()
    install(db)
    for _ in range(2):
        apply_step(db, tables.draw_step(data))
    before = {name: sorted(map(repr, db.view(name).fetchall())) for name in VIEWS}
    subscriptions = {name: db.subscribe(name) for name in VIEWS}
    step = tables.draw_step(data)
    absent = {"id": 99, "name": "x", "city": None, "balance": 1, "score": None}
    step["customers"] = [*step["customers"], (absent, -1)]
    with pytest.raises(ivm.ConstraintError):
        apply_step(db, step)
    assert {name: sorted(map(repr, db.view(name).fetchall())) for name in VIEWS} == before
    assert all(subscription.fetch().num_rows == 0 for subscription in subscriptions.values())
    db.verify()
    step["customers"].pop()
    apply_step(db, step)
    db.verify()

"""Payloads of changes, as a shard puts together what has come in."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import ivm
from ivm.cluster.wire import changes_in, changes_payload
from ivm.engine.transaction import Change
from ivm.session.database import core_of

OLD, NEW = {"id": [1, 2], "name": ["a", "b"]}, {"id": [1, 2], "name": ["c", "d"]}


@pytest.fixture
def db():
    with ivm.connect(compile="off") as db:
        db.sql("CREATE TABLE t (id BIGINT PRIMARY KEY, name VARCHAR)")
        db.sql("CREATE TABLE u (id BIGINT PRIMARY KEY)")
        yield db


def change(db, name, rows, diff=None, **more):
    table = core_of(db).catalog.table(name)
    data = pa.table({column: pa.array(values) for column, values in rows.items()})
    diffs = None if diff is None else np.full(data.num_rows, diff, np.int64)
    return Change(table, data, None, diffs, **more)


def listed(numbers):
    return numbers.tolist()


def test_rows_that_go_may_come_in_after_those_in_whose_place_they_are(db):
    db.apply({"t": pa.table(OLD)})
    catalog = core_of(db).catalog
    for order in ((0, 1, 2), (2, 1, 0), (1, 0, 2)):
        changes = change(db, "t", NEW), change(db, "t", OLD, -1), change(db, "u", {"id": [1]})
        payloads = [changes_payload([changes[i]], 0) for i in order]
        found = {each.table.name: each for each in changes_in(payloads, catalog)}
        assert len(found) == 2
        rows = zip(found["t"].data.column("name").to_pylist(), listed(found["t"].diffs), strict=True)
        assert sorted(rows) == [("a", -1), ("b", -1), ("c", 1), ("d", 1)]
        assert found["u"].diffs is None
        assert core_of(db).engine.commit(list(found.values())) == db.time
        assert db.sql("SELECT name FROM t ORDER BY id").fetchall() == [("c",), ("d",)]
        db.apply({"t": pa.table({**NEW, "_diff": [-1, -1]})})
        db.apply({"t": pa.table(OLD), "u": pa.table({"id": [1], "_diff": [-1]})})


def test_what_differs_by_mode_or_times_stays_apart(db):
    times = np.array([7, 8])
    changes = [
        change(db, "t", OLD, 1, times=times),
        change(db, "t", NEW, 1, times=times + 2),
        change(db, "t", NEW),
        change(db, "t", OLD, mode="upsert", missing="ignore"),
        change(db, "t", {"id": [1]}, -1),
    ]
    found = changes_in([changes_payload([each], 9) for each in changes], core_of(db).catalog)
    assert [each.data.num_rows for each in found] == [4, 3, 2]
    assert listed(found[0].times) == [7, 8, 9, 10]
    assert [each.mode for each in found] == ["diff", "diff", "upsert"]


def test_keys_that_go_are_with_whole_rows(db):
    db.apply({"t": {"id": [1], "name": ["a"]}})
    whole = change(db, "t", {"id": [2], "name": ["b"]}, 1, times=np.array([5]))
    for keys in ({"id": [2]}, {"id": [1]}):
        gone = change(db, "t", keys, -1, times=np.array([7]))
        for payloads in ((whole, gone), (gone, whole)):
            (found,) = changes_in([changes_payload([each], 7) for each in payloads], core_of(db).catalog)
            assert found.data.column_names == ["id", "name"]
            core_of(db).engine.commit([found], trial=[])


def test_changes_of_one_payload_keep_their_order(db):
    changes = [change(db, "t", OLD), change(db, "t", OLD, -1), change(db, "t", NEW)]
    found = changes_in([changes_payload(changes, 0)], core_of(db).catalog)
    assert [each.data.num_rows for each in found] == [2, 2, 2]

"""Payloads of changes, as a shard puts together what has come in."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import ivm
from ivm.catalog.types import BIGINT, VARCHAR
from ivm.cluster.protocol import wire
from ivm.cluster.protocol.routing import Address
from ivm.cluster.protocol.wire import Said, changes_in, channels_in, heard_in, messages_of, said_of
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


def through(messages, catalog):
    """Changes, as the only shard hears of them that there is."""
    payloads = [each.payload for changes in messages for each in messages_of(said_of(changes), 1, 1)]
    return changes_in(heard_in(payloads)[0], catalog)


def listed(numbers):
    return numbers.tolist()


def test_rows_that_go_may_come_in_after_those_in_whose_place_they_are(db):
    db.apply({"t": pa.table(OLD)})
    catalog = core_of(db).catalog
    for order in ((0, 1, 2), (2, 1, 0), (1, 0, 2)):
        changes = change(db, "t", NEW), change(db, "t", OLD, -1), change(db, "u", {"id": [1]})
        found = {each.table.name: each for each in through([[changes[i]] for i in order], catalog)}
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
    found = through([[each] for each in changes], core_of(db).catalog)
    assert [each.data.num_rows for each in found] == [4, 3, 2]
    assert listed(found[0].times) == [7, 8, 9, 10]
    assert [each.mode for each in found] == ["diff", "diff", "upsert"]


def test_keys_that_go_are_with_whole_rows(db):
    db.apply({"t": {"id": [1], "name": ["a"]}})
    whole = change(db, "t", {"id": [2], "name": ["b"]}, 1, times=np.array([5]))
    for keys in ({"id": [2]}, {"id": [1]}):
        gone = change(db, "t", keys, -1, times=np.array([7]))
        for payloads in ((whole, gone), (gone, whole)):
            (found,) = through([[each] for each in payloads], core_of(db).catalog)
            assert found.data.column_names == ["id", "name"]
            core_of(db).engine.check([found])


def test_changes_of_one_payload_keep_their_order(db):
    changes = [change(db, "t", OLD), change(db, "t", OLD, -1), change(db, "t", NEW)]
    found = through([changes], core_of(db).catalog)
    assert [each.data.num_rows for each in found] == [2, 2, 2]


ROWS = 50_000
BY_NUMBER = Address((0,), (BIGINT,))


@pytest.mark.parametrize("rows", [1, 40, ROWS])
@pytest.mark.parametrize(("shards", "groups"), [(1, 1), (7, 1), (7, 3), (7, 7), (300, 2)])
def test_each_shard_hears_what_is_for_it_whoever_says_it(rows, shards, groups):
    chance = np.random.default_rng(rows + shards)
    said, expected = [], [Counter[int]() for _ in range(shards)]
    for sender in range(3):
        numbers = batch(chance.integers(0, 1 << 40, rows))
        said.append(Said("a", numbers, BY_NUMBER._replace(beyond=sender)))
        to = (BY_NUMBER.shards(numbers, shards) + sender) % shards
        for shard, number in zip(to.tolist(), numbers.column(0).to_pylist(), strict=True):
            expected[shard][number] += 1
        said += [Said("all", batch(np.array([sender])), None), Said("none", numbers.slice(0, 0), BY_NUMBER)]
    messages = messages_of(said, shards, groups)
    assert [each.to for each in messages] == list(range(groups)), "one for each"
    for to, payload in messages:
        found = heard_in([payload])
        assert sorted(found) == list(range(to, shards, groups))
        for shard, given in found.items():
            channels = channels_in(given)
            assert [each.column(0).to_pylist() for each in channels["all"]] == [[0, 1, 2]]
            assert Counter(n for each in channels.get("a", ()) for n in each.column(0).to_pylist()) == expected[shard]
            assert len(channels.get("a", ())) <= 1, "put together before it is sent"
            assert "none" not in channels


def test_texts_that_are_together_too_long_are_put_together_as_long_ones(monkeypatch):
    monkeypatch.setattr(wire, "_WIDE", 100)
    texts = [str(number) * 20 for number in range(9)]
    said = [Said("a", batch(texts[first:]), Address((0,), (VARCHAR,))) for first in (0, 5)]
    ((_, payload),) = messages_of(said, 2, 1)
    found = [channels_in(given)["a"][0].column(0) for given in heard_in([payload]).values()]
    assert [each.type for each in found] == [pa.large_string()] * 2
    assert sorted(text for each in found for text in each.to_pylist()) == sorted([*texts, *texts[5:]])


def batch(values):
    return pa.record_batch([pa.array(values)], ["c0"])

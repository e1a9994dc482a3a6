"""Subscriptions by a name over shards: who goes away at random and comes back is told all that he has not acknowledged."""

from __future__ import annotations

import random
from collections import Counter

import pytest

import ivm
from ivm.cluster.driver.database import ShardedDatabase
from ivm.session.database import core_of
from tests.durable.workload import begin, steps

VIEWS = ["by_item", "top", "led", "ring"]


@pytest.mark.parametrize("shards", [1, 3])
def test_random_steps_reach_who_goes_away_at_random(shards):
    chance = random.Random(shards)
    with ivm.connect(shards=shards, compile="off") as db:
        begin(db)
        rows, kept = ({view: Counter[str]() for view in VIEWS} for _ in range(2))
        listening = {view: db.subscribe(view, name=view, snapshot=True) for view in VIEWS}
        for step in steps(shards, 80):
            step(db)
            for view in chance.sample(VIEWS, 2):
                for row in listening[view].fetch().to_pylist():
                    rows[view][repr(list(row.values())[:-2])] += row["_diff"]
                if chance.random() < 0.4:
                    listening[view].acknowledge()
                    kept[view] = Counter(rows[view])
                elif chance.random() < 0.5:
                    listening[view].close()
                    rows[view] = Counter(kept[view])
                    listening[view] = db.subscribe(view, name=view, snapshot=True)
        for view in VIEWS:
            for row in listening[view].fetch().to_pylist():
                rows[view][repr(list(row.values())[:-2])] += row["_diff"]
            there = Counter(repr(list(row.values())) for row in db.view(view).arrow().to_pylist())
            assert {row: count for row, count in rows[view].items() if count} == there


def _logs(db, view):
    return [part.log for part in core_of(db).engine.parts(view)]


def test_what_nobody_acknowledges_is_bounded_and_a_new_view_is_another_one():
    with ivm.connect(shards=2, compile="off") as db:
        assert isinstance(db, ShardedDatabase)
        db.sql("""
            CREATE TABLE sale (id BIGINT PRIMARY KEY, city VARCHAR NOT NULL, price INTEGER NOT NULL);
            CREATE MATERIALIZED VIEW revenue AS SELECT city, sum(price) AS total FROM sale GROUP BY city;
            INSERT INTO sale VALUES (1, 'Bern', 2), (2, 'Oslo', 4)
        """)
        db.subscribe("revenue", name="slow", keep=100).close()
        db.subscribe("revenue", name="patient").close()
        for price in range(200):
            db.sql("UPDATE sale SET price = ? WHERE id = 1", [price])
        assert {log.sealed.since for log in _logs(db, "revenue")} == {1}
        assert len(db.subscribe("revenue", name="patient").fetch()) == 400
        db.forget_subscription("patient")
        db.sql("UPDATE sale SET price = 1 WHERE id = 1")
        with pytest.raises(ivm.LagError, match=r"kept from time .* on, since more than 100 waited"):
            db.subscribe("revenue", name="slow")
        db.forget_subscription("slow")
        db.sql("UPDATE sale SET price = 2 WHERE id = 1")
        assert db.time in {log.sealed.since for log in _logs(db, "revenue")}  # that of the shard which has changed
        etl = db.subscribe("revenue", name="etl")
        etl.close()
        db.sql("ALTER VIEW revenue RENAME TO income; DELETE FROM sale WHERE id = 2")
        etl = db.subscribe("income", name="etl")
        assert [row["city"] for row in etl.fetch().to_pylist()] == ["Oslo"]
        db.rescale(3)
        db.sql("INSERT INTO sale VALUES (3, 'Rome', 1)")
        assert [row["city"] for row in etl.fetch().to_pylist()] == ["Rome"]
        etl.acknowledge()
        etl.close()
        db.sql("DELETE FROM sale WHERE id = 3")
        assert [row["_diff"] for row in db.subscribe("income", name="etl").fetch().to_pylist()] == [-1]
        with pytest.raises(ivm.BindError, match="times from"):
            db.view("income").changes(1)
        db.sql("CREATE OR REPLACE MATERIALIZED VIEW income AS SELECT city, max(price) AS total FROM sale GROUP BY city")
        with pytest.raises(ivm.LagError, match="was replaced by another one"):
            db.subscribe("income", name="etl")

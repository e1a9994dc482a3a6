"""How the work of a commit spreads over shards, counted: updates in and out, and rows visited."""

from __future__ import annotations

from collections import Counter

import pytest

import ivm
from tests.cluster.many import planned_as_many

SHARDS, ROWS = 36, 72
VIEWS = {
    "first": "SELECT id, x FROM t ORDER BY x DESC, id LIMIT 5",
    "groups": "SELECT kind, sum(x) AS total, max(x) AS most FROM t GROUP BY kind",
    "whole": "SELECT sum(x) AS total, count(*) AS n FROM t",
}


def work(db: ivm.Database) -> Counter[tuple[str, int]]:
    """By view and shard."""
    found: Counter[tuple[str, int]] = Counter()
    for row in db.sql("SELECT * FROM ivm_operators").arrow().to_pylist():
        found[row["view"], row["shard"]] += row["updates_in"] + row["updates_out"] + row["visited"]
    return found


def busiest(many: int) -> dict[str, int]:
    """The work of each view's busiest shard, in commits that change the first rows, and the group, of each shard."""
    with planned_as_many(many), ivm.connect(shards=SHARDS, compile="off") as db:
        db.sql("CREATE TABLE t (id BIGINT PRIMARY KEY, kind VARCHAR, x BIGINT NOT NULL)")
        for name, text in VIEWS.items():
            db.sql(f"CREATE MATERIALIZED VIEW {name} AS {text}")
        for time in range(2):
            rows = [{"id": i, "kind": "one", "x": i * i % 97 + time * 1_000} for i in range(ROWS)]
            db.apply({"t": rows}, mode="upsert")
            if time == 0:
                before = work(db)
        db.verify()
        did = work(db)
        did.subtract(before)
    return {view: max(did[view, shard] for shard in range(SHARDS)) for view in VIEWS}


@pytest.fixture(scope="module")
def found() -> tuple[dict[str, int], dict[str, int]]:
    """Of shards that are few, and of as many that are many."""
    return busiest(SHARDS + 1), busiest(SHARDS)


@pytest.mark.parametrize("view", VIEWS)
def test_no_shard_gets_something_from_all_of_many(found, view):
    few, many = found
    assert many[view] < 0.75 * few[view], f"{many[view]} where it was {few[view]}"

"""Walks of so many rows that others may help: alone or side by side, what comes of them is the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

import ivm
from ivm.operators import faster
from ivm.operators.faster import Faster
from ivm.operators.walk import Walk
from ivm.trace.delta import Delta
from tests.engine.threads import helped

VIEWS = {
    "few": "SELECT kind, count(*) AS n, sum(a) AS s, avg(b) AS m FROM t GROUP BY kind",
    "many": "SELECT k, sum(a) AS s FROM t WHERE b > 2 GROUP BY k",
    "joined": "SELECT u.name, sum(t.a) AS s FROM t JOIN u ON t.k = u.k GROUP BY u.name",
    "kept": "SELECT u.name, count(*) AS n FROM (SELECT k, a FROM t WHERE b = 1) t JOIN u ON t.k = u.k GROUP BY u.name",
    "rows": "SELECT t.id, t.a + t.b AS c, u.name FROM t JOIN u ON t.k = u.k WHERE t.b < 3",
    "whole": "SELECT sum(a * b) AS s FROM t WHERE kind <> 'x'",
}


@pytest.mark.parametrize("ways", [(True,), (False,), (False, True)], ids=["alone", "side by side", "by turns"])
def test_views_are_the_same_whichever_way_walks_go(ways: tuple[bool, ...]) -> None:
    random, went = np.random.default_rng(7), list[tuple[bool, bool]]()

    @contextmanager
    def forced(self: Faster, rows: int) -> Iterator[bool]:
        yield ways[len(went) % len(ways)]

    def noted(walk: Walk, delta: Delta) -> list[Delta]:
        went.append((ways[len(went) % len(ways)], walk._apart is not None))
        return along(walk, delta)

    along = Walk._with_others
    with (
        helped(),
        patch.object(Faster, "next", forced),
        patch.object(Walk, "_with_others", noted),
        ivm.connect(compile="wait") as db,
    ):
        db.sql("CREATE TABLE t (id BIGINT PRIMARY KEY, k BIGINT, kind VARCHAR, a BIGINT NOT NULL, b INTEGER)")
        db.sql("CREATE TABLE u (k BIGINT PRIMARY KEY, name VARCHAR NOT NULL)")
        for name, query in VIEWS.items():
            db.sql(f"CREATE MATERIALIZED VIEW {name} AS {query}")
        db.apply({"u": pa.table({"k": range(30), "name": [f"n{k % 4}" for k in range(30)]})})
        for step in range(6):
            ids = np.arange(100 * step, 100 * step + 100)
            given = {"id": ids, "k": random.integers(0, 40, 100), "a": random.integers(-9, 9, 100)}
            texts = [None if i % 17 == 0 else "xyz"[i % 3] for i in ids.tolist()]
            db.apply({"t": pa.table({**given, "kind": texts, "b": pa.array(random.integers(0, 5, 100), pa.int32())})})
            db.verify()
            db.sql(f"DELETE FROM t WHERE id % 7 = {step}; UPDATE t SET a = a + 1 WHERE id % 11 = {step}")
            db.verify()
        db.sql("DELETE FROM t; DELETE FROM u")
        db.verify()
    assert {(way, True) for way in ways} <= set(went)


def test_the_way_that_takes_less_time_is_gone_and_the_other_now_and_then() -> None:
    now, cost, gone = [0], {True: 5, False: 9}, list[bool]()
    with patch.object(faster, "perf_counter_ns", lambda: now[0]):
        chosen = Faster()
        for commit in range(400):
            if commit == 200:
                cost[False] = 1
            with chosen.next(10) as way:
                gone.append(way)
                now[0] += 10 * cost[way]
    assert gone[:8].count(True) == 4
    assert gone[8:200].count(False) == 3
    assert gone[280:].count(True) <= 3


def test_what_raises_is_no_measure() -> None:
    chosen = Faster()
    for _ in range(3):
        with pytest.raises(ValueError, match="x"), chosen.next(10):
            raise ValueError("x")
    assert chosen._cost == [0.0, 0.0]

"""Walks that go on through an arrangement and the join that reads it, against the same nodes one by one, and DuckDB."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import ivm
from ivm.dataflow.graph import Graph
from ivm.operators.arrange_leg import ArrangeLeg
from ivm.session.core import engine_of
from ivm.session.database import core_of
from ivm.trace import route
from ivm.trace.rows import compaction
from ivm.trace.rows.compaction import Compaction
from ivm.trace.rows.rows import DerivedRows
from ivm.trace.state import Marks
from tests.joins.test_walk_to_groups import want_memory

Row = dict[str, Any]

SCHEMA = """
CREATE TABLE t (id BIGINT PRIMARY KEY, g INTEGER, h INTEGER, x BIGINT, s VARCHAR);
CREATE TABLE u (k INTEGER, v BIGINT, n VARCHAR);
CREATE TABLE w (k INTEGER, y INTEGER);
"""
VIEWS = {
    "summed": "SELECT v, count(*) AS n, sum(x) AS x FROM t JOIN u ON g = k WHERE s = 'ant' GROUP BY v",
    "listed": "SELECT id, s, n, x + v AS y FROM t JOIN u ON g = k WHERE x % 3 = 1",
    "texts": "SELECT n, count(*) AS m FROM t JOIN u ON g = k WHERE s = 'bee' GROUP BY n",
    "two_keys": "SELECT y, sum(x) AS x FROM t, u, w WHERE g % 5 = u.k AND h % 3 = w.k AND s = 'bee' GROUP BY y",
    "raising": "SELECT v, sum(x * v * 1000000000) AS m FROM t JOIN u ON g = k WHERE s = 'ant' GROUP BY v",
    "once": "SELECT sum(x) * 2 AS x FROM t JOIN u ON h = k WHERE x % 5 = 1",
    "own": "SELECT a.id, b.x FROM t a JOIN t b ON a.g = b.h WHERE a.s = 'ant' AND b.s = 'ant'",
    "above": "SELECT id FROM t JOIN (SELECT k, max(v) AS v FROM u GROUP BY k) q ON g = q.k WHERE s = 'cat' AND x > v",
    "beside": "SELECT id, n, m FROM t JOIN (SELECT k, count(*) AS n, sum(v) AS m FROM u WHERE v % 3 <> 0 GROUP BY k) q "
    "ON g = q.k WHERE s = 'cat'",
}
TEXTS = ("ant", "bee", "cat", None, "a text that is longer than the others are")


class Counted:
    """How many walks have passed an arrangement, with `many` times how many of them, and how many steps were made anew
    since something raised behind it.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.passed = self.anew = self.many = 0
        ended, rollback = ArrangeLeg.ended, Marks.rollback

        def counting(leg, route, number, times):
            has_ended = ended(leg, route, number, times)
            self.passed += has_ended
            self.many += has_ended and not isinstance(times, int)
            return has_ended

        def counting_rollback(marks, left=0):
            self.anew += left > 0
            rollback(marks, left)

        monkeypatch.setattr(ArrangeLeg, "ended", counting)
        monkeypatch.setattr(Marks, "rollback", counting_rollback)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    return Counted(monkeypatch)


class World:
    """A database with one view, whose nodes are stepped together as far as they can, or each `alone`."""

    def __init__(self, view: str, *, alone: bool) -> None:
        self.db = ivm.connect(compile="wait")
        self.db.sql(f"{SCHEMA} CREATE MATERIALIZED VIEW a AS {VIEWS[view]}")
        self.changes = self.db.subscribe("a")
        for node in self.graph.nodes if alone else ():
            node.owners["another"] = None

    @property
    def graph(self) -> Graph:
        return engine_of(core_of(self.db)).renderer.graph

    def apply(self, changes: dict[str, Any]) -> bool:
        """Whether a commit has been made."""
        with suppress(ivm.Error):
            self.db.apply(changes)
            return True
        return False

    def rows(self) -> Counter[tuple[Any, ...]]:
        """What the view shows."""
        return Counter(self.db.view("a").fetchall())

    def came(self) -> Counter[tuple[Any, ...]]:
        """What has come to the view, and gone, since somebody last asked, with its time."""
        return Counter(tuple(row.values()) for row in self.changes.fetch().to_pylist())

    def kept(self) -> list[tuple[int, int]]:
        """Rows and entries of each derived collection."""
        return [(size.rows, size.entries) for each in self.arranged() for size in [each.size()]]

    def arranged(self) -> list[DerivedRows[Any]]:
        states = [state for node in self.graph.nodes for state in node.operator.states]
        return [state for state in states if type(state) is DerivedRows]

    def counts(self) -> list[tuple[int, int]]:
        """How many rows have come to each node, and from it."""
        return [(node.updates_in, node.updates_out) for node in self.graph.nodes]


class Stream:
    """Rows that come, go, and come back, of one table or of several in a commit, at so many `times` at most."""

    def __init__(self, seed: int, times: int) -> None:
        self.random, self.times, self.time = np.random.default_rng(seed), times, 0
        self.last = 0
        self.there: dict[str, list[Row]] = {"t": [], "u": [], "w": []}
        self.gone: list[Row] = []

    def next(self) -> dict[str, list[Row]]:
        """The changes of one commit: most are rows of t alone that come."""
        random, changes = self.random, dict[str, list[Row]]()
        tables = ["t"] if self.last > 5 and random.random() < 0.8 else ["t", "u", "w"]
        for table in tables:
            rows = [self._row(table) for _ in range(int(random.choice([1, 3, 40])))]
            come = [{**row, "_diff": 1} for row in rows]
            old = self.there[table]
            goes = [old.pop(int(random.integers(len(old)))) for _ in range(2) if old and random.random() < 0.15]
            come += [{**row, "_diff": -1} for row in goes]
            if table == "t" and self.gone and random.random() < 0.2:
                back = self.gone.pop()
                come.append({**back, "_diff": 1})
                rows.append(back)
            if table == "t":
                self.gone += goes
            old += rows
            if self.times > 1:
                times = self.time + np.sort(random.integers(1, self.times + 1, len(come)))
                come = [{**row, "_time": time} for row, time in zip(come, times.tolist(), strict=True)]
            changes[table] = come
        self.time += self.times
        return changes

    def _row(self, table: str) -> Row:
        random = self.random

        def number(most: int) -> int:
            return int(random.integers(most))

        if table == "t":
            self.last += 1
            g = None if random.random() < 0.1 else number(12)
            x = number(50) if random.random() < 0.97 else 10**9
            return {"id": self.last, "g": g, "h": number(9), "x": x, "s": TEXTS[number(5)]}
        if table == "u":
            return {"k": number(12), "v": number(30), "n": TEXTS[number(5)]}
        return {"k": number(9), "y": number(4)}


def histories(view: str, seed: int, commits: int = 70, times: int = 1) -> None:
    """A history by both: after each commit views, collections and counts are the same; DuckDB has the last word."""
    worlds, stream = [World(view, alone=alone) for alone in (False, True)], Stream(seed, times)
    for number in range(commits):
        changes = stream.next()
        made = [world.apply(changes) for world in worlds]
        assert made[0] == made[1]
        if not made[0]:
            stream.there = {name: [] for name in stream.there}  # nobody knows any more what may go
            stream.gone = []
        one, other = worlds
        assert one.rows() == other.rows()
        assert one.came() == other.came()
        assert one.kept() == other.kept()
        assert one.counts() == other.counts()
        if number % 20 == 19:
            one.db.verify()
    for world in worlds:
        world.db.close()


@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize("view", [*VIEWS])
def test_a_walk_through_an_arrangement_does_what_its_nodes_do(counted: Counted, view: str, times: int) -> None:
    histories(view, len(view), times=times)
    assert counted.passed > 10
    assert (counted.anew > 0) == (view == "raising")
    assert (counted.many > 10) == (times > 1)


@pytest.mark.parametrize("most", [1, 7])
def test_in_parts_it_goes_on(monkeypatch: pytest.MonkeyPatch, counted: Counted, most: int) -> None:
    monkeypatch.setattr(route, "MOST_FOUND", most)
    for view in ("summed", "listed", "two_keys"):
        histories(view, most, 40, most)
    assert counted.passed > 10


def test_where_all_memory_is_wanting_at_first(monkeypatch: pytest.MonkeyPatch, counted: Counted) -> None:
    want_memory(monkeypatch)
    for view in ("summed", "texts", "raising"):
        histories(view, 5, 40, 2)
    assert counted.passed > 10


def test_rows_come_to_the_store_that_has_taken_over(monkeypatch: pytest.MonkeyPatch, counted: Counted) -> None:
    """Most rows go, those that stay get another store, and more come, again and again."""
    monkeypatch.setattr(compaction, "FROM_ROWS", 8)
    taken_over, take_over = list[Compaction](), Compaction.take_over

    def counting(each: Compaction) -> None:
        taken_over.append(each)
        take_over(each)

    monkeypatch.setattr(Compaction, "take_over", counting)
    worlds = [World("listed", alone=alone) for alone in (False, True)]
    there: list[Row] = []
    for step in range(24):
        come = [{"id": 8 * step + i, "g": i % 6, "h": 1, "x": 3 * i + 1, "s": "ant"} for i in range(8)]
        changes = {"t": [{**row, "_diff": 1} for row in come]}
        if not step:
            changes["u"] = [{"k": i % 6, "v": i, "n": "bee", "_diff": 1} for i in range(12)]
        gone = [*there, *come[:6]] if step % 3 == 2 else []
        there = come[6:] if gone else [*there, *come]
        for world in worlds:
            assert world.apply(changes)
            assert not gone or world.apply({"t": [{**row, "_diff": -1} for row in gone]})
        one, other = worlds
        assert one.rows() == other.rows()
        assert one.kept() == other.kept()
    worlds[0].db.verify()
    assert len(taken_over) > 6
    assert counted.passed > 10

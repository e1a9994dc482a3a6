"""Subscriptions as their takers wish them: from a time, seldom, in other forms, with a bound on what waits."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest

import ivm
from tests.faults.lines import lines_of, raising

LONG = 30
SETUP = """
CREATE TABLE t (id BIGINT PRIMARY KEY, g VARCHAR, x DOUBLE);
CREATE MATERIALIZED VIEW v AS SELECT g, sum(x) AS s, list(id ORDER BY id) AS ids FROM t GROUP BY g;
CREATE MATERIALIZED VIEW one AS SELECT count(*) AS n FROM t;
CREATE MATERIALIZED VIEW bag AS SELECT g FROM t;
"""


@pytest.fixture(params=["one", "shards", "disk"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ivm.Database]:
    kinds: dict[str, dict[str, Any]] = {"one": {}, "shards": {"shards": 2}, "disk": {"path": tmp_path / "shop.ivm"}}
    with ivm.connect(compile="off", history=1000, **kinds[request.param]) as db:
        db.sql(SETUP)
        yield db


@pytest.fixture
def plain() -> Iterator[ivm.Database]:
    with ivm.connect(compile="off", history=1000) as db:
        db.sql(SETUP)
        yield db


class Copy:
    """Who keeps a copy of a view by what a subscription tells."""

    def __init__(self, db: ivm.Database, view: str, **wish: Any) -> None:
        self.db, self.view, self.form = db, view, wish.get("form", "changes")
        self.rows: Counter[str] = Counter()
        self.by_key: dict[Any, str] = {}
        self.subscription = db.subscribe(view, **wish)

    def take(self) -> None:
        for row in self.subscription.fetch().to_pylist():
            getattr(self, f"_{self.form}")(row)

    def is_right(self) -> bool:
        """Whether it is the view, at present; it has taken all."""
        self.take()
        assert self.subscription.time == self.db.time
        rows = Counter(map(repr, self.db.view(self.view).arrow().to_pylist()))
        return rows == (+self.rows if self.form == "changes" else Counter(self.by_key.values()))

    def _changes(self, row: dict[str, Any]) -> None:
        times = row.pop("_time"), row.pop("_diff")
        self.rows[repr(row)] += times[1]

    def _upserts(self, row: dict[str, Any]) -> None:
        key, is_gone, _ = row.get("g"), row.pop("_deleted"), row.pop("_time")
        if is_gone:
            assert not any(value for name, value in row.items() if name != "g")
            del self.by_key[key]
        else:
            self.by_key[key] = repr(row)

    def _debezium(self, row: dict[str, Any]) -> None:
        before, after, op = row["before"], row["after"], row["op"]
        assert op == {(True, False): "c", (False, False): "u", (False, True): "d"}[before is None, after is None]
        if before is not None:
            assert self.by_key.pop(before.get("g")) == repr(before)
        if after is not None:
            self.by_key[after.get("g")] = repr(after)


WISHES: tuple[dict[str, Any], ...] = (
    {}, {"limit": 1}, {"limit": 3}, {"every": 3}, {"form": "upserts"}, {"form": "debezium"},
    {"form": "upserts", "limit": 2}, {"form": "debezium", "limit": 1}, {"form": "debezium", "every": "1 day"},
)  # fmt: skip


@pytest.mark.parametrize("seed", [1, 2])
def test_whatever_is_wished_adds_up_to_the_view(db, seed):
    chosen, copies = Random(seed), list[Copy]()
    db.apply({"t": [{"id": -1, "g": None, "x": 0.5}, {"id": -2, "g": "a", "x": -0.0}]})
    for wish in WISHES:
        copies += [Copy(db, view, snapshot=True, **wish) for view in ("v", "one")]
    copies += [Copy(db, "bag", snapshot=True, **wish) for wish in WISHES[:4]]
    for step in range(40):
        ids = [row[0] for row in db.sql("SELECT id FROM t").fetchall()]
        goes = [{"id": each, "g": "", "x": None, "_diff": -1} for each in ids if chosen.random() < 0.3]
        comes = [{"id": 100 + step, "g": chosen.choice(["a", "b", None]), "x": 0.25, "_diff": 1}][: chosen.randrange(2)]
        if step % 20 == 19:
            goes, comes = [{"id": each, "g": "", "x": None, "_diff": -1} for each in ids], []
        db.apply({"t": goes + comes}) if goes or comes else db.tick()
        for copy in copies:
            if chosen.random() < 0.2:
                copy.take()
        if step == 22:
            late = [Copy(db, "v", snapshot=True, form="upserts", limit=2)]
            copies += late
    assert [(copy.view, copy.form, copy.subscription.wish) for copy in copies if not copy.is_right()] == []


def test_who_comes_back_misses_nothing(db):
    rows: Counter[str] = Counter()
    since = db.time
    for number in range(12):
        db.apply({"t": [{"id": number, "g": "ab"[number % 2], "x": 1.0}]})
        if number % 3 == 0:
            db.apply({"t": {"id": [number], "_diff": [-1]}})
        if number % 4 == 1:
            with db.subscribe("v", from_time=since) as subscription:
                db.apply({"t": [{"id": 100 + number, "g": "c", "x": 1.0}]})
                for row in subscription.fetch().to_pylist():
                    diff, told = row.pop("_diff"), row.pop("_time")
                    assert told > since
                    rows[repr(row)] += diff
                since = subscription.time
    assert since == db.time - 2
    assert not db.subscribe("v", from_time=db.time).fetch().num_rows
    assert db.subscribe("v", from_time=db.time - 1).time == db.time - 1, "the change since then was not taken yet"
    assert +rows == Counter(map(repr, db.view("v").arrow(as_of=since).to_pylist()))


def test_one_that_falls_behind_ends_and_says_from_when_to_go_on(db):
    copy = Copy(db, "v", snapshot=True, limit=2, when_full="fail")
    unread = db.subscribe("v", snapshot=True, limit=2, when_full="fail")
    db.apply({"t": [{"id": 1, "g": "a", "x": 1.0}]})
    copy.take()
    since = db.time
    for number in range(3):
        assert copy.subscription.time == since
        db.apply({"t": [{"id": 2 + number, "g": "a", "x": 1.0}]})
    for use in (copy.subscription.fetch, lambda: next(iter(copy.subscription))):
        with pytest.raises(ivm.LagError, match=rf"2 commits and more .* from_time={since}, .* or with snapshot=True"):
            use()
    with pytest.raises(ivm.LagError, match="again with snapshot=True"):
        unread.fetch()
    copy.subscription = db.subscribe("v", from_time=copy.subscription.time)
    assert copy.is_right()


def test_one_that_falls_behind_makes_others_wait(plain):
    subscription = plain.subscribe("v", limit=2, when_full="block")
    done = list[int]()

    def work() -> None:
        for number in range(5):
            done.append(plain.apply({"t": [{"id": number, "g": "a", "x": 1.0}]}))

    thread = threading.Thread(target=work)
    thread.start()
    while plain.time < 2:
        time.sleep(0.001)
    time.sleep(0.05)
    assert (plain.time, done) == (2, [1]), "the commit that fills it is made, and has not returned"
    tables = iter(subscription)
    assert next(tables)["_time"].to_pylist() == [1]
    while plain.time < 3:
        time.sleep(0.001)
    subscription.close()
    thread.join(LONG)
    assert done == [1, 2, 3, 4, 5]
    gone = plain.subscribe("v", limit=1, when_full="block")
    thread = threading.Thread(target=plain.sql, args=["DELETE FROM t"])
    thread.start()
    while plain.time < 6:
        time.sleep(0.001)
    del gone
    gc.collect()
    thread.join(LONG)
    assert not thread.is_alive()


def test_what_is_pending_is_that_of_a_subscription_alone(db):
    first, other = db.subscribe("one", snapshot=True), db.subscribe("one")
    db.sql("INSERT INTO t VALUES (1, 'a', 1)")
    first.close()
    db.sql("INSERT INTO t VALUES (2, 'a', 1)")
    assert [table["_time"].to_pylist() for table in first] == [[0], [1, 1]]
    assert (first.time, other.time) == (1, 0)
    assert len(other.fetch()) == 4
    assert (first.time, other.time, db.time) == (1, 2, 2)


def test_progress_is_told_where_nothing_changes(plain):
    with plain.subscribe("v", progress=True) as changes, plain.subscribe("v") as quiet:
        plain.sql("CREATE TABLE u (x INTEGER)")
        tables = iter(changes)
        for number in range(3):
            plain.sql(f"INSERT INTO u VALUES ({number})")
            found = next(tables)
            assert (found.num_rows, changes.time) == (0, plain.time)
            assert found.column_names == ["g", "s", "ids", "_time", "_diff"]
        assert quiet.time == plain.time
        plain.sql("INSERT INTO t VALUES (1, 'a', 1)")
        plain.sql("INSERT INTO u VALUES (1)")
        assert (next(tables).num_rows, changes.time) == (1, plain.time), "there is nothing more to be told of"


def test_tables_come_as_seldom_as_was_wished(plain):
    def by_commits() -> list[list[int]]:
        with plain.subscribe("v", every=3) as changes:
            tables, found = iter(changes), []
            for number in range(6):
                plain.apply({"t": [{"id": number, "g": "a", "x": 1.0}]})
                if number % 3 == 2:
                    found.append(next(tables)["_time"].to_pylist())
            return found

    assert by_commits() == [[3], [6, 6]], "what came and went between is not told"

    async def by_time() -> list[list[int]]:
        with plain.subscribe("one", every=timedelta(seconds=0.05)) as changes:
            thread = threading.Thread(target=work, args=[changes])
            thread.start()
            found = [table["_diff"].to_pylist() async for table in changes]
            thread.join()
            return found

    def work(changes: ivm.Subscription) -> None:
        for number in range(40):
            plain.apply({"t": [{"id": 100 + number, "g": "a", "x": 1.0}]})
            time.sleep(0.002)
        changes.close()

    found = asyncio.run(by_time())
    assert 1 < len(found) < 20
    assert all(sorted(diffs) == [-1, 1] for diffs in found)
    with plain.subscribe("one", every="0.05s") as changes:
        thread = threading.Thread(target=work, args=[changes])
        plain.sql("DELETE FROM t WHERE id >= 100")
        thread.start()
        assert 1 < sum(table.num_rows for table in changes) / 2 < 20
        thread.join()


@pytest.mark.parametrize(
    ("wish", "error", "words"),
    [
        ({"from_time": 99}, ivm.BindError, "times from 0 to 0 can be read"),
        ({"from_time": -1}, ivm.TypeMismatchError, "from_time is -1"),
        ({"from_time": 0, "snapshot": True}, ivm.InterfaceError, "leave one of them out"),
        ({"every": 0}, ivm.TypeMismatchError, "every is 0, and must be at least 1"),
        ({"every": 0.5}, ivm.TypeMismatchError, "or a length of time: '0.5s'"),
        ({"every": "soon"}, ivm.TypeMismatchError, "every is 'soon'"),
        ({"every": timedelta(0)}, ivm.TypeMismatchError, "every is 0.0"),
        ({"form": "json"}, ivm.TypeMismatchError, "must be one of 'changes', 'upserts', 'debezium'"),
        ({"when_full": "drop"}, ivm.TypeMismatchError, "must be one of 'coalesce', 'block', 'fail'"),
        ({"limit": 0}, ivm.TypeMismatchError, "limit is 0"),
        ({"view": "bag", "form": "upserts"}, ivm.BindError, "nothing is known that tells its rows apart"),
        ({"view": "nobody"}, ivm.BindError, "nobody"),
    ],
)
def test_what_makes_no_sense_is_refused(plain, wish, error, words):
    with pytest.raises(error, match=words):
        plain.subscribe(**{"view": "v", **wish})
    assert not plain._core.engine.listeners.each()


def test_times_that_are_gone_are_named():
    with ivm.connect(compile="off", history=1) as db:
        db.sql(SETUP + "INSERT INTO t VALUES (1, 'a', 1); INSERT INTO t VALUES (2, 'a', 1); DELETE FROM t")
        with pytest.raises(ivm.BindError, match="times from 2 to 3 can be read; connect with a larger `history`"):
            db.subscribe("v", from_time=1)
        assert db.subscribe("v", from_time=2).fetch().num_rows == 1


def test_a_view_made_anew_goes_on_by_its_key_or_ends(db):
    copy = Copy(db, "v", snapshot=True, form="upserts")
    db.sql("INSERT INTO t VALUES (1, 'a', 1), (2, NULL, 1)")
    anew = "CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT g, sum({}) AS s, list(id ORDER BY id) AS ids FROM t GROUP BY {}"
    db.sql(anew.format("x + 1", "g"))
    assert copy.is_right()
    db.sql("ALTER VIEW v RENAME TO w; INSERT INTO t VALUES (3, 'b', 1)")
    copy.view = "w"
    assert copy.is_right()
    db.sql(anew.replace(" v ", " w ").format("x", "g, id"))
    with pytest.raises(ivm.ViewDroppedError, match="view w by g: it was replaced by one of which these columns"):
        copy.subscription.fetch()


@pytest.mark.parametrize("wish", [{"limit": 1}, {"limit": 1, "when_full": "fail"}, {"every": 2}])
def test_who_interrupts_a_commit_takes_nothing_from_anybody(plain, wish):
    number, copy = 0, Copy(plain, "v", snapshot=True, **wish)

    def commit() -> None:
        plain.apply({"t": [{"id": number, "g": "ab"[number % 2], "x": 1.0}]})

    places = [each for each in lines_of(commit) if "subscriptions" in each[0]]
    assert len(places) > 10
    for place in places:
        number += 1
        raising(commit, place, KeyboardInterrupt)
        number += 1
        plain.apply({"t": [{"id": number, "g": "ab"[number % 2], "x": 1.0}]})
        try:
            assert copy.is_right(), place
        except ivm.LagError:
            since = copy.subscription.time
            assert wish.get("when_full") == "fail"
            again = {"snapshot": True} if since < 0 else {"from_time": since}
            copy.subscription = plain.subscribe("v", **again, **wish)
            assert copy.is_right(), place


def test_a_view_that_goes_and_comes_is_listened_to_anew(db):
    for number in range(3):
        copies = [Copy(db, "v", snapshot=True, **wish) for wish in ({}, {"limit": 1}, {"form": "upserts", "limit": 1})]
        time_ = db.time + 2
        rows = [
            {"id": 1, "g": "a", "x": 1.0, "_time": time_, "_diff": 1},
            {"id": 2, "g": "b", "x": 1.0, "_time": time_, "_diff": 1},
        ]
        db.apply({"t": [*rows, {"id": 1, "g": "a", "x": 1.0, "_time": time_ + 1, "_diff": -1}]})
        assert all(copy.is_right() for copy in copies), number
        db.sql("DELETE FROM t")
        assert all(copy.is_right() for copy in copies), number
        assert not any(+copy.rows or copy.by_key for copy in copies)
        definition = db.view("v").sql
        db.sql(f"DROP VIEW v; CREATE MATERIALIZED VIEW v AS {definition}")
        for copy in copies:
            with pytest.raises(ivm.ViewDroppedError):
                copy.subscription.fetch()


def test_a_database_that_is_opened_again_goes_on_or_says_that_it_cannot(tmp_path):
    with ivm.connect(tmp_path / "shop.ivm", compile="off", history=1000) as db:
        db.sql(SETUP + "INSERT INTO t VALUES (1, 'a', 1)")
        with db.what_if() as would:
            would.sql("DELETE FROM t")
            assert would.changes("one").num_rows == 2
        copy = Copy(db, "v", snapshot=True)
        assert copy.is_right()
        since = copy.subscription.time
        db.sql("INSERT INTO t VALUES (2, 'a', 1)")
    with ivm.connect(tmp_path / "shop.ivm", compile="off", history=1000) as copy.db:
        assert copy.db.view("one").fetchall() == [(2,)]
        try:
            copy.subscription = copy.db.subscribe("v", from_time=since)
        except ivm.BindError:  # the history begins anew, and what it is asked for is told then
            copy.rows.clear()
            copy.subscription = copy.db.subscribe("v", snapshot=True)
        assert copy.is_right()
        copy.db.sql("DELETE FROM t")
        assert copy.is_right()

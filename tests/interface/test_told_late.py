"""What is told is what each commit changed, however late it is taken, and whatever has become of the view's log."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections import Counter
from itertools import count
from random import Random

import pyarrow as pa
import pytest

import ivm
from ivm.session.core import engine_of
from ivm.session.database import core_of
from ivm.subscriptions import rests
from ivm.subscriptions.rests import Rests
from ivm.subscriptions.subscription import Subscription
from ivm.trace import view_log
from ivm.trace.text import sweep
from tests.more import with_more

SETUP = """
CREATE TABLE t (id BIGINT PRIMARY KEY, g INTEGER, s VARCHAR, f DOUBLE, l INTEGER[]);
CREATE MATERIALIZED VIEW v AS SELECT g, s, f, l FROM t;
CREATE MATERIALIZED VIEW hidden AS SELECT s, g FROM t ORDER BY f + 1, id;
CREATE MATERIALIZED VIEW grouped AS SELECT g, count(*) AS n, max(s) AS m FROM t GROUP BY g;
"""
VIEWS = ("v", "hidden", "grouped")


def _change(db: ivm.Database, rng: Random) -> None:
    ids = rng.sample(range(30), rng.randint(1, 5))
    some = ", ".join(map(str, ids))
    match rng.randrange(6):
        case 0:
            db.sql(f"DELETE FROM t WHERE id IN ({some})")
        case 1:
            db.sql(f"UPDATE t SET s = s, f = f WHERE id IN ({some})")  # which changes nothing
        case 2:
            db.sql(f"UPDATE t SET f = f + 1 WHERE id IN ({some})")
        case 3:
            times = [db.time + 1 + number // 2 for number in range(len(ids))]
            db.sql(f"DELETE FROM t WHERE id IN ({some})")
            rows = {
                "id": ids,
                "g": ids,
                "s": [f"t{db.time}" for _ in ids],
                "f": [0.5] * len(ids),
                "l": [None] * len(ids),
            }
            db.apply({"t": pa.table({**rows, "_time": [time + 1 for time in times]})})
        case _:
            values = (
                f"({each}, {rng.choice((1, 2, 'NULL'))}, 's{rng.randrange(3)}-{db.time // 20}', "
                f"{rng.choice(('0.0', '-0.0', '1.5', 'NULL'))}, {rng.choice(('[1]', '[]', 'NULL'))})"
                for each in ids
            )
            db.sql(f"INSERT OR REPLACE INTO t VALUES {', '.join(values)}")


def _told(tables: list[pa.Table]) -> dict[int, Counter[str]]:
    """What was told of each time, also of a view that took another's place then."""
    found: dict[int, Counter[str]] = {}
    for table in tables:
        for row in table.to_pylist():
            time, diff = row.pop("_time"), row.pop("_diff")
            found.setdefault(time, Counter())[repr(row).replace("-0.0", "0.0")] += diff
    return {time: Counter({row: diff for row, diff in each.items() if diff}) for time, each in found.items()}


@pytest.mark.parametrize("seed", with_more([0], [1, 2, 3]))
def test_what_is_taken_late_is_what_is_taken_at_once(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = Random(seed)
    monkeypatch.setattr(view_log, "_SPARE_ROWS", 20)
    monkeypatch.setattr(sweep, "PACE", sweep.Pace(least=1, piece=1, growth=0, worth=0, base=64, rate=1))
    with ivm.connect(compile="off") as db:
        db.sql(SETUP)
        early = {view: db.subscribe(view, snapshot=False) for view in VIEWS}
        late = {view: [db.subscribe(view, snapshot=False) for _ in range(3)] for view in VIEWS}
        twin: dict[str, list[pa.Table]] = {view: [] for view in VIEWS}
        told: dict[str, list[list[pa.Table]]] = {view: [[], [], []] for view in VIEWS}
        for number in range(90):
            _change(db, rng)
            for view, each in early.items():
                twin[view].append(each.fetch())
                assert each.time == db.time
            if rng.random() < 0.1:
                db.view(rng.choice(VIEWS)).arrow()
            if rng.random() < 0.1:
                with db.what_if() as w:
                    w.sql("DELETE FROM t WHERE g = 1")
                    w.changes("v")
            for view in VIEWS:
                if rng.random() < 0.05:
                    told[view][1].append(late[view][1].fetch())
                if rng.random() < 0.1 and any(rows for _, rows in [late[view][2].waiting]):
                    told[view][2].append(next(iter(late[view][2])))
            if number == 60:
                db.sql(
                    "CREATE OR REPLACE MATERIALIZED VIEW grouped AS SELECT g, count(*) AS n, min(s) AS m FROM t GROUP BY g"
                )
        for view in VIEWS:
            db.sql(f"DROP VIEW {view}")
            for place, each in enumerate(late[view]):
                with pytest.raises(ivm.ViewDroppedError):
                    for table in each:
                        rows = Counter(repr(row).replace("-0.0", "0.0") for row in table.drop("_diff").to_pylist())
                        assert set(rows.values()) == {1}
                        told[view][place].append(table)
                assert _told(told[view][place]) == _told(twin[view])


def test_no_log_is_held_that_was_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though nobody takes what was told of it."""
    monkeypatch.setattr(view_log, "_SPARE_ROWS", 15)
    with ivm.connect(compile="off") as db:
        db.sql(SETUP)
        log = engine_of(core_of(db)).views["v"].log
        waiting, made = db.subscribe("v", snapshot=False), list[weakref.ref[object]]()
        for number in range(120):
            db.sql(f"INSERT OR REPLACE INTO t VALUES ({number % 7}, {number}, 's', 1.5, [1])")
            if not made or made[-1]() is not log.sealed.updates:
                made.append(weakref.ref(log.sealed.updates))
                gc.collect()
                assert sum(each() is not None for each in made) == 1
        assert len(made) > 2
        assert len({row["_time"] for row in waiting.fetch().to_pylist()}) == 120
        left = weakref.ref(log)
        db.sql("INSERT OR REPLACE INTO t VALUES (1, 1, 's', 1.5, [1])")
        del log
        db.sql("DROP VIEW v")
        gc.collect()
        assert left() is None
        assert waiting.fetch().num_rows == 2


def test_a_commit_that_takes_back_what_it_did_tells_nothing() -> None:
    with ivm.connect(compile="off") as db:
        db.sql(SETUP)
        db.sql("INSERT INTO t VALUES (1, 1, 'a', 1.5, [1]), (2, 1, 'b', 2.5, NULL)")
        fails, some = db.subscribe("v", snapshot=False, limit=2, when_full="fail"), db.subscribe("v", snapshot=False)
        for _ in range(5):
            db.sql("UPDATE t SET s = s WHERE id < 3")
            assert (some.waiting, some.time) == ((0, 0), db.time)
        assert some.fetch(timeout=0).num_rows == fails.fetch(timeout=0).num_rows == 0
        waits = threading.Thread(target=lambda: found.append(some.fetch(timeout=30)))
        found = list[pa.Table]()
        waits.start()
        for _ in range(3):
            db.sql("UPDATE t SET s = s WHERE id < 3")
        db.sql("UPDATE t SET s = 'c' WHERE id = 1")
        waits.join()
        assert [table.num_rows for table in found] == [2]
        assert fails.fetch().num_rows == 2


def _kept(subscription: Subscription, told: list[pa.Table]) -> threading.Thread:
    def run() -> None:
        told.extend(subscription)

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def test_who_iterates_is_told_of_each_commit_by_itself_however_fast_they_come() -> None:
    with ivm.connect(compile="off") as db:
        db.sql(SETUP)
        told: list[list[pa.Table]] = [[], [], []]
        listening = [db.subscribe("v", snapshot=False) for _ in range(3)]
        threads = [_kept(*each) for each in zip(listening[:2], told, strict=False)]

        async def awaited() -> None:
            async for table in listening[2]:
                told[2].append(table)

        threads.append(threading.Thread(target=lambda: asyncio.run(awaited())))
        threads[2].start()
        for number in range(600):
            db.apply({"t": [{"id": number, "g": number % 5, "s": f"s{number}", "f": 1.5, "l": [number]}]})
        for each in listening:
            each.close()
        for thread in threads:
            thread.join()
        for tables in told:
            assert [table.to_pylist()[0]["s"] for table in tables] == [f"s{number}" for number in range(600)]
            assert {table.num_rows for table in tables} == {1}


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_who_waits_for_each_commit_hardly_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    """And who is told of many does."""
    with ivm.connect(compile="off") as db:
        db.sql(SETUP)
        subscription, clock, ids = db.subscribe("v", snapshot=False), Clock(), count()
        monkeypatch.setattr(rests, "monotonic", clock)

        def turns(number: int, gap: float, commits: int) -> float:
            """Seconds that were rested in so many turns, if so many commits come meanwhile."""
            resting, rested = Rests(), 0.0
            for _ in range(number):
                clock.now += gap
                waiting, seconds = subscription._backlog, resting.due()
                if seconds:
                    for _ in range(commits):
                        db.apply({"t": [{"id": next(ids), "g": 1, "s": "s", "f": 0.0, "l": None}]})
                    clock.now += seconds
                    resting.rested(waiting)
                    subscription.fetch()
                rested += seconds
            return rested

        assert turns(1000, 1e-4, 1) < 0.03 * 1000 * 1e-4
        assert turns(1000, 1e-2, 9) == 0
        assert 0.7 * 200 * rests._LONGEST < turns(200, 1e-4, 2) < 200 * rests._LONGEST

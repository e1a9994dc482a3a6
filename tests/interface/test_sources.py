"""Sources with clocks of their own: a time is seen once all have passed it, and as if it had been committed alone."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import ivm
from ivm.session import sources as sources_of
from ivm.session.sources import SourceInfo

SCHEMA = """
CREATE TABLE sale (id INTEGER PRIMARY KEY, shop INTEGER, price INTEGER);
CREATE TABLE shop (id INTEGER PRIMARY KEY, city VARCHAR);
CREATE MATERIALIZED VIEW takings AS
    SELECT city, sum(price) AS total, count(*) AS n FROM sale JOIN shop ON sale.shop = shop.id GROUP BY city
"""


def shops(**options) -> ivm.Database:
    db = ivm.connect(compile="off", **options)
    db.sql(SCHEMA)
    return db


def rows(db: ivm.Database, name: str = "takings") -> Counter[tuple[object, ...]]:
    return Counter(db.sql(f"SELECT * FROM {name}").fetchall())


@pytest.mark.parametrize(("seed", "shards"), [*((seed, None) for seed in range(6)), (6, 2)])
def test_views_go_through_the_times_in_order_whatever_comes_first(seed: int, shards: int | None) -> None:
    """Against a database to which the times are applied one after the other, each whole."""
    rng = Random(seed)
    db, twin = shops(shards=shards), shops()
    sources = {name: db.source(name) for name in ["sales", "more sales", "shops"][: rng.randint(2, 3)]}
    by_time: dict[int, dict[str, list[dict[str, Any]]]] = {}
    log = db.subscribe("takings", snapshot=False)
    expected = {}

    def catch_up(complete: int) -> None:
        for time in sorted(each for each in by_time if each < complete):
            twin.apply(by_time.pop(time))
            expected[time] = rows(twin)
        assert rows(db) == rows(twin)

    for number in range(60):
        name, source = rng.choice(list(sources.items()))
        time = source.frontier + rng.randint(0, 6)
        if rng.random() < 0.35:
            source.advance(time)
        else:
            row: dict[str, Any] = {"id": number, "shop": rng.randint(0, 60), "price": rng.randint(0, 5)}
            if name == "shops":
                row = {"id": number, "city": rng.choice("ab")}
            table = "shop" if name == "shops" else "sale"
            by_time.setdefault(time, {}).setdefault(table, []).append(row)
            source.apply({table: [row]}, time=time)
        catch_up(min(each.frontier for each in sources.values()))
    for source in sources.values():
        source.close()
    catch_up(1000)
    assert rows(db, "sale") == rows(twin, "sale")
    seen: Counter[tuple[object, ...]] = Counter()
    changes_at: dict[int, list[dict[str, Any]]] = {}
    for change in log.fetch().to_pylist():
        changes_at.setdefault(change["_time"], []).append(change)
    previous: Counter[tuple[object, ...]] = Counter()
    states = []
    for time in sorted(expected):  # a time that changes nothing is not told of
        if expected[time] != previous:
            states.append(expected[time])
        previous = expected[time]
    for time, state in zip(sorted(changes_at), states, strict=True):
        for change in changes_at[time]:
            seen[change["city"], change["total"], change["n"]] += change["_diff"]
        assert +seen == state, f"at {time}"
    db.verify()


def test_times_are_those_of_the_sources_where_they_can_be() -> None:
    db = shops()
    with db.source("a") as source:
        source.apply({"shop": [{"id": 1, "city": "x", "_time": 10}, {"id": 2, "city": "x", "_time": 12}]})
        assert source.advance(11) == 10
        db.sql("INSERT INTO shop VALUES (3, 'y'), (4, 'y')")
        db.sql("INSERT INTO shop VALUES (5, 'y')")
        assert db.time == 12
        assert source.advance(13) == 13  # 12 has passed
        source.apply({"shop": [{"id": 6, "city": "z"}]}, time="2024-01-01 00:00:00")
        source.advance(datetime(2024, 1, 2))
    assert db.time == 1704067200000000
    assert db.batches() == {sources_of.MARK: 1704153600000000}


def test_what_is_late_is_refused_or_moved_and_counted() -> None:
    db = shops()
    strict, lenient = db.source("strict"), db.source("lenient", late="move")
    for source in (strict, lenient):
        source.advance(5)
    with pytest.raises(ivm.ConstraintError, match="at time 4: the source has passed it, and is at 5"):
        strict.apply({"shop": [{"id": 1, "city": "a", "_time": 4}, {"id": 2, "city": "a", "_time": 7}]})
    assert strict.waiting == 0
    lenient.apply({"shop": [{"id": 1, "city": "a", "_time": 4}, {"id": 2, "city": "a", "_time": 7}]})
    assert lenient.late == 1
    strict.advance(6)
    lenient.advance(6)
    assert db.sql("SELECT id FROM shop").fetchall() == [(1,)]
    info = db.sources()
    assert [(each.name, each.frontier, each.waiting, each.late) for each in info] == [
        ("lenient", 6, 1, 1), ("strict", 6, 0, 0)
    ]  # fmt: skip


def test_a_commit_that_fails_leaves_all_as_it_was() -> None:
    db = shops()
    a, b = db.source("a"), db.source("b")
    a.apply({"shop": [{"id": 1, "city": "a"}]}, time=1)
    b.apply({"shop": [{"id": 1, "city": "b"}]}, time=2)
    b.advance(9)
    for _ in range(2):
        with pytest.raises(ivm.ConstraintError, match="already has a row"):
            a.advance(3)
        assert (a.frontier, a.waiting, b.waiting, db.time) == (0, 1, 1, 0)
    assert b.discard() == 1
    assert a.advance(3) == 1
    assert rows(db, "shop") == Counter([(1, "a")])
    assert a.waiting == b.waiting == 0


@pytest.mark.parametrize("stop", ["before", "after"])
def test_an_interrupted_commit_is_done_once(monkeypatch: pytest.MonkeyPatch, stop: str) -> None:
    db = shops()
    a, b = db.source("a"), db.source("b")
    a.apply({"sale": [{"id": 1, "shop": 1, "price": 2, "_time": 1}, {"id": 2, "shop": 1, "price": 2, "_time": 6}]})
    b.advance(9)
    core = sources_of.Sources._commit

    def interrupted(self, changes, to):
        if stop == "after":
            core(self, changes, to)
        raise KeyboardInterrupt

    monkeypatch.setattr(sources_of.Sources, "_commit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        a.advance(5)
    monkeypatch.undo()
    assert (a.frontier, a.waiting) == (0, 2)
    a.advance(7)
    assert sorted(db.sql("SELECT id FROM sale").fetchall()) == [(1,), (2,)]
    assert a.waiting == 0


def test_a_directory_that_is_opened_again_knows_what_was_complete(tmp_path: Path) -> None:
    def bring(db: ivm.Database, upto: int) -> None:
        """All changes from the frontier on, as a source does that starts anew."""
        one, other = db.source("one"), db.source("other")
        for time in range(one.frontier, 10):
            one.apply({"sale": [{"id": time, "shop": 1, "price": 1}]}, time=time)
            if time % 3 == 0:
                other.apply({"shop": [{"id": time, "city": "c"}]}, time=time)
        one.advance(10)
        other.advance(upto)

    for upto in (4, 7, 10):
        with ivm.connect(tmp_path / "db", compile="off") as db:
            if upto == 4:
                db.sql(SCHEMA)
            bring(db, upto)
            assert db.sql("SELECT count(*), max(id) FROM sale").fetchall() == [(upto, upto - 1)]
            assert db.sql("SELECT count(*) FROM shop").fetchall() == [((upto + 2) // 3,)]
            db.verify()


def test_who_holds_the_others_back_is_named_once(caplog: pytest.LogCaptureFixture) -> None:
    db = shops()
    fast, _ = db.source("fast"), db.source("slow", stalls_after=1e-9)
    with caplog.at_level(logging.WARNING, "ivm.sources"):
        for time in range(3):
            fast.advance(time + 1)
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == ["source slow holds others back"]
    (info,) = (each for each in db.sources() if each.holds_back)
    assert isinstance(info, SourceInfo)
    assert info.name == "slow"
    assert info.idle > 0
    with pytest.raises(ivm.LagError, match="for source slow, which is at 0"):
        limited = db.source("limited", limit=2)
        for number in range(2):
            limited.apply({"shop": [{"id": 2 * number, "city": ""}, {"id": 2 * number + 1, "city": ""}]}, time=1)
    assert limited.waiting == 2


def test_changes_of_several_modes_and_of_a_table_that_was_altered_meanwhile() -> None:
    db = shops()
    a, b = db.source("a"), db.source("b")
    a.apply({"shop": [{"id": 1, "city": "a", "_diff": 1, "_time": 1}, {"id": 1, "city": "a", "_diff": -1, "_time": 4}]})
    b.apply({"shop": [{"id": 1, "city": "b", "_time": 2}, {"id": 1, "city": "c", "_time": 3}]}, mode="upsert")
    b.apply({"shop": [{"id": 2, "city": "d", "_time": 4}]}, mode="upsert")
    db.sql("ALTER TABLE shop ADD COLUMN size INTEGER DEFAULT 7")
    a.advance(4)
    b.advance(4)
    assert db.sql("SELECT * FROM shop").fetchall() == [(1, "c", 7)]
    a.close()
    b.close()
    assert db.sql("SELECT * FROM shop").fetchall() == [(2, "d", 7)]


def test_rows_go_by_their_key_alone_come_back_and_find_a_table_that_has_grown() -> None:
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (id INTEGER PRIMARY KEY, c VARCHAR NOT NULL); CREATE MATERIALIZED VIEW v AS SELECT c FROM t")
    a, b = db.source("a"), db.source("b")
    a.apply({"t": [{"id": 1, "c": "x"}, {"id": 2, "c": "y"}]}, time=1)
    a.apply({"t": [{"id": 1, "_diff": -1}]}, time=2)
    a.apply({"t": [{"id": 1, "c": "z"}]}, time=3)
    b.apply({"t": [{"id": 1, "_diff": -1}, {"id": 2, "_diff": -1}]}, time=4)
    a.apply({"t": [{"id": 2, "c": "w"}]}, time=4)
    b.apply({"t": pa.table({"id": pa.array([3], pa.int32()), "c": pa.array(["x"]).dictionary_encode()})}, time=5)
    a.apply({"t": [{"id": 4, "c": "x"}]}, time=5)
    log = db.subscribe("v", snapshot=False)
    a.advance(9)
    db.sql("ALTER TABLE t ADD COLUMN size INTEGER")
    b.advance(9)
    told = [(each["_time"], each["c"], each["_diff"]) for each in log.fetch().to_pylist()]
    assert sorted(told) == [
        (1, "x", 1), (1, "y", 1), (2, "x", -1), (3, "z", 1), (4, "w", 1), (4, "y", -1), (4, "z", -1), (5, "x", 2)
    ]  # fmt: skip
    assert sorted(db.sql("SELECT * FROM t").fetchall()) == [(2, "w", None), (3, "x", None), (4, "x", None)]


def test_a_source_is_there_until_it_is_closed() -> None:
    db = shops()
    with pytest.raises(ZeroDivisionError), db.source("a") as source:
        source.apply({"shop": [{"id": 1, "city": "a"}]}, time=1)
        raise ZeroDivisionError
    assert db.source("a") is source
    with pytest.raises(ivm.BindError, match="with other options"):
        db.source("a", late="move")
    source.close()
    source.close()
    assert rows(db, "shop") == Counter([(1, "a")])
    with pytest.raises(ivm.InterfaceError, match="it was closed"):
        source.advance(4)
    assert db.sources() == []
    assert db.source("a").frontier == 2


def test_bad_input_is_refused_and_changes_nothing() -> None:
    db = shops()
    source = db.source("a")
    source.advance(3)
    shop = [{"id": 1, "city": "a"}]
    with pytest.raises(ivm.InterfaceError, match="time never falls"):
        source.advance(2)
    with pytest.raises(ivm.InterfaceError, match="give time="):
        source.apply({"shop": shop})
    with pytest.raises(ivm.InterfaceError, match="not both"):
        source.apply({"shop": [{**shop[0], "_time": 4}]}, time=4)
    with pytest.raises(ivm.ConstraintError, match="_time lies"):
        source.apply({"shop": [{**shop[0], "_time": -4}]})
    with pytest.raises(ivm.TypeMismatchError, match="time is"):
        source.apply({"shop": shop}, time="tomorrow")
    with pytest.raises(ivm.BindError, match="no table"):
        source.apply({"shop": shop, "shoop": shop}, time=4)
    with pytest.raises(ivm.TypeMismatchError, match="late is"):
        db.source("b", late="ignore")  # type: ignore[arg-type]
    with pytest.raises(ivm.InterfaceError, match="must have a text"):
        db.source(7)  # type: ignore[arg-type]
    assert source.waiting == 0
    assert [each.name for each in db.sources()] == ["a"]
    db.close()
    with pytest.raises(ivm.InterfaceError, match="closed"):
        source.advance(5)


def test_many_threads_bring_what_is_theirs() -> None:
    db = shops()
    opened = [db.source(f"s{number}") for number in range(4)]

    def bring(number: int) -> None:
        for time in range(50):
            opened[number].apply({"sale": [{"id": 100 * number + time, "shop": 1, "price": 1}]}, time=time)
            opened[number].advance(time + 1)

    threads = [threading.Thread(target=bring, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert db.sql("SELECT count(*) FROM sale").fetchall() == [(200,)]
    assert all(each.waiting == 0 for each in opened)
    assert db.batches() == {sources_of.MARK: 50}

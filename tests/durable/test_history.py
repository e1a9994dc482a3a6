"""What a view changed can be read after a database was opened again, as far back as its history goes."""

from __future__ import annotations

import json
import random
import zlib

import pyarrow as pa
import pytest

import ivm
from tests.durable.places import Directory, OverShards

VIEW = "CREATE MATERIALIZED VIEW v AS SELECT name, count(*) AS n, max(x) AS most FROM t GROUP BY name"


def rows(table: pa.Table) -> list[tuple[object, ...]]:
    return sorted(tuple(row.values()) for row in table.to_pylist())


def step(db: ivm.Database, chosen: random.Random) -> None:
    keys = [{"id": chosen.randrange(20), "name": f"name {chosen.randrange(4)}", "x": chosen.randrange(9)}]
    db.apply({"t": [{**keys[0], "_diff": chosen.choice([1, 1, -1])}]}, mode="upsert")


@pytest.fixture(params=[None, 3])
def db(request):
    with ivm.connect(history=5, compile="off", shards=request.param) as made:
        made.sql("CREATE TABLE t (id BIGINT PRIMARY KEY, name VARCHAR, x BIGINT)")
        made.sql(VIEW)
        yield made


def test_changes_are_those_that_a_subscription_tells(db):
    chosen, told = random.Random(1), db.subscribe("v")
    for _ in range(9):
        step(db, chosen)
    heard, view = told.fetch(), db.view("v")
    for after in range(db.time - 5, db.time + 1):
        for until in range(after, db.time + 1):
            between = heard.filter(
                pa.compute.and_(pa.compute.greater(heard["_time"], after), pa.compute.less_equal(heard["_time"], until))
            )
            assert rows(view.changes(after, until)) == rows(between)
    assert rows(view.changes(db.time - 2)) == rows(view.changes(db.time - 2, db.time))
    assert view.changes(db.time).schema == heard.schema


def test_times_that_are_not_kept(db):
    chosen = random.Random(1)
    for _ in range(9):
        step(db, chosen)
    for after, until in ((3, None), (5, 20), (20, None), (6, 3)):
        with pytest.raises(ivm.BindError, match="times from 4 to 9 can be read"):
            db.view("v").changes(after, until)
    with pytest.raises(ivm.TypeMismatchError, match="after"):
        db.view("v").changes("x")


def test_a_hidden_column_is_no_change(db):
    db.sql("CREATE MATERIALIZED VIEW names AS SELECT name FROM t ORDER BY x")
    db.sql("INSERT INTO t VALUES (1, 'a', 1)")
    db.sql("UPDATE t SET x = 2")
    assert [row["_time"] for row in db.view("names").changes(0).to_pylist()] == [1]


def test_no_changes_before_a_view_was_created(db):
    db.sql("INSERT INTO t VALUES (1, 'a', 1)")
    db.sql("CREATE MATERIALIZED VIEW late AS SELECT name FROM t")
    db.sql("INSERT INTO t VALUES (2, 'b', 1)")
    assert db.view("late").changes(1).num_rows == 1
    with pytest.raises(ivm.BindError, match="times from 1 to 2"):
        db.view("late").changes(0)


@pytest.mark.parametrize(
    ("kind", "count", "seed"), [*((Directory, 60, seed) for seed in range(4)), (OverShards, 40, 1)]
)
def test_whoever_opens_it_sees_the_same_changes(kind, count, seed):
    """Commits, checkpoints, reopening and new views in any order; who opens it to read sees all that history has."""
    chosen, place, created = random.Random(seed), kind(), {"v": 0}
    kept: dict[tuple[str, int], list[tuple[object, ...]]] = {}
    db = place.open(12)
    db.sql("CREATE TABLE t (id BIGINT PRIMARY KEY, name VARCHAR, x BIGINT)")
    db.sql(VIEW)
    told, first = {"v": db.subscribe("v")}, 0
    for number in range(count):
        match chosen.randrange(20):
            case 0:
                db.close()
                db = place.open(12)
                first = 0 if place.keeps_past else db.time
                told = {name: db.subscribe(name) for name in created}
            case 1 | 2:
                db.sql("CHECKPOINT")
            case 3:
                name = f"v{number}"
                db.sql(VIEW.replace("VIEW v", f"VIEW {name}"))
                created[name] = db.time
                told[name] = db.subscribe(name)
            case 4 if len(created) > 2:
                name = max(created)
                db.sql(f"DROP VIEW {name}")
                del created[name], told[name]
                kept = {key: each for key, each in kept.items() if key[0] != name}
            case _:
                step(db, chosen)
        for name, subscription in told.items():
            for row in subscription.fetch().to_pylist():
                kept.setdefault((name, row["_time"]), []).append(tuple(row.values()))
        if chosen.randrange(6) == 0:
            with place.beside(1 << 40) as beside:
                for name, since in created.items():
                    assert sorted(beside.view(name).fetchall()) == sorted(db.view(name).fetchall())
                    after = max(since, first, beside.time - 12)
                    wanted = [row for (of, time), each in kept.items() if of == name and time > after for row in each]
                    assert rows(db.view(name).changes(after)) == sorted(wanted)
                    if not place.keeps_past:
                        assert not beside.view(name).changes(beside.time).num_rows
                        continue
                    assert rows(beside.view(name).changes(after)) == sorted(wanted)
                    assert sorted(beside.view(name).fetchall(as_of=after)) == sorted(
                        db.view(name).fetchall(as_of=after)
                    )
    db.close()


def test_a_database_without_history_begins_at_its_checkpoint(tmp_path):
    with ivm.connect(tmp_path / "db", compile="off") as db:
        db.sql("CREATE TABLE t (id BIGINT PRIMARY KEY, name VARCHAR, x BIGINT)")
        db.sql(VIEW)
        db.sql("INSERT INTO t VALUES (1, 'a', 1)")
        db.sql("INSERT INTO t VALUES (2, 'b', 1)")
        db.sql("CHECKPOINT")
        db.sql("INSERT INTO t VALUES (3, 'c', 1)")
        with ivm.connect(tmp_path / "db", read_only=True, history=9, compile="off") as beside:
            assert [row["name"] for row in beside.view("v").changes(2).to_pylist()] == ["c"]
            with pytest.raises(ivm.BindError, match="times from 2 to 3"):
                beside.view("v").changes(1)


@pytest.mark.parametrize(
    ("kind", "count", "seed"), [*((Directory, 70, seed) for seed in range(3)), (OverShards, 40, 1)]
)
def test_tables_have_their_past_again(kind, count, seed):
    """Commits, checkpoints, reopening and tables that are new or altered, in any order."""
    chosen, place, begun = random.Random(seed), kind(), {"t": 1}
    kept: dict[tuple[str, int], list[tuple[object, ...]]] = {}
    db = place.open(12)
    db.sql("CREATE TABLE t (id BIGINT PRIMARY KEY, name VARCHAR, x BIGINT)")
    db.sql(VIEW)
    first = 1
    for number in range(count):
        match chosen.randrange(16):
            case 0 | 1:
                db.close()
                db = place.open(12)
                first = 1 if place.keeps_past else db.time
            case 2:
                db.sql("CHECKPOINT")
            case 3 if len(begun) < 3:
                db.sql(f"CREATE TABLE t{number} AS SELECT * FROM t")  # without a key
                begun[f"t{number}"] = db.time
            case 4:
                db.sql("DELETE FROM t")
            case 5:
                db.sql("INSERT INTO t SELECT id + 100, name, x FROM t WHERE id < 100 ON CONFLICT DO NOTHING")
            case 6 if len(begun) > 1:
                db.sql(f"UPDATE {max(begun)} SET x = x + 1, name = name || '.' WHERE x > 2")
            case _:
                step(db, chosen)
        for table in begun:
            kept[table, db.time] = sorted(db.sql(f"SELECT * FROM {table}").fetchall())
        if db.time and chosen.randrange(4) == 0:
            times = range(max(db.time - 12, first), db.time + 1)
            for table, since in begun.items():
                time = chosen.choice(times)
                if time < since:
                    continue
                last = max(each for of, each in kept if of == table and each <= time)
                assert sorted(db.sql(f"SELECT * FROM {table} AS OF {time}").fetchall()) == kept[table, last]
            if not place.keeps_past:
                time = db.time
            with place.beside(12) as beside, beside.snapshot(time) as seen:
                assert sorted(seen.sql("SELECT * FROM t").fetchall()) == sorted(
                    db.sql(f"SELECT * FROM t AS OF {time}").fetchall()
                )
    db.close()


def test_the_past_of_many_rows_that_are_replaced():
    """Most rows die, so that the others get new numbers, as far as nobody may ask for those that have died."""
    place, many = Directory(), "SELECT range AS id, range % 7 AS x FROM range(40_000)"
    with place.open(2) as db:
        db.sql(f"CREATE TABLE t (id BIGINT PRIMARY KEY, x BIGINT); INSERT INTO t {many}")
        for add in range(1, 5):
            db.sql(f"UPDATE t SET x = x + {add}")
            if add % 2:
                db.sql("CHECKPOINT")
        db.sql("DELETE FROM t WHERE id >= 10")
    sums: dict[int, list[tuple[object, ...]]] = {}
    for again in range(3):
        with place.open(2) as db:
            for time in range(db.time - 2, db.time + 1):
                found = db.sql(f"SELECT count(*), sum(x) FROM t AS OF {time}").fetchall()
                assert sums.setdefault(time, found) == found
            with pytest.raises(ivm.BindError, match="can be read"):
                db.sql(f"SELECT * FROM t AS OF {db.time - 3}")
            if again == 1:
                db.sql("INSERT INTO t VALUES (-1, 0)")
    assert [count for ((count, _),) in sums.values()] == [40_000, 40_000, 10, 11]
    with place.open() as db:
        db.sql("INSERT INTO t VALUES (-2, 0)")
    with place.open(9) as db:
        assert db.sql("SELECT count(*) FROM t").fetchall() == [(12,)]
        with pytest.raises(ivm.BindError, match="can be read"):
            db.sql(f"SELECT * FROM t AS OF {db.time - 1}")


def test_a_past_that_does_not_fit_is_said(tmp_path):
    path = tmp_path / "db"
    with ivm.connect(path, history=9, compile="off") as db:
        db.sql("CREATE TABLE t (id BIGINT PRIMARY KEY); INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)")
    (past,) = path.glob("past-*")
    past.write_bytes(past.read_bytes()[:-1])
    with pytest.raises(ivm.StorageError, match="past-"):
        ivm.connect(path, history=9, compile="off")


def test_a_copy_has_the_past_and_a_directory_of_an_earlier_release_has_none(tmp_path):
    path, asked = tmp_path / "db", "SELECT count(*) FROM t AS OF 1"
    with ivm.connect(path, history=9, compile="off") as db:
        db.sql(
            "CREATE TABLE t (id BIGINT PRIMARY KEY); INSERT INTO t VALUES (1); INSERT INTO t VALUES (2); DELETE FROM t"
        )
        db.sql("CHECKPOINT")
        db.backup(tmp_path / "copy")
    with ivm.connect(tmp_path / "copy", history=9, compile="off") as db:
        assert db.sql(asked).fetchall() == [(1,)]
    head, _, text = (path / "MANIFEST").read_bytes().partition(b"\n")
    plain = json.loads(text)
    for table in plain["tables"].values():
        del table["since"], table["past"]
    text = json.dumps(plain).encode()
    (path / "MANIFEST").write_bytes(head[:-8] + b"%08x\n" % zlib.crc32(text) + text)
    with ivm.connect(path, history=9, compile="off") as db:
        assert db.sql("SELECT count(*) FROM t AS OF 3").fetchall() == [(0,)]
        with pytest.raises(ivm.BindError, match="times from 3 to 3"):
            db.sql(asked)

"""Deliveries of what changes in views, to folders, tables of Delta's and functions."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import deltalake
import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ivm
from ivm.deliveries import delta
from ivm.deliveries.parquet import Parquet
from ivm.deliveries.target import Mark
from ivm.storage.directory_folder import DirectoryFolder
from ivm.storage.open_directory import OpenDirectory

TABLES = """
    CREATE TABLE sale (id BIGINT PRIMARY KEY, city VARCHAR NOT NULL, price DECIMAL(9,2) NOT NULL);
    CREATE MATERIALIZED VIEW revenue AS SELECT city, sum(price) AS total, count(*) AS n FROM sale GROUP BY city;
"""
KINDS = ("", "delta:")


def files(to: str) -> list[str]:
    """The files that a folder or a table of Delta's consists of."""
    if not to.startswith("delta:"):
        return sorted(map(str, Path(to).glob("*.parquet")))
    return deltalake.DeltaTable(to.removeprefix("delta:")).file_uris()


def added(to: str) -> Counter[tuple[Any, ...]]:
    """What all that was delivered comes to."""
    found: Counter[tuple[Any, ...]] = Counter()
    for path in files(to):
        for row in pq.read_table(path).to_pylist():
            found[row["city"], row["total"], row["n"]] += row["_diff"]
    return Counter({row: count for row, count in found.items() if count})


@pytest.fixture
def db() -> Iterator[ivm.Database]:
    with ivm.connect(compile="off", history=100) as made:
        made.sql(TABLES)
        yield made


def sell(db: ivm.Database, id: int, city: str = "Bern") -> None:
    db.apply({"sale": [{"id": id, "city": city, "price": "1.00"}]}, mode="upsert")


@pytest.mark.parametrize("kind", KINDS)
def test_all_that_is_delivered_comes_to_the_view(db, tmp_path, kind):
    to = f"{kind}{tmp_path / 'out'}"
    sell(db, 1)
    with db.deliver("revenue", to) as delivery:
        assert delivery.wait(10)
        assert added(to) == Counter(db.view("revenue").fetchall())
        for number in range(30):
            sell(db, number % 7, "BO"[number % 2])
        assert delivery.wait(10)
        assert added(to) == Counter(db.view("revenue").fetchall())
        assert (delivery.view, delivery.time, delivery.error, delivery.running) == ("revenue", db.time, "", True)
        told = db.sql("SELECT view, form, time, behind, state, failures FROM ivm_deliveries").fetchall()
        assert told == [("revenue", "changes", db.time, 0, "runs", 0)]
        with pytest.raises(ivm.InterfaceError, match="already"):
            db.deliver("revenue", to)
    assert not delivery.running
    assert db.sql("FROM ivm_deliveries").fetchall() == []
    known = len(files(to))
    sell(db, 100)
    with db.deliver("revenue", to) as delivery:
        assert delivery.wait(10)
    assert added(to) == Counter(db.view("revenue").fetchall())
    assert len(files(to)) == known + 1
    sell(db, 100)  # as it is already
    with db.deliver("revenue", to) as delivery:
        assert delivery.wait(10)
    assert len(files(to)) == known + 1


@pytest.mark.parametrize("kind", KINDS)
def test_it_goes_on_after_the_database_was_opened_again(tmp_path, kind):
    to, path = f"{kind}{tmp_path / 'out'}", tmp_path / "shop.ivm"
    with ivm.connect(path, compile="off", history=3) as db:
        db.sql(TABLES)
        for number in range(5):
            sell(db, number)
        assert db.deliver("revenue", to, every="1ms").wait(10)
        sell(db, 5)  # delivered by closing
    with ivm.connect(path, compile="off", history=3) as db:
        for number in range(3):
            sell(db, 10 + number)
        assert db.deliver("revenue", to).wait(10)
        assert added(to) == Counter(db.view("revenue").fetchall())
    with ivm.connect(path, compile="off", history=3) as db:
        for number in range(5):
            sell(db, 20 + number)
        with pytest.raises(ivm.BindError, match="larger `history`"):
            db.deliver("revenue", to)
        with pytest.raises(ivm.InterfaceError, match="from a time"):
            db.deliver("revenue", to, from_time=db.time)
        with pytest.raises(ivm.InterfaceError, match="or in another form"):
            db.deliver("revenue", to, form="upserts")
        assert db.sql("FROM ivm_deliveries").fetchall() == []


def test_a_view_that_is_replaced_goes_on_in_the_same_place(tmp_path):
    to, path = str(tmp_path / "out"), tmp_path / "shop.ivm"
    replaced = (
        "CREATE OR REPLACE MATERIALIZED VIEW revenue AS SELECT city, sum(price) AS total, count(*) AS n FROM sale"
    )
    with ivm.connect(path, compile="off", history=9) as db:
        db.sql(TABLES)
        sell(db, 1)
        sell(db, 2)
        delivery = db.deliver("revenue", to)
        assert delivery.wait(10)
        db.sql(f"{replaced} WHERE id > 1 GROUP BY city")
        sell(db, 3)
        assert delivery.wait(10)
        assert added(to) == Counter(db.view("revenue").fetchall())
    with ivm.connect(path, compile="off", history=9) as db:
        db.deliver("revenue", to).close()
        db.sql(f"{replaced} WHERE id > 2 GROUP BY city")  # of which nothing is delivered
        with pytest.raises(ivm.InterfaceError, match="before it was replaced"):
            db.deliver("revenue", to)


def test_a_function_is_called_again_until_it_returns(db):
    taken, fails = list[tuple[pa.Table, int]](), [3]

    def take(changes: pa.Table, time: int) -> None:
        if fails[0]:
            fails[0] -= 1
            raise OSError("nobody answers")
        taken.append((changes, time))

    sell(db, 1)
    delivery = db.deliver("revenue", take, form="upserts")
    while not delivery.error:
        pass
    assert "nobody answers" in delivery.error
    assert db.sql("SELECT state, failures > 0 FROM ivm_deliveries").fetchall() == [("tries again", True)]
    assert delivery.wait(10)
    assert (delivery.error, [(rows.num_rows, time) for rows, time in taken]) == ("", [(1, 1)])
    sell(db, 2)
    assert delivery.wait(10)
    delivery.close()
    sell(db, 3)
    with db.deliver("revenue", take, from_time=taken[-1][1]) as delivery:
        assert delivery.wait(10)
    assert [time for _, time in taken] == [1, 2, 3]
    fails[0] = 10**9
    with db.deliver("revenue", take) as delivery:  # closing does not wait for what cannot be delivered
        pass
    assert not delivery.running


def test_it_ends_with_its_view(db, tmp_path, caplog):
    delivery = db.deliver("revenue", tmp_path)
    db.sql("DROP VIEW revenue")
    while delivery.running:
        pass
    assert "was dropped" in delivery.error
    assert db.sql("SELECT state, error LIKE '%dropped%' FROM ivm_deliveries").fetchall() == [("ended", True)]
    delivery.close()
    assert db.sql("FROM ivm_deliveries").fetchall() == []


def test_what_cannot_be_delivered_is_said_before(db, tmp_path):
    odd = tmp_path / "odd"
    odd.mkdir()
    (odd / "x.parquet").touch()
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "_delivered.json").write_text("{")
    (tmp_path / "file").touch()
    db.sql("CREATE TABLE t (id INTEGER PRIMARY KEY, span INTERVAL, fine TIMESTAMP_NS)")
    db.sql("CREATE MATERIALIZED VIEW spans AS SELECT id, span FROM t")
    db.sql("CREATE MATERIALIZED VIEW moments AS SELECT id, [fine] AS fine FROM t")
    cases: list[tuple[str, Any, type[ivm.Error], str]] = [
        ("none", tmp_path / "a", ivm.BindError, "there is no view"),
        ("spans", tmp_path / "a", ivm.UnsupportedError, "'span' in Parquet"),
        ("spans", f"delta:{tmp_path / 'a'}", ivm.UnsupportedError, "'span' to a table of Delta's"),
        ("moments", f"delta:{tmp_path / 'a'}", ivm.UnsupportedError, "'fine' to a table of Delta's"),
        ("revenue", 5, ivm.TypeMismatchError, "not to a int"),
        ("revenue", odd, ivm.StorageError, "x.parquet"),
        ("revenue", broken, ivm.StorageError, "cannot read"),
        ("revenue", tmp_path / "file", ivm.StorageError, "cannot deliver to folder"),
    ]
    for view, to, kind, words in cases:
        with pytest.raises(kind, match=words):
            db.deliver(view, to)
    with db.deliver("revenue", f"delta:{tmp_path / 'table'}") as delivery:
        sell(db, 1)
        assert delivery.wait(10)
    with pytest.raises(ivm.StorageError, match="write to='delta:"):
        db.deliver("revenue", tmp_path / "table")
    assert db.sql("FROM ivm_deliveries").fetchall() == []


def test_over_shards_too(tmp_path):
    with ivm.connect(shards=2, compile="off") as db:
        db.sql(TABLES)
        delivery = db.deliver("revenue", tmp_path)
        for number in range(5):
            sell(db, number, "BO"[number % 2])
        assert delivery.wait(10)
        assert added(str(tmp_path)) == Counter(db.view("revenue").fetchall())
        assert db.sql("SELECT behind FROM ivm_deliveries").fetchall() == [(0,)]


def test_a_folder_that_fails_at_any_step_has_each_change_once(tmp_path, monkeypatch):
    """Also where those who read its files take them away."""
    changes = pa.table({"x": [1], "_time": [1], "_diff": [1]})
    steps = [
        (DirectoryFolder, "put", 0),
        (DirectoryFolder, "put", 1),
        (OpenDirectory, "rename", 0),
        (Path, "replace", 0),
    ]
    for number, (owner, name, skipped) in enumerate(steps):
        path, done, left = tmp_path / str(number), getattr(owner, name), [skipped]

        def fail(*given: Any, done: Any = done, left: list[int] = left) -> Any:
            left[0] -= 1
            if left[0] < 0:
                raise OSError("no more")
            return done(*given)

        target = Parquet(path)
        assert target.begin(changes) is None
        with monkeypatch.context() as patched:
            patched.setattr(owner, name, fail)
            with pytest.raises(OSError, match="no more"):
                target.put(changes, Mark(1, 7, 3))
        again = Parquet(path)
        last = again.begin(changes)
        assert last in (None, Mark(1, 7, 3))
        assert [each.name for each in path.glob("*.parquet")] == (["00000001-7.parquet"] if last else [])
        for each in path.glob("*.parquet"):
            each.unlink()
        again.put(changes, Mark(2, 9, 3))
        again.put(changes.slice(0, 0), Mark(2, 12, 3))
        assert Parquet(path).begin(changes) == Mark(2, 12, 3)
        assert sorted(each.name for each in path.iterdir()) == ["00000002-9.parquet", "_delivered.json"]
        assert json.loads((path / "_delivered.json").read_text())["time"] == 12


@pytest.mark.parametrize("arrives", [False, True])
def test_a_table_of_deltas_has_what_arrived_though_it_failed_once(db, tmp_path, monkeypatch, arrives):
    done, fails, to = deltalake.write_deltalake, [1], f"delta:{tmp_path / 'out'}"

    def fail(*given: Any, **more: Any) -> None:
        if arrives or not fails[0]:
            done(*given, **more)
        if fails[0]:
            fails[0] = 0
            raise OSError("the answer is lost")

    sell(db, 1)
    monkeypatch.setattr(delta, "write_deltalake", fail)
    for _ in range(2):
        with db.deliver("revenue", to) as delivery:
            assert delivery.wait(10)
        assert added(to) == Counter(db.view("revenue").fetchall())
        sell(db, 2)
    assert len(files(to)) == 2


def test_duckdb_reads_what_is_delivered(db, tmp_path):
    with db.deliver("revenue", tmp_path) as delivery:
        sell(db, 1)
        sell(db, 2)
        assert delivery.wait(10)
    query = f"SELECT city, n FROM '{tmp_path}/*.parquet' GROUP BY ALL HAVING sum(_diff) > 0"
    assert duckdb.execute(query).fetchall() == [("Bern", 2)]


def test_of_a_query(db, tmp_path):
    query = "SELECT city, sum(price) AS total, count(*) AS n FROM sale WHERE city = ? GROUP BY city"
    to, taken = str(tmp_path / "out"), list[int]()
    db.deliver(query, lambda changes, _: taken.append(changes.num_rows), params=["B"])
    with db.deliver(query, to, params=["A"]) as delivery:
        sell(db, 1, "A")
        sell(db, 2, "B")
        assert delivery.wait(30)
    sell(db, 3, "A")
    with pytest.raises(ivm.InterfaceError, match="of another view"):
        db.deliver(query, to, params=["B"])
    with db.deliver(query, to, params=["A"]) as delivery:
        assert delivery.wait(30)
    assert added(to) == Counter(db.sql("SELECT * FROM revenue WHERE city = 'A'").fetchall())
    names = db.sql("SELECT name, acknowledged FROM ivm_subscriptions WHERE name IS NOT NULL").fetchall()
    assert names == [(f"delivery to {to}", db.time)]
    shutil.rmtree(to)
    with db.deliver(query, to, params=["A"]) as delivery:  # all anew
        assert delivery.wait(30)
    assert added(to) == Counter(db.sql("SELECT * FROM revenue WHERE city = 'A'").fetchall())
    db.forget_subscription(f"delivery to {to}")
    db.close()
    assert sum(taken) == 1

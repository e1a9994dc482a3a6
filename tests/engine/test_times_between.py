"""Times that nobody can see are not told apart: one commit of many times ends as if each had come alone."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

import ivm
from ivm.session.core import engine_of
from ivm.session.database import core_of

TABLES = (
    "CREATE TABLE part (id BIGINT PRIMARY KEY, kind BIGINT, size BIGINT NOT NULL)",
    "CREATE TABLE sale (kind BIGINT, amount BIGINT NOT NULL)",
)
VIEWS = {
    "sums": "SELECT kind, count(*) n, sum(size) s, min(size) lo, max(size) hi FROM part GROUP BY kind",
    "joined": "SELECT p.id, s.amount FROM part p JOIN sale s ON p.kind = s.kind",
    "outside": "SELECT p.id, s.amount FROM part p LEFT JOIN sale s ON p.kind = s.kind AND s.amount > p.size",
    "largest": "SELECT id, size FROM part ORDER BY size DESC, id LIMIT 3",
    "kinds": "SELECT kind FROM part EXCEPT SELECT kind FROM sale",
    "above": "SELECT id FROM part WHERE size > (SELECT avg(amount) FROM sale)",
}


def connect(**options: Any) -> ivm.Database:
    db = ivm.connect(compile="off", **options)
    for text in TABLES:
        db.sql(text)
    for name, text in VIEWS.items():
        db.sql(f"CREATE MATERIALIZED VIEW {name} AS {text}")
    return db


def batches(seed: int, count: int, times: int) -> list[dict[str, list[tuple[tuple[Any, ...], int, int]]]]:
    """Batches of (row, offset of its time, diff), in which keys go and come back, and equal rows come and go."""
    rng = random.Random(seed)
    parts: dict[int, tuple[int, ...]] = {}
    sales: list[tuple[int, int]] = []
    made = []
    for _ in range(count):
        batch: dict[str, list[tuple[tuple[Any, ...], int, int]]] = {"part": [], "sale": []}
        for time in range(1, times + 1):
            for key in rng.sample(range(6), 2):
                if key in parts:
                    batch["part"].append((parts.pop(key), time, -1))
                if rng.random() < 0.7:
                    parts[key] = (key, rng.randrange(3), rng.randrange(9))
                    batch["part"].append((parts[key], time, 1))
            if sales and rng.random() < 0.5:
                batch["sale"].append((sales.pop(rng.randrange(len(sales))), time, -1))
            for _ in range(rng.randrange(3)):
                sales.append((rng.randrange(3), rng.randrange(3)))
                batch["sale"].append((sales[-1], time, 1))
        made.append(batch)
    return made


def apply(db: ivm.Database, batch: dict[str, list[tuple[tuple[Any, ...], int, int]]], rng: random.Random) -> None:
    names = {"part": ("id", "kind", "size"), "sale": ("kind", "amount")}
    tables = {}
    for table, rows in batch.items():
        shuffled = rng.sample(rows, len(rows))
        columns: dict[str, Any] = dict(
            zip(names[table], zip(*(row for row, _, _ in shuffled), strict=True), strict=True)
        )
        columns["_time"] = [db.time + time for _, time, _ in shuffled]
        columns["_diff"] = [diff for _, _, diff in shuffled]
        tables[table] = pa.table({name: pa.array(values, pa.int64()) for name, values in columns.items()})
    db.apply(tables)


def births(db: ivm.Database) -> int:
    """The times that the rows of `part` came at, as far as they are told apart."""
    return engine_of(core_of(db)).tables["part"].store._births.times.length


def test_views_end_as_where_every_time_counts() -> None:
    unseen, kept, heard = connect(), connect(history=1000), connect()
    subscription = heard.subscribe("sums")
    for seed, batch in enumerate(batches(1, 30, 7)):
        for db in (unseen, kept, heard):
            apply(db, batch, random.Random(seed))
        for name in VIEWS:
            found = sorted(unseen.view(name).fetchall(), key=repr)
            assert (
                found == sorted(kept.view(name).fetchall(), key=repr) == sorted(heard.view(name).fetchall(), key=repr)
            )
    assert len(set(subscription.fetch()["_time"].to_pylist())) > 30
    assert births(kept) > 100 > births(unseen)
    for db in (unseen, kept, heard):
        db.verify()


def test_of_the_history_that_is_kept_every_time_is_told_apart() -> None:
    few, all_ = connect(history=3), connect(history=1000)
    for seed, batch in enumerate(batches(2, 5, 9)):
        for db in (few, all_):
            apply(db, batch, random.Random(seed))
        for name in VIEWS:
            for time in range(few.time - 3, few.time + 1):
                as_it_was = sorted(all_.view(name).fetchall(as_of=time), key=repr)
                assert sorted(few.view(name).fetchall(as_of=time), key=repr) == as_it_was


def test_a_number_too_large_in_between_is_seen_only_where_it_can_be() -> None:
    moments = pa.table({"kind": [1, 1], "amount": [2**62, 2**62], "_time": [1, 2], "_diff": [1, 1]})
    back = pa.table({"kind": [1], "amount": [2**62], "_time": [3], "_diff": [-1]})
    batch = pa.concat_tables([moments, back])
    for history, fails in ((0, False), (10, True)):
        db = ivm.connect(compile="off", history=history)
        db.sql(TABLES[1])
        db.sql("CREATE MATERIALIZED VIEW total AS SELECT CAST(sum(amount) AS BIGINT) s FROM sale")
        if fails:
            with pytest.raises(ivm.NumericError):
                db.apply({"sale": batch})
        else:
            db.apply({"sale": batch})
            assert db.view("total").fetchall() == [(2**62,)]


def test_constraints_hold_at_every_time() -> None:
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE city (id BIGINT PRIMARY KEY, name VARCHAR, UNIQUE (name))")
    db.sql("CREATE TABLE person (id BIGINT, city BIGINT REFERENCES city (id)) WITH (check_foreign_keys = true)")
    twice = pa.table({"id": [1, 2, 1], "name": ["a", "a", "a"], "_time": [1, 2, 3], "_diff": [1, 1, -1]})
    with pytest.raises(ivm.ConstraintError, match="more than once"):
        db.apply({"city": twice})
    early = {"person": pa.table({"id": [1], "city": [1], "_time": [1]})}
    with pytest.raises(ivm.ConstraintError, match="refer to no row"):
        db.apply({**early, "city": pa.table({"id": [1], "name": ["a"], "_time": [2]})})
    with pytest.raises(ivm.ConstraintError, match="already has a row"):
        db.apply(
            {"city": pa.table({"id": [1, 1, 1], "name": ["a", "b", "a"], "_time": [1, 2, 3], "_diff": [1, 1, -1]})}
        )

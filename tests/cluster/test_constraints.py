"""What tables promise is checked over shards as on one engine: the same commits are refused, and nothing is changed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

import ivm
from ivm.catalog.errors import ConstraintError, UnsupportedError
from ivm.cluster.shard.resident import Resident
from ivm.session.database import core_of
from tests.cluster.saved import loaded_from

TABLES = """
CREATE TABLE city (id BIGINT PRIMARY KEY, name VARCHAR UNIQUE);
CREATE TABLE shop (id BIGINT PRIMARY KEY, city BIGINT REFERENCES city, code BIGINT, part VARCHAR, UNIQUE (code, part),
    boss BIGINT REFERENCES shop) WITH (check_foreign_keys = true);
CREATE TABLE sale (shop BIGINT, day BIGINT, price DECIMAL(9,2), FOREIGN KEY (shop) REFERENCES shop)
    PARTITIONED BY (day) WITH (check_foreign_keys = true);
CREATE MATERIALIZED VIEW sums AS SELECT city.name, sum(price) AS total FROM sale JOIN shop ON sale.shop = shop.id
    JOIN city ON shop.city = city.id GROUP BY city.name;
"""


@pytest.fixture
def db() -> Iterator[ivm.Database]:
    with ivm.connect(shards=3, compile="off") as made:
        yield made


def driver(db: ivm.Database) -> Any:
    return core_of(db).engine


def residents(db: ivm.Database) -> list[Resident]:
    found: list[Resident] = driver(db).transport.residents
    return found


def refused(db: ivm.Database, text: str, match: str) -> None:
    """It is refused, and everything is as before."""
    before = contents(db)
    with pytest.raises(ConstraintError, match=match):
        db.sql(text)
    assert contents(db) == before


def contents(db: ivm.Database) -> dict[str, Any]:
    names = [*(each.name for each in db.tables()), *(each.name for each in db.views())]
    found = {name: sorted(map(str, db.sql(f'FROM "{name}"').arrow().to_pylist())) for name in names}
    return found | {"": db.time}


def test_unique_between_shards(db):
    db.sql("CREATE TABLE t (id BIGINT PRIMARY KEY, a VARCHAR UNIQUE, b BIGINT, c DATE, UNIQUE (b, c))")
    db.sql(
        "INSERT INTO t VALUES (1, 'x', 1, '2024-01-01'), (2, 'y', 1, NULL), (3, NULL, 1, NULL), (4, NULL, NULL, NULL)"
    )
    refused(db, "INSERT INTO t VALUES (5, 'x', 9, NULL), (6, 'z', 9, NULL)", r"UNIQUE \(a\).*\(a\) = \('x',\) would be")
    refused(
        db, "INSERT INTO t VALUES (5, 'q', 1, '2024-01-01')", r"\(b, c\) = \(1, datetime.date\(2024, 1, 1\)\) would"
    )
    refused(
        db, "INSERT INTO t SELECT i, 'q' || i % 5, i, NULL FROM range(10, 20) r(i)", r"\(a\) = .*, \.\.\. would|\(a\) ="
    )
    db.sql("UPDATE t SET a = CASE a WHEN 'x' THEN 'y' ELSE 'x' END WHERE id < 3")
    refused(db, "UPDATE t SET a = 'x' WHERE id < 3", "more than once")
    db.sql("DELETE FROM t WHERE a = 'x'; INSERT INTO t VALUES (7, 'x', 9, NULL)")
    assert db.sql("SELECT id, a FROM t WHERE a IS NOT NULL ORDER BY id").arrow().to_pylist() == [
        {"id": 1, "a": "y"},
        {"id": 7, "a": "x"},
    ]


def test_foreign_keys_between_shards(db):
    db.sql("CREATE TABLE p (id BIGINT PRIMARY KEY)")
    db.sql("INSERT INTO p VALUES (1), (2), (3)")
    db.sql("CREATE TABLE c (id BIGINT PRIMARY KEY, p BIGINT REFERENCES p) WITH (check_foreign_keys = true)")
    db.sql("INSERT INTO c VALUES (1, 1), (2, NULL), (3, 2), (4, 1)")
    refused(db, "INSERT INTO c VALUES (5, 9), (6, 1)", r"FOREIGN KEY \(p\) of table c.*no row of p \(id\): \(9,\)")
    refused(db, "DELETE FROM p WHERE id = 1", r"no row of p \(id\): \(1,\)")
    refused(db, "UPDATE p SET id = 7 WHERE id = 2", r"\(2,\)")
    db.sql("DELETE FROM p WHERE id = 3")
    with db.transaction() as tx:
        tx.insert("c", [{"id": 7, "p": 70}])
        tx.insert("p", [{"id": 70}])
    with db.transaction() as tx:
        tx.delete("p", [{"id": 1}])
        tx.delete("c", [{"id": 1}, {"id": 4}])
    assert sorted(db.sql("SELECT id FROM c").arrow().column("id").to_pylist()) == [2, 3, 7]


def test_what_holds_at_the_end_must_hold_at_every_time(db):
    db.sql("CREATE TABLE p (id BIGINT PRIMARY KEY, a BIGINT UNIQUE)")
    db.sql("CREATE TABLE c (id BIGINT PRIMARY KEY, p BIGINT REFERENCES p) WITH (check_foreign_keys = true)")
    before = db.time
    late = {"p": [{"id": 1, "a": 1, "_time": before + 3}], "c": [{"id": 1, "p": 1, "_time": before + 2}]}
    with pytest.raises(ConstraintError, match="refer to no row"):
        db.apply(late)
    twice = [(1, 1, 1, 1), (2, 1, 2, 1), (2, 1, 3, -1)]
    with pytest.raises(ConstraintError, match="more than once"):
        db.apply({"p": [{"id": i, "a": a, "_time": before + t, "_diff": d} for i, a, t, d in twice]})
    assert db.time == before
    in_time = [(1, 1, 1, 1), (1, 1, 2, -1), (2, 1, 2, 1)]
    db.apply({"p": [{"id": i, "a": a, "_time": before + t, "_diff": d} for i, a, t, d in in_time]})
    assert db.sql("FROM p").arrow().to_pylist() == [{"id": 2, "a": 1}]


def test_what_each_shard_checks_by_itself_is_checked_at_every_time_too(db):
    db.sql("CREATE TABLE t (a BIGINT, b BIGINT, UNIQUE (a, b)) PARTITIONED BY (a)")
    rows = [(1, 1, 1), (1, 2, 1), (1, 3, -1)]
    with pytest.raises(ConstraintError, match="more than once"):
        db.apply({"t": [{"a": 1, "b": 1, "_time": db.time + t, "_diff": d} for _, t, d in rows]})


def test_rows_that_are_there_are_checked_when_an_index_comes(db):
    db.sql("CREATE TABLE t (id BIGINT PRIMARY KEY, a BIGINT)")
    db.sql("INSERT INTO t SELECT i, i % 9 FROM range(10) r(i)")
    nodes = [len(each.engine.renderer.graph.nodes) for each in residents(db)]
    refused(db, "CREATE UNIQUE INDEX one ON t (a)", r"CONSTRAINT one UNIQUE \(a\) would be broken: \(a\) = \(0,\)")
    assert [len(each.engine.renderer.graph.nodes) for each in residents(db)] == nodes
    db.sql("DELETE FROM t WHERE id = 9; CREATE UNIQUE INDEX one ON t (a)")
    refused(db, "INSERT INTO t VALUES (11, 3)", r"\(a\) = \(3,\)")
    db.sql("DROP INDEX one; INSERT INTO t VALUES (11, 3)")
    assert [len(each.engine.renderer.graph.nodes) for each in residents(db)] == nodes
    assert not driver(db).channels.by_name


def test_a_table_takes_its_guards_with_it(db):
    db.sql("CREATE TABLE p (id BIGINT PRIMARY KEY)")
    checked = "WITH (check_foreign_keys = true)"
    db.sql(f"CREATE TABLE t (id BIGINT PRIMARY KEY, p BIGINT REFERENCES p, a BIGINT UNIQUE) {checked}")
    with pytest.raises(UnsupportedError, match=r"cannot replace table t: .* is checked between shards; drop it first"):
        db.sql("CREATE OR REPLACE TABLE t (id BIGINT PRIMARY KEY, a BIGINT UNIQUE)")
    db.sql("CREATE OR REPLACE TABLE t AS SELECT 1 AS id, 2 AS a")
    db.sql("DROP TABLE p; CREATE OR REPLACE TABLE t (id BIGINT PRIMARY KEY, a BIGINT UNIQUE)")
    refused(db, "INSERT INTO t VALUES (1, 1), (2, 1)", "more than once")
    db.sql("DROP TABLE t")
    for each in residents(db):
        assert not each.engine.renderer.graph.nodes
        assert not each.views
        assert not each.engine.leaving


def test_a_replicated_table_refers_to_one_that_is_spread(db):
    db.sql("CREATE TABLE p (id BIGINT PRIMARY KEY)")
    db.sql("CREATE TABLE c (id BIGINT PRIMARY KEY, p BIGINT REFERENCES p) REPLICATED WITH (check_foreign_keys = true)")
    db.sql("INSERT INTO p SELECT * FROM range(10)")
    db.sql("INSERT INTO c SELECT i, i FROM range(10) r(i)")
    refused(db, "INSERT INTO c VALUES (20, 20)", r"\(20,\)")
    refused(db, "DELETE FROM p WHERE id = 4", r"\(4,\)")


def test_constraints_of_single_rows_and_keys(db):
    """Checked by the shard at which the row is."""
    db.sql("CREATE TABLE t (id BIGINT PRIMARY KEY, a BIGINT CHECK (a > 0))")
    db.sql("INSERT INTO t SELECT i, i + 1 FROM range(10) r(i)")
    refused(db, "INSERT INTO t VALUES (20, 1), (21, 0)", "CHECK .* is false on 1 row")
    refused(db, "INSERT INTO t VALUES (20, 1), (7, 9)", r"id.*\(7,\)|\(7\)|7")
    db.sql("CREATE TABLE log (id BIGINT PRIMARY KEY, a BIGINT) WITH (append_only = true)")
    db.sql("INSERT INTO log SELECT i, i FROM range(10) r(i)")
    refused(db, "DELETE FROM log WHERE id = 3", "append-only")
    db.sql("CREATE TABLE fixed (id BIGINT PRIMARY KEY, a BIGINT UNIQUE) WITH (static = true)")
    db.sql("INSERT INTO fixed SELECT i, i FROM range(10) r(i)")
    refused(db, "INSERT INTO fixed VALUES (20, 3)", "more than once")
    db.sql("CREATE MATERIALIZED VIEW v AS SELECT sum(a) AS s FROM fixed")
    refused(db, "INSERT INTO fixed VALUES (20, 20)", "static")


def test_shards_that_are_loaded_check_as_before(db):
    db.sql(TABLES)
    db.sql("INSERT INTO city VALUES (1, 'Bern'), (2, 'Oslo'), (3, NULL)")
    db.sql("INSERT INTO shop VALUES (1, 1, 10, 'a', NULL), (2, 2, 10, 'b', 1), (3, NULL, NULL, 'b', 2)")
    there = residents(db)
    for number, old in enumerate(there):
        new = Resident(number, 3)
        loaded_from(old, new)
        there[number] = new
    refused(db, "INSERT INTO city VALUES (4, 'Bern')", "more than once")
    refused(db, "DELETE FROM city WHERE id = 2", r"city \(id\): \(2,\)")
    refused(db, "INSERT INTO shop VALUES (4, 1, 10, 'a', NULL)", "more than once")
    refused(db, "INSERT INTO shop VALUES (4, 1, 11, 'a', 5)", r"shop \(id\): \(5,\)")
    db.sql("INSERT INTO shop VALUES (4, 1, 11, 'a', 4)")


@pytest.mark.parametrize("seed", range(2))
def test_as_on_one_engine(seed, db):
    compare(seed, db, 30)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 110))
def test_many_as_on_one_engine(seed, db):
    compare(seed, db, 100)


def compare(seed: int, db: ivm.Database, commits: int) -> None:
    chance, outcomes = random.Random(seed), []
    with ivm.connect(compile="off") as one:
        for each in (one, db):
            each.sql(TABLES)
        for number in range(commits):
            batch = drawn(chance, number, one)
            told = [outcome(each, batch) for each in (one, db)]
            assert told[0] == told[1], batch
            outcomes.append(told[0])
            if number % 10 == 9:
                assert contents(one) == contents(db)
        db.verify()
    assert 0.1 < sum(map(bool, outcomes)) / commits < 0.9


def outcome(db: ivm.Database, batch: dict[str, Any]) -> str:
    try:
        db.apply(batch)
    except ConstraintError as error:
        return " ".join(str(error).split()[:1])
    return ""


def drawn(chance: random.Random, number: int, db: ivm.Database) -> dict[str, Any]:
    """Changes of one or two times of few rows; most of them can be committed."""
    first, last = db.time + 1, db.time + chance.randint(1, 2)
    keys = count(number * 10)

    def at(row: dict[str, Any], diff: int = 1) -> dict[str, Any]:
        return {**row, "_time": chance.choice((first, last)), "_diff": diff}

    cities = db.sql("FROM city").arrow().to_pylist()
    shops = db.sql("FROM shop").arrow().to_pylist()
    sales = db.sql("FROM sale").arrow().to_pylist()
    names = [None, "Bern", "Oslo", "Rom", *(str(i) for i in range(20))]
    new_cities = [{"id": next(keys), "name": chance.choice(names)} for _ in range(chance.randrange(3))]
    known = [None, *(each["id"] for each in (*cities, *new_cities))]
    new_shops = [
        {"id": next(keys), "city": chance.choice(known), "code": chance.choice((None, *range(9))),
         "part": chance.choice("abc"), "boss": chance.choice((None, *(each["id"] for each in shops)))}
        for _ in range(chance.randrange(2))
    ]  # fmt: skip
    known = [None, *(each["id"] for each in (*shops, *new_shops))]
    new_sales = [{"shop": chance.choice(known), "day": next(keys), "price": 1} for _ in range(chance.randrange(4))]
    gone = {
        "city": chance.sample(cities, chance.random() < 0.2 and bool(cities)),
        "shop": chance.sample(shops, chance.random() < 0.2 and bool(shops)),
        "sale": chance.sample(sales, chance.random() < 0.6 and bool(sales)),
    }
    new = {"city": new_cities, "shop": new_shops, "sale": new_sales}
    return {name: [*(at(row) for row in new[name]), *(at(row, -1) for row in gone[name])] for name in new}

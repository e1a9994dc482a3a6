"""The same database over another number of shards: exactly what it was, at the same time, and it goes on.

Of shards in memory, and of some that keep what they have in a folder, as they do on a cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import ivm
from ivm.catalog.errors import BindError, ConstraintError, TypeMismatchError
from ivm.cluster.driver.database import ShardedDatabase
from ivm.cluster.shard.resident import Resident
from tests.cluster import over_copies
from tests.cluster.many import planned_as_many
from tests.cluster.memory import MemoryFolder

TABLES = """
CREATE TYPE mood AS ENUM ('good', 'bad');
CREATE TABLE shop (id BIGINT PRIMARY KEY, city VARCHAR UNIQUE, mood mood);
CREATE TABLE sale (shop BIGINT REFERENCES shop, price DECIMAL(9,2), tags VARCHAR) WITH (check_foreign_keys = true);
CREATE TABLE few (id BIGINT PRIMARY KEY, x HUGEINT) REPLICATED;
CREATE TABLE fixed (id BIGINT PRIMARY KEY) WITH (static = true);
INSERT INTO shop SELECT i, 'city ' || i, CASE i % 2 WHEN 0 THEN 'good' END FROM range(20) r(i);
INSERT INTO sale SELECT i % 20, i, 'a' FROM range(100) r(i);
INSERT INTO sale SELECT 1, 7, NULL FROM range(3) r(i);
INSERT INTO few VALUES (1, 99999999999999999999999999999999999999), (2, NULL);
INSERT INTO fixed VALUES (1), (2);
CREATE VIEW dear AS SELECT * FROM sale WHERE price > 50;
CREATE MATERIALIZED VIEW sums AS SELECT city, sum(price) AS total FROM dear JOIN shop ON shop = id GROUP BY city;
CREATE MATERIALIZED VIEW best AS SELECT city, total FROM sums ORDER BY total DESC LIMIT 3;
CREATE MATERIALIZED VIEW all_of AS SELECT few.id, fixed.id AS other, x FROM few, fixed;
DELETE FROM sale WHERE price % 7 = 3;
"""


def in_memory(shards: int, history: int = 0) -> ShardedDatabase:
    made = ivm.connect(shards=shards, compile="off", history=history)
    assert isinstance(made, ShardedDatabase)
    return made


def in_folder(shards: int, history: int = 0) -> ShardedDatabase:
    return over_copies.connect(MemoryFolder(), shards, history)


Connect = Callable[..., ShardedDatabase]


@pytest.fixture(params=[in_memory, in_folder])
def connect(request: pytest.FixtureRequest) -> Connect:
    found: Connect = request.param
    return found


@pytest.fixture
def db(connect: Connect) -> Iterator[ShardedDatabase]:
    made = connect(3, history=5)
    with made:
        made.sql(TABLES)
        yield made


def contents(db: ivm.Database) -> dict[str, Any]:
    names = [*(each.name for each in db.tables()), *(each.name for each in db.views())]
    found = {name: sorted(map(str, db.sql(f"FROM {name}").arrow().to_pylist())) for name in names}
    return found | {"": (db.time, db.batches(), [each.name for each in db.views()])}


def test_it_is_the_same_and_goes_on(db):
    db.apply({"sale": [{"shop": 2, "price": 99, "tags": ""}]}, batch=("source", 4))
    view, subscription = db.view("sums"), db.subscribe("sums")
    for number in (1, 7, 2):
        before = contents(db)
        db.rescale(number)
        assert contents(db) == before
        assert db.sql("SELECT count(DISTINCT shard) AS n FROM ivm_operators").arrow().to_pylist() == [{"n": number}]
        db.verify()
        db.sql("INSERT INTO sale VALUES (3, 1000, NULL); DELETE FROM sale WHERE shop = 5")
        assert "city 3" in str(subscription.fetch().to_pylist())
        with pytest.raises(ConstraintError, match="more than once"):
            db.sql("INSERT INTO shop VALUES (100, 'city 3', NULL)")
        with pytest.raises(ConstraintError, match="refer to no row"):
            db.sql("DELETE FROM shop WHERE id = 3")
        db.sql(
            "CREATE MATERIALIZED VIEW counts AS SELECT price, count(*) AS n FROM sale GROUP BY price; DROP VIEW counts"
        )
        db.verify()
        assert len(view) == len(db.view("sums"))
    time = db.time
    db.apply({"sale": [{"shop": 2, "price": 99, "tags": ""}]}, batch=("source", 4))
    assert db.time == time


def test_views_are_planned_for_as_many_shards_as_there_are(db):
    def ways() -> list[str]:
        return [way for way, *_ in db.sql("SELECT placement FROM ivm_exchanges").fetchall()]

    before = contents(db)
    with planned_as_many(5):
        for number in (7, 2, 5):
            db.rescale(number)
            assert contents(db) == before
            assert ("on one shard for each 3 neighbours" in ways()) == (number >= 5)
            db.sql("INSERT INTO sale VALUES (3, 1000, NULL), (4, 2000, NULL)")
            db.verify()
            db.sql("DELETE FROM sale WHERE price >= 1000")
            before = contents(db)


def test_one_that_is_empty_or_has_no_rows(connect):
    with connect(2) as empty:
        empty.rescale(3)
        assert empty.time == 0
        empty.sql("CREATE TABLE t (id BIGINT PRIMARY KEY); CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM t")
        empty.sql("INSERT INTO t VALUES (1); DELETE FROM t")
        empty.rescale(1)
        assert empty.time == 2
        empty.sql("INSERT INTO t VALUES (1)")
        empty.verify()


def test_the_past_cannot_be_read_any_more(db):
    assert len(db.view("best").arrow(as_of=db.time - 1)) == 3
    db.rescale(2)
    with pytest.raises(BindError, match=f"times from {db.time} to {db.time} can be read"):
        db.view("best").arrow(as_of=db.time - 1)
    db.sql("INSERT INTO sale VALUES (3, 1000, NULL)")
    assert len(db.view("best").arrow(as_of=db.time - 1)) == 3


def test_nothing_has_changed_if_it_fails(db, monkeypatch):
    before, step, left = contents(db), Resident.step, [7]

    def failing(self: Resident, *given: Any) -> Any:
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt
        return step(self, *given)

    monkeypatch.setattr(Resident, "step", failing)
    with pytest.raises(KeyboardInterrupt):
        db.rescale(2)
    monkeypatch.undo()
    assert contents(db) == before
    with pytest.raises(TypeMismatchError):
        db.rescale(0)
    db.sql("INSERT INTO sale VALUES (3, 1000, NULL)")
    db.verify()

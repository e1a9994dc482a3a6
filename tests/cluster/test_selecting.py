"""What is inserted of tables and views goes from shard to shard: as on one engine, and no row comes to the driver."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import ivm
from ivm.catalog.errors import ClusterError, Error, StorageError
from ivm.cluster.driver.database import ShardedCore
from ivm.cluster.driver.loader import Loader
from ivm.cluster.shard import selecting
from ivm.session.database import core_of
from tests.cluster import over_copies
from tests.cluster.memory import MemoryFolder

TABLES = """
CREATE TABLE city (name VARCHAR PRIMARY KEY, country VARCHAR) REPLICATED;
CREATE TABLE sale (id BIGINT PRIMARY KEY, city VARCHAR, price DECIMAL(9,2) NOT NULL, at TIMESTAMP);
CREATE TABLE kept (id BIGINT PRIMARY KEY, price DECIMAL(9,2) NOT NULL, note VARCHAR DEFAULT 'none', UNIQUE (note));
CREATE TABLE bag (a VARCHAR, b BIGINT);
CREATE MATERIALIZED VIEW revenue AS SELECT city, sum(price) AS total FROM sale GROUP BY city ORDER BY total, city;
CREATE MATERIALIZED VIEW best AS SELECT id, price FROM sale ORDER BY price DESC, id LIMIT 5;
CREATE VIEW dear AS SELECT id, price AS much FROM sale WHERE price > 3;
CREATE VIEW dearest (number) AS SELECT id FROM dear WHERE much > 6;
CREATE MATERIALIZED VIEW counted AS SELECT a, count(*) AS n, sum(b) AS b FROM bag GROUP BY a;
INSERT INTO city VALUES ('Bern', 'CH'), ('Oslo', 'NO'), ('Rom', 'IT');
INSERT INTO sale SELECT i, ['Bern', 'Oslo', 'Rom', NULL][i % 4 + 1], i / 4, TIMESTAMP '2024-01-01' + i * INTERVAL '1 day'
    FROM range(40) r(i);
"""
OF_SHARDS = [
    "INSERT INTO bag SELECT city, id FROM sale",
    "INSERT INTO bag SELECT * FROM (SELECT upper(city) AS u, id * 2 AS i FROM sale AS s WHERE price BETWEEN 2 AND 5) AS x",
    "INSERT INTO bag (b) SELECT year(at) FROM sale WHERE city IS NULL",
    "INSERT INTO bag BY NAME SELECT id AS b, coalesce(city, '?') AS a FROM SALE",
    "INSERT INTO bag SELECT city, total FROM revenue",
    "INSERT INTO bag SELECT price, id FROM best",
    "INSERT INTO bag SELECT name || country, 1 FROM city",
    "INSERT INTO bag SELECT name, 1 FROM city UNION ALL SELECT city, id FROM sale UNION ALL FROM bag",
    "INSERT INTO bag SELECT much, id FROM dear",
    "INSERT INTO bag SELECT NULL, number FROM dearest",
    "INSERT INTO city SELECT 'c' || id, city FROM sale WHERE id % 7 = 0",
    "INSERT INTO kept (price, id, note) SELECT price + 1, id, id FROM sale WHERE id % 2 = 0",
    "INSERT INTO sale (id, price) SELECT id + 1000, price FROM sale",
    "CREATE TABLE made AS SELECT id, price * 2 AS twice FROM sale WHERE id % 3 = 1",
    "CREATE OR REPLACE TABLE made (x) AS FROM made WHERE id > 10",
    "CREATE TABLE none AS SELECT * FROM sale WHERE id < 0",
]
WRONG = [
    "INSERT INTO kept (id, price, note) SELECT id % 10, price, id FROM sale",
    "INSERT INTO kept (id, price) SELECT id, price FROM sale",
    "INSERT INTO kept (id, price, note) SELECT id, nullif(price, 3), id FROM sale",
    "INSERT INTO kept SELECT id, price * 100000000, id FROM sale",
    "INSERT INTO bag SELECT city, city FROM sale",
    "INSERT INTO bag SELECT city, CASE WHEN id = 7 THEN error('no') ELSE 1 END FROM sale",
    "INSERT INTO bag SELECT nothing FROM sale",
    "INSERT INTO bag SELECT id, id, id FROM sale",
    "INSERT INTO nowhere SELECT id FROM sale",
    "CREATE TABLE bag AS SELECT id FROM sale",
    "CREATE TABLE another AS SELECT city::INTEGER AS c FROM sale",
]
OF_ALL = [
    "INSERT INTO bag SELECT city, count(*) FROM sale GROUP BY city",
    "INSERT INTO bag SELECT DISTINCT city, 1 FROM sale",
    "INSERT INTO bag SELECT city, id FROM sale ORDER BY id LIMIT 3",
    "INSERT INTO bag SELECT s.city, s.id FROM sale AS s JOIN city AS c ON s.city = c.name",
    "INSERT INTO bag SELECT city, row_number() OVER (ORDER BY id) FROM sale",
    "INSERT INTO bag SELECT city, id FROM sale WHERE id IN (SELECT max(id) FROM sale)",
    "INSERT INTO bag SELECT a, b FROM bag UNION SELECT a, b FROM bag",
    "INSERT INTO bag SELECT 'one', 1 UNION ALL SELECT city, id FROM sale",
    "INSERT INTO bag SELECT city, 1 FROM (SELECT city, row_number() OVER () FROM sale)",
    "INSERT INTO bag WITH s AS (FROM sale) SELECT city, id FROM s",
    "INSERT INTO kept SELECT id, price, id FROM sale ON CONFLICT DO NOTHING",
    "INSERT INTO kept BY NAME SELECT id, price * 2 AS price, 'n' || id AS note FROM sale ON CONFLICT (id) DO UPDATE SET price = excluded.price",
    "INSERT INTO bag SELECT city, id FROM sale RETURNING a, b",
    "INSERT INTO bag SELECT view, 1 FROM ivm_views",
]  # fmt: skip


@pytest.fixture
def pair() -> Iterator[tuple[ivm.Database, ivm.Database]]:
    with ivm.connect(compile="off") as one, ivm.connect(shards=3, compile="off") as db:
        for each in (one, db):
            each.sql(TABLES)
        yield one, db


@contextmanager
def nothing_comes_here(db: ivm.Database) -> Iterator[None]:
    """Meanwhile no shard is asked for rows."""
    core = core_of(db)
    assert isinstance(core, ShardedCore)
    ask = core.driver.transport.ask

    def asked(version: Any, question: Any) -> Any:
        assert question.kind not in ("table", "view", "meeting")
        return ask(version, question)

    core.driver.transport.ask = asked  # type: ignore[method-assign]
    try:
        yield
    finally:
        del core.driver.transport.ask


def same(one: ivm.Database, db: ivm.Database) -> None:
    """All tables and views hold the same, and views what they should."""
    for name in [row[0] for row in one.sql("SHOW TABLES").fetchall()]:
        rows = [sorted(each.sql(f'FROM "{name}"').fetchall(), key=repr) for each in (one, db)]
        assert rows[0] == rows[1], name
    db.verify()


def said(db: ivm.Database, text: str) -> Any:
    try:
        return sorted(db.sql(text).fetchall(), key=repr)
    except Error as error:
        return type(error), str(error)[:40]


def test_each_shard_answers_from_its_own_rows(pair):
    one, db = pair
    for text in OF_SHARDS:
        with nothing_comes_here(db):
            found = said(db, text)
        assert found == said(one, text), text
    same(one, db)
    assert db.sql("SELECT count(*) FROM bag").fetchall()[0][0] > 300


def test_what_is_wrong_changes_nothing(pair):
    one, db = pair
    time = db.time
    for text in WRONG:
        assert said(db, text) == said(one, text), text
    assert db.time == time
    same(one, db)
    db.sql("INSERT INTO bag SELECT city, id FROM sale")
    assert db.time == time + 1


def test_what_needs_rows_of_several_shards_has_the_same_answer(pair):
    one, db = pair
    for text in OF_ALL:
        assert said(db, text) == said(one, text), text
    same(one, db)


def test_in_a_transaction_and_by_zones_it_goes_another_way(pair):
    for db in pair:
        db.sql("BEGIN; INSERT INTO bag SELECT city, id FROM sale; DELETE FROM sale WHERE id > 30")
        db.sql("INSERT INTO bag SELECT city, id FROM sale; CREATE TABLE made AS FROM sale; COMMIT")
        db.sql("SET TimeZone = 'Asia/Tokyo'; INSERT INTO bag SELECT at::TIMESTAMPTZ, 1 FROM sale; RESET TimeZone")
    same(*pair)


def test_the_clock_is_told_as_by_any_commit(pair):
    _, db = pair
    db.sql("CREATE TABLE seen (id BIGINT PRIMARY KEY, at TIMESTAMPTZ)")
    db.sql("CREATE MATERIALIZED VIEW recent AS SELECT id FROM seen WHERE at > now() - INTERVAL '1 hour'")
    db.tick(at="2030-01-01T00:00:00Z")
    before = db.sql("SELECT now FROM ivm_clock").fetchall()
    db.sql("INSERT INTO seen SELECT id, TIMESTAMPTZ '2029-12-31 23:30:00+00' FROM sale")
    db.tick(at="2030-01-01T00:40:00Z")
    with nothing_comes_here(db):
        db.sql("INSERT INTO bag SELECT city, id FROM sale")
    assert db.sql("SELECT count(*) FROM recent").fetchall() == [(0,)]
    assert db.sql("SELECT now FROM ivm_clock").fetchall() > before
    db.verify()


def test_a_table_that_becomes_another_meanwhile(pair, monkeypatch):
    _, db = pair
    load = Loader.load

    def later(self: Loader, *given: Any) -> Any:
        monkeypatch.undo()
        db.sql("CREATE OR REPLACE VIEW dear AS SELECT id, 1.0 AS much FROM sale WHERE id < 2")
        db.sql("ALTER TABLE bag ADD COLUMN c BIGINT DEFAULT 7")
        return load(self, *given)

    monkeypatch.setattr(Loader, "load", later)
    db.sql("INSERT INTO bag (a, b) SELECT much, id FROM dear")
    assert db.sql("SELECT b, c FROM bag ORDER BY b").fetchall() == [(0, 7), (1, 7)]


def test_what_is_interrupted_changes_nothing(pair, monkeypatch):
    _, db = pair
    time, selected = db.time, selecting.selected

    def interrupted(*given: Any) -> Iterator[Any]:
        yield next(selected(*given))
        raise KeyboardInterrupt

    for text in ("INSERT INTO bag SELECT city, id FROM sale", "CREATE TABLE made AS FROM sale"):
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(selecting, "selected", interrupted)
            db.sql(text)
        assert db.time == time
        assert db.sql(text).fetchall() == [(40,)]
        time = db.time
    db.verify()


def test_from_two_threads_at_once(pair):
    one, db = pair
    texts = [f"INSERT INTO sale (id, price) SELECT id + {step}, price FROM sale WHERE id < 40" for step in (100, 200)]
    threads = [threading.Thread(target=db.sql, args=(text,)) for text in texts]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    for text in texts:
        one.sql(text)
    same(one, db)


def test_who_listens_is_told(pair):
    for db in pair:
        with db.subscribe("counted", snapshot=False) as listening:
            db.sql("INSERT INTO bag SELECT city, id FROM sale")
            told = listening.fetch().select(["a", "n", "b", "_diff"])
        cities = enumerate(("Bern", "Oslo", "Rom", None))
        rows = [tuple(row.values()) for row in told.to_pylist()]
        assert sorted(rows, key=repr) == sorted(((a, 10, 180 + 10 * at, 1) for at, a in cities), key=repr)


@pytest.mark.parametrize("seed", range(3))
def test_histories_over_processes_that_die(seed):
    drawn, folder = random.Random(seed), MemoryFolder()
    texts = [text for text in (*OF_SHARDS, *WRONG) if "CREATE" not in text]
    with ivm.connect(compile="off") as one:
        one.sql(TABLES)
        db: ivm.Database = over_copies.connect(folder, 3, moves=lambda shard: drawn.random() < 0.2)
        db.sql(TABLES)
        for _ in range(14):
            what = drawn.random()
            if what < 0.2:
                db.close()
                db = over_copies.connect(folder, 3, moves=lambda shard: drawn.random() < 0.2)
                continue
            text = drawn.choice(texts) if what < 0.8 else f"DELETE FROM bag WHERE b % 3 = {drawn.randrange(3)}"
            assert said(db, text) == said(one, text), text
        assert db.time == one.time
        same(one, db)
        db.close()


def test_a_storage_that_fails_leaves_all_as_it_was():
    folder = MemoryFolder()
    with over_copies.connect(folder, 2) as db:
        db.sql(TABLES)
        core = core_of(db)
        assert isinstance(core, ShardedCore)
        time, ledger = db.time, core.driver.ledger

        def fails(*given: Any, **more: Any) -> Any:
            raise StorageError("no room")

        ledger.publish = fails  # type: ignore[method-assign]
        with pytest.raises(StorageError):
            db.sql("INSERT INTO bag SELECT city, id FROM sale")
        del ledger.publish
        assert (db.time, db.sql("SELECT count(*) FROM bag").fetchall()) == (time, [(0,)])
        assert db.sql("INSERT INTO bag SELECT city, id FROM sale").fetchall() == [(40,)]
        db.verify()


def test_rows_that_cannot_be_counted_are_said_to_be_there(pair, monkeypatch):
    _, db = pair
    core = core_of(db)
    assert isinstance(core, ShardedCore)

    def fails(*given: Any) -> None:
        raise StorageError("no answer")

    def commits(*given: Any, **more: Any) -> int:
        time = commit(*given, **more)
        monkeypatch.setattr(core.driver.transport, "ask", fails)
        return time

    commit = core.driver.commit_frames
    monkeypatch.setattr(core.driver, "commit_frames", commits)
    with pytest.raises(
        ClusterError, match=r"all rows were loaded into table bag, but cannot be counted now: no answer"
    ):
        db.sql("INSERT INTO bag SELECT city, id FROM sale")
    monkeypatch.undo()
    assert db.sql("SELECT count(*) FROM bag").fetchall() == [(40,)]

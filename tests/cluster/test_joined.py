"""Joins and groups whose rows are together are answered by each shard: as on one engine, and no row comes to the driver."""

from __future__ import annotations

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from threading import Event
from unittest.mock import patch

import pytest

import ivm
from ivm.cluster.driver import loader
from ivm.cluster.driver.loader import Loader
from ivm.cluster.driver.transport import InProcess
from ivm.session import subscribed_queries
from ivm.session.database import core_of
from ivm.subscriptions.unnamed import unnamed
from tests.cluster import over_copies
from tests.cluster.memory import MemoryFolder
from tests.cluster.test_selecting import TABLES, nothing_comes_here, said, same

MORE = """
CREATE TABLE item (id BIGINT PRIMARY KEY, sale BIGINT REFERENCES sale, n INTEGER, weight DOUBLE)
    WITH (check_foreign_keys = true);
CREATE TABLE line (sale BIGINT, number BIGINT, n INTEGER, PRIMARY KEY (sale, number)) PARTITIONED BY (sale);
CREATE MATERIALIZED VIEW sums AS SELECT sale, sum(n) AS n FROM line GROUP BY sale;
CREATE VIEW named AS SELECT s.id, c.country FROM sale AS s JOIN city AS c ON s.city = c.name;
INSERT INTO item SELECT i, i % 40, i % 7, i / 3 FROM range(100) r(i);
INSERT INTO line SELECT i % 30, i, i % 5 FROM range(90) r(i);
"""
OF_SHARDS = [
    "SELECT c.country, s.id FROM sale AS s JOIN city AS c ON s.city = c.name",
    "SELECT c.country, s.id FROM sale AS s LEFT JOIN city AS c ON s.city = c.name AND c.country <> 'NO'",
    "SELECT s.city, l.number FROM sale AS s JOIN line AS l ON s.id = l.sale",
    "SELECT s.city, l.number FROM sale AS s LEFT JOIN line AS l ON s.id = l.sale WHERE s.id > 20",
    "SELECT s.city, s.id FROM sale AS s ANTI JOIN line AS l ON s.id = l.sale",
    "SELECT max(city), sum(l.n) FROM sale AS s JOIN line AS l ON s.id = l.sale GROUP BY s.id HAVING count(*) > 1",
    "SELECT s.city, m.n FROM sale AS s JOIN sums AS m ON s.id = m.sale JOIN city AS c ON c.name = s.city",
    "SELECT count(*), sale FROM line GROUP BY sale",
    "SELECT country, total FROM revenue JOIN city ON revenue.city = city.name",
    "SELECT country, id FROM named",
    "SELECT c.country, d.id FROM dear AS d, city AS c WHERE d.much > 5",
    "SELECT 'all', count(*) FROM city",
    "SELECT country, count(*) FROM city GROUP BY country",
    "SELECT a.name, 1 FROM city AS a, city AS b WHERE a.country < b.country",
]
OF_ALL = [
    "SELECT 'x', i.id FROM item AS i JOIN sale AS s ON i.sale = s.id",
    "SELECT s.city, i.id FROM item AS i LEFT JOIN sale AS s ON i.sale = s.id",
    "SELECT c.name, s.id FROM city AS c LEFT JOIN sale AS s ON s.city = c.name AND s.id < 2",
    "SELECT c.name, s.id FROM city AS c FULL JOIN sale AS s ON s.city = c.name",
    "SELECT 'all', count(*) FROM sale",
    "SELECT city, sum(id) FROM sale GROUP BY city",
    "SELECT a.city, b.id FROM sale AS a JOIN sale AS b ON a.price = b.id",
    "SELECT 'x', sum(weight) FROM item GROUP BY id",
    "SELECT first(city), id FROM sale GROUP BY id",
    "SELECT country, id FROM named UNION ALL SELECT name, 1 FROM city",
    "SELECT country, count(*) FROM sale JOIN city ON city = name GROUP BY ROLLUP (country)",
]


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[ivm.Database, ivm.Database]]:
    with ivm.connect(compile="off") as one, ivm.connect(shards=3, compile="off") as db:
        for each in (one, db):
            each.sql(TABLES)
            each.sql(MORE)
        yield one, db


@pytest.mark.parametrize("text", OF_SHARDS)
def test_each_shard_answers(pair, text):
    one, db = pair
    for statement in (f"INSERT INTO bag {text}", f"CREATE OR REPLACE TABLE made (x, y) AS {text}"):
        with nothing_comes_here(db):
            found = said(db, statement)
        assert found == said(one, statement)
    same(one, db)


def test_what_needs_rows_of_several_shards(pair):
    one, db = pair
    with patch.object(Loader, "_commit", side_effect=AssertionError("rows of others are needed")):
        for text in OF_ALL:
            assert said(db, f"INSERT INTO bag {text}") == said(one, f"INSERT INTO bag {text}"), text
    same(one, db)


IGNORING = [
    "INSERT INTO old SELECT city, id FROM sale ON CONFLICT DO NOTHING",
    "INSERT OR IGNORE INTO old SELECT city, id FROM sale WHERE id > 20",
    "INSERT INTO old (id, city) SELECT s.id, c.country FROM sale AS s JOIN city AS c ON s.city = c.name "
    "ON CONFLICT (id) DO NOTHING",
    "INSERT INTO old SELECT max(city), s.id FROM sale AS s JOIN line AS l ON s.id = l.sale GROUP BY s.id "
    "ON CONFLICT DO NOTHING",
    "INSERT INTO old BY NAME SELECT much::VARCHAR AS city, id FROM dear ON CONFLICT DO NOTHING",
]
BY_THE_DRIVER = [
    "INSERT INTO old SELECT city, id % 9 FROM sale WHERE id < 30 ON CONFLICT DO NOTHING",
    "INSERT INTO old SELECT 'x', number FROM line WHERE number < 30 ON CONFLICT DO NOTHING",
    "INSERT INTO old SELECT city, (id / 1)::BIGINT FROM sale ON CONFLICT DO NOTHING",
    "INSERT INTO old SELECT 'x', id FROM item WHERE id < 60 ON CONFLICT (id) DO UPDATE SET city = excluded.city",
    "INSERT OR REPLACE INTO old SELECT 'y', id FROM sale WHERE id > 35",
    "INSERT INTO noted SELECT id, city FROM sale WHERE id < 3 ON CONFLICT DO NOTHING",
]


def test_rows_that_are_there_are_left_out(pair):
    one, db = pair
    for each in pair:
        each.sql("CREATE TABLE old (city VARCHAR, id BIGINT PRIMARY KEY)")
        each.sql("CREATE TABLE noted (id BIGINT PRIMARY KEY, city VARCHAR, UNIQUE (city))")
    for start in ("id % 3 = 0", "id < 0", "id >= 0"):
        for text in IGNORING:
            for each in pair:
                each.sql(f"DELETE FROM old; INSERT INTO old SELECT 'there', id FROM sale WHERE {start}")
            with nothing_comes_here(db):
                found = said(db, text)
            assert found == said(one, text), text
            assert said(db, "FROM old") == said(one, "FROM old"), text
    for each in pair:
        each.sql("DELETE FROM old WHERE id % 2 = 0")
    for text in BY_THE_DRIVER:
        with patch.object(Loader, "_commit", side_effect=AssertionError("not by shards")):
            found = said(db, text)
        assert found == said(one, text), text
    same(one, db)


def test_a_history_over_processes_that_die():
    drawn = random.Random(7)
    texts = [*IGNORING, *(f"INSERT INTO bag {text}" for text in OF_SHARDS)]
    with ivm.connect(compile="off") as one:
        db = over_copies.connect(MemoryFolder(), 3, moves=lambda shard: drawn.random() < 0.2)
        for each in (one, db):
            each.sql(TABLES)
            each.sql(MORE)
            each.sql("CREATE TABLE old (city VARCHAR, id BIGINT PRIMARY KEY)")
        for _ in range(8):
            text = drawn.choice(texts)
            assert said(db, text) == said(one, text), text
            gone = f"DELETE FROM old WHERE id % 3 = {drawn.randrange(3)}"
            assert said(db, gone) == said(one, gone)
        assert db.time == one.time
        same(one, db)
        db.close()


def test_after_shards_have_become_others(pair):
    _, db = pair
    db.rescale(2)
    for each in pair:
        each.sql("DELETE FROM bag")
    test_each_shard_answers(pair, OF_SHARDS[0])
    test_each_shard_answers(pair, OF_SHARDS[5])
    assert db.sql("SELECT count(*) FROM bag").fetchall()[0][0] > 30


def random_query(drawn: random.Random) -> str:
    """A SELECT of a text and a number, of joins of a few relations, of which some are grouped."""
    relations = {
        "sale": ("id", "price", "city"), "line": ("sale", "n", "number"), "item": ("sale", "id", "n"),
        "sums": ("sale", "n", "n"), "kept": ("id", "price", "note"), "city": ("name", "country", "name"),
        "revenue": ("city", "total", "city"), "dear": ("id", "much", "id"),
    }  # fmt: skip
    names = [drawn.choice(list(relations)) for _ in range(drawn.randint(1, 3))]
    text = f"{names[0]} AS r0"
    for at, name in enumerate(names[1:], 1):
        kind = drawn.choice(["JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "SEMI JOIN"])
        there = drawn.randrange(at) if kind != "SEMI JOIN" else 0
        left = drawn.choice(relations[names[there]][:2] if drawn.random() < 0.4 else relations[names[there]][:1])
        right = relations[name][0]
        text += (
            f" {kind} {name} AS r{at} ON r{there}.{left}::VARCHAR = r{at}.{right}::VARCHAR"
            if (drawn.random() < 0.2)
            else f" {kind} {name} AS r{at} ON {casted(names[there], left, f'r{there}')} = {casted(name, right, f'r{at}')}"
        )
    first, second, _ = relations[names[0]]
    if drawn.random() < 0.3:
        return f"SELECT r0.{first}, count(*) FROM {text} GROUP BY r0.{first}"
    where = f" WHERE r0.{second} IS NOT NULL" if drawn.random() < 0.3 else ""
    return f"SELECT r0.{first}, hash(r0.{second}::VARCHAR) % 1000 FROM {text}{where}"


def casted(name: str, column: str, alias: str) -> str:
    """A column as what it is compared with another: numbers as they are, texts by their length."""
    return f"length({alias}.{column})" if column in ("city", "name", "country") else f"{alias}.{column}"


@pytest.mark.parametrize("seed", range(2))
def test_random_joins(pair, seed):
    one, db = pair
    drawn, loads = random.Random(seed), list[bool]()
    commit = Loader._commit

    def counted(self, *given):
        loads.append(True)
        return commit(self, *given)

    with patch.object(Loader, "_commit", counted):
        for _ in range(25):
            for each in pair:
                each.sql("DELETE FROM bag")
            text = random_query(drawn)
            assert said(db, f"INSERT INTO bag {text}") == said(one, f"INSERT INTO bag {text}"), text
            assert said(db, "FROM bag") == said(one, "FROM bag"), text
    assert 3 < len(loads) < 25


def exchanges(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rows are many, and shards are as if they were elsewhere."""
    monkeypatch.setattr(loader, "MANY", 1)
    monkeypatch.setattr(InProcess, "is_remote", True)


def test_shards_exchange_the_rows_of_joins_that_read_many(pair, monkeypatch):
    one, db = pair
    exchanges(monkeypatch)
    by_the_driver = [text for text in OF_ALL if any(word in text for word in ("FULL", "weight", "first(", "ROLLUP"))]
    for text in [*OF_ALL, "SELECT x.a, y.b FROM bag AS x JOIN bag AS y ON x.b + 1 = y.b WHERE x.b < 5"]:
        for statement in (f"INSERT INTO bag {text}", f"CREATE OR REPLACE TABLE made (x, y) AS {text}"):
            with nullcontext() if text in by_the_driver else nothing_comes_here(db):
                found = said(db, statement)
            assert found == said(one, statement), text
            assert not unnamed(core_of(db).catalog)
    same(one, db)


def test_what_fails_after_shards_have_exchanged_rows_leaves_nothing(pair, monkeypatch):
    one, db = pair
    exchanges(monkeypatch)
    joined = "FROM sale AS a JOIN sale AS b ON a.price = b.id"
    for text in (
        f"INSERT INTO kept (id, price, note) SELECT a.id % 3, a.price, b.id {joined}",
        f"INSERT INTO kept (id, price, note) SELECT a.id, nullif(a.price, 2), b.id {joined}",
        f"INSERT INTO bag SELECT a.city, a.id / (b.id - 1 - b.id + 1) {joined}",
        f"INSERT INTO bag SELECT a.city, a.city {joined}",
        f"INSERT INTO bag SELECT a.city {joined}",
        f"CREATE TABLE bag AS SELECT a.city {joined}",
        f"CREATE TABLE another AS SELECT a.city::INTEGER AS c {joined}",
    ):
        time = db.time
        assert said(db, text) == said(one, text), text
        assert not unnamed(core_of(db).catalog)
        assert db.time == time, text
    same(one, db)


def test_others_commit_while_shards_exchange_rows(monkeypatch):
    exchanges(monkeypatch)
    with ivm.connect(shards=3, compile="off") as db:
        db.sql(TABLES)
        done = Event()

        def sell() -> None:
            for number in range(100, 140):
                db.apply({"sale": [{"id": number, "city": "Rom", "price": number % 40, "at": None}]})
            done.set()

        with ThreadPoolExecutor(1) as pool:
            selling, times = pool.submit(sell), 0
            while not done.is_set() or not times:
                db.sql("INSERT INTO bag SELECT a.city, b.id FROM sale AS a JOIN sale AS b ON a.price = b.id")
                times += 1
            selling.result()
        assert not unnamed(core_of(db).catalog)
        db.verify()
        rows = db.sql("SELECT count(*) FROM bag").fetchone()
        assert rows is not None
        assert rows[0] >= 10 * times


class _Killed(BaseException):
    """Ends a driver, which tidies nothing."""


def test_the_view_that_a_killed_driver_leaves_goes_on_with_the_same_statement(monkeypatch):
    exchanges(monkeypatch)
    monkeypatch.setattr(over_copies.OverCopies, "is_remote", True)
    folder, text = MemoryFolder(), "INSERT INTO bag SELECT a.city, b.id FROM sale AS a JOIN sale AS b ON a.price = b.id"
    over_copies.connect(folder, 3).sql(TABLES)
    with (
        patch.object(Loader, "_commit", side_effect=_Killed),
        patch.object(subscribed_queries, "forget_unheard"),
        pytest.raises(_Killed),
    ):
        over_copies.connect(folder).sql(text)
    with over_copies.connect(folder) as db:
        assert len(unnamed(core_of(db).catalog)) == 1
        assert db.sql("SELECT count(*) FROM bag").fetchall() == [(0,)]
        assert db.sql(text).fetchall() == [(10,)]
        assert not unnamed(core_of(db).catalog)
        db.verify()

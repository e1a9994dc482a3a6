"""Transactions that define things over shards: with COMMIT there is what one engine has, or nothing of it, whichever
shards are loaded anew, and whoever opens the folder finds it again.
"""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import ivm
from ivm.catalog.errors import BindError, ConstraintError, Error, NumericError, TransactionError, UnsupportedError
from ivm.cluster.files.files import Files
from ivm.session.database import core_of
from tests.cluster import over_copies
from tests.cluster.followed import agree
from tests.cluster.memory import MemoryFolder
from tests.cluster.test_altering import TABLES, contents
from tests.durable import redefining
from tests.interface import test_begin_alter, test_begin_anew, test_begin_definitions

SETS: dict[str, tuple[str, list[tuple[str, ...]]]] = {
    "definitions": (test_begin_definitions.BEFORE, [test_begin_definitions.STEPS]),
    "anew": (
        test_begin_alter.BEFORE,
        [test_begin_anew.STEPS[first:last] for first, last in ((0, 6), (6, 13), (13, 16), (16, 19), (19, None))],
    ),
    "over shards": (
        TABLES,
        [
            (
                "CREATE TABLE visit (id BIGINT PRIMARY KEY, shop BIGINT REFERENCES shop, by VARCHAR UNIQUE) "
                "WITH (check_foreign_keys = true)",
                "INSERT INTO shop VALUES (40, 'city 40', 'n'); INSERT INTO visit VALUES (1, 40, 'a'), (2, 3, 'b')",
                "CREATE MATERIALIZED VIEW visits AS SELECT city, count(*) AS n FROM visit JOIN shop ON shop = shop.id "
                "GROUP BY city",
                "CREATE MATERIALIZED VIEW both AS SELECT city, n, total FROM visits JOIN sums USING (city)",
                "UPDATE sale SET price = price + 7 WHERE id % 2 = 0",
                "CREATE OR REPLACE VIEW dear AS SELECT shop, price FROM sale WHERE price > 9",
            ),
            (
                "DROP TABLE visit CASCADE",
                "DELETE FROM shop WHERE id = 40",
                "CREATE TABLE visit (n INTEGER)",
                "INSERT INTO visit SELECT price FROM sale WHERE price > 12",
                "CREATE MATERIALIZED VIEW visits AS SELECT n, count(*) AS c FROM visit GROUP BY n",
                "ALTER VIEW best RENAME TO three; CREATE MATERIALIZED VIEW best AS SELECT max(total) AS most FROM sums",
                "CREATE UNIQUE INDEX one ON few (v); UPDATE few SET v = 11 WHERE k = 1",
            ),
            (
                "CREATE OR REPLACE VIEW pairs AS SELECT k FROM few",
                "DROP VIEW bags; CREATE TABLE bags (b VARCHAR); INSERT INTO bags SELECT DISTINCT b FROM bag",
                "ALTER TABLE few RENAME TO Few; INSERT INTO few VALUES (9, 90)",
                "CREATE SCHEMA s; CREATE TABLE s.t (a INTEGER); INSERT INTO s.t VALUES (1); CREATE TYPE mood AS ENUM ('x')",
            ),
        ],
    ),
}  # fmt: skip
SPREAD = """
CREATE TABLE p (k INTEGER PRIMARY KEY, n INTEGER);
CREATE TABLE c (a INTEGER PRIMARY KEY, k INTEGER REFERENCES p, u INTEGER) WITH (check_foreign_keys = true);
INSERT INTO p SELECT i, i FROM range(20) r(i);
INSERT INTO c SELECT 100 + i, i, i % 9 FROM range(18) r(i);
CREATE MATERIALIZED VIEW sums AS SELECT n % 3 AS m, count(*) AS n FROM p JOIN c USING (k) GROUP BY m;
"""
FAILING = (
    ("CREATE TABLE w (x INTEGER); DELETE FROM p WHERE k = 3", ConstraintError, "refer to no row"),
    ("DELETE FROM p WHERE k = 3; ALTER TABLE p ALTER n TYPE INTEGER USING n + 1", ConstraintError, "refer to no row"),
    ("CREATE TABLE d (k INTEGER REFERENCES p) WITH (check_foreign_keys = true); INSERT INTO d VALUES (77)",
     ConstraintError, "refer to no row"),
    ("CREATE TABLE w (x INTEGER); DROP TABLE c CASCADE; CREATE TABLE c (b INTEGER, a INTEGER PRIMARY KEY, UNIQUE (b));"
     "INSERT INTO c VALUES (1, 1), (1, 2)", ConstraintError, "more than once"),
    ("CREATE MATERIALIZED VIEW bad AS SELECT CAST(9 AS INTEGER) % (n - 3) AS x FROM p", NumericError, "bad"),
    ("CREATE MATERIALIZED VIEW bad AS SELECT n + 2147483600 AS x FROM p; INSERT INTO p VALUES (99, 99)",
     NumericError, "bad"),
    ("CREATE TABLE w (x INTEGER) WITH (static = true); INSERT INTO w VALUES (1); CREATE MATERIALIZED VIEW v AS FROM w",
     ConstraintError, "static"),
    ("CREATE TABLE w (x INTEGER, y INTEGER PRIMARY KEY) WITH (partition_by = 'x')", UnsupportedError, "PRIMARY KEY"),
    ("ALTER VIEW sums RENAME TO s; INSERT INTO p VALUES (50, 1); DROP VIEW nothing", BindError, "nothing"),
)  # fmt: skip


@pytest.mark.parametrize("steps", SETS)
def test_there_is_what_one_engine_has(steps: str) -> None:
    before, transactions = SETS[steps]
    chance, folder, one = random.Random(steps), MemoryFolder(), ivm.connect(compile="off")
    db = over_copies.connect(folder, 2, moves=lambda shard: chance.random() < 0.1)
    for text in (before, *("; ".join(("BEGIN", *each, "COMMIT")) for each in transactions)):
        one.sql(text)
        db.sql(text)
        assert (contents(db), db.time) == (contents(one), one.time), text
        db = over_copies.connect(folder)
    for each in (db, one):
        for table in each.tables():
            if not table.primary_key and len(table.columns) == 1:
                each.sql(f"INSERT INTO {table.name} SELECT * FROM {table.name}")
    assert (contents(db), db.time) == (contents(one), one.time)
    db.verify()


def test_rolled_back_or_failed_nothing_is_left() -> None:
    with ivm.connect(shards=3, compile="off") as db:
        db.sql(SPREAD)
        before = contents(db), db.time, channels(db)
        for text, error, said in FAILING:
            with pytest.raises(error, match=said):
                db.sql(f"BEGIN; {text}; COMMIT")
            if db.in_transaction:
                db.rollback()
            assert (contents(db), db.time, channels(db)) == before, text
        db.sql("BEGIN; DROP TABLE c CASCADE; CREATE TABLE q AS SELECT * FROM p; ROLLBACK")
        assert (contents(db), db.time, channels(db)) == before
        db.sql("BEGIN; DELETE FROM c; DELETE FROM p WHERE k = 3; DROP TABLE c CASCADE; COMMIT")
        db.sql("BEGIN; CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM p; INSERT INTO p VALUES (3, 3); COMMIT")
        assert db.view("v").fetchall() == [(20,)]
        db.verify()


def channels(db: ivm.Database) -> object:
    driver: Any = core_of(db).engine
    residents = driver.transport.residents
    graphs = [sorted(node.label for node in each.engine.renderer.graph.nodes) for each in residents]
    return sorted(driver.channels.by_name), [sorted(each.engine.tables) for each in residents], graphs


def test_who_listens_is_told_and_others_are_first() -> None:
    with ivm.connect(shards=3, compile="off") as db, ThreadPoolExecutor(1) as other:
        db.sql(f"{SPREAD}; CREATE MATERIALIZED VIEW small AS SELECT k, n FROM p WHERE n < 3")
        sums, small = db.subscribe("sums", snapshot=False), db.subscribe("small", snapshot=False)
        db.sql("BEGIN; CREATE MATERIALIZED VIEW more AS SELECT k FROM c; DELETE FROM c WHERE k IN (0, 3)")
        db.sql(
            "CREATE OR REPLACE MATERIALIZED VIEW small AS SELECT k, n FROM p WHERE n < 2; UPDATE p SET n = 9 WHERE k = 0"
        )
        before = other.submit(contents, db).result()
        assert "more" not in before
        other.submit(db.sql, "INSERT INTO p VALUES (30, -1)").result()
        db.commit()
        (first, *changes) = small.fetch().to_pylist()
        assert (first["k"], first["_diff"]) == (30, 1)
        assert sorted((row["k"], row["n"], row["_diff"]) for row in changes) == [(0, 0, -1), (2, 2, -1)]
        changes += sums.fetch().to_pylist()
        assert {row["_time"] for row in changes} == {db.time}
        assert db.view("more").fetchall() == db.sql("SELECT k FROM c").fetchall()
        db.sql("BEGIN; ALTER VIEW small RENAME TO few; ALTER TABLE p RENAME n TO number; UPDATE p SET number = 0")
        other.submit(db.sql, "CREATE TABLE w (x INTEGER)").result()
        with pytest.raises(TransactionError, match="others have done so"):
            db.commit()
        db.sql(
            "BEGIN; ALTER VIEW small RENAME TO few; ALTER TABLE p RENAME n TO number; UPDATE p SET number = 1; COMMIT"
        )
        assert sum(row["_diff"] for row in small.fetch().to_pylist()) == len(db.view("few")) - 2
        db.sql("DELETE FROM p WHERE k > 18")
        assert sorted(row["k"] for row in small.fetch().to_pylist()) == [19, 30]
        db.verify()


def test_who_follows_finds_what_came() -> None:
    folder, one = MemoryFolder(), ivm.connect(history=1 << 20, compile="off")
    db, moments = over_copies.connect(folder, 2), []
    feed = "WITH (change_feed = true)"
    for text in (
        "CREATE TABLE p (k INTEGER PRIMARY KEY, n INTEGER); INSERT INTO p SELECT i, i FROM range(9) r(i)",
        f"BEGIN; CREATE MATERIALIZED VIEW v {feed} AS SELECT n % 3 AS m, sum(n) AS s FROM p GROUP BY m; DELETE FROM p WHERE k < 4;"
        "COMMIT",
        "INSERT INTO p VALUES (1, 5)",
        "BEGIN; CREATE TABLE q (x INTEGER); UPDATE p SET n = n + 1 WHERE k > 5; COMMIT",
        f"BEGIN; CREATE MATERIALIZED VIEW w {feed} AS SELECT x FROM q; INSERT INTO q VALUES (1), (1), (2); DELETE FROM p WHERE k = 8;"
        "COMMIT",
        "BEGIN; DELETE FROM q WHERE x = 1; INSERT INTO p VALUES (2, 2); COMMIT",
        "BEGIN; ALTER TABLE q ADD COLUMN y INTEGER; COMMIT",
    ):  # fmt: skip
        if "ADD COLUMN" in text:
            with pytest.raises(UnsupportedError, match="change_feed"):
                db.sql(text)
            continue
        one.sql(text)
        db.sql(text)
        moments.append((db.time, one.time, [view.name for view in db.views()]))
    assert agree(Files(folder, (0,)), one, moments) > 3


def test_random_transactions() -> None:
    """What `tests.durable.redefining` draws; DuckDB says what views are of the tables, one engine what these are."""
    run(1, 10)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 130))
def test_many_random_transactions(seed: int) -> None:
    run(seed, 60)


def run(seed: int, steps: int) -> None:
    chance, folder, one = random.Random(seed), MemoryFolder(), ivm.connect(compile="off")
    moves = random.Random(seed)
    db = over_copies.connect(folder, 2, moves=lambda shard: moves.random() < 0.03)
    for text in (*redefining.TABLES, *redefining.VIEWS):
        one.sql(text)
        db.sql(text)
    for each in (one, db):
        each.tick("2099-12-31")
    for number in range(steps):
        step, failed = redefining.step(chance, number), list[type[Error]]()
        for each in (one, db):
            try:
                step(each)
            except Error as error:
                failed.append(type(error))
                if each.in_transaction:
                    each.rollback()
        assert failed[:1] * 2 == failed, f"step {number}: {failed}"
        assert contents(db) == contents(one), f"step {number}"
        if chance.random() < 0.1:
            db = over_copies.connect(folder, moves=lambda shard: moves.random() < 0.03)
            assert contents(db) == contents(one), f"step {number}"
    db.verify()

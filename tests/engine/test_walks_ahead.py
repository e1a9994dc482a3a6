"""Walks that are begun ahead give what walks one by one do, whatever comes, fails and is planned meanwhile."""

from __future__ import annotations

import random
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import ivm
from ivm.dataflow import ahead, graph
from ivm.operators import way

TABLES = (
    "CREATE TABLE sale (id INTEGER PRIMARY KEY, shop INTEGER NOT NULL, item INTEGER, what VARCHAR, n BIGINT NOT NULL)",
    "CREATE TABLE shop (id INTEGER PRIMARY KEY, town VARCHAR, open BOOLEAN)",
    "CREATE TABLE item (id INTEGER PRIMARY KEY, name VARCHAR, price DECIMAL(9,2))",
)
VIEWS = {
    "few": "SELECT id, n FROM sale WHERE n < 3",
    "named": "SELECT id, what FROM sale WHERE what LIKE '%a%'",
    "sums": "SELECT shop, sum(n) AS n, count(*) AS c FROM sale WHERE n > 2 GROUP BY shop",
    "towns": "SELECT town, sum(n) AS n FROM sale JOIN shop ON shop = shop.id GROUP BY town",
    "both": "SELECT sale.id, town, name FROM sale JOIN shop ON shop = shop.id JOIN item ON item = item.id WHERE open",
    "worth": "SELECT sum(n * price) AS worth FROM sale JOIN item ON item = item.id WHERE name LIKE 'b%'",
    "above": "SELECT id FROM sale AS s WHERE n > (SELECT avg(n) FROM sale AS o WHERE o.shop = s.shop)",
    "lone": "SELECT id FROM shop WHERE NOT EXISTS (SELECT 1 FROM sale WHERE shop = shop.id)",
    "twice": "SELECT a.id AS a, b.id AS b FROM sale AS a JOIN sale AS b ON a.shop = b.shop WHERE a.n < b.n",
    "over": "SELECT shop, n FROM sums WHERE n > 20",
}
Rows = dict[str, Any]


def row(chance: random.Random, table: str, number: int) -> Rows:
    """Some row of a table."""
    if table == "sale":
        return {
            "id": number, "shop": chance.randrange(4), "item": chance.choice([None, 0, 1, 2, 3]),
            "what": chance.choice([None, "", "a", "ba", "x"]), "n": chance.randrange(8),
        }  # fmt: skip
    if table == "shop":
        return {"id": number, "town": chance.choice([None, "Bern", "Rom"]), "open": chance.choice([None, True, False])}
    return {"id": number, "name": chance.choice([None, "beer", "ale"]), "price": chance.choice([None, 1, 2.5])}


def history(seed: int) -> Iterator[list[tuple[str, list[Rows], str]]]:
    """Commits of few rows: of each table what comes or goes, and how."""
    chance = random.Random(seed)
    there: dict[str, set[int]] = {"sale": set(), "shop": set(), "item": set()}
    for _ in range(90):
        changes = []
        for table in chance.sample(sorted(there), chance.choice([1, 1, 2, 3])):
            known, most = there[table], 12 if table == "sale" else 4
            numbers = chance.sample(range(most), chance.choice([1, 1, 2, 4]))
            kind = chance.choice(["insert", "delete", "upsert"])
            if kind == "insert":
                numbers = [each for each in numbers if each not in known]
            elif kind == "delete":
                numbers = [each for each in numbers if each in known]
            known.symmetric_difference_update(numbers) if kind != "upsert" else known.update(numbers)
            changes.append((table, [row(chance, table, each) for each in numbers], kind))
        yield changes


def commit(db: ivm.Database, changes: list[tuple[str, list[Rows], str]]) -> None:
    """One commit of changes, or a few where kinds differ."""
    with db.transaction() as made:
        for table, rows, kind in changes:
            if rows:
                {"insert": made.insert, "delete": made.delete, "upsert": made.upsert}[kind](table, rows)


def database() -> ivm.Database:
    db = ivm.connect()
    for text in TABLES:
        db.sql(text)
    for name, query in VIEWS.items():
        db.sql(f"CREATE MATERIALIZED VIEW {name} AS {query}")
    return db


class Calls:
    """How often something was called."""

    count = 0


def calls_of(monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> Calls:
    """The calls of a method from now on, which does what it did."""
    calls, method = Calls(), getattr(owner, name)

    def counted(*given: Any) -> None:
        calls.count += 1
        method(*given)

    monkeypatch.setattr(owner, name, counted)
    return calls


def counts(db: ivm.Database) -> list[tuple[Any, ...]]:
    """What each node has taken in and given."""
    asked = "SELECT view, operator, updates_in, updates_out FROM ivm_operators ORDER BY ALL"
    return db.sql(asked).fetchall()


def one_by_one_too(monkeypatch: pytest.MonkeyPatch, both: tuple[ivm.Database, ivm.Database]) -> Iterator[ivm.Database]:
    """One whose walks begin ahead, then the other, whose walks do not."""
    for db, most in zip(both, (1 << 11, 0), strict=True):
        monkeypatch.setattr(ahead, "MOST_ROWS", most)
        yield db


def check(both: tuple[ivm.Database, ivm.Database]) -> None:
    """Both hold the same, which DuckDB finds too."""
    for name in VIEWS:
        rows = [sorted(map(str, db.view(name))) for db in both]
        assert rows[0] == rows[1], name
    for db in both:
        db.verify()


@pytest.mark.parametrize("arenas", [16, 1, 3])
def test_what_comes_is_what_comes_of_walks_one_by_one(monkeypatch: pytest.MonkeyPatch, arenas: int) -> None:
    """Also where more walks have something to say than there is memory for."""
    monkeypatch.setattr(graph, "_ARENAS", arenas)
    begun = calls_of(monkeypatch, ahead._Table, "begin")
    monkeypatch.setattr(ahead, "LEAST_DUE", 1)
    both, before = (database(), database()), 0
    for seed in range(3):
        for number, changes in enumerate(history(seed)):
            if number == 9 and not seed:
                for db in both:
                    db.wait_compiled()
            for db in one_by_one_too(monkeypatch, both):
                commit(db, changes)
        check(both)
        for db in both:
            for table in ("sale", "shop", "item"):
                db.sql(f"DELETE FROM {table}")
        assert counts(both[0]) == counts(both[1])
        assert begun.count > before + 20
        before = begun.count


def test_views_come_and_go_and_commits_are_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = calls_of(monkeypatch, ahead._Table, "begin")
    monkeypatch.setattr(ahead, "LEAST_DUE", 1)
    both = database(), database()
    for number, changes in enumerate(history(3)):
        for db in one_by_one_too(monkeypatch, both):
            if number == 9:
                db.wait_compiled()
            if number % 20 == 19:  # what was known of the graph is forgotten
                db.sql("DROP VIEW over")
                db.sql(f"CREATE MATERIALIZED VIEW over AS {VIEWS['over']}")
            if number % 3 == 2:
                with db.what_if() as would:
                    would.apply({"sale": [row(random.Random(number), "sale", 500)]})
            commit(db, changes)
        if number % 10 == 9:
            check(both)
    assert begun.count > 10


def test_what_a_walk_raises_names_its_view_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "LEAST_DUE", 1)
    db = database()
    db.sql("CREATE MATERIALIZED VIEW risky AS SELECT id, n * 4000000000000000000 AS m FROM sale WHERE n > 1")
    for number in range(20):
        db.apply({"sale": [{"id": number, "shop": 1, "item": 1, "what": "a", "n": number % 3}]})
        if number == 5:
            db.wait_compiled()
    before = {name: sorted(map(str, db.view(name))) for name in (*VIEWS, "risky")}
    for _ in range(3):
        with pytest.raises(ivm.NumericError, match="view risky"):
            db.apply({"sale": [{"id": 77, "shop": 1, "item": 1, "what": "a", "n": 3}]})
        assert {name: sorted(map(str, db.view(name))) for name in before} == before
        db.verify()
    db.apply({"sale": [{"id": 77, "shop": 1, "item": 1, "what": "a", "n": 2}]})
    db.verify()


def test_what_walks_raise_of_rows_that_are_taken_back_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sale that is too large comes just when its shop closes: both paths of the join meet it, their sum does not."""
    begun = calls_of(monkeypatch, ahead._Table, "begin")
    monkeypatch.setattr(ahead, "LEAST_DUE", 1)
    db = database()
    risky = (
        "SELECT town, sum(n * 4000000000000000000) AS m FROM sale JOIN shop ON shop = shop.id WHERE n > 1 GROUP BY town"
    )
    db.sql(f"CREATE MATERIALIZED VIEW risky AS {risky}")
    sale, shop = {"id": 0, "shop": 1, "item": 1, "what": "a", "n": 3}, {"id": 1, "town": "Bern", "open": True}
    db.apply({"sale": [{**sale, "id": 1, "n": 2}]})
    for number in range(40):
        if number == 9:
            db.wait_compiled()
        commit(db, [("sale", [sale], "delete"), ("shop", [shop], "insert")] if number else [("shop", [shop], "insert")])
        assert len(db.view("risky")) == 1
        commit(db, [("sale", [sale], "insert"), ("shop", [shop], "delete")])
        assert len(db.view("risky")) == 0
    db.verify()
    assert begun.count > 20


@pytest.mark.parametrize("least", [1, 1 << 20])
def test_batches_that_lie_in_two_ways_make_no_walks_anew(monkeypatch: pytest.MonkeyPatch, least: int) -> None:
    """One has NULLs, the next none; one has short numbers, the next long ones."""
    monkeypatch.setattr(ahead, "LEAST_DUE", least)
    made = calls_of(monkeypatch, way.Way, "__init__")
    db = ivm.connect(compile="wait")
    db.sql("CREATE TABLE t (id INTEGER PRIMARY KEY, a BIGINT, p DECIMAL(9,2))")
    db.sql("CREATE MATERIALIZED VIEW sums AS SELECT a % 3 AS k, sum(p) AS p FROM t WHERE a > 2 GROUP BY ALL")
    db.sql("CREATE MATERIALIZED VIEW some AS SELECT id, a + 1 AS b FROM t WHERE p < 20")
    db.sql("CREATE MATERIALIZED VIEW met AS SELECT t.id, s.p FROM t JOIN sums AS s ON s.k = t.a WHERE t.p > 1")
    for number in range(60):
        numbers = range(5 * number, 5 * number + 5)
        a = [None if number % 2 and i == 2 else i % 9 for i in range(5)]
        short = pa.decimal32(9, 2) if number % 3 == 0 else pa.decimal64(9, 2)
        prices = pa.array([Decimal(i) for i in numbers], short)
        db.apply({"t": pa.table({"id": pa.array(numbers, pa.int32()), "a": pa.array(a, pa.int64()), "p": prices})})
        if number == 39:
            before = made.count
    db.verify()
    assert made.count == before

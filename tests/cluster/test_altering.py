"""ALTER and CREATE OR REPLACE over shards: after each step there is what one engine has, whichever shards are loaded anew,
and whoever opens the folder finds it again.
"""

from __future__ import annotations

from typing import Any

import pytest

import ivm
from ivm.catalog.errors import BindError, ConstraintError, UnsupportedError
from ivm.session.database import core_of
from tests.cluster import over_copies
from tests.cluster.memory import MemoryFolder

TABLES = """
CREATE TABLE shop (id BIGINT PRIMARY KEY, city VARCHAR UNIQUE, note VARCHAR);
CREATE TABLE sale (id BIGINT PRIMARY KEY, shop BIGINT REFERENCES shop, price INTEGER, tag VARCHAR)
    WITH (check_foreign_keys = true);
CREATE TABLE bag (a INTEGER, b VARCHAR, c INTEGER);
CREATE TABLE few (k INTEGER PRIMARY KEY, v INTEGER) REPLICATED;
INSERT INTO shop SELECT i, 'city ' || i, 'n' FROM range(9) r(i);
INSERT INTO sale SELECT i, i % 9, i % 20, 't' || i % 3 FROM range(60) r(i);
INSERT INTO bag SELECT i % 4, 'b' || i % 3, i % 5 FROM range(40) r(i);
INSERT INTO few VALUES (1, 10), (2, NULL);
CREATE VIEW dear AS SELECT shop, price FROM sale WHERE price > 5;
CREATE MATERIALIZED VIEW sums AS SELECT city, sum(price) AS total FROM dear JOIN shop ON shop = shop.id GROUP BY city;
CREATE MATERIALIZED VIEW best AS SELECT city, total FROM sums ORDER BY total DESC LIMIT 3;
CREATE MATERIALIZED VIEW bags AS SELECT b, count(*) AS n FROM bag GROUP BY b;
CREATE MATERIALIZED VIEW pairs AS SELECT k, v, b FROM few JOIN bag ON k = a;
"""
STEPS = (
    "ALTER TABLE sale ADD COLUMN paid BOOLEAN DEFAULT false",
    "ALTER TABLE sale RENAME price TO amount",
    "ALTER TABLE sale ALTER tag SET DEFAULT 'none'",
    "INSERT INTO sale (id, shop, amount) VALUES (100, 1, 30), (101, 2, 40)",
    "ALTER TABLE sale RENAME TO sold",
    "ALTER TABLE sold DROP COLUMN tag",
    "UPDATE sold SET amount = amount + 1, paid = NOT paid WHERE id % 7 = 1",
    "ALTER TABLE shop RENAME id TO number",
    "ALTER TABLE shop RENAME TO branch",
    "ALTER TABLE sold ALTER amount TYPE INTEGER USING amount * 2",
    "ALTER TABLE branch ALTER note SET NOT NULL",
    "ALTER TABLE branch ALTER note DROP NOT NULL",
    "INSERT INTO branch VALUES (20, 'city 20', NULL); INSERT INTO sold VALUES (200, 20, 50, true)",
    "ALTER TABLE bag ADD COLUMN d INTEGER DEFAULT 3",
    "DELETE FROM bag WHERE b = 'b1' AND c = 2",
    "ALTER TABLE bag DROP COLUMN c",
    "INSERT INTO bag VALUES (1, 'b1', 3), (1, 'b1', 3), (2, NULL, NULL)",
    "DELETE FROM bag WHERE a = 3",
    "ALTER TABLE bag ALTER d TYPE BIGINT",
    "ALTER TABLE few ADD COLUMN w VARCHAR DEFAULT 'w'",
    "ALTER TABLE few DROP COLUMN w",
    "ALTER TABLE few RENAME v TO value; UPDATE few SET value = value + 1",
    "CREATE OR REPLACE VIEW dear AS SELECT shop, amount AS price FROM sold WHERE amount > 12",
    "ALTER VIEW sums RENAME TO totals",
    "CREATE OR REPLACE MATERIALIZED VIEW totals AS SELECT city, sum(amount) + 1 AS total FROM sold JOIN branch ON shop = number "
    "GROUP BY city",
    "ALTER TABLE bag ADD COLUMN id INTEGER; UPDATE bag SET id = 0; DELETE FROM bag; INSERT INTO bag VALUES (1, 'x', 2, 1)",
    "ALTER TABLE bag ADD PRIMARY KEY (id)",
    "INSERT INTO bag VALUES (2, 'y', NULL, 2), (3, 'x', 9, 3)",
    "ALTER TABLE bag ADD UNIQUE (d)",
    "ALTER TABLE branch ADD COLUMN open BOOLEAN",
    "UPDATE sold SET amount = 1 WHERE id < 40; DELETE FROM bag WHERE id = 2",
)
_AGAIN = (7, 19, 27)
"""The steps after which the folder is opened again."""
REFUSED = (
    ("ALTER TABLE branch ALTER note SET NOT NULL", ConstraintError, "NULL in 1 row"),
    ("ALTER TABLE bag ADD UNIQUE (b)", ConstraintError, "more than once"),
    ("ALTER TABLE sold DROP COLUMN amount", BindError, "used by view"),
    ("INSERT INTO sold VALUES (300, 77, 1, true)", ConstraintError, "refer to no row of branch"),
    ("INSERT INTO branch VALUES (77, 'city 1', NULL, NULL)", ConstraintError, "more than once"),
    ("DELETE FROM branch WHERE number = 20", ConstraintError, "refer to no row"),
    ("INSERT INTO bag VALUES (7, 'y', 9, 7)", ConstraintError, "more than once"),
)


def contents(db: ivm.Database) -> dict[str, Any]:
    """All rows, without a query."""
    core = core_of(db)
    tables = {name: each.reading()() for name, each in core.engine.tables.items()}
    views = {view.name: db.view(view.name).arrow() for view in core.catalog.views if view.maintained}
    assert {name: each.column_names for name, each in tables.items()} == {
        each.name: [field.name for field in each.fields] for each in core.catalog.tables
    }
    return {name: sorted(map(str, rows.to_pylist())) for name, rows in (tables | views).items()}


def test_there_is_what_one_engine_has() -> None:
    """The folder is opened again now and then, so that shards are loaded by snapshots and by what was written since."""
    folder = MemoryFolder()
    one, db = ivm.connect(compile="off"), over_copies.connect(folder)
    for number, text in enumerate((TABLES, *STEPS)):
        one.sql(text)
        db.sql(text)
        if number in _AGAIN:
            db = over_copies.connect(folder)
        if number in _AGAIN or not text.startswith("ALTER"):
            assert contents(db) == contents(one), text
    for text, error, said in REFUSED:
        with pytest.raises(error, match=said):
            db.sql(text)
    assert contents(db) == contents(one)
    db.verify()
    db.rescale(3)
    for text in ("ALTER TABLE sold RENAME amount TO price", "UPDATE sold SET price = price + 1 WHERE id % 3 = 1"):
        one.sql(text)
        db.sql(text)
        assert contents(db) == contents(one)
    assert contents(over_copies.connect(folder)) == contents(one)


def test_who_listens_goes_on_and_who_follows_is_asked_first() -> None:
    with ivm.connect(shards=3, compile="off") as db:
        db.sql(TABLES)
        told = db.subscribe("best", snapshot=False)
        db.sql("ALTER TABLE sale ADD COLUMN paid BOOLEAN; UPDATE sale SET price = 500 WHERE id = 1")
        assert sorted(each["_diff"] for each in told.fetch().to_pylist()) == [-1, 1]
        db.sql("CREATE OR REPLACE VIEW dear AS SELECT shop, price FROM sale WHERE price > 400")
        assert sorted(each["_diff"] for each in told.fetch().to_pylist()) == [-1, -1, -1, 1]
        db.sql("CREATE MATERIALIZED VIEW followed WITH (change_feed = true) AS SELECT shop FROM sale")
        before = contents(db)
        for text in ("ALTER TABLE sale DROP COLUMN paid", "ALTER VIEW followed RENAME TO other"):
            with pytest.raises(UnsupportedError, match="change_feed"):
                db.sql(text)
        assert contents(db) == before
        db.sql("ALTER TABLE sale ALTER tag SET DEFAULT 'x'; DROP VIEW followed; ALTER TABLE sale DROP COLUMN paid")
        db.verify()

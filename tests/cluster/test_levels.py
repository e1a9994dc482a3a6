"""A commit goes through as many levels as what it reaches has, also where a table reaches it without an exchange."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import ivm
from ivm.catalog.errors import ConstraintError


@pytest.fixture
def db() -> Iterator[ivm.Database]:
    with ivm.connect(shards=3, compile="off") as made:
        made.sql("CREATE TABLE a (id BIGINT PRIMARY KEY, x BIGINT)")
        made.sql("CREATE TABLE b (id BIGINT, y BIGINT)")
        yield made


def test_a_view_over_a_table_and_an_exchange_follows_each_of_them(db):
    db.sql("CREATE MATERIALIZED VIEW v AS SELECT a.id, count(b.y) AS n FROM a LEFT JOIN b ON a.id = b.id GROUP BY a.id")
    db.sql("CREATE MATERIALIZED VIEW over AS SELECT sum(n) AS n, count(*) AS ids FROM v")
    db.sql("CREATE MATERIALIZED VIEW others AS SELECT id FROM a WHERE id NOT IN (SELECT id FROM v WHERE n > 0)")
    for text in (
        "INSERT INTO a SELECT i, i FROM range(10) r(i)",
        "INSERT INTO b SELECT i % 4, i FROM range(10) r(i)",
        "INSERT INTO a SELECT i, i FROM range(10, 20) r(i)",
        "DELETE FROM a WHERE id < 3",
        "DELETE FROM b WHERE y > 7",
    ):
        db.sql(text)
        assert [each.rows for each in db.verify()]


def test_a_view_that_was_replaced_by_one_over_later_views_is_followed(db):
    db.sql("CREATE MATERIALIZED VIEW v AS SELECT id FROM a")
    db.sql("CREATE MATERIALIZED VIEW sums AS SELECT x % 2 AS odd, sum(id) AS s FROM a GROUP BY x % 2")
    db.sql("CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT s, id FROM sums JOIN b ON b.y = sums.s")
    db.sql("INSERT INTO b SELECT i, i FROM range(30) r(i)")
    db.sql("INSERT INTO a SELECT i, i FROM range(10) r(i)")
    db.verify()
    assert len(db.view("v")) == 2


def test_a_static_table_that_views_read_by_an_exchange_stays_as_it_is(db):
    db.sql("CREATE TABLE fixed (id BIGINT PRIMARY KEY, x BIGINT) WITH (static = true)")
    db.sql("INSERT INTO fixed SELECT i, i FROM range(10) r(i)")
    db.sql("CREATE MATERIALIZED VIEW v AS SELECT sum(x) AS s FROM fixed")
    with pytest.raises(ConstraintError, match="it is declared static, and is read by view v"):
        db.sql("INSERT INTO fixed VALUES (20, 20)")

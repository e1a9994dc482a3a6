"""What is expected of collections is near what there is, and never nonsense."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

import pytest
from hypothesis import given

import ivm
from ivm.analysis.tables import sized_by
from ivm.plan.lower import lower
from ivm.plan.node import Sizes, nodes_of
from ivm.session.core import engine_of
from ivm.session.database import core_of
from ivm.sql.bind import bind
from ivm.transform.pipeline import optimize
from tests.transform.relations import relations
from tests.transform.test_semantics import RELAXED

SCHEMA = """
CREATE TABLE maker (m BIGINT PRIMARY KEY, country VARCHAR NOT NULL);
CREATE TABLE part (p BIGINT PRIMARY KEY, name VARCHAR NOT NULL);
CREATE TABLE offer (p BIGINT NOT NULL REFERENCES part (p), m BIGINT NOT NULL REFERENCES maker (m), cost BIGINT NOT NULL,
    PRIMARY KEY (p, m));
CREATE TABLE bought (o BIGINT PRIMARY KEY, day INTEGER NOT NULL, note VARCHAR UNIQUE);
CREATE TABLE line (o BIGINT NOT NULL REFERENCES bought (o), n BIGINT NOT NULL, p BIGINT NOT NULL, m BIGINT NOT NULL,
    amount BIGINT NOT NULL, PRIMARY KEY (o, n), FOREIGN KEY (p, m) REFERENCES offer (p, m));
CREATE TABLE loose (o BIGINT, p BIGINT, m BIGINT);
CREATE TABLE few (m BIGINT, name VARCHAR);
CREATE TABLE hall (p BIGINT, h BIGINT, PRIMARY KEY (p, h));
CREATE TABLE seat (p BIGINT NOT NULL, h BIGINT NOT NULL, n BIGINT, FOREIGN KEY (p, h) REFERENCES hall (p, h));
INSERT INTO few SELECT i, 'n' || i FROM range(5) t(i);
INSERT INTO hall SELECT i // 5, i % 5 FROM range(200) t(i);
INSERT INTO seat SELECT i % 40, i % 5, i FROM range(10000) t(i);
INSERT INTO maker SELECT i, 'c' || (i % 10) FROM range(100) t(i);
INSERT INTO part SELECT i, 'part ' || i FROM range(500) t(i);
INSERT INTO offer SELECT i // 4, (i * 7 + i // 4 * 13) % 100, i FROM range(2000) t(i);
INSERT INTO bought SELECT i, i % 300, 'n' || i FROM range(3000) t(i);
INSERT INTO line SELECT i // 4, i % 4, p, m, i FROM range(12000) t(i) JOIN offer ON cost = i * 7919 % 2000;
INSERT INTO loose SELECT o, p, m FROM line WHERE n = 0;
"""

NEAR = {
    "keys of two columns that are referred to": "SELECT cost FROM line JOIN offer USING (p, m)",
    "keys of two columns that nothing refers to": "SELECT cost FROM loose JOIN offer USING (p, m)",
    "what refers and what is referred to by way of others": "SELECT 1 FROM line JOIN offer USING (p, m) JOIN part USING (p) "
    "JOIN maker USING (m)",
    "one of the columns of a key": "SELECT name FROM line JOIN part USING (p)",
    "one of a column that refers": "SELECT n FROM line WHERE o = 7",
    "one of two columns that refer": "SELECT n FROM line WHERE p = 2 AND m = 82",
    "a filter far away": "SELECT cost FROM bought JOIN line USING (o) JOIN offer USING (p, m) WHERE day < 100",
    "a semi-join with what passes the same filter": "SELECT o FROM bought WHERE day < 90 AND EXISTS (SELECT 1 FROM line "
    "WHERE line.o = bought.o AND line.amount >= 0)",
    "an anti-join": "SELECT p FROM part WHERE NOT EXISTS (SELECT 1 FROM bought WHERE o = p AND day < 90)",
    "groups by a key and by what follows from it": "SELECT o, day, note, sum(amount) FROM bought JOIN line USING (o) GROUP BY "
    "o, day, note",
    "groups by a column that refers": "SELECT m, count(*) FROM line GROUP BY m",
    "groups by both columns of a reference": "SELECT p, m, count(*) FROM line GROUP BY p, m",
    "one of a few rows by a text": "SELECT m FROM few WHERE name = 'n2'",
    "some of a few rows": "SELECT m FROM few WHERE name IN ('n1', 'n2', 'n3')",
    "no more than a list names": "SELECT m FROM maker WHERE country IN ('c0', 'c1', 'c2', 'c3', 'c4', 'c5')",
    "one column before another": "SELECT n FROM line WHERE amount < o * 4 + 2",
    "groups by one of the columns of a reference": "SELECT p, count(*) FROM seat GROUP BY p",
    "what meets in one of two columns of a key": "SELECT seat.n FROM seat JOIN hall USING (p)",
    "what an OR implies": "SELECT 1 FROM maker a JOIN offer x ON a.m = x.m JOIN offer y ON x.p = y.p JOIN maker b ON y.m = b.m "
    "WHERE (a.country = 'c1' AND b.country = 'c2') OR (a.country = 'c2' AND b.country = 'c1')",
    "the first of each group": "SELECT o, amount FROM (SELECT o, amount, row_number() OVER (PARTITION BY o ORDER BY amount) r "
    "FROM line) WHERE r = 1",
    "distinct rows": "SELECT DISTINCT p, m FROM line",
    "both of two": "SELECT p FROM part UNION ALL SELECT m FROM maker",
}


@pytest.fixture(scope="module")
def db() -> Iterator[ivm.Database]:
    with ivm.connect(compile="off") as db:
        db.sql(SCHEMA)
        yield db


@pytest.mark.parametrize("name", NEAR)
def test_what_is_expected_is_near_what_there_is(db: ivm.Database, name: str) -> None:
    core = core_of(db)
    plan = lower(optimize(bind(NEAR[name], core.catalog).relation), engine_of(core).existing())
    expected = Sizes(engine_of(core).sizes()).count(plan)
    there = len(db.sql(NEAR[name]).fetchall())
    assert there / 5 <= expected <= there * 5


def test_a_view_is_planned_by_the_sizes_of_what_its_tables_refer_to_too(db: ivm.Database) -> None:
    core = core_of(db)
    relation = bind("SELECT m, count(*) FROM line GROUP BY m", core.catalog).relation
    assert set(sized_by(relation)) == {"line", "bought", "offer", "part", "maker"}
    assert engine_of(core).planned(relation).sizes["maker"] == 100


@given(relation=relations())
@RELAXED
def test_nothing_is_expected_that_cannot_be(relation):
    plan = lower(optimize(relation))
    for sizes in (Sizes({}), Sizes({"keyed": 1.0, "loose": 0.0}), Sizes({"keyed": 1e9, "loose": 1e12, "pair": 1e6})):
        for node in nodes_of(plan):
            found = sizes.of(node)
            assert found.width == len(node.row)
            assert 0.0 <= found.rows < inf
            for column in range(found.width):
                assert 0.0 <= found.distinct(column) <= found.rows
            assert found.combinations(range(found.width)) <= found.rows

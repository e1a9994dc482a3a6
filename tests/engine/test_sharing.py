"""Views that share nothing answer as those that share everything; what a view used goes with it."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import ivm
from ivm.catalog.errors import NumericError
from ivm.plan.existing import Existing
from ivm.session.core import engine_of
from ivm.session.database import core_of

VIEWS = {
    "plain": "SELECT p.v, q.id FROM p JOIN q ON p.a = q.a AND p.b = q.b",
    "same": "SELECT p.v, q.id FROM p JOIN q ON p.a = q.a AND p.b = q.b",
    "wide": "SELECT p.v AS x, q.v AS y FROM p JOIN q ON p.a = q.a WHERE q.v > 3",
    "grouped": "SELECT a, sum(v) AS s, max(v) AS m FROM q GROUP BY a",
    "over": "SELECT p.v, g.s FROM p JOIN grouped g ON p.a = g.a",
    "extreme": "SELECT id FROM q WHERE v = (SELECT max(v) FROM q x WHERE x.a = q.a)",
    "semi": "SELECT a, b FROM p WHERE EXISTS (SELECT 1 FROM q WHERE q.a = p.a AND q.v > p.v)",
    "first": "SELECT id, v FROM q ORDER BY v DESC, id LIMIT 3",
    "divided": "SELECT p.v // (q.v + 1) AS d FROM p JOIN q ON p.a = q.a",
}


def _database(*, sharing: bool) -> ivm.Database:
    db = ivm.connect(compile="off", sharing=sharing)
    db.sql("CREATE TABLE p (a BIGINT, b BIGINT, v BIGINT NOT NULL, PRIMARY KEY (a, b))")
    db.sql("CREATE TABLE q (id BIGINT PRIMARY KEY, a BIGINT, b BIGINT, v BIGINT NOT NULL)")
    return db


def _install(db: ivm.Database) -> None:
    for name, query in VIEWS.items():
        db.sql(f"CREATE MATERIALIZED VIEW {name} AS {query}")


def _step(db: ivm.Database, seed: int) -> None:
    rng = random.Random(seed)
    with db.transaction() as tx:
        rows = [(rng.randrange(6), rng.randrange(4), rng.randrange(9)) for _ in range(8)]
        tx.upsert("p", [{"a": a, "b": b, "v": v} for (a, b), v in {(a, b): v for a, b, v in rows}.items()])
        ids = rng.sample(range(40), 10)
        tx.upsert("q", [{"id": i, "a": i % 6, "b": rng.randrange(4), "v": rng.randrange(9)} for i in ids])
    if seed % 3 == 2:
        db.sql(f"DELETE FROM q WHERE id % 5 = {seed % 5}")


def test_the_same_answers_from_more_state() -> None:
    shared, apart = _database(sharing=True), _database(sharing=False)
    for db in (shared, apart):
        _step(db, 100)  # so that views are hydrated
        _install(db)
    for seed in range(6):
        for db in (shared, apart):
            _step(db, seed)
        for name in VIEWS:
            assert sorted(shared.view(name).fetchall()) == sorted(apart.view(name).fetchall())
    apart.verify()
    entries = "SELECT sum(entries)::BIGINT FROM ivm_arrangements"
    assert apart.sql(entries).fetchall()[0][0] > shared.sql(entries).fetchall()[0][0]


def test_each_view_has_its_own_of_everything_but_tables() -> None:
    db = _database(sharing=False)
    _install(db)
    found = db.sql("SELECT kind, arrangement, views FROM ivm_arrangements").fetchall()
    # `over` reads the contents of `grouped`, and so needs what makes them.
    own = [views for kind, _, views in found if kind not in ("table", "text", "process") and "grouped" not in views]
    assert all(len(views) == 1 for views in own)
    assert len(own) > len(VIEWS)


@pytest.mark.parametrize("sharing", [True, False])
def test_what_views_used_goes_with_them(sharing: bool) -> None:
    db = _database(sharing=sharing)
    before = db.sql("SELECT arrangement, entries FROM ivm_arrangements ORDER BY ALL").fetchall()
    _install(db)
    for name in reversed(VIEWS):
        db.sql(f"DROP VIEW {name}")
    assert db.sql("SELECT arrangement, entries FROM ivm_arrangements ORDER BY ALL").fetchall() == before
    engine = engine_of(core_of(db))
    assert engine.renderer.graph.nodes == []
    assert engine.renderer.sources == {}
    assert list(engine.rendered()) == []
    assert engine.renderer.existing == Existing()
    for store in engine.tables.values():
        assert [each is store.primary for each in store.arrangements()] == [True]


@pytest.mark.parametrize("sharing", [True, False])
def test_a_failed_installation_leaves_nothing(sharing: bool) -> None:
    db = _database(sharing=sharing)
    db.sql("INSERT INTO p VALUES (1, 1, 9223372036854775807)")
    db.sql("INSERT INTO q VALUES (1, 1, 1, 1)")
    db.sql("CREATE MATERIALIZED VIEW fine AS SELECT p.v, q.id FROM p JOIN q ON p.a = q.a")
    nodes = len(engine_of(core_of(db)).renderer.graph.nodes)
    with pytest.raises(NumericError, match="cannot create view broken"):
        db.sql("CREATE MATERIALIZED VIEW broken AS SELECT p.v + q.v AS s FROM p JOIN q ON p.a = q.a")
    assert len(engine_of(core_of(db)).renderer.graph.nodes) == nodes
    db.sql("INSERT INTO q VALUES (2, 1, 1, 1)")
    assert db.view("fine").arrow().num_rows == 2


def test_indexes_apart_follow_an_undone_commit() -> None:
    db = _database(sharing=False)
    _install(db)
    _step(db, 1)
    kept = {name: db.view(name).fetchall() for name in VIEWS}
    with pytest.raises(ivm.ConstraintError):
        db.apply({"q": pa.table({"id": [90, 90], "a": [1, 1], "b": [1, 1], "v": [5, 6]})})
    assert {name: db.view(name).fetchall() for name in VIEWS} == kept
    _step(db, 2)
    db.verify()

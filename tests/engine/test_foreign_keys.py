"""Checking foreign keys takes indexes, which are counted, shared with views, and go with the table that declares them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pyarrow as pa
import pytest

import ivm
from ivm.session.core import engine_of
from ivm.session.database import core_of
from tests.faults.lines import lines_of, raising
from tests.trace_state.run_invariant import chains_of

PLACES = ("index/index.py", "index/arrangement.py", "index/chains.py", "trace/state.py", "engine/tables.py")
INDEXES = "SELECT arrangement, views FROM ivm_arrangements WHERE kind = 'index' ORDER BY ALL"


@pytest.fixture
def db() -> ivm.Database:
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE city (id BIGINT PRIMARY KEY, name VARCHAR NOT NULL)")
    db.sql(
        "CREATE TABLE person (id BIGINT PRIMARY KEY, city BIGINT REFERENCES city (id), friend BIGINT "
        "REFERENCES person (id)) WITH (check_foreign_keys = true)"
    )
    return db


def change(db: ivm.Database) -> None:
    """Commits that look both ways along both keys."""
    for number in range(3):
        db.sql(f"INSERT INTO city VALUES ({number}, 'c')")
        db.sql(f"INSERT INTO person VALUES ({number}, {number}, {number}), (10 + {number}, {number}, NULL)")
        db.sql(f"DELETE FROM person WHERE id = 10 + {number}")
    db.sql("DELETE FROM person WHERE id = 2")
    db.sql("DELETE FROM city WHERE id = 2")


def indexes(db: ivm.Database) -> dict[str, list[tuple[int, ...]]]:
    return {name: [each.key for each in store.arrangements()] for name, store in engine_of(core_of(db)).tables.items()}


def test_a_check_uses_one_of_each_index_however_many_commits(db) -> None:
    change(db)
    assert indexes(db) == {"city": [(0,)], "person": [(0,), (1,), (2,)]}
    assert db.sql(INDEXES).fetchall() == [("person(city)", []), ("person(friend)", [])]
    stated = db.sql("SELECT sum(bytes)::BIGINT FROM ivm_arrangements WHERE kind <> 'process'").fetchall()[0][0]
    assert engine_of(core_of(db)).state_bytes() == stated


def test_views_share_them_and_leave_them(db) -> None:
    db.sql("CREATE MATERIALIZED VIEW v AS SELECT c.name, p.id FROM city c JOIN person p ON p.city = c.id")
    change(db)
    assert ("person(city)", ["v"]) in db.sql(INDEXES).fetchall()
    with_view = indexes(db)
    db.sql("DROP VIEW v")
    assert indexes(db) == with_view
    with pytest.raises(ivm.ConstraintError, match="refer to no row of city"):
        db.sql("INSERT INTO person VALUES (7, 9, NULL)")


def test_they_go_with_the_table_that_declares_them(db) -> None:
    change(db)
    db.sql("DROP TABLE person")
    assert indexes(db) == {"city": [(0,)]}
    db.sql("DELETE FROM city")
    db.sql("CREATE TABLE person (id BIGINT PRIMARY KEY)")
    assert indexes(db) == {"city": [(0,)], "person": [(0,)]}


def test_a_commit_may_check_a_foreign_key_whose_index_is_being_filled(monkeypatch: pytest.MonkeyPatch) -> None:
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE p (id BIGINT PRIMARY KEY, x BIGINT); INSERT INTO p SELECT range, range FROM range(99)")
    db.sql("CREATE TABLE c (id BIGINT, p BIGINT REFERENCES p) WITH (check_foreign_keys = true)")
    db.sql("INSERT INTO c SELECT range, range % 10 FROM range(30)")
    lock, gone = core_of(db).lock, iter(range(98, 10, -1))
    aside: Any = lock.aside

    def meanwhile(work: Callable[[], Any]) -> Any:
        number = next(gone)
        db.sql(f"DELETE FROM p WHERE id = {number}; INSERT INTO c VALUES (100, {number % 10}), (101, 9)")
        return aside(work)

    monkeypatch.setattr(lock, "aside", meanwhile)
    db.sql("CREATE MATERIALIZED VIEW late AS SELECT c.id, p.x FROM c JOIN p ON c.p = p.id")
    db.sql("INSERT INTO c SELECT range, 1 + range % 7 FROM range(99); UPDATE p SET x = -1 WHERE id < 9")
    db.verify()


@pytest.mark.parametrize("also", [False, True])
def test_a_check_that_is_interrupted_is_made_again(also: bool) -> None:
    """The index of who refers lags until a row goes that could be referred to; then it catches up with all of them."""

    def made() -> ivm.Database:
        db = ivm.connect(compile="off")
        db.sql("CREATE TABLE city (id BIGINT PRIMARY KEY)")
        db.sql(
            "CREATE TABLE person (id BIGINT PRIMARY KEY, city BIGINT REFERENCES city (id), friend BIGINT) "
            "WITH (check_foreign_keys = true)"
        )
        db.apply({"city": {"id": [*range(100)]}})
        db.apply({"person": {"id": [*range(90)], "city": [i * 7 % 90 for i in range(90)], "friend": [None] * 90}})
        return db

    def work(db: ivm.Database) -> None:
        with db.transaction() as tx:
            tx.delete("city", pa.table({"id": [95]}))
            if also:
                tx.insert("person", pa.table({"id": [99], "city": [98], "friend": pa.nulls(1, pa.int64())}))

    places = [place for place in lines_of(partial(work, made())) if place[0].endswith(PLACES)]
    assert len(places) > 30
    for place in places:
        db = made()
        for error in (KeyboardInterrupt, MemoryError):
            raising(partial(work, db), place, error)
        db.sql("DELETE FROM city WHERE id = 96")
        with pytest.raises(ivm.ConstraintError, match="still refer to rows removed"):
            db.sql("DELETE FROM city WHERE id = 49")
        db.sql("DELETE FROM person WHERE city = 49; DELETE FROM city WHERE id = 49")
        index = next(iter(engine_of(core_of(db)).tables.constrained["person"].foreign.values()))[0].index
        assert not [chain for chain in chains_of(index).items() if len(chain[1]) > 1], place

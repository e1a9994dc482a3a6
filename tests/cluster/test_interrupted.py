"""Ctrl-C at whatever line of a commit over shards, or of a definition: all of it is done, or nothing, for tables, views
and who listens alike.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

import pytest

import ivm
from ivm.catalog.errors import StorageError
from ivm.cluster.driver.filler import Pace
from ivm.cluster.driver.transport import InProcess
from ivm.session.database import core_of
from tests.faults import lines
from tests.more import TODAY

TABLES = """
CREATE TABLE shop (id BIGINT PRIMARY KEY, city VARCHAR);
CREATE TABLE sale (id BIGINT PRIMARY KEY, shop BIGINT REFERENCES shop, price BIGINT) WITH (check_foreign_keys = true);
CREATE MATERIALIZED VIEW cities AS
    SELECT city, sum(price) AS total FROM sale JOIN shop ON sale.shop = shop.id GROUP BY city;
INSERT INTO shop VALUES (1, 'Bern'), (2, 'Oslo'), (3, 'Bern');
INSERT INTO sale SELECT i, i % 3 + 1, i * 10 FROM range(20) r(i);
"""
SAMPLE = 5
"""At so many lines something is raised, each day at others."""
Work = Callable[[ivm.Database], object]


@pytest.fixture(autouse=True)
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(lines, "FOLDERS", (*lines.FOLDERS, "ivm/cluster/"))
    lines._path.cache_clear()
    yield
    lines._path.cache_clear()


def driver(db: ivm.Database) -> Any:
    return core_of(db).engine


def commit(db: ivm.Database) -> object:
    changes: dict[str, list[dict[str, object]]] = {
        "shop": [{"id": 4, "city": "Rom"}],
        "sale": [{"id": 100 + i, "shop": 4, "price": i} for i in range(9)],
    }
    return db.apply(changes, batch=("source", 1))


def uncommit(db: ivm.Database) -> object:
    driver(db).version.batches.clear()
    return (
        db.sql("DELETE FROM sale WHERE id >= 100; DELETE FROM shop WHERE id = 4") if len(db.view("cities")) > 2 else 0
    )


def create(db: ivm.Database) -> object:
    return db.sql(
        "CREATE MATERIALIZED VIEW prices AS SELECT price % 7 AS p, count(*) AS n FROM sale GROUP BY price % 7"
    )


def drop(db: ivm.Database) -> object:
    return db.sql("DROP VIEW IF EXISTS prices")


def index(db: ivm.Database) -> object:
    return db.sql("CREATE UNIQUE INDEX IF NOT EXISTS one ON sale (price)")


def drop_index(db: ivm.Database) -> object:
    return db.sql("DROP INDEX IF EXISTS one")


def table(db: ivm.Database) -> object:
    return db.sql("CREATE TABLE IF NOT EXISTS t (id BIGINT PRIMARY KEY, s BIGINT REFERENCES sale) "
                  "WITH (check_foreign_keys = true)")  # fmt: skip


def drop_table(db: ivm.Database) -> object:
    return db.sql("DROP TABLE IF EXISTS t")


def transaction(db: ivm.Database) -> object:
    try:
        return db.sql(
            "BEGIN; CREATE UNIQUE INDEX one ON sale (price);"
            "CREATE TABLE t (id BIGINT PRIMARY KEY, s BIGINT REFERENCES sale) WITH (check_foreign_keys = true);"
            "INSERT INTO sale SELECT 100 + i, 2, i + 1 FROM range(5) r(i); INSERT INTO t VALUES (1, 103);"
            "CREATE MATERIALIZED VIEW prices AS SELECT price % 7 AS p, count(*) AS n FROM sale GROUP BY price % 7;"
            "UPDATE shop SET city = 'Rom' WHERE id = 1; COMMIT"
        )
    finally:
        if db.in_transaction:
            db.rollback()


def undone(db: ivm.Database) -> object:
    if "prices" not in [view.name for view in db.views()]:
        return None
    return db.sql(
        "BEGIN; DROP TABLE t; DROP VIEW prices; DELETE FROM sale WHERE id >= 100; DROP INDEX one;"
        "UPDATE shop SET city = 'Bern' WHERE id = 1; COMMIT"
    )


PAIRS = {
    "transaction": (transaction, undone),
    "commit": (commit, uncommit),
    "create": (create, drop),
    "fill": (create, drop),
    "drop": (drop, create),
    "index": (index, drop_index),
    "drop index": (drop_index, index),
    "table": (table, drop_table),
    "drop table": (drop_table, table),
}


# What the interpreter calls, when something is let go of, nobody can interrupt: it says so, and goes on.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("pair", PAIRS)
def test_it_is_done_or_undone(pair):
    tried(pair, SAMPLE * 4 if pair == "commit" else SAMPLE)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("pair", PAIRS)
def test_it_is_done_or_undone_at_every_line(pair):
    tried(pair, None)


def tried(pair: str, sample: int | None) -> None:
    work, back = PAIRS[pair]
    pace = Pace(0, 4, 0) if pair == "fill" else InProcess.pace
    with patch.object(InProcess, "pace", pace), ivm.connect(shards=3, compile="off") as db:
        db.sql(TABLES)
        if "drop" in pair:
            back(db)
        states = {}
        states["before"] = contents(db)
        places = lines.lines_of(lambda: work(db))
        states["after"] = contents(db)
        back(db)
        assert contents(db) == states["before"] != states["after"]
        chosen = places if sample is None else random.Random(TODAY).sample(places, min(sample, len(places)))
        subscription = db.subscribe("cities")
        known = told(db)
        for place in chosen:
            lines.raising(lambda: work(db), place, KeyboardInterrupt)
            found = contents(db)
            assert found in states.values(), f"{place}: {found}"
            followed(known, subscription)
            assert known == told(db), place
            if found == states["before"]:
                work(db)
            assert contents(db) == states["after"], place
            back(db)
            assert contents(db) == states["before"], place
            followed(known, subscription)
        db.verify()


def contents(db: ivm.Database) -> dict[str, Any]:
    with core_of(db).definitions:  # before the next definition what was interrupted goes
        pass
    names = [*(each.name for each in db.tables()), *(each.name for each in db.views())]
    found = {name: sorted(map(str, db.sql(f"FROM {name}").arrow().to_pylist())) for name in names}
    residents = driver(db).transport.residents
    nodes = [sorted(node.label for node in each.engine.renderer.graph.nodes) for each in residents]
    indexes = db.sql("DESCRIBE sale").arrow().to_pylist()
    return {**found, "": (nodes, indexes, sorted(driver(db).channels.by_name), db.batches())}


def told(db: ivm.Database) -> dict[str, int]:
    return {str(row): 1 for row in db.view("cities").arrow().to_pylist()}


def followed(known: dict[str, int], subscription: Any) -> None:
    for row in subscription.fetch().to_pylist():
        diff = row.pop("_diff")
        row.pop("_time")
        known[str(row)] = known.get(str(row), 0) + diff
        if not known[str(row)]:
            del known[str(row)]


def test_a_commit_does_not_fail_where_nobody_can_be_told_of_it():
    with ivm.connect(shards=2, compile="off") as db:
        db.sql(TABLES)
        subscription, ask = db.subscribe("cities"), driver(db).transport.ask

        def fails(version: Any, question: Any) -> Any:
            if question.kind == "changes":
                raise StorageError("no answer")
            return ask(version, question)

        with patch.object(driver(db).transport, "ask", fails):
            time = commit(db)
            with pytest.raises(StorageError, match="no answer"):  # whoever comes next has to tell first
                db.sql("DELETE FROM sale")
        assert db.sql("SELECT count(*) FROM sale").fetchall() == [(29,)]
        assert subscription.fetch().to_pylist() == [{"city": "Rom", "total": 36, "_time": time, "_diff": 1}]
        assert db.batches() == {"source": 1}

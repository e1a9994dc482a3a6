"""Something may be raised at any line of a commit; what the log has is then what memory has."""

import pytest

from ivm.durable import journal
from tests.durable.disk import Disk
from tests.durable.opening import contents, finish, held_by, opened
from tests.faults.lines import lines_of, raising
from tests.more import TODAY

PARTS = ("ivm/durable/", "ivm/storage/", "ivm/engine/engine.py", "ivm/engine/part.py", "ivm/session/core.py")
WORKS = {
    "commit": lambda db: db.apply({"t": {"a": [db.time], "b": ["x"]}}, batch=("source", db.time)),
    "update": lambda db: db.sql("UPDATE t SET b = 'y' WHERE a >= 0"),
    "create": lambda db: db.sql(f"CREATE TABLE u{db.time}_{len(db.tables())} AS SELECT 1 AS x"),
    "view": lambda db: db.sql("CREATE OR REPLACE MATERIALIZED VIEW w AS SELECT max(a) AS m FROM t"),
}


CASES = [*((work, "commit") for work in WORKS), ("commit", "off"), ("commit", "beside")]


@pytest.mark.parametrize(("work", "durability"), CASES)
def test_the_log_has_what_memory_has(work, durability, monkeypatch):
    if durability == "beside":
        durability = "commit"
        monkeypatch.setattr(journal, "LARGE", 1)
    disk = Disk()
    db = opened(disk, durability)

    def found():
        finish(db)
        return held_by(disk.files())

    db.sql("CREATE TABLE t (a BIGINT PRIMARY KEY, b VARCHAR)")
    db.sql("CREATE MATERIALIZED VIEW v AS SELECT b, count(*) AS n FROM t GROUP BY b")
    db.apply({"t": {"a": [-1], "b": ["z"]}})
    WORKS[work](db)
    places = [place for place in lines_of(lambda: WORKS[work](db)) if place[0].startswith(PARTS)]
    assert len(places) > 30
    for number, place in enumerate(places[TODAY % 2 :: 2]):  # all of them in two days
        error = (KeyboardInterrupt, MemoryError)[number % 2]
        raising(lambda: WORKS[work](db), place, error)
        if number % 3:  # else the next commit comes upon what was left
            assert found() == contents(db), f"{error.__name__} at {place}"
        db.apply({"t": {"a": [1000 + number], "b": ["z"]}})
        assert found() == contents(db), f"{error.__name__} at {place}, later"
        if number % 20 == 0:
            db.verify()

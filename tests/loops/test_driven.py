"""Rounds of straight loops in one call of machine code: the same as in Python, wherever it has to come back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

import pytest

import ivm
from ivm.dataflow import drive as driving
from ivm.dataflow import given
from ivm.dataflow.drive import Drive
from ivm.dataflow.loop import Iterate
from ivm.kernels.step import drive as kernel
from ivm.session.core import engine_of
from ivm.session.database import core_of

_TABLES = """
    CREATE TABLE e (s BIGINT NOT NULL, d BIGINT NOT NULL, c INTEGER NOT NULL, CHECK (c > 0));
    CREATE TABLE roots (v BIGINT NOT NULL);
    CREATE TABLE said (a VARCHAR NOT NULL, b VARCHAR NOT NULL, day DATE NOT NULL)"""
_LEAST = "WITH MUTUALLY RECURSIVE p(v BIGINT, x {type}) AS (SELECT v, {least}(x) AS x FROM ({base} UNION ALL {more}) GROUP BY v) SELECT * FROM p"
STRAIGHT = {
    "reach": "WITH RECURSIVE r(v) AS (SELECT v FROM roots UNION SELECT e.d FROM r JOIN e ON r.v = e.s) SELECT * FROM r",
    "closure": "WITH RECURSIVE t(s, d) AS (SELECT s, d FROM e UNION SELECT t.s, e.d FROM t JOIN e ON t.d = e.s) SELECT * FROM t",
    "both ways": """WITH RECURSIVE r(v) AS (SELECT v FROM roots UNION (SELECT e.d FROM r JOIN e ON r.v = e.s
        UNION ALL SELECT e.s FROM r JOIN e ON r.v = e.d)) SELECT * FROM r""",
    "texts": "WITH RECURSIVE t(a, b) AS (SELECT a, b FROM said UNION SELECT t.a, s.b FROM t JOIN said s ON t.b = s.a) SELECT * FROM t",
    "numbers": "WITH RECURSIVE n(i, v) AS (SELECT c, v FROM e JOIN roots ON v = s UNION SELECT i + 1, v FROM n WHERE i < 12) SELECT * FROM n",
    "to a limit": """WITH MUTUALLY RECURSIVE (RETURN AT RECURSION LIMIT 3) r(v BIGINT) AS (SELECT v FROM roots
        UNION SELECT e.d FROM r JOIN e ON r.v = e.s) SELECT * FROM r""",
    "levels": _LEAST.format(
        type="BIGINT", least="min", base="SELECT v, 0 AS x FROM roots", more="SELECT e.d, p.x + 1 FROM p JOIN e ON p.v = e.s"
    ),
    "paths": _LEAST.format(
        type="BIGINT", least="min", base="SELECT v, 0 AS x FROM roots", more="SELECT e.d, p.x + e.c FROM p JOIN e ON p.v = e.s"
    ),
    "components": _LEAST.format(
        type="BIGINT",
        least="max",
        base="SELECT s AS v, s AS x FROM e UNION ALL SELECT d, d FROM e",
        more="SELECT e.d, p.x FROM p JOIN e ON p.v = e.s UNION ALL SELECT e.s, p.x FROM p JOIN e ON p.v = e.d",
    ),
    "first costs": _LEAST.format(
        type="INTEGER", least="min", base="SELECT s AS v, c AS x FROM e", more="SELECT e.d, p.x FROM p JOIN e ON p.v = e.s"
    ),
}  # fmt: skip
_NODES = 9


@contextmanager
def _reasons() -> Iterator[Counter[int]]:
    """Why machine code comes back, how often."""
    found, drive = Counter[int](), kernel.drive

    def driven(*given: Any) -> int:
        said = drive(*given)
        found[int(said)] += 1
        return said

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(driving, "drive", driven)
        yield found


def _changed(random: Random, db: ivm.Database) -> None:
    """A commit of some rows that come, and some that go; of which some come and go at once."""
    edges, roots, said = (db.sql(f"SELECT * FROM {name}").fetchall() for name in ("e", "roots", "said"))
    with db.transaction() as tx:
        new = [
            dict(zip("sdc", (random.randrange(_NODES), random.randrange(_NODES), random.randrange(1, 9)), strict=True))
        ]
        tx.insert("e", new * random.randrange(1, 3))
        if edges:
            tx.delete("e", [dict(zip("sdc", random.choice(edges), strict=True))])
        if random.random() < 0.4:
            tx.delete("e", new)
        if len(roots) > 1 and random.random() < 0.3:
            tx.delete("roots", [{"v": roots[0][0]}])
        if random.random() < 0.4:
            tx.insert("roots", [{"v": random.randrange(_NODES)}])
        day = f"2020-01-0{random.randrange(1, 9)}"
        tx.insert("said", [{"a": "abcde"[random.randrange(5)], "b": "abcde"[random.randrange(5)], "day": day}])
        if said and random.random() < 0.7:
            tx.delete("said", [dict(zip(("a", "b", "day"), random.choice(said), strict=True))])


def _database(name: str) -> ivm.Database:
    db = ivm.connect(compile="wait", recursion_limit=1000)
    db.sql(_TABLES)
    db.sql("INSERT INTO roots VALUES (0); INSERT INTO e VALUES (0, 1, 3), (1, 2, 1), (2, 0, 2), (3, 4, 9)")
    db.sql(f"CREATE MATERIALIZED VIEW v AS {STRAIGHT[name]}")
    return db


def _drive(db: ivm.Database) -> Drive | None:
    (loop,) = [n.operator for n in engine_of(core_of(db)).renderer.graph.nodes if isinstance(n.operator, Iterate)]
    return loop._drive


def _rows(db: ivm.Database) -> Counter[Any]:
    return Counter(db.view("v").fetchall())


@pytest.mark.parametrize("name", STRAIGHT)
def test_rounds_are_those_of_python(name: str) -> None:
    with _reasons() as reasons:
        random, db, slow = Random(name), _database(name), _database(name)
        drive = _drive(slow)
        assert drive is not None, "the loop is straight"
        drive._is_ready = lambda: False  # type: ignore[method-assign]
        for number in range(30):
            state = random.getstate()
            _changed(random, db)
            random.setstate(state)
            _changed(random, slow)
            assert _rows(db) == _rows(slow), number
        assert reasons[kernel.ENDED] > 5
        assert reasons[kernel.STOPPED] < reasons[kernel.ENDED]


def test_it_comes_back_for_whatever_is_wanting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(given, "_LEAST", 1)
    monkeypatch.setattr(given, "_MOST", 4)
    monkeypatch.setattr(driving, "_MOST_ROUNDS", 2)
    with _reasons() as reasons:
        for name, most_due in (("closure", 1 << 12), ("paths", 8), ("components", 8)):
            random, db = Random(name), _database(name)
            drive = _drive(db)
            assert drive is not None, "the loop is straight"
            drive._frame[kernel.MOST_DUE] = most_due
            for node in range(10, 50):
                _changed(random, db)
                db.sql(f"INSERT INTO e VALUES ({node}, {node + 1}, 1), ({node}, {node + 2}, 1)")
            db.sql("INSERT INTO e VALUES (0, 10, 1)")
            again = _database(name)
            again.sql("DELETE FROM e; DELETE FROM roots")
            again.apply({table: db.sql(f"SELECT * FROM {table}").arrow() for table in ("e", "roots")})
            assert _rows(db) == _rows(again)
    wanted = ("ENDED", "PAUSED", "BY_PYTHON", "NO_GIVEN", "NO_CELLS", "NO_SLOTS", "NO_MEMORY")
    assert all(reasons[getattr(kernel, each)] for each in wanted), reasons


def test_a_sum_that_overflows_is_refused_and_nothing_of_it_is_left() -> None:
    db = ivm.connect(compile="wait")
    db.sql(_TABLES)
    db.sql(f"CREATE MATERIALIZED VIEW v AS {STRAIGHT['paths'].replace('p.x + e.c', 'p.x * 1000000 + e.c')}")
    db.sql("INSERT INTO roots VALUES (0)")
    for node in range(3):
        db.sql(f"INSERT INTO e VALUES ({node}, {node + 1}, 7)")
    before = _rows(db)
    for _ in range(3):
        with pytest.raises(ivm.NumericError):
            db.sql("INSERT INTO e VALUES (3, 4, 7), (4, 5, 7), (5, 6, 7)")
        assert _rows(db) == before
    db.sql("DELETE FROM e WHERE s = 1")
    assert len(_rows(db)) == 2


def test_a_loop_that_does_not_end_names_itself() -> None:
    db = ivm.connect(compile="wait", recursion_limit=300)
    db.sql(_TABLES)
    db.sql(
        "CREATE MATERIALIZED VIEW v AS WITH RECURSIVE n(i) AS (SELECT v FROM roots UNION SELECT i + 1 FROM n WHERE i <> 700) SELECT * FROM n"
    )
    db.sql("INSERT INTO roots VALUES (500)")
    assert len(_rows(db)) == 201
    for _ in range(2):
        with pytest.raises(ivm.RecursionLimitError, match="view v: the loop of n has not ended after 300 rounds"):
            db.sql("INSERT INTO roots VALUES (100)")
        assert len(_rows(db)) == 201
    db.sql("DELETE FROM roots")
    assert not _rows(db)

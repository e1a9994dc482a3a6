"""Savepoints of a transaction, whatever is done before and after them, against a model of the tables."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest

import ivm
from ivm.catalog.errors import Error

SCHEMA = """
    CREATE TABLE k (id INTEGER PRIMARY KEY, v INTEGER UNIQUE); CREATE TABLE m (a INTEGER, b INTEGER);
    CREATE MATERIALIZED VIEW s AS SELECT a, count(*) AS n, sum(b) AS t FROM m GROUP BY a;
    CREATE MATERIALIZED VIEW j AS SELECT k.v, m.b FROM k JOIN m ON k.id = m.a;
"""


@dataclass
class Rows:
    """What the tables hold."""

    k: dict[int, int] = field(default_factory=dict)
    m: Counter[tuple[int, int]] = field(default_factory=Counter)

    def copy(self) -> Rows:
        """The same by itself."""
        return Rows(dict(self.k), Counter(self.m))

    def check(self, db: ivm.Database) -> None:
        """Hold it against what the database holds."""
        assert dict(db.sql("SELECT * FROM k").fetchall()) == self.k
        assert sorted(db.sql("SELECT * FROM m").fetchall()) == sorted(self.m.elements())


def change(db: ivm.Database, rows: Rows, chosen: random.Random) -> None:
    """One statement; an INSERT of a key or value that is there raises."""
    a, b = chosen.randrange(5), chosen.randrange(7)
    match chosen.randrange(5):
        case 0:
            db.sql(f"INSERT INTO k VALUES ({a}, {b})")
            rows.k[a] = b
        case 1:
            db.sql(f"DELETE FROM k WHERE id = {a}")
            rows.k.pop(a, None)
        case 2:
            db.sql(f"INSERT INTO m VALUES ({a}, {b}), ({a}, {b})")
            rows.m[a, b] += 2
        case 3:
            db.sql(f"DELETE FROM m WHERE a = {a}")
            rows.m = Counter({row: n for row, n in rows.m.items() if row[0] != a})
        case 4:
            db.sql("UPDATE m SET b = b + 1 WHERE a < 2")
            moved = Counter[tuple[int, int]]()
            for (x, y), n in rows.m.items():
                moved[x, y + (x < 2)] += n
            rows.m = moved


def transaction(db: ivm.Database, before: Rows, chosen: random.Random) -> Rows:
    """A transaction with savepoints, which comes to its end; what there is then."""
    db.begin()
    begun, rows, saves = db._transactions.begun, before.copy(), list[Rows]()
    assert begun is not None
    for _ in range(chosen.randrange(1, 14)):
        what = chosen.randrange(9) if saves else 4
        try:
            if what == 0 or (not saves and chosen.random() < 0.3):
                begun.save("x")
                saves.append(rows.copy())
            elif what == 1:
                begun.restore("x")
                rows = saves[-1].copy()
            elif what == 2:
                begun.release("x")
                saves.pop()
            elif what == 3:
                rows.check(db)
            else:
                change(db, rows, chosen)
        except Error:
            if not saves:
                db.rollback()
                return before
            begun.restore("x")
            rows = saves[-1].copy()
    if chosen.random() < 0.3:
        db.rollback()
        return before
    db.commit()
    return rows


@pytest.mark.parametrize("how", [{}, {"shards": 2}])
def test_histories_with_savepoints(how: dict[str, Any]):
    for seed in range(1 if how else 3):
        chosen, rows = random.Random(seed), Rows()
        with ivm.connect(compile="off", **how) as db:
            db.sql(SCHEMA)
            for _ in range(8):
                rows = transaction(db, rows, chosen)
                rows.check(db)
            db.verify()

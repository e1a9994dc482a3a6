"""ASOF JOIN through random histories, with many ties and NULLs, against DuckDB."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

import ivm

KINDS = ("", "LEFT ", "SEMI ", "ANTI ")


_WRITTEN_OUT = (
    "SELECT o.id, (SELECT max(q.p) FROM trade u ASOF LEFT JOIN quote q ON u.t >= q.t + o.n AND u.k = q.k) AS p"
    " FROM trade o",
    "WITH RECURSIVE r(a, n) AS (SELECT t, 0 FROM trade WHERE t < 2 UNION SELECT q.t, r.n + 1 FROM r ASOF JOIN quote q"
    " ON r.a < q.t WHERE r.n < 4) SELECT a, n FROM r",
)
"""Those that depend on an outer row, or on a name of a loop."""


def _views() -> list[str]:
    texts = []
    for kind, sign in product(KINDS, (">=", ">", "<=", "<")):
        columns = "t.id, t.t" if kind in ("SEMI ", "ANTI ") else "t.id, t.t, q.id AS q, q.p"
        texts.append(f"SELECT {columns} FROM trade t ASOF {kind}JOIN quote q ON t.k = q.k AND t.t {sign} q.t")
    texts += [
        "SELECT t.id, q.p FROM trade t ASOF LEFT JOIN quote q ON q.p > 1 AND t.id > 3 AND q.t < t.t + 1",
        "SELECT * FROM trade ASOF LEFT JOIN (SELECT k, t, p FROM quote) AS q USING (k, t)",
        "SELECT o.id, (SELECT q.p FROM trade u ASOF JOIN quote q ON u.t >= q.t WHERE u.id = o.id) AS p FROM trade o",
        "SELECT t.id, q.id AS q FROM trade t ASOF LEFT JOIN quote q ON t.k = q.k AND t.k = q.t AND t.k >= q.p",
        "SELECT t.id, q.id AS q FROM trade t ASOF LEFT JOIN trade q ON t.k IS NOT DISTINCT FROM q.k AND t.t > q.t",
        "SELECT id, p FROM (SELECT t.id, t.k, q.p FROM trade t ASOF LEFT JOIN quote q ON t.k = q.k AND t.t <= q.t)"
        " WHERE k > 1",
        "SELECT t.k, count(*) AS n, sum(q.p) AS s FROM trade t ASOF JOIN quote q ON t.t >= q.t GROUP BY t.k",
    ]
    return texts


def _change(db: ivm.Database, random: Random) -> None:
    table, key = random.choice(("trade", "quote")), random.randrange(12)
    if random.random() < 0.4:
        db.sql(f"DELETE FROM {table} WHERE id = {key}")
    else:
        values = (random.choice(("NULL", 1, 1, 2)), random.choice(("NULL", *range(5))), random.randrange(3))
        db.sql(f"INSERT OR REPLACE INTO {table} VALUES ({key}, {', '.join(map(str, values))})")


def _create(db: ivm.Database) -> None:
    db.sql("CREATE TABLE trade (id BIGINT PRIMARY KEY, k INTEGER, t INTEGER, n INTEGER)")
    db.sql("CREATE TABLE quote (id BIGINT PRIMARY KEY, k INTEGER, t INTEGER, p INTEGER)")


def test_random_histories() -> None:
    db, random = ivm.connect(compile="off"), Random(11)
    _create(db)
    for number, text in enumerate(_views()):
        db.sql(f"CREATE MATERIALIZED VIEW v{number} AS {text}")
    for number, text in enumerate(_WRITTEN_OUT):
        db.sql(f"CREATE MATERIALIZED VIEW w{number} AS {text}")
    for step in range(16):
        for _ in range(4):
            _change(db, random)
        if step == 8:
            db.sql("DELETE FROM quote")
        if step % 4 == 3:
            with pytest.raises(ivm.ConstraintError), db.transaction() as tx:
                tx.insert("quote", [{"id": 90, "k": 1, "t": 2, "p": 0}, {"id": 90, "k": 2, "t": 1, "p": 0}])
        db.verify()
    assert db.sql("SELECT view FROM ivm_views WHERE NOT incremental AND view LIKE 'v%'").fetchall() == []


def test_over_shards() -> None:
    db, random = ivm.connect(shards=2, compile="off"), Random(5)
    _create(db)
    for number, on in enumerate(("t.k = q.k AND t.t >= q.t", "t.t < q.t")):
        db.sql(f"CREATE MATERIALIZED VIEW v{number} AS SELECT t.id, q.p FROM trade t ASOF LEFT JOIN quote q ON {on}")
    for _ in range(6):
        for _ in range(4):
            _change(db, random)
        db.verify()


def test_a_late_row_costs_what_it_moves() -> None:
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE quote (t BIGINT PRIMARY KEY, p BIGINT)")
    db.sql("CREATE TABLE trade (id BIGINT PRIMARY KEY)")
    rows = 20_000
    db.sql(f"INSERT INTO quote SELECT 10 * i, i FROM range({rows}) r(i)")
    db.sql(f"INSERT INTO trade SELECT 5 * i FROM range({2 * rows}) r(i)")
    db.sql("CREATE MATERIALIZED VIEW v AS SELECT trade.id, p FROM trade ASOF JOIN quote ON id >= t")
    visited = "SELECT sum(visited) FROM ivm_operators"
    ((before,),) = db.sql(visited).fetchall()
    for place in range(50):
        db.sql(f"INSERT INTO quote VALUES ({10 * (7 + 389 * place) + 3}, 0)")
    ((after,),) = db.sql(visited).fetchall()
    assert after - before < 50 * 300
    db.verify()

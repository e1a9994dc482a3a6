"""What is done to a database in tests of what survives: changes and definitions of all kinds, chosen by a seed."""

from __future__ import annotations

import random
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress

import numpy as np
import pyarrow as pa

import ivm

Step = Callable[[ivm.Database], object]

TABLES = (
    "CREATE TABLE sale (id BIGINT PRIMARY KEY, item VARCHAR, price DECIMAL(10,2) DEFAULT 1.5, at DATE)",
    "CREATE TABLE seen (item VARCHAR, n INTEGER CHECK (n < 1000))",
    "CREATE TABLE leads (a INTEGER NOT NULL, b INTEGER NOT NULL)",
)
VIEWS = (
    "CREATE MATERIALIZED VIEW by_item AS SELECT item, sum(price) AS total, count(*) AS n FROM sale GROUP BY item",
    "CREATE MATERIALIZED VIEW top (what, much) AS SELECT item, price FROM sale ORDER BY price DESC, id LIMIT 3",
    "CREATE VIEW dear AS SELECT * FROM sale WHERE price > 5",
    "CREATE MATERIALIZED VIEW met AS SELECT d.item, s.n FROM dear d JOIN seen s USING (item)",
    "CREATE MATERIALIZED VIEW led AS WITH RECURSIVE l(a) AS (SELECT 0 UNION SELECT b FROM l JOIN leads USING (a)) FROM l",
    "CREATE MATERIALIZED VIEW ring AS WITH MUTUALLY RECURSIVE r(a INTEGER, first INTEGER) AS (SELECT a, min(first) FROM"
    " (SELECT a, a AS first FROM leads UNION ALL SELECT b, first FROM r JOIN leads USING (a)) GROUP BY a) FROM r",
)
LARGE_TABLES = (
    "CREATE TABLE big (id BIGINT PRIMARY KEY, x BIGINT CHECK (x >= 0))",
    "CREATE MATERIALIZED VIEW sums AS SELECT id % 7 AS g, count(*) AS n, max(x) * 4 AS most FROM big GROUP BY g",
)
ITEMS = ["ink", "pen", "añil", "", "very long " * 20]


def begin(db: ivm.Database) -> None:
    for text in (*TABLES, *VIEWS):
        db.sql(text)


def steps(seed: int, count: int) -> Iterator[Step]:
    """Steps each of which is one commit or one definition; a step may find nothing to do."""
    chance = random.Random(seed)
    for number in range(count):
        yield _step(random.Random(chance.random()), number)


def _rows(chance: random.Random, number: int) -> list[dict[str, object]]:
    many = chance.choice([1, 1, 3, 40])
    return [
        {
            "id": number * 1000 + i,
            "item": chance.choice([*ITEMS, None]),
            "price": f"{chance.randint(0, 900)}.{chance.randint(10, 99)}",
            "at": chance.choice(["2024-02-29", None]),
        }
        for i in range(many)
    ]


def _step(chance: random.Random, number: int) -> Step:
    rows = _rows(chance, number)
    some, gaps = chance.randint(0, 9), [chance.randint(1, 4) for _ in rows]
    seen = [{"item": row["item"], "n": chance.randint(0, 9)} for row in rows]
    leads = [{"a": chance.randint(0, 12), "b": chance.randint(0, 12)} for _ in rows[:5]]

    def transaction(db):
        with db.transaction(batch=("shop", number)) as tx:
            tx.insert("sale", rows)
            tx.insert("seen", seen)
            tx.delete("sale", {"id": [(number - 1) * 1000]}, missing="ignore")

    def dictionaries(db):
        table = pa.table(
            {"item": pa.array([row["item"] for row in rows]).dictionary_encode(), "n": pa.array([1] * len(rows))}
        )
        db.apply({"seen": table})

    def times(db):
        at = sorted(db.time + gap for gap in gaps)
        db.apply({"sale": [row | {"_time": time} for row, time in zip(rows, at, strict=True)]})

    kinds: list[Step] = [
        lambda db: db.apply({"sale": rows, "seen": seen}),
        lambda db: db.apply({"sale": rows}, batch=("till", number)),
        lambda db: db.apply({"sale": [*rows, *rows[:1]]}, mode="upsert"),
        lambda db: db.sql("DELETE FROM sale WHERE id % 13 = ?", [some]),
        lambda db: db.sql("UPDATE sale SET price = price + 1, item = 'ink' WHERE id % 11 = ?", [some]),
        lambda db: db.sql("DELETE FROM seen WHERE n = ?", [some]),
        lambda db: db.apply({"leads": leads}),
        lambda db: db.sql("DELETE FROM leads WHERE a = ?", [some]),
        transaction,
        transaction,
        dictionaries,
        times,
        lambda db: db.apply({}),
        lambda db: db.sql("CHECKPOINT"),
        lambda db: db.sql("CHECKPOINT"),
        lambda db: db.sql("CREATE OR REPLACE TABLE spare AS SELECT id, item FROM sale WHERE id % 3 = 0"),
        lambda db: db.sql("DROP TABLE IF EXISTS spare"),
        lambda db: db.sql("CREATE TABLE IF NOT EXISTS spare (id BIGINT, item VARCHAR)"),
        lambda db: db.sql("INSERT INTO spare (id) VALUES (7), (8)") if _has(db, "spare") else None,
        lambda db: db.sql("DROP VIEW IF EXISTS met"),
        lambda db: db.sql(VIEWS[3]) if not _has(db, "met") else None,
        lambda db: db.sql(
            "CREATE OR REPLACE MATERIALIZED VIEW late AS SELECT count(*) AS n, max(price) AS most FROM sale"
        ),
        lambda db: db.sql("CREATE UNIQUE INDEX IF NOT EXISTS same ON sale (id, item)"),
        lambda db: db.sql("DROP INDEX IF EXISTS same"),
        lambda db: db.sql("CREATE TYPE IF NOT EXISTS mood AS ENUM ('good', 'bad')"),
    ]
    return chance.choice([*kinds, *kinds[:10]])


def large_step(chance: random.Random, number: int, rows: int) -> Step:
    """A commit of `rows` rows, or a few more, to LARGE_TABLES: taken, refused, or undone by Ctrl-C and given again."""
    count = rows + chance.randint(0, 3)
    ids, values = np.arange(count) + number * 2 * rows + 1, np.full(count, number)
    kind = chance.choice(["key", "check", "view", "interrupt", "interrupt", "taken", "go"])
    seconds, batch = 10 ** chance.uniform(-4, -1.5), ("big", number)
    if kind == "key":
        ids[-1] = ids[0]
    elif kind in ("check", "view"):
        values[-1] = -1 if kind == "check" else 2**62

    def undone(db):
        try:
            try:
                signal.setitimer(signal.ITIMER_REAL, seconds)
                db.apply({"big": {"id": ids, "x": values}}, batch=batch)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            return

    def step(db):
        if kind == "interrupt":
            signal.signal(signal.SIGALRM, signal.default_int_handler)
            with suppress(KeyboardInterrupt):  # which may come late
                undone(db)
        if kind == "go":
            return db.sql("DELETE FROM big WHERE id % 3 > 0")
        with suppress(ivm.ConstraintError, ivm.NumericError):
            return db.apply({"big": {"id": ids, "x": values}}, batch=batch)

    return step


def _has(db: ivm.Database, name: str) -> bool:
    return name in [*(table.name for table in db.tables()), *(view.name for view in db.views())]

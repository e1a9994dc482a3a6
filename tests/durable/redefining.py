"""What is done in tests of what survives to what exists: it is altered, replaced, within transactions, and time passes."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import datetime, timedelta

import ivm

TABLES = (
    "CREATE TABLE basket (id BIGINT PRIMARY KEY, tags VARCHAR[], what STRUCT(a INTEGER, b VARCHAR), at TIMESTAMP,"
    " life INTERVAL, twice BIGINT GENERATED ALWAYS AS (id * 2))",
)
VIEWS = (
    "CREATE MATERIALIZED VIEW tagged AS SELECT tag, count(*) AS n FROM (SELECT unnest(tags) AS tag FROM basket) GROUP BY tag",
    "CREATE MATERIALIZED VIEW alive AS SELECT id, what FROM basket WHERE at + life > now()",
    "CREATE MATERIALIZED VIEW often AS SELECT tag FROM tagged WHERE n > 2",
)
_MORE = (
    "CREATE OR REPLACE TABLE note (n INTEGER); INSERT INTO note VALUES ({number})",
    "DROP TABLE IF EXISTS note; CREATE TABLE note (s VARCHAR); INSERT INTO note VALUES ('{number}'); TRUNCATE note",
    "CREATE UNIQUE INDEX once ON basket (id); DROP INDEX once; CREATE INDEX IF NOT EXISTS named ON basket (at)",
    "ALTER VIEW {often} RENAME TO passing; ALTER VIEW passing RENAME TO {often}",
    "CREATE OR REPLACE MATERIALIZED VIEW {often} AS SELECT tag FROM tagged WHERE n > {number} % 4",
    "CREATE OR REPLACE SEQUENCE q START {number}; CREATE OR REPLACE TABLE drawn AS SELECT nextval('q') AS n",
    "COMMENT ON TABLE basket IS 'number {number}'; CREATE OR REPLACE MACRO dear(x) AS x > {number}",
    "CREATE SCHEMA IF NOT EXISTS old; CREATE OR REPLACE TABLE old.z AS SELECT {number} AS n",
)
"""What a transaction may do besides."""
_LATER = datetime(2100, 1, 1)
_HOURS = 12


def step(chance: random.Random, number: int) -> Callable[[ivm.Database], object]:
    """One commit or one definition, or a transaction of several; it may find nothing to do, or be rolled back."""
    some, at = chance.randint(0, 9), _LATER + timedelta(minutes=number)
    rows = ", ".join(_basket(chance, number * 100 + i, at) for i in range(chance.choice([1, 3, 20])))
    insert = f"INSERT INTO basket (id, tags, what, at, life) VALUES {rows}"

    def transaction(db):
        with_view = chance_of_view and not _has(db, "counted")
        columns, often = _columns(db, "basket"), "often" if _has(db, "often") else "seldom"
        db.sql("BEGIN")
        db.sql(insert)
        for text in chance_of_more:
            db.sql(text.format(number=number, often=often))
        if "extra" in columns and chance_of_view:
            db.sql("ALTER TABLE basket ALTER extra TYPE BIGINT; ALTER TABLE basket DROP COLUMN extra")
        elif "more" not in columns and "extra" not in columns and is_altered:
            db.sql("ALTER TABLE basket ADD COLUMN extra INTEGER DEFAULT 5; ALTER TABLE basket RENAME TO other")
            db.sql("UPDATE other SET extra = id; ALTER TABLE other RENAME TO basket")
        db.sql("DELETE FROM basket WHERE id % 7 = ?", [some])
        if with_view:
            db.sql("CREATE MATERIALIZED VIEW counted AS SELECT what.a AS a, count(*) AS n FROM basket GROUP BY ALL")
        db.sql("UPDATE basket SET tags = list_append(tags, 'more') WHERE id % 5 = ?", [some])
        db.sql("ROLLBACK" if is_undone else "COMMIT")

    def alter(text, *columns):
        def altered(db):
            if all((name in _columns(db, "basket")) is there for name, there in columns):
                db.sql(f"ALTER TABLE basket {text}")

        return altered

    chance_of_view, is_undone, is_altered = chance.random() < 0.5, chance.random() < 0.3, chance.random() < 0.5
    chance_of_more = chance.sample(_MORE, chance.randint(0, 3))
    return chance.choice(
        [
            lambda db: db.sql(insert),
            lambda db: db.sql(insert),
            lambda db: db.sql("UPDATE basket SET at = at + INTERVAL 1 HOUR WHERE id % 5 = ?", [some]),
            lambda db: db.sql("DELETE FROM basket WHERE len(tags) = ? OR id % 11 = ?", [some, some]),
            lambda db: db.tick(at),
            lambda db: db.tick(at),
            transaction,
            transaction,
            transaction,
            lambda db: db.sql("DROP VIEW IF EXISTS counted"),
            alter("ADD COLUMN extra INTEGER DEFAULT 5", ("extra", False), ("more", False)),
            alter("DROP COLUMN extra", ("extra", True)),
            alter("RENAME extra TO more", ("extra", True)),
            alter("DROP COLUMN more", ("more", True)),
            alter("ALTER extra SET DEFAULT 7", ("extra", True)),
            alter("ALTER extra TYPE BIGINT", ("extra", True)),
            lambda db: db.sql(VIEWS[0].replace("CREATE", "CREATE OR REPLACE", 1)),
            lambda db: db.sql(
                VIEWS[0].replace("CREATE", "CREATE OR REPLACE", 1).replace("count(*)", f"count(*) + {some}")
            ),
            lambda db: db.sql("ALTER VIEW often RENAME TO seldom") if _has(db, "often") else None,
            lambda db: db.sql("ALTER VIEW seldom RENAME TO often") if _has(db, "seldom") else None,
            lambda db: db.sql("CREATE SCHEMA IF NOT EXISTS old"),
            lambda db: db.sql("DROP SCHEMA IF EXISTS old CASCADE"),
            lambda db: db.sql(f"COMMENT ON TABLE basket IS 'number {number}'"),
            lambda db: db.sql("CREATE OR REPLACE MACRO dear(x) AS x > 5"),
            lambda db: db.sql("CHECKPOINT"),
        ]
    )


def _basket(chance: random.Random, id: int, at: datetime) -> str:
    tags = chance.sample(["ink", "pen", "añil", "", None, "ink"], chance.randint(0, 4))
    texts = ", ".join("NULL" if tag is None else f"'{tag}'" for tag in tags)
    what = chance.choice(["NULL", f"{{a: {chance.randint(0, 3)}, b: NULL}}", f"{{a: {chance.randint(0, 3)}, b: 'x'}}"])
    life = chance.choice(["NULL", f"INTERVAL {chance.randint(1, _HOURS)} HOUR", "INTERVAL 1 MONTH"])
    return f"({id}, [{texts}]::VARCHAR[], {what}, '{at}', {life})"


def _columns(db: ivm.Database, table: str) -> list[str]:
    return next(list(each.columns) for each in db.tables() if each.name == table)


def _has(db: ivm.Database, name: str) -> bool:
    return name in [view.name for view in db.views()]
